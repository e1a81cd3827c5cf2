/* SPDX-License-Identifier: MIT */

/*
 * Checkpoints, each checked after its last record, and the file of epochs
 *
 * A checkpoint states the minimum and maximum time of the records since the one before. So if a
 * checkpoint is removed, the next one reveals it, however close the two are: the removed one's
 * records are not in the next one's range. Times that records claim are compared with nothing else,
 * because yesterday's records are often imported today.
 *
 * As long as all segments exist, the file of epochs contains nothing that the log does not; once
 * the oldest are deleted, only it leads to the present key. So report its loss while it can still
 * be restored. It can also know more than the log: a key whose epoch ended in a segment that is
 * gone. The writer adds a note to it before the next segment gets its name. So epochs that the file
 * had before the segments were read must be in them, and those in the segments must be in the file
 * after.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "audit/key.h"
#include "base/array.h"

#define MISPLACED "there can be no checkpoint at this place"

static int digest(const char *note, size_t n_bytes, struct audit_hash *ret)
{
	const struct iovec part = { (char *)note, n_bytes };

	return audit_hash_digest(&part, 1, ret);
}

static bool peek_next(const struct verification *v, struct audit_checkpoint *ret)
{
	return checkpoint_peek(v->part->note.data, v->part->note.len, ret) == 0;
}

/* ---- the origin, and witnessed heads ---- */

int verify_other_log(struct verification *v, const char *why)
{
	return verify_find(v, FOUND_OTHER_LOG, (struct found_at){ .why = why });
}

int verify_origin(struct verification *v)
{
	const struct witness *witness = v->options->witness;
	const struct verified_state *since = v->options->since;
	const struct note_verifier *first = &v->keys.first;

	if (witness && witness->origin[0] && strcmp(witness->origin, first->name) != 0)
		return verify_other_log(v, "the witness has seen a log with another ID");
	if (since && strcmp(since->origin, first->name) != 0)
		return verify_other_log(v, "the last verification was of a log with another ID");
	if (since && memcmp(since->first_key, first->public_key, sizeof(since->first_key)) != 0)
		return verify_other_log(
			v, "the last verification was of a log with another first key");
	return 0;
}

static int fail_head(struct verification *v, const char *who)
{
	uint64_t size = v->now.frontier.size, good = v->report->good_size;

	return verify_find(v, FOUND_OTHER_HEAD,
			   (struct found_at){
				   .first = good < size ? good : 0, .last = size - 1, .why = who });
}

int verify_heads(struct verification *v)
{
	const struct verified_state *since = v->options->since;
	const struct witness *witness = v->options->witness;
	uint64_t size = v->now.frontier.size;
	struct verify_seen *seen = &v->seen;
	struct audit_hash root;
	int r;

	if (seen->is_since_due && since->frontier.size == size) {
		seen->is_since_due = false;
		if (!audit_hash_equal(&v->now.head, &since->head))
			return fail_head(v, "the last verification");
	}
	if (!witness || seen->n_heads == witness->n_heads ||
	    witness->heads[seen->n_heads].size != size)
		return 0;
	r = merkle_root(&v->now.frontier, &root);
	if (r < 0)
		return r;
	for (; seen->n_heads < witness->n_heads; seen->n_heads++) {
		if (witness->heads[seen->n_heads].size != size)
			return 0;
		if (!audit_hash_equal(&witness->heads[seen->n_heads].root, &root))
			return fail_head(v, "the witness");
	}
	return 0;
}

/* ---- the next checkpoint ---- */

static int keep_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct verify_part *part = userdata;

	text_reset(&part->note);
	text_add_bytes(&part->note, note, n_bytes);
	part->note_size = size;
	part->has_note = true;
	return text_status(&part->note) < 0 ? -ENOMEM : 1;
}

int verify_next_note(struct verification *v, uint64_t from_size, struct sbx_error *err)
{
	int r;

	v->part->has_note = false;
	r = segment_each_checkpoint(v->part->segment, from_size, keep_note, v->part, err);
	return r < 0 ? r : 0;
}

/* ---- the last verified checkpoint ---- */

/* Remembers the checkpoint if it is the last one of its epoch. */
static int keep_epoch(struct verification *v)
{
	const struct audit_checkpoint *last = &v->keys.trail.last;
	struct verify_seen *seen = &v->seen;
	const struct verify_epoch epoch = { last->epoch, v->keys.last_note };

	if (!last->is_last_of_epoch ||
	    (seen->n_epochs > 0 && seen->epochs[seen->n_epochs - 1].epoch >= last->epoch))
		return 0;
	return ARRAY_ADD(seen->epochs, seen->n_epochs, &epoch);
}

static int keep_last(struct verification *v, const char *note, size_t n_bytes)
{
	int r = digest(note, n_bytes, &v->keys.last_note);

	if (r < 0)
		return r;
	v->keys.has_last_note = true;
	return keep_epoch(v);
}

static int keep_last_of_part(struct verification *v)
{
	return keep_last(v, v->part->note.data, v->part->note.len);
}

/* ---- findings ---- */

static int fail(struct verification *v, uint64_t first_bad, const char *why)
{
	return verify_find(v, FOUND_NOTE,
			   (struct found_at){ .first = first_bad,
					      .last = v->part->note_size - 1,
					      .why = why });
}

static int fail_from_good(struct verification *v, const char *why)
{
	return fail(v, v->report->good_size, why);
}

static int fail_here(struct verification *v, const char *why)
{
	return fail(v, v->now.frontier.size, why);
}

static int fail_signature(struct verification *v, const struct sbx_error *why)
{
	struct audit_checkpoint claim;

	if (!peek_next(v, &claim))
		return fail_from_good(v, why->why);
	if (strcmp(claim.origin, v->keys.first.name) != 0)
		return fail_from_good(v, "it belongs to another log");
	if (claim.epoch > v->keys.trail.epoch)
		return fail_from_good(v, "it was signed with a later key, and the checkpoint that "
					 "has to name that key is missing");
	return fail_from_good(v, why->why);
}

static int miss(struct verification *v, const char *why)
{
	return verify_find(v, FOUND_NOTE_MISSING,
			   (struct found_at){ .number = v->now.frontier.size, .why = why });
}

static int miss_behind_gap(struct verification *v, enum verify_found which)
{
	return verify_find(v, which,
			   (struct found_at){ .first = v->report->good_size,
					      .last = v->part->about.first - 1 });
}

/* ---- a checkpoint of verified records ---- */

/* Compares the records read so far with the last checkpoint of the trail. */
static int compare_with_last(struct verification *v)
{
	const struct audit_checkpoint *last = &v->keys.trail.last;
	struct audit_hash root;
	int r = merkle_root(&v->now.frontier, &root);

	if (r < 0)
		return r;
	if (audit_hash_equal(&root, &last->root) && audit_hash_equal(&v->now.head, &last->head))
		return 0;
	return fail_from_good(v, "the records before it are not the signed ones");
}

static int follow(struct verification *v)
{
	struct verify_part *part = v->part;
	struct note_verifier signer = v->keys.trail.verifier;
	struct sbx_error why = { .code = 0 };
	int r = trail_follow(&v->keys.trail, part->note.data, part->note.len, &why);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_signature(v, &why);
	part->signer = signer;
	if (v->keys.trail.last.size != part->note_size)
		return fail_from_good(v, "it is for another size");
	return compare_with_last(v);
}

/* Everything up to here is verified. */
static void keep_good(struct verification *v)
{
	const struct verify_keys *keys = &v->keys;
	struct verified_state *good = &v->good;

	memcpy(good->origin, keys->first.name, sizeof(good->origin));
	memcpy(good->first_key, keys->first.public_key, sizeof(good->first_key));
	memcpy(good->key, keys->trail.verifier.public_key, sizeof(good->key));
	good->is_key_own = !keys->is_given;
	good->epoch = keys->trail.epoch;
	good->head = v->now.head;
	good->frontier = v->now.frontier;
	good->deleted = v->seen.deleted;
	v->report->good_size = v->now.frontier.size;
	v->report->n_checkpoints++;
}

int verify_note_next(struct verification *v, struct sbx_error *err)
{
	const struct audit_checkpoint *last = &v->keys.trail.last;
	uint64_t before = last->size;
	int r = follow(v);

	if (r != 0)
		return r;
	r = keep_last_of_part(v);
	if (r != 0)
		return r;
	if (v->now.first_usec != last->first_usec || v->now.last_usec != last->last_usec)
		(void)verify_find(v, FOUND_NOTE_BETWEEN_MISSING,
				  (struct found_at){ .first = before,
						     .last = v->part->note_size - 1 });
	log_forget_times(&v->now);
	keep_good(v);
	return verify_next_note(v, v->part->note_size + 1, err);
}

/* A checkpoint after the last row: its last records are missing. */
int verify_note_left(struct verification *v, struct sbx_error *err)
{
	const struct found_at cut = { .first = v->now.frontier.size,
				      .last = v->part->note_size - 1 };
	struct sbx_error why = { .code = 0 };
	int r;

	if (!v->part->is_last)
		return fail_here(v, "it is in another segment");
	/* Without record 0 no key can have signed it. */
	if (v->now.frontier.size == 0)
		return verify_find(v, FOUND_CUT_BELOW_NOTE, cut);
	r = trail_follow(&v->keys.trail, v->part->note.data, v->part->note.len, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_signature(v, &why);
	if (v->keys.trail.last.size != v->part->note_size)
		return fail_here(v, "it is for another size");
	return verify_find(v, FOUND_CUT_BELOW_NOTE, cut);
}

/* ---- the note with which the earlier state ended ---- */

/* A state stores the key that signs next: if an epoch ended there, the key that signed is
 * unknown. */
static bool is_of_state(struct verification *v, struct sbx_error *why)
{
	const struct audit_trail *trail = &v->keys.trail;
	struct audit_checkpoint claim;

	if (!peek_next(v, &claim) || strcmp(claim.origin, v->keys.first.name) != 0 ||
	    claim.size != trail->last.size || !audit_hash_equal(&claim.root, &trail->last.root) ||
	    !audit_hash_equal(&claim.head, &trail->last.head) ||
	    claim.epoch + claim.is_last_of_epoch != trail->epoch)
		return false;
	if (claim.is_last_of_epoch)
		return memcmp(claim.next_key, trail->verifier.public_key, sizeof(claim.next_key)) ==
		       0;
	return checkpoint_open(v->part->note.data, v->part->note.len, &trail->verifier, &claim,
			       why) == 0;
}

static int follow_state(struct verification *v)
{
	struct sbx_error why = { .code = 0 };

	if (is_of_state(v, &why))
		return keep_last_of_part(v);
	return why.code == -ENOMEM
		       ? -ENOMEM
		       : fail(v, v->now.frontier.size - 1, "it was changed after it was verified");
}

int verify_note_of_state(struct verification *v, struct sbx_error *err)
{
	int r = follow_state(v);

	return r == 0 ? verify_next_note(v, v->part->note_size + 1, err) : r;
}

int verify_no_note_of_state(struct verification *v, struct sbx_error *err)
{
	return miss(v, "it was there when the log was verified");
}

/* ---- at a segment's begin: the copy of the last checkpoint of the segment before ---- */

static int compare_copy(struct verification *v)
{
	struct audit_hash hash;
	int r;

	if (!v->keys.trail.has_last || v->part->note_size != v->keys.trail.last.size)
		return fail_here(v, MISPLACED);
	if (!v->keys.has_last_note)
		return follow_state(v);
	r = digest(v->part->note.data, v->part->note.len, &hash);
	if (r < 0 || audit_hash_equal(&hash, &v->keys.last_note))
		return r;
	return fail_here(v, MISPLACED);
}

int verify_note_copy(struct verification *v, struct sbx_error *err)
{
	int r = compare_copy(v);

	return r == 0 ? verify_next_note(v, v->part->note_size + 1, err) : r;
}

int verify_no_copy(struct verification *v, struct sbx_error *err)
{
	return v->part->about.first == 0
		       ? 0
		       : miss(v, "each segment begins with a copy of the one before it");
}

/* ---- after a gap: it confirms what the segment states about the records before ---- */

static int follow_behind_gap(struct verification *v)
{
	struct audit_checkpoint claim;
	struct audit_hash hash;
	int r = digest(v->part->note.data, v->part->note.len, &hash);

	if (r < 0)
		return r;
	/* The note is one of those in the file of epochs. */
	if (v->keys.has_last_note && v->part->note_size == v->keys.trail.last.size &&
	    audit_hash_equal(&hash, &v->keys.last_note))
		return compare_with_last(v);
	if (peek_next(v, &claim) && claim.epoch > v->keys.trail.epoch)
		return miss_behind_gap(v, FOUND_KEYS_BEHIND_GAP);
	return follow(v);
}

int verify_note_confirm(struct verification *v, struct sbx_error *err)
{
	int r = follow_behind_gap(v);

	if (r != 0)
		return r;
	r = keep_last_of_part(v);
	if (r != 0)
		return r;
	keep_good(v);
	r = verify_next_note(v, v->part->note_size + 1, err);
	if (r != 0)
		return r;
	r = verify_heads(v);
	return r == 0 ? verify_note_joint(v) : r;
}

int verify_no_confirm(struct verification *v, struct sbx_error *err)
{
	return miss_behind_gap(v, FOUND_NOTE_BEHIND_GAP);
}

int verify_note_misplaced(struct verification *v, struct sbx_error *err)
{
	return fail_here(v, MISPLACED);
}

/* ---- the file of epochs, before and while the segments are read ---- */

static int see_size(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		    struct sbx_error *err)
{
	struct verification *v = userdata;

	v->seen.epochs_size = size;
	return 0;
}

/* Ignores errors: verify_epochs_behind() reports them. */
int verify_epochs_before(struct verification *v)
{
	int r = epochs_each(v->options->directory, see_size, v, NULL);

	return r == -ENOMEM ? r : 0;
}

int verify_epoch_before_state(struct verification *v, struct sbx_error *err)
{
	const struct verify_part *part = v->part;
	struct audit_checkpoint claim;
	int r;

	if (part->about.first == 0)
		return 0;
	r = verify_next_note(v, 0, err);
	if (r == 0 && part->has_note && part->note_size == part->about.first &&
	    peek_next(v, &claim))
		v->seen.joint_epoch = claim.epoch + claim.is_last_of_epoch;
	return r;
}

/* Follows the notes that were not followed yet, up to the gap's end. */
static int follow_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
			struct sbx_error *err)
{
	struct verification *v = userdata;
	struct audit_checkpoint claim;
	int r;

	if (size > v->part->about.first || checkpoint_peek(note, n_bytes, &claim) < 0 ||
	    claim.epoch < v->keys.trail.epoch)
		return 0;
	r = trail_follow(&v->keys.trail, note, n_bytes, NULL);
	if (r == 0)
		return keep_last(v, note, n_bytes);
	if (r == -ENOMEM || r == -EIO)
		return r;
	return verify_refuse_segment(
		v,
		"the file of epochs does not lead to the key that signed the checkpoint at its beginning");
}

int verify_follow_epochs(struct verification *v)
{
	struct sbx_error why = { .code = 0 };
	int r = epochs_each(v->options->directory, follow_epoch, v, &why);

	return r == -EBADMSG ? verify_find_error(v, VERIFY_TAMPERED, &why) : r;
}

/* ---- the file of epochs, after the segments were read ---- */

struct walk {
	struct verification *v;
	struct audit_trail trail;
};

static int fail_epochs(struct verification *v, const char *why)
{
	return verify_find(v, FOUND_EPOCHS, (struct found_at){ .why = why });
}

static int miss_epoch(struct verification *v, uint64_t epoch)
{
	return verify_find(v, FOUND_EPOCHS_MISSING, (struct found_at){ .number = epoch });
}

/* Is @note the log's own for that epoch, or does it lead to the key of the earlier state? */
static int compare_epoch(struct walk *walk, const char *note, size_t n_bytes)
{
	const struct verification *v = walk->v;
	const struct verified_state *since = v->options->since;
	const struct audit_trail *trail = &walk->trail;
	const struct verify_epoch *epochs = v->seen.epochs;
	struct audit_hash hash;
	int r;

	if (since && since->epoch == trail->epoch &&
	    memcmp(since->key, trail->verifier.public_key, sizeof(since->key)) != 0)
		return 0;
	if (v->seen.n_epochs == 0 || trail->last.epoch < epochs[0].epoch ||
	    trail->last.epoch - epochs[0].epoch >= v->seen.n_epochs)
		return 1;
	r = digest(note, n_bytes, &hash);
	if (r < 0)
		return r;
	return audit_hash_equal(&hash, &epochs[trail->last.epoch - epochs[0].epoch].note);
}

static int see_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct walk *walk = userdata;
	struct verification *v = walk->v;
	struct sbx_error why = { .code = 0 };
	struct audit_checkpoint claim;
	int r;

	if (checkpoint_peek(note, n_bytes, &claim) == 0 && claim.epoch > walk->trail.epoch)
		return miss_epoch(v, walk->trail.epoch);
	r = trail_follow(&walk->trail, note, n_bytes, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_epochs(v, why.why);
	r = compare_epoch(walk, note, n_bytes);
	if (r <= 0)
		return r < 0 ? r : fail_epochs(v, "the log has another checkpoint there");
	/* The note ends an epoch that the log does not have. */
	if (walk->trail.epoch <= v->keys.trail.epoch || size > v->seen.epochs_size)
		return 0;
	(void)verify_miss_signed(v, size, "the file '" EPOCHS_NAME "' has a checkpoint");
	return VERIFY_STOP;
}

int verify_epochs_behind(struct verification *v)
{
	struct walk walk = { .v = v };
	struct sbx_error why = { .code = 0 };
	int r;

	if (v->keys.first.name[0] == '\0')
		return 0;
	trail_begin(&walk.trail, &v->keys.first, 0);
	r = epochs_each(v->options->directory, see_epoch, &walk, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return verify_find_error(v, r == -EBADMSG ? VERIFY_TAMPERED : VERIFY_UNREADABLE,
					 &why);
	return r == 0 && walk.trail.epoch < v->seen.joint_epoch ? miss_epoch(v, walk.trail.epoch)
								: r;
}
