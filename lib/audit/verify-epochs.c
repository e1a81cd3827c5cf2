/* SPDX-License-Identifier: MIT */

/*
 * The file of epochs, held against the log
 *
 * It says nothing that the log does not say as long as all segments are there, and is all that
 * leads to the present key when the oldest are deleted. So it is missed while it can still be
 * replaced. It can also know more than the log: a key that has ended in a segment that is gone.
 *
 * The writer puts a note into it before the segment behind gets its name. So what was there before
 * the segments were read must be in them, and what they tell of must be there behind.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "audit/epochs.h"

#define FIX_COPY "put a copy of the file '" EPOCHS_NAME "' in its place"

/* ---- before and while the segments are read ---- */

static int see_size(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		    struct sbx_error *err)
{
	struct verification *v = userdata;

	v->epochs_size = size;
	return 0;
}

/* What is wrong with it is found behind. */
int verify_epochs_before(struct verification *v)
{
	int r = epochs_each(v->options->folder, see_size, v, NULL);

	return r == -ENOMEM ? r : 0;
}

int verify_note_epoch(struct verification *v)
{
	uint64_t epoch = v->trail.last.epoch;
	void *grown;

	if (!v->trail.last.is_last_of_epoch ||
	    (v->n_epochs > 0 && v->epochs[v->n_epochs - 1].epoch >= epoch))
		return 0;
	grown = reallocarray(v->epochs, v->n_epochs + 1, sizeof(*v->epochs));
	if (!grown)
		return -ENOMEM;
	v->epochs = grown;
	v->epochs[v->n_epochs++] = (struct verify_epoch){ epoch, v->last_note };
	return 0;
}

int verify_epoch_before_state(struct verification *v, struct sbx_error *err)
{
	struct audit_checkpoint claim;
	int r;

	if (v->about.first == 0)
		return 0;
	r = verify_next_note(v, 0, err);
	if (r == 0 && v->has_note && v->note_size == v->about.first && verify_peek(v, &claim))
		v->joint_epoch = claim.epoch + claim.is_last_of_epoch;
	return r;
}

/* ---- behind them ---- */

struct walk {
	struct verification *v;
	struct audit_trail trail;
};

static int fail_file(struct verification *v, const char *why)
{
	struct sbx_error *finding = verify_finding(v, VERIFY_TAMPERED);

	(void)sbx_error_what(finding, -EBADMSG, "the file '%s' is not what was written there",
			     EPOCHS_NAME);
	sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding, FIX_COPY);
	return VERIFY_STOP;
}

static int miss_notes(struct verification *v, uint64_t epoch)
{
	struct sbx_error *finding = verify_finding(v, VERIFY_INCOMPLETE);

	(void)sbx_error_what(finding, -EBADMSG,
			     "the checkpoint that ends epoch %" PRIu64 " is missing in the file "
			     "'%s'",
			     epoch, EPOCHS_NAME);
	sbx_error_why(finding, "when the archive that has it is deleted, nothing else leads to the "
			       "present key");
	sbx_error_fix(finding, FIX_COPY);
	return VERIFY_STOP;
}

/* Is @note the one that the log has for that epoch, or leads it to the key of the state? */
static int compare(struct walk *walk, const char *note, size_t n_bytes)
{
	const struct verification *v = walk->v;
	const struct verified_state *since = v->options->since;
	const struct audit_trail *trail = &walk->trail;
	const struct iovec part = { (char *)note, n_bytes };
	struct audit_hash hash;
	int r;

	if (since && since->epoch == trail->epoch &&
	    memcmp(since->key, trail->verifier.public_key, sizeof(since->key)) != 0)
		return 0;
	if (v->n_epochs == 0 || trail->last.epoch < v->epochs[0].epoch ||
	    trail->last.epoch - v->epochs[0].epoch >= v->n_epochs)
		return 1;
	r = hasher_digest(v->hasher, &part, 1, &hash);
	if (r < 0)
		return r;
	return audit_hash_equal(&hash, &v->epochs[trail->last.epoch - v->epochs[0].epoch].note);
}

static int see_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	const char *end = memmem(note, n_bytes, "\n\n", 2);
	struct walk *walk = userdata;
	struct verification *v = walk->v;
	struct sbx_error why = { .code = 0 };
	struct audit_checkpoint claim;
	int r;

	if (end && checkpoint_parse(note, (size_t)(end - note) + 1, &claim, NULL) == 0 &&
	    claim.epoch > walk->trail.epoch)
		return miss_notes(v, walk->trail.epoch);
	r = trail_follow(&walk->trail, v->hasher, note, n_bytes, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_file(v, why.why);
	r = compare(walk, note, n_bytes);
	if (r <= 0)
		return r < 0 ? r : fail_file(v, "the log has another checkpoint there");
	/* Of an epoch that the log does not know. */
	if (walk->trail.epoch <= v->trail.epoch || size > v->epochs_size)
		return 0;
	verify_miss_signed(v, size, "the file '" EPOCHS_NAME "' has a checkpoint");
	return VERIFY_STOP;
}

static int fail_reading(struct verification *v, int r, const struct sbx_error *why)
{
	struct sbx_error *finding;

	if (r == -ENOMEM)
		return r;
	finding = verify_finding(v, r == -EBADMSG ? VERIFY_TAMPERED : VERIFY_UNREADABLE);
	if (finding)
		*finding = *why;
	return VERIFY_STOP;
}

int verify_epochs_behind(struct verification *v)
{
	struct walk walk = { .v = v };
	struct sbx_error why = { .code = 0 };
	int r;

	if (v->first.name[0] == '\0')
		return 0;
	trail_begin(&walk.trail, &v->first, 0);
	r = epochs_each(v->options->folder, see_epoch, &walk, &why);
	if (r < 0)
		return fail_reading(v, r, &why);
	if (r == 0 && walk.trail.epoch < v->joint_epoch)
		return miss_notes(v, walk.trail.epoch);
	return r;
}
