/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit prove, verify-proof, consistency: that a record is in the log, and that the log only
 * grew, for somebody who has nothing but the first public key
 *
 * A proof is one JSON object: the record as it is stored, what its chain hash is made from, the
 * path to the root, and the checkpoint with that root. Where the checkpoint's key is not the first
 * one the last checkpoints of the epochs before it are there too: each names the next key.
 */

#include "audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "audit/chain.h"
#include "audit/checkpoint.h"
#include "audit/merkle.h"
#include "audit/trail.h"
#include "base/arena.h"
#include "tool.h"

/* ---- the leaves of the tree ---- */

struct leaves {
	struct segment_about begin; /* before them records were deleted, and their tree is known */
	struct audit_hash *hashes;
	uint64_t n, n_max;
};

static void leaves_free(struct leaves *leaves)
{
	free(leaves->hashes);
}
#define _cleanup_leaves_ _cleanup_(leaves_free)

static int add_leaf(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct leaves *leaves = userdata;
	uint64_t next = leaves->begin.first + leaves->n;

	if (row->problem)
		return rows_refuse(row, err);
	if (row->seq != next) {
		(void)sbx_error_what(err, -EBADMSG, "record %" PRIu64 " is missing", next);
		sbx_error_why(err, "the one after it is %" PRIu64, row->seq);
		sbx_error_fix(err, "check the log: sbx-audit verify --full");
		return -EBADMSG;
	}
	if (leaves->n == leaves->n_max) {
		uint64_t n_max = leaves->n_max ? 2 * leaves->n_max : 4096;
		struct audit_hash *grown =
			reallocarray(leaves->hashes, n_max, sizeof(*leaves->hashes));

		if (!grown)
			return sbx_error_what(err, -ENOMEM,
					      "not enough memory for the hashes of the log");
		leaves->hashes = grown;
		leaves->n_max = n_max;
	}
	leaves->hashes[leaves->n++] = row->hash;
	return 0;
}

static int read_leaf(void *userdata, uint64_t index, struct audit_hash *ret)
{
	const struct leaves *leaves = userdata;

	if (index < leaves->begin.first)
		return -ENODATA;
	if (index - leaves->begin.first >= leaves->n)
		return -ERANGE;
	*ret = leaves->hashes[index - leaves->begin.first];
	return 0;
}

static int fail_deleted(const struct leaves *leaves, struct sbx_error *err)
{
	(void)sbx_error_what(err, -ERANGE, "the records before %llu were deleted",
			     (unsigned long long)leaves->begin.first);
	sbx_error_why(err, "they were kept for as long, or as much, as the policy says");
	sbx_error_fix(err, "restore the archives with them from a copy");
	return -ERANGE;
}

/* ---- checkpoints ---- */

/* The notes that lead to the one which is wanted; all are texts. */
struct notes {
	struct arena arena;
	const char **epochs; /* in the arena, as all of it */
	size_t n_epochs;
	const char *last;
	uint64_t least_size; /* the first one that is at least so large */
	uint64_t size;
};

static void notes_free(struct notes *notes)
{
	arena_deinit(&notes->arena);
}
#define _cleanup_notes_ _cleanup_(notes_free)

/* "next" stands in the last checkpoint of an epoch only. Nothing is believed here. */
static bool ends_epoch(const char *note, size_t n_bytes)
{
	return memmem(note, n_bytes, "\nnext ", 6) != NULL;
}

static int keep_epoch(struct notes *notes, const char *note)
{
	size_t n = notes->n_epochs + 1;
	const char **epochs = arena_alloc(&notes->arena, n * sizeof(*epochs));

	if (!epochs)
		return -ENOMEM;
	for (size_t i = 0; i < notes->n_epochs; i++)
		epochs[i] = notes->epochs[i];
	epochs[n - 1] = note;
	notes->epochs = epochs;
	notes->n_epochs = n;
	return 0;
}

static int pick_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct notes *notes = userdata;
	bool is_wanted = size >= notes->least_size;
	const char *copy;
	int r = 0;

	if (notes->last || (!is_wanted && !ends_epoch(note, n_bytes)))
		return 0;
	copy = arena_copy(&notes->arena, note, n_bytes);
	if (!copy)
		r = -ENOMEM;
	else if (is_wanted) {
		notes->last = copy;
		notes->size = size;
	} else {
		r = keep_epoch(notes, copy);
	}
	return r < 0 ? sbx_error_what(err, r, "not enough memory for the checkpoints") : 0;
}

static int find_note(const struct rows *rows, uint64_t least_size, struct notes *ret,
		     struct sbx_error *err)
{
	int r;

	ret->least_size = least_size;
	r = rows_each_checkpoint(rows, pick_note, ret, err);
	if (r < 0 || ret->last)
		return r;
	(void)sbx_error_what(err, -ERANGE, "no checkpoint has %llu records",
			     (unsigned long long)least_size);
	sbx_error_why(err, "the log has not so many");
	sbx_error_fix(err, "see how many there are: sbx-audit stats");
	return -ERANGE;
}

/* ---- prove ---- */

struct wanted {
	uint64_t seq;
	struct proof *proof;
	struct text body;
	bool is_found;
};

static int copy_record(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct wanted *wanted = userdata;

	if (row->problem)
		return rows_refuse(row, err);
	if (row->seq == wanted->seq) {
		text_add_bytes(&wanted->body, row->body, row->n_body);
		wanted->is_found = true;
	}
	return text_status(&wanted->body) < 0 ? -ENOMEM : wanted->is_found;
}

int audit_read_number(const char *text, uint64_t *ret, struct sbx_error *err)
{
	char *end = NULL;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *ret < INT64_MAX)
		return 0;
	(void)sbx_error_what(err, -EINVAL, "'%.40s' is not the number of a record", text);
	sbx_error_why(err, "it is not a whole number, or too large");
	sbx_error_fix(err, "the first record is 0; 'sbx-audit tail' shows the last ones");
	return -EINVAL;
}

static int open_all(struct tool_run *run, struct rows *rows, struct leaves *leaves,
		    struct sbx_error *err)
{
	int r = rows_open_to_show(run, NULL, rows, err);

	if (r == 0)
		r = rows_read_begin(rows, &leaves->begin, err);
	return r < 0 ? r : rows_each(rows, 0, add_leaf, leaves, err);
}

static struct merkle_leaves tree_of(struct leaves *leaves)
{
	return (struct merkle_leaves){ &leaves->begin.frontier, read_leaf, leaves };
}

/* The chain hash of the record before it. */
static int read_previous(struct leaves *leaves, uint64_t seq, struct audit_hash *ret)
{
	if (seq == leaves->begin.first) {
		*ret = leaves->begin.previous;
		return 0;
	}
	return read_leaf(leaves, seq - 1, ret);
}

static int prove(struct tool_run *run, uint64_t seq, struct sbx_error *err)
{
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_leaves_ struct leaves leaves = { .n = 0 };
	_cleanup_notes_ struct notes notes = { .arena = ARENA_INIT };
	_cleanup_hasher_ struct hasher *hasher = NULL;
	_cleanup_text_ struct text body = TEXT_INIT;
	struct wanted wanted = { .seq = seq, .body = TEXT_INIT };
	struct proof proof = { .seq = seq };
	struct merkle_leaves tree;
	int r = open_all(run, &rows, &leaves, err);

	if (r == 0 && seq < leaves.begin.first)
		r = fail_deleted(&leaves, err);
	if (r == 0)
		r = find_note(&rows, seq + 1, &notes, err);
	if (r == 0)
		r = hasher_new(&hasher);
	if (r < 0)
		return r;
	r = rows_each(&rows, seq, copy_record, &wanted, err);
	body = wanted.body;
	if (r < 0)
		return r;
	tree = tree_of(&leaves);
	r = read_previous(&leaves, seq, &proof.previous);
	if (r == 0)
		r = merkle_prove_inclusion_behind(hasher, seq, notes.size, &tree, proof.path);
	if (r < 0)
		return sbx_error_what(err, r, "cannot prove record %llu", (unsigned long long)seq);
	proof.n_path = (size_t)r;
	proof.size = notes.size;
	proof.record = text_string(&body);
	proof.checkpoint = notes.last;
	proof.epochs = notes.epochs;
	proof.n_epochs = notes.n_epochs;
	proof_add(&run->out, &proof);
	return 0;
}

int audit_verb_prove(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	uint64_t seq;
	int r = audit_read_number(operands[0], &seq, err);

	if (r == 0)
		r = prove(run, seq, err);
	return r < 0 ? places_status_of(r) : TOOL_YES;
}

/* ---- consistency ---- */

int audit_verb_consistency(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_leaves_ struct leaves leaves = { .n = 0 };
	_cleanup_hasher_ struct hasher *hasher = NULL;
	struct audit_hash path[MERKLE_PATH_MAX], old_root, new_root;
	uint64_t old_size, new_size, end;
	struct merkle_leaves tree;
	int r = audit_read_number(operands[0], &old_size, err);

	if (r == 0)
		r = audit_read_number(operands[1], &new_size, err);
	if (r == 0)
		r = open_all(run, &rows, &leaves, err);
	if (r == 0)
		r = hasher_new(&hasher);
	if (r < 0)
		return places_status_of(r);
	end = leaves.begin.first + leaves.n;
	tree = tree_of(&leaves);
	if (old_size == 0 || old_size > new_size || new_size > end) {
		(void)sbx_error_what(err, -EINVAL, "cannot compare the log at these two sizes");
		sbx_error_why(err, "the log has %llu records, and it only grows",
			      (unsigned long long)end);
		sbx_error_fix(err, "give two sizes from 1 to %llu, the smaller one first",
			      (unsigned long long)end);
		return TOOL_USAGE;
	}
	if (old_size < leaves.begin.first)
		return places_status_of(fail_deleted(&leaves, err));
	r = merkle_prove_consistency_behind(hasher, old_size, new_size, &tree, path);
	if (r >= 0 && (merkle_root_behind(hasher, old_size, &tree, &old_root) < 0 ||
		       merkle_root_behind(hasher, new_size, &tree, &new_root) < 0))
		r = -EIO;
	if (r < 0)
		return sbx_error_what(err, r, "cannot prove that the log only grew");
	consistency_add(&run->out, old_size, new_size, &old_root, &new_root, path, (size_t)r);
	return TOOL_YES;
}
