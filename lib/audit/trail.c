/* SPDX-License-Identifier: MIT */

/*
 * One checkpoint after the other. The signature alone says little: a thief of today's key signs
 * whatever he likes with it. What he cannot do is to sign for an epoch whose key is gone, so the
 * key that a checkpoint must be signed with is never looked up by what the checkpoint says, but
 * follows from the checkpoints before it.
 */

#include "audit/trail.h"

#include <errno.h>
#include <inttypes.h>

#include <sbx/error.h>

void trail_begin(struct audit_trail *trail, const struct note_verifier *verifier, uint64_t epoch)
{
	*trail = (struct audit_trail){ .verifier = *verifier, .epoch = epoch };
}

/* Why @next cannot come after what was followed, or NULL. */
static const char *why_not(const struct audit_trail *trail, const struct audit_checkpoint *next)
{
	const struct audit_checkpoint *last = &trail->last;

	if (next->epoch != trail->epoch)
		return "it is of another epoch than the key that signed it";
	if (!trail->has_last)
		return NULL;
	if (next->size < last->size)
		return "the log was larger before";
	if (next->size == last->size && (!audit_hash_equal(&next->root, &last->root) ||
					 !audit_hash_equal(&next->head, &last->head)))
		return "the log of the same size was another one before";
	return NULL;
}

int trail_follow(struct audit_trail *trail, struct hasher *hasher, const void *note, size_t n_note,
		 struct sbx_error *err)
{
	struct note_verifier verifier = trail->verifier;
	struct audit_checkpoint next;
	const char *why;
	int r = checkpoint_open(note, n_note, &trail->verifier, &next, err);

	if (r < 0)
		return r;
	why = why_not(trail, &next);
	if (why) {
		(void)sbx_error_what(err, -EBADMSG, "cannot accept the checkpoint of size %" PRIu64,
				     next.size);
		sbx_error_why(err, "%s", why);
		sbx_error_fix(err, "compare the log with a copy that was kept elsewhere");
		return -EBADMSG;
	}
	if (next.is_last_of_epoch)
		r = note_verifier_make(hasher, trail->verifier.name, next.next_key, &verifier);
	if (r < 0)
		return r;
	trail->verifier = verifier;
	trail->epoch += next.is_last_of_epoch;
	trail->last = next;
	trail->has_last = true;
	return 0;
}
