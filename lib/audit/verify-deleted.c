/* SPDX-License-Identifier: MIT */

/*
 * Verification where records are missing at the beginning
 *
 * A segment states the head and tree before it, and the checkpoint at its begin is signed: so the
 * records after a gap can be verified all the same, with the keys from the file of epochs. Whether
 * the gap is legitimate is a separate question. Archives are deleted from the oldest on, and each
 * leaves a signed record (a stub); only if stubs cover all that is missing, and join what exists,
 * is nothing reported.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "base/array.h"
#include "base/json.h"

/* ---- after the gap ---- */

static int miss(struct verification *v, uint64_t first, uint64_t end, const char *why)
{
	return verify_find(v, FOUND_GAP,
			   (struct found_at){ .first = first, .last = end - 1, .why = why });
}

/* Record 0, which names the first key, is missing: use the given key, or the earlier state's. */
static int find_first_key(struct verification *v)
{
	const struct verified_state *since = v->options->since;

	if (v->keys.first.name[0] != '\0')
		return 0;
	if (!since)
		return verify_find(v, FOUND_NO_KEY, (struct found_at){ .code = -ENOKEY });
	v->keys.is_given |= !since->is_key_own;
	return note_verifier_make(since->origin, since->first_key, &v->keys.first);
}

static int begin_trail(struct verification *v)
{
	int r;

	if (v->keys.trail.verifier.name[0] != '\0')
		return 0;
	r = find_first_key(v);
	if (r != 0)
		return r;
	if (strcmp(v->keys.first.name + strlen(CHECKPOINT_ORIGIN_PREFIX), v->seen.log_id) != 0)
		return verify_refuse_segment(v, "it belongs to another log than the key");
	trail_begin(&v->keys.trail, &v->keys.first, 0);
	return verify_origin(v);
}

/* Skips witnessed heads before the gap's end: they cannot be reproduced. */
static void pass_heads(struct verification *v, uint64_t size)
{
	const struct witness *witness = v->options->witness;
	struct verify_seen *seen = &v->seen;

	for (; witness && seen->n_heads < witness->n_heads; seen->n_heads++, seen->n_passed++)
		if (witness->heads[seen->n_heads].size >= size)
			break;
	if (v->options->since && v->options->since->frontier.size < size)
		seen->is_since_due = false;
}

int verify_gap(struct verification *v, struct sbx_error *err)
{
	const struct segment_about *about = &v->part->about;
	int r = begin_trail(v);

	if (r != 0)
		return r;
	r = verify_follow_epochs(v);
	if (r != 0)
		return r;
	if (about->first != v->seen.begin)
		(void)miss(v, v->now.frontier.size, about->first,
			   "there are later records, and no segment has these");
	else
		v->report->begin = about->first;
	v->now.frontier = about->frontier;
	v->now.head = about->previous;
	log_forget_times(&v->now);
	pass_heads(v, about->first);
	v->state = WANTS_CONFIRM;
	return 0;
}

/* ---- stubs ---- */

int verify_note_joint(struct verification *v)
{
	struct verified_place now = { .size = v->now.frontier.size, .head = v->now.head };
	int r = now.size > 0 ? merkle_root(&v->now.frontier, &now.root) : 0;

	if (r < 0)
		return r;
	v->seen.joint_epoch = v->keys.trail.epoch;
	return ARRAY_ADD(v->seen.joints, v->seen.n_joints, &now);
}

static bool is_place(const struct verified_place *a, const struct verified_place *b)
{
	return a->size == b->size && audit_hash_equal(&a->head, &b->head) &&
	       audit_hash_equal(&a->root, &b->root);
}

static const struct verified_place *find_joint(const struct verification *v, uint64_t size)
{
	for (size_t i = 0; i < v->seen.n_joints; i++)
		if (v->seen.joints[i].size == size)
			return &v->seen.joints[i];
	return NULL;
}

/* Compares the stub with the segments that still exist, or did when they were read. */
static bool is_about_what_is_there(const struct verification *v, const struct audit_stub *stub,
				   const struct verified_place *end)
{
	const struct verified_place *begin = find_joint(v, stub->first);
	const struct verified_place *there = find_joint(v, end->size);

	if (begin && !audit_hash_equal(&begin->head, &stub->previous))
		return false;
	if (there)
		return is_place(there, end);
	return v->seen.n_joints == 0 || end->size < v->seen.joints[0].size;
}

/* Does the stub begin at @place? */
static bool is_next(const struct verified_place *place, const struct audit_stub *stub)
{
	return stub->first == place->size && audit_hash_equal(&stub->previous, &place->head);
}

static int fail_stub(struct verification *v, uint64_t seq, const char *why)
{
	return verify_find(v, FOUND_STUB,
			   (struct found_at){ .first = seq, .last = seq, .why = why });
}

int verify_stub(struct verification *v, const struct run_stub *at)
{
	static const struct verified_place begin = { .size = 0 };
	const struct audit_stub *stub = &at->stub;
	const struct verified_place end = { stub->last + 1, stub->head, stub->root };
	struct verified_place *deleted = &v->seen.deleted;

	if (end.size > at->seq)
		return fail_stub(v, at->seq, "it names records that are later than itself");
	if (!is_about_what_is_there(v, stub, &end) ||
	    (end.size == deleted->size && !is_place(&end, deleted)) ||
	    (stub->first == deleted->size && !is_next(deleted, stub)) ||
	    (stub->first == 0 && !is_next(&begin, stub)))
		return fail_stub(v, at->seq, "it does not match the records that were there");
	if (end.size > deleted->size && (is_next(deleted, stub) || stub->first == 0))
		*deleted = end;
	return 0;
}

/* ---- the end ---- */

/* Only signed stubs excuse a gap: a process that can write the directory can add unsigned
 * records. */
int verify_deleted(struct verification *v)
{
	const struct verified_place *deleted = &v->good.deleted;
	const struct verified_place *begin = find_joint(v, v->seen.begin);
	uint64_t size = v->seen.begin;

	if (size > deleted->size)
		return miss(v, deleted->size, size,
			    "no signed record of the log says that they were deleted");
	v->report->n_deleted = size;
	if (size == 0 || size != deleted->size || !begin || is_place(begin, deleted))
		return 0;
	return verify_find(v, FOUND_DELETED_OTHERS,
			   (struct found_at){ .first = 0, .last = size - 1 });
}

/* ---- originals ---- */

/*
 * Originals: values that were cut out of records and kept
 *
 * They are stored outside of the chain, because they must be deletable; the chain has a commitment
 * to each. A missing row is not a fault; a row with another value would be an unsigned claim about
 * a signed record.
 */

struct look {
	const struct store_original *original;
	const char *problem; /* NULL: the record has this commitment */
};

static int fail_original(struct verification *v, uint64_t seq, const char *why)
{
	return verify_find(v, seq > MERKLE_SIZE_MAX ? FOUND_ORIGINAL_ANYWHERE : FOUND_ORIGINAL,
			   (struct found_at){
				   .first = seq, .last = seq, .number = seq, .why = why });
}

/* Finds the value of the first member whose name satisfies @is_it. */
static bool find_value(struct json_scanner *scanner,
		       bool (*is_it)(const struct json_item *name,
				     const struct store_original *original),
		       const struct store_original *original, struct json_item *ret)
{
	while (json_next(scanner, ret) > 0 && ret->kind == JSON_NAME) {
		bool is_found = is_it(ret, original);

		if (json_next(scanner, ret) <= 0)
			return false;
		if (is_found)
			return true;
		if (json_skip(scanner, ret) < 0)
			return false;
	}
	return false;
}

static bool is_commitment(const struct json_item *name, const struct store_original *original)
{
	return json_equals(name, "commitment");
}

/* Compares the name as spelt. */
static bool is_member(const struct json_item *name, const struct store_original *original)
{
	return name->n_bytes == original->member.n_bytes &&
	       memcmp(name->bytes, original->member.bytes, name->n_bytes) == 0;
}

static bool find_commitment(const struct store_row *row, const struct store_original *original,
			    struct json_item *ret)
{
	struct json_scanner scanner;

	json_scan(&scanner, row->body, row->n_body);
	return json_next(&scanner, ret) > 0 && ret->kind == JSON_OBJECT_BEGIN &&
	       find_value(&scanner, is_commitment, original, ret) &&
	       ret->kind == JSON_OBJECT_BEGIN && find_value(&scanner, is_member, original, ret) &&
	       ret->kind == JSON_STRING;
}

static int look_at_record(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct look *look = userdata;
	const struct store_original *original = look->original;
	const struct iovec parts[] = {
		{ (void *)original->salt, sizeof(original->salt) },
		{ (void *)original->value.bytes, original->value.n_bytes },
	};
	struct json_item commitment;
	char digits[AUDIT_HASH_DIGITS];
	struct audit_hash hash;
	int r;

	look->problem = "the record has no commitment to it";
	if (row->problem || !find_commitment(row, original, &commitment))
		return 0;
	r = audit_hash_digest(parts, N_ELEMENTS(parts), &hash);
	if (r < 0)
		return r;
	hex_print(hash.bytes, sizeof(hash.bytes), digits);
	if (commitment.n_bytes == sizeof(digits) &&
	    memcmp(commitment.bytes, digits, sizeof(digits)) == 0)
		look->problem = NULL;
	else
		look->problem = "the record has a commitment to another value";
	return 0;
}

static int see_original(void *userdata, const struct store_original *original,
			struct sbx_error *err)
{
	struct verification *v = userdata;
	struct look look = { original, "there is no such record in its segment" };
	int r;

	if (original->problem)
		return fail_original(v, original->seq, original->problem);
	r = store_each(v->part->segment->store, original->seq, original->seq, look_at_record, &look,
		       err);
	if (r == 0 && look.problem)
		return fail_original(v, original->seq, look.problem);
	return r;
}

int verify_originals(struct verification *v, uint64_t from, struct sbx_error *err)
{
	if (v->part->file->kind != SEGMENT_STORE)
		return 0;
	return store_each_original(v->part->segment->store, from, see_original, v, err);
}
