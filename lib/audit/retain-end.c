/* SPDX-License-Identifier: MIT */

/*
 * A closed segment, read to its end before anything is deleted: what is in it must be what was
 * signed, and must lead to what comes behind
 */

#include "audit/retain-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "audit/stub.h"

int retain_fail(struct sbx_error *err, int code, const char *doing, const char *name,
		const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot %s the segment '%s'", doing, name);
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

struct walk {
	struct hasher *hasher;
	const char *name;
	struct segment_about about;
	struct segment_end end;
	struct audit_checkpoint last;
};

static int fail_walk(struct walk *walk, const char *why, struct sbx_error *err)
{
	return retain_fail(
		err, -EBADMSG, "close", walk->name, why,
		"find the fault, and keep the directory as it is: sbx-audit verify --full");
}

static int walk_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct walk *walk = userdata;
	struct segment_end *end = &walk->end;
	int r;

	if (row->problem)
		return fail_walk(walk, row->problem, err);
	if (row->seq != end->frontier.size)
		return fail_walk(walk, "a record is missing in it", err);
	r = chain_next(walk->hasher, row->seq, &end->head, row->body, row->n_body, &end->head);
	if (r == 0)
		r = merkle_add(walk->hasher, &end->frontier, &end->head);
	if (r < 0)
		return fail_walk(walk, "libcrypto cannot hash", err);
	if (!audit_hash_equal(&end->head, &row->hash))
		return fail_walk(walk, "a record is not what was written there", err);
	end->has_stub |= stub_is(row->body, row->n_body);
	return 0;
}

static int walk_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct walk *walk = userdata;
	const char *end = memmem(note, n_bytes, "\n\n", 2);
	const struct iovec parts[] = {
		{ walk->end.notes.bytes, sizeof(walk->end.notes.bytes) },
		{ (void *)note, n_bytes },
	};

	if (!end || checkpoint_parse(note, (size_t)(end - note) + 1, &walk->last, NULL) < 0 ||
	    walk->last.size != size)
		return fail_walk(walk, "a checkpoint in it is none", err);
	if (hasher_digest(walk->hasher, parts, N_ELEMENTS(parts), &walk->end.notes) < 0)
		return fail_walk(walk, "libcrypto cannot hash", err);
	return 0;
}

static int check_signed(struct walk *walk, struct sbx_error *err)
{
	struct audit_hash root;

	if (walk->end.frontier.size != walk->about.size || walk->last.size != walk->about.size ||
	    merkle_root(walk->hasher, &walk->end.frontier, &root) < 0 ||
	    !audit_hash_equal(&root, &walk->last.root) ||
	    !audit_hash_equal(&walk->end.head, &walk->last.head))
		return fail_walk(walk, "its last checkpoint is not that of its records", err);
	return 0;
}

int retain_read_end(struct segment *segment, const char *name, struct segment_end *ret,
		    struct sbx_error *err)
{
	_cleanup_hasher_ struct hasher *hasher = NULL;
	struct walk walk = { .name = name };
	int r = hasher_new(&hasher);

	if (r < 0)
		return retain_fail(err, r, "close", name, NULL, "free some memory");
	walk.hasher = hasher;
	r = segment_read_about(segment, &walk.about, err);
	if (r < 0)
		return r;
	walk.end.head = walk.about.previous;
	walk.end.frontier = walk.about.frontier;
	if (walk.about.first != walk.about.frontier.size)
		return fail_walk(&walk, "it was begun with the tree of another one", err);
	r = segment_each(segment, 0, UINT64_MAX, walk_row, &walk, err);
	if (r == 0)
		r = segment_each_checkpoint(segment, 0, walk_note, &walk, err);
	if (r == 0)
		r = check_signed(&walk, err);
	if (r == 0)
		*ret = walk.end;
	return r;
}

static bool is_frontier(const struct merkle_frontier *a, const struct merkle_frontier *b)
{
	uint8_t bytes_a[FRONTIER_BYTES_MAX], bytes_b[FRONTIER_BYTES_MAX];
	size_t n = log_save_frontier(a, bytes_a);

	return log_save_frontier(b, bytes_b) == n && memcmp(bytes_a, bytes_b, n) == 0;
}

int retain_check_joint(int folder, const struct segment_file *behind, const char *name,
		       const struct segment_end *end, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	struct segment_about about = { .size = 0 };
	/* The one behind may be the one that is written to. */
	int r = segment_open_patiently(folder, behind, &segment, err);

	if (r == 0)
		r = segment_read_about(segment, &about, err);
	if (r < 0)
		return r;
	if (about.first == end->frontier.size && audit_hash_equal(&about.previous, &end->head) &&
	    is_frontier(&about.frontier, &end->frontier))
		return 0;
	return retain_fail(
		err, -EBADMSG, "close", name,
		"the segment after it does not continue where it ends",
		"find the fault, and keep the directory as it is: sbx-audit verify --full");
}
