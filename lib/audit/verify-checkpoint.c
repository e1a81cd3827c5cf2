/* SPDX-License-Identifier: MIT */

/*
 * The checkpoints, each where its last record has been read
 *
 * A checkpoint says the least and the greatest time of the records since the one before it. So one
 * that was taken away is missed by the next one, however near the two are to each other: the
 * records that it was about are not in the next one's range. Times that records claim are compared
 * with nothing else, because a record of yesterday is often taken in today.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "audit/checkpoint.h"

static int digest(struct verification *v, struct audit_hash *ret)
{
	const struct iovec part = { v->note.data, v->note.len };

	return hasher_digest(v->hasher, &part, 1, ret);
}

/* It is the one that came last. */
static int note_last(struct verification *v)
{
	int r = digest(v, &v->last_note);

	if (r < 0)
		return r;
	v->has_last_note = true;
	return verify_note_epoch(v);
}

/* ---- which one comes next ---- */

static int keep_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct verification *v = userdata;

	text_reset(&v->note);
	text_add_bytes(&v->note, note, n_bytes);
	v->note_size = size;
	v->has_note = true;
	return text_status(&v->note) < 0 ? -ENOMEM : 1;
}

int verify_next_note(struct verification *v, uint64_t from_size, struct sbx_error *err)
{
	int r;

	v->has_note = false;
	r = segment_each_checkpoint(v->segment, from_size, keep_note, v, err);
	return r < 0 ? r : 0;
}

/* ---- the one that is due ---- */

bool verify_peek(const struct verification *v, struct audit_checkpoint *ret)
{
	const char *end = memmem(v->note.data, v->note.len, "\n\n", 2);

	return end &&
	       checkpoint_parse(v->note.data, (size_t)(end - v->note.data) + 1, ret, NULL) == 0;
}

static int fail_checkpoint(struct verification *v, uint64_t first_bad, const char *why)
{
	struct sbx_error *finding =
		verify_finding_at(v, VERIFY_TAMPERED, first_bad, v->note_size - 1);

	(void)sbx_error_what(finding, -EBADMSG,
			     "the checkpoint of %" PRIu64 " records is not what was written there",
			     v->note_size);
	sbx_error_why(finding, "%s", why);
	verify_fix(v, finding);
	return VERIFY_STOP;
}

static int fail_signature(struct verification *v, const struct sbx_error *why)
{
	struct audit_checkpoint claim;

	if (verify_peek(v, &claim) && strcmp(claim.origin, v->first.name) != 0)
		return fail_checkpoint(v, v->report->good_size, "it is of another log");
	if (verify_peek(v, &claim) && claim.epoch > v->trail.epoch)
		return fail_checkpoint(v, v->report->good_size,
				       "it was signed with a later key, and the checkpoint that "
				       "has to name that key is missing");
	return fail_checkpoint(v, v->report->good_size, why->why);
}

int verify_follow(struct verification *v, const char *note, size_t n_note)
{
	const struct iovec part = { (char *)note, n_note };
	int r = trail_follow(&v->trail, v->hasher, note, n_note, NULL);

	if (r == 0)
		r = hasher_digest(v->hasher, &part, 1, &v->last_note);
	if (r < 0)
		return r;
	v->has_last_note = true;
	return verify_note_epoch(v);
}

static bool are_times(const struct verification *v)
{
	return v->now.first_usec == v->trail.last.first_usec &&
	       v->now.last_usec == v->trail.last.last_usec;
}

static void miss_between(struct verification *v, uint64_t after)
{
	struct sbx_error *finding = verify_finding(v, VERIFY_INCOMPLETE);

	(void)sbx_error_what(finding, -EBADMSG,
			     "a checkpoint is missing between records %" PRIu64 " and %" PRIu64,
			     after, v->note_size - 1);
	sbx_error_why(finding, "the next one does not cover the times of all the records since");
	sbx_error_fix(finding, "compare the log with a copy, and keep the directory as it is");
}

/* Is what was read what the last checkpoint of the trail says? */
static int compare_with_last(struct verification *v)
{
	struct audit_hash root;
	int r = merkle_root(v->hasher, &v->now.frontier, &root);

	if (r < 0)
		return r;
	if (!audit_hash_equal(&root, &v->trail.last.root) ||
	    !audit_hash_equal(&v->now.head, &v->trail.last.head))
		return fail_checkpoint(v, v->report->good_size,
				       "the records before it are not those that were signed");
	return 0;
}

static int follow(struct verification *v)
{
	struct note_verifier signer = v->trail.verifier;
	struct sbx_error why = { .code = 0 };
	int r = trail_follow(&v->trail, v->hasher, v->note.data, v->note.len, &why);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_signature(v, &why);
	v->signer = signer;
	if (v->trail.last.size != v->note_size)
		return fail_checkpoint(v, v->report->good_size, "it is of another size");
	return compare_with_last(v);
}

static void keep_good(struct verification *v)
{
	struct verified_state *good = &v->good;

	memcpy(good->origin, v->first.name, sizeof(good->origin));
	memcpy(good->first_key, v->first.public_key, sizeof(good->first_key));
	memcpy(good->key, v->trail.verifier.public_key, sizeof(good->key));
	good->is_key_own = !v->is_key_given;
	good->epoch = v->trail.epoch;
	good->head = v->now.head;
	good->frontier = v->now.frontier;
	good->deleted = v->deleted;
	v->report->good_size = v->now.frontier.size;
	v->report->n_checkpoints++;
}

int verify_checkpoint(struct verification *v, struct sbx_error *err)
{
	uint64_t before = v->trail.last.size;
	int r = follow(v);

	if (r == 0)
		r = note_last(v);
	if (r != 0)
		return r;
	if (!are_times(v))
		miss_between(v, before);
	log_forget_times(&v->now);
	keep_good(v);
	return verify_next_note(v, v->note_size + 1, err);
}

/* ---- where none is due ---- */

static void miss_note(struct verification *v, const char *why)
{
	struct sbx_error *finding = verify_finding(v, VERIFY_INCOMPLETE);

	(void)sbx_error_what(finding, -EBADMSG, "the checkpoint of %" PRIu64 " records is missing",
			     v->now.frontier.size);
	sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding, "compare the log with a copy, and keep the directory as it is");
}

/* A state keeps the key that signs next: where the epoch ended there, it knows nothing of the one
 * that has signed. */
static bool is_of_state(struct verification *v, struct sbx_error *why)
{
	const struct audit_trail *trail = &v->trail;
	struct audit_checkpoint claim;

	if (!verify_peek(v, &claim) || strcmp(claim.origin, v->first.name) != 0 ||
	    claim.size != trail->last.size || !audit_hash_equal(&claim.root, &trail->last.root) ||
	    !audit_hash_equal(&claim.head, &trail->last.head) ||
	    claim.epoch + claim.is_last_of_epoch != trail->epoch)
		return false;
	if (claim.is_last_of_epoch)
		return memcmp(claim.next_key, trail->verifier.public_key, sizeof(claim.next_key)) ==
		       0;
	return checkpoint_open(v->note.data, v->note.len, &trail->verifier, &claim, why) == 0;
}

/* The note with which what was verified before has ended. */
static int follow_state(struct verification *v)
{
	struct sbx_error why = { .code = 0 };

	if (!is_of_state(v, &why))
		return why.code == -ENOMEM
			       ? -ENOMEM
			       : fail_checkpoint(v, v->now.frontier.size - 1,
						 "it is not what it was when it was verified");
	return note_last(v);
}

int verify_state_note(struct verification *v, struct sbx_error *err)
{
	uint64_t size = v->now.frontier.size;
	int r = verify_next_note(v, size, err);

	if (r < 0)
		return r;
	if (!v->has_note || v->note_size != size) {
		miss_note(v, "it was there when the log was verified");
		return 0;
	}
	r = follow_state(v);
	return r == 0 ? verify_next_note(v, size + 1, err) : r;
}

/* Is it the last checkpoint of the segment before? */
static int verify_copy(struct verification *v)
{
	struct audit_hash hash;
	int r;

	if (!v->trail.has_last || v->note_size != v->trail.last.size)
		return fail_checkpoint(v, v->now.frontier.size,
				       "there can be no checkpoint at this place");
	if (!v->has_last_note)
		return follow_state(v);
	r = digest(v, &hash);
	if (r < 0 || audit_hash_equal(&hash, &v->last_note))
		return r;
	return fail_checkpoint(v, v->now.frontier.size, "there can be no checkpoint at this place");
}

int verify_first_note(struct verification *v, struct sbx_error *err)
{
	int r = verify_next_note(v, 0, err);

	if (r < 0)
		return r;
	if (!v->has_note || v->note_size > v->now.frontier.size) {
		if (v->about.first > 0)
			miss_note(v, "each segment begins with a copy of the one before it");
		return 0;
	}
	r = verify_copy(v);
	return r == 0 ? verify_next_note(v, v->note_size + 1, err) : r;
}

/* Was the note one of the file of epochs? */
static int is_followed(struct verification *v)
{
	struct audit_hash hash;
	int r = digest(v, &hash);

	return r < 0 ? r
		     : v->has_last_note && v->note_size == v->trail.last.size &&
			       audit_hash_equal(&hash, &v->last_note);
}

static int miss_behind_gap(struct verification *v, const char *what, const char *why)
{
	struct sbx_error *finding =
		verify_finding_at(v, VERIFY_INCOMPLETE, v->report->good_size, v->about.first - 1);

	(void)sbx_error_what(finding, -EBADMSG, "%s", what);
	sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding,
		      "take the segments or archives before '%s', or the file 'epochs', "
		      "from a copy",
		      v->file->name);
	return VERIFY_STOP;
}

static int follow_behind_gap(struct verification *v)
{
	struct audit_checkpoint claim;
	int r = is_followed(v);

	if (r < 0)
		return r;
	if (r > 0)
		return compare_with_last(v);
	if (verify_peek(v, &claim) && claim.epoch > v->trail.epoch)
		return miss_behind_gap(v, "the checkpoints that name the later keys are missing",
				       "neither a segment nor the file 'epochs' has them");
	return follow(v);
}

int verify_note_behind_gap(struct verification *v, struct sbx_error *err)
{
	int r = verify_next_note(v, 0, err);

	if (r < 0)
		return r;
	if (!v->has_note || v->note_size > v->now.frontier.size)
		return miss_behind_gap(v, "the checkpoint at the begin of a segment is missing",
				       "without it, the records before it are not signed");
	if (v->note_size < v->now.frontier.size)
		return fail_checkpoint(v, v->now.frontier.size,
				       "there can be no checkpoint at this place");
	r = follow_behind_gap(v);
	if (r == 0)
		r = note_last(v);
	if (r != 0)
		return r;
	keep_good(v);
	return verify_next_note(v, v->note_size + 1, err);
}

static int cut_below_checkpoint(struct verification *v)
{
	uint64_t size = v->now.frontier.size;
	struct sbx_error *finding = verify_finding_at(v, VERIFY_INCOMPLETE, size, v->note_size - 1);

	(void)sbx_error_what(finding, -EBADMSG,
			     "records %" PRIu64 " to %" PRIu64 " are missing at the end", size,
			     v->note_size - 1);
	sbx_error_why(finding, "a checkpoint of %" PRIu64 " records is there", v->note_size);
	verify_fix(v, finding);
	return VERIFY_STOP;
}

int verify_left_note(struct verification *v, bool is_last)
{
	struct sbx_error why = { .code = 0 };
	int r;

	if (!v->has_note)
		return 0;
	if (!is_last)
		return fail_checkpoint(v, v->now.frontier.size, "it is in another segment");
	/* Without a record there is nobody who could have signed it. */
	if (v->now.frontier.size == 0)
		return cut_below_checkpoint(v);
	r = trail_follow(&v->trail, v->hasher, v->note.data, v->note.len, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_signature(v, &why);
	if (v->trail.last.size != v->note_size)
		return fail_checkpoint(v, v->now.frontier.size, "it is of another size");
	return cut_below_checkpoint(v);
}
