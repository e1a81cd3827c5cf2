/* SPDX-License-Identifier: MIT */

/*
 * Where records are not there any more
 *
 * A segment says what was before it, and the checkpoint at its begin is signed: so what is behind a
 * gap can be verified all the same, with the keys that the file of epochs leads to. Whether the gap
 * is one that has to be there is another question. Archives are deleted from the oldest on, and for
 * each of them a signed record stays (a stub) that says what it was; only where stubs cover all
 * that is missing, and join it, nothing is missed.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "audit/epochs.h"
#include "audit/stub.h"

/* ---- behind the gap ---- */

static void miss(struct verification *v, uint64_t first, uint64_t end, const char *why)
{
	struct sbx_error *finding = verify_finding_at(v, VERIFY_INCOMPLETE, first, end - 1);

	(void)sbx_error_what(finding, -EBADMSG, "records %" PRIu64 " to %" PRIu64 " are missing",
			     first, end - 1);
	sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding, "restore the segments or archives with them from a copy, and keep "
			       "the directory as it is");
}

/* Record 0 would say the key. */
static int find_first_key(struct verification *v)
{
	const struct verified_state *since = v->options->since;
	struct sbx_error *finding;

	if (v->first.name[0] == '\0' && since) {
		int r = note_verifier_make(v->hasher, since->origin, since->first_key, &v->first);

		v->is_key_given |= !since->is_key_own;
		return r;
	}
	if (v->first.name[0] != '\0')
		return 0;
	finding = verify_finding(v, VERIFY_UNREADABLE);
	(void)sbx_error_what(finding, -ENOKEY, "the first key is not known");
	sbx_error_why(finding, "record 0, which says it, was deleted");
	sbx_error_fix(finding, "give the key that 'sbx-audit setup' printed with --key, or what "
			       "was verified before with --state");
	return VERIFY_STOP;
}

static int begin_trail(struct verification *v)
{
	int r;

	if (v->trail.verifier.name[0] != '\0')
		return 0;
	r = find_first_key(v);
	if (r != 0)
		return r;
	if (strcmp(v->first.name + strlen(CHECKPOINT_ORIGIN_PREFIX), v->log_id) != 0)
		return verify_fail_segment(v, "it is of another log than the key");
	trail_begin(&v->trail, &v->first, 0);
	return verify_origin(v);
}

/* Of the file of epochs: those that nobody has followed yet, up to the gap's end. */
static int follow_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
			struct sbx_error *err)
{
	struct verification *v = userdata;
	const char *end = memmem(note, n_bytes, "\n\n", 2);
	struct audit_checkpoint claim;
	int r;

	if (size > v->about.first || !end ||
	    checkpoint_parse(note, (size_t)(end - note) + 1, &claim, NULL) < 0 ||
	    claim.epoch < v->trail.epoch)
		return 0;
	r = verify_follow(v, note, n_bytes);
	if (r == 0 || r == -ENOMEM || r == -EIO)
		return r;
	return verify_fail_segment(v, "the file of epochs does not lead to the key that has signed "
				      "the checkpoint at its begin");
}

static int follow_epochs(struct verification *v)
{
	struct sbx_error why = { .code = 0 };
	int r = epochs_each(v->options->folder, follow_epoch, v, &why);
	struct sbx_error *finding;

	if (r != -EBADMSG)
		return r;
	finding = verify_finding(v, VERIFY_TAMPERED);
	*finding = why;
	return VERIFY_STOP;
}

/* What was witnessed before the gap's end cannot be seen again. */
static void pass_heads(struct verification *v, uint64_t size)
{
	const struct witness *witness = v->options->witness;

	for (; witness && v->n_heads < witness->n_heads; v->n_heads++, v->n_passed++)
		if (witness->heads[v->n_heads].size >= size)
			break;
	if (v->options->since && v->options->since->frontier.size < size)
		v->is_since_due = false;
}

int verify_gap(struct verification *v, struct sbx_error *err)
{
	uint64_t first = v->about.first, size = v->now.frontier.size;
	int r = begin_trail(v);

	if (r == 0)
		r = follow_epochs(v);
	if (r != 0)
		return r;
	if (first != v->begin.size)
		miss(v, size, first, "there are later records, and no segment has these");
	v->now.frontier = v->about.frontier;
	v->now.head = v->about.previous;
	log_forget_times(&v->now);
	v->is_resuming = false;
	if (first == v->begin.size)
		v->report->begin = first;
	pass_heads(v, first);
	r = verify_note_behind_gap(v, err);
	if (r == 0)
		r = verify_heads(v);
	return r == 0 ? verify_note_joint(v) : r;
}

/* ---- stubs ---- */

static int place_now(struct verification *v, struct verified_place *ret)
{
	ret->size = v->now.frontier.size;
	ret->head = v->now.head;
	ret->root = (struct audit_hash){ { 0 } };
	return ret->size > 0 ? merkle_root(v->hasher, &v->now.frontier, &ret->root) : 0;
}

int verify_note_joint(struct verification *v)
{
	void *grown = reallocarray(v->joints, v->n_joints + 1, sizeof(*v->joints));
	int r;

	if (!grown)
		return -ENOMEM;
	v->joints = grown;
	r = place_now(v, &v->joints[v->n_joints]);
	if (r < 0)
		return r;
	v->n_joints++;
	v->joint_epoch = v->trail.epoch;
	return 0;
}

static bool is_place(const struct verified_place *a, const struct verified_place *b)
{
	return a->size == b->size && audit_hash_equal(&a->head, &b->head) &&
	       audit_hash_equal(&a->root, &b->root);
}

static const struct verified_place *find_joint(const struct verification *v, uint64_t size)
{
	for (size_t i = 0; i < v->n_joints; i++)
		if (v->joints[i].size == size)
			return &v->joints[i];
	return NULL;
}

/* What is still there, or was when it was read, shows whether the stub is right. */
static bool is_about_what_is_there(const struct verification *v, const struct audit_stub *stub,
				   const struct verified_place *end)
{
	const struct verified_place *begin = find_joint(v, stub->first);
	const struct verified_place *there = find_joint(v, end->size);

	if (begin && !audit_hash_equal(&begin->head, &stub->previous))
		return false;
	if (there)
		return is_place(there, end);
	return v->n_joints == 0 || end->size < v->joints[0].size;
}

/* The first record has none before it. */
static bool is_next(const struct verified_place *place, const struct audit_stub *stub)
{
	return stub->first == place->size && audit_hash_equal(&stub->previous, &place->head);
}

static int fail_stub(struct verification *v, const struct store_row *row, const char *why)
{
	struct sbx_error *finding = verify_finding_at(v, VERIFY_TAMPERED, row->seq, row->seq);

	(void)sbx_error_what(finding, -EBADMSG,
			     "what record %" PRIu64 " says about a deleted archive is not true",
			     row->seq);
	sbx_error_why(finding, "%s", why);
	verify_fix(v, finding);
	return VERIFY_STOP;
}

int verify_stub(struct verification *v, const struct store_row *row)
{
	static const struct verified_place begin = { .size = 0 };
	struct verified_place end;
	struct audit_stub stub;
	int r = stub_read(row->body, row->n_body, &stub, NULL);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fail_stub(v, row, "it is not of the form that the log writes");
	end = (struct verified_place){ stub.last + 1, stub.head, stub.root };
	if (end.size > row->seq)
		return fail_stub(v, row, "the archive would have records that came later");
	if (!is_about_what_is_there(v, &stub, &end) ||
	    (end.size == v->deleted.size && !is_place(&end, &v->deleted)) ||
	    (stub.first == v->deleted.size && !is_next(&v->deleted, &stub)) ||
	    (stub.first == 0 && !is_next(&begin, &stub)))
		return fail_stub(v, row, "the records were others");
	if (end.size > v->deleted.size && (is_next(&v->deleted, &stub) || stub.first == 0))
		v->deleted = end;
	return 0;
}

/* ---- the end ---- */

static void fail_deleted(struct verification *v)
{
	uint64_t size = v->begin.size;
	struct sbx_error *finding = verify_finding_at(v, VERIFY_TAMPERED, 0, size - 1);

	(void)sbx_error_what(finding, -EBADMSG,
			     "records 0 to %" PRIu64 " are not those that were deleted", size - 1);
	sbx_error_why(finding, "what the log says about them does not lead to what is there");
	verify_fix(v, finding);
}

/* Only what is signed excuses anything: whoever can write the folder can add records. */
void verify_deleted(struct verification *v)
{
	const struct verified_place *deleted = &v->good.deleted;
	const struct verified_place *begin = find_joint(v, v->begin.size);

	if (v->begin.size > deleted->size) {
		miss(v, deleted->size, v->begin.size,
		     "no signed record of the log says that they were deleted");
		return;
	}
	v->report->n_deleted = v->begin.size;
	if (v->begin.size > 0 && v->begin.size == deleted->size && begin &&
	    !is_place(begin, deleted))
		fail_deleted(v);
}
