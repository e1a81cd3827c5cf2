/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit verify-proof, and the text of proofs
 *
 * The verifier of a proof has only the first public key and the text: the record gives the leaf,
 * the leaf and the path give a root, and a checkpoint with that root must be signed by the key, or
 * by a key that a checkpoint of the key names.
 */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/chain.h"
#include "audit/checkpoint.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/json.h"
#include "tool.h"

struct proof {
	uint64_t seq, size;
	struct audit_hash previous; /* chain hash of the previous record; zeros before the first */
	struct audit_hash path[MERKLE_PATH_MAX];
	size_t n_path;
	const char *record;	   /* as stored */
	const char *checkpoint;	   /* the note with the root to which the path leads */
	const char *const *epochs; /* the last checkpoints of the earlier epochs */
	size_t n_epochs;
};

#define PROOF_BYTES_MAX (8 << 20)

/* ---- writing ---- */

static void add_hash(struct json_writer *json, const struct audit_hash *hash)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	base64_add(&text, hash->bytes, sizeof(hash->bytes));
	json_add_string(json, text_string(&text));
}

static void add_path(struct json_writer *json, const struct audit_hash *path, size_t n)
{
	json_member_array(json, "path");
	for (size_t i = 0; i < n; i++)
		add_hash(json, &path[i]);
	json_end_array(json);
}

static void proof_add(struct text *out, const struct proof *proof)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_u64(&json, "seq", proof->seq);
	json_member_string(&json, "record", proof->record);
	json_add_name(&json, "previous");
	add_hash(&json, &proof->previous);
	json_member_u64(&json, "size", proof->size);
	add_path(&json, proof->path, proof->n_path);
	json_member_array(&json, "epochs");
	for (size_t i = 0; i < proof->n_epochs; i++)
		json_add_string(&json, proof->epochs[i]);
	json_end_array(&json);
	json_member_string(&json, "checkpoint", proof->checkpoint);
	json_end_line(&json);
}

static void consistency_add(struct text *out, uint64_t old_size, uint64_t new_size,
			    const struct audit_hash *old_root, const struct audit_hash *new_root,
			    const struct audit_hash *path, size_t n_path)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_u64(&json, "old_size", old_size);
	json_add_name(&json, "old_root");
	add_hash(&json, old_root);
	json_member_u64(&json, "new_size", new_size);
	json_add_name(&json, "new_root");
	add_hash(&json, new_root);
	add_path(&json, path, n_path);
	json_end_line(&json);
}

/* ---- reading an untrusted proof ---- */

struct reader {
	struct json_scanner scanner;
	struct proof proof;
	struct text record, checkpoint;
	struct text epochs; /* each followed by a NUL */
	unsigned seen;
};

static void reader_deinit(struct reader *reader)
{
	text_deinit(&reader->record);
	text_deinit(&reader->checkpoint);
	text_deinit(&reader->epochs);
}
#define _cleanup_reader_ _cleanup_(reader_deinit)

static int next(struct reader *reader, enum json_kind kind, struct json_item *ret)
{
	int r = json_next(&reader->scanner, ret);

	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	return ret->kind == kind ? 0 : -EBADMSG;
}

static int read_u64(struct reader *reader, uint64_t *ret)
{
	struct json_item item;
	int r = next(reader, JSON_NUMBER, &item);

	return r < 0 ? r : json_u64(&item, ret);
}

static int decode_hash(const struct json_item *item, struct audit_hash *ret)
{
	return item->escaped ? -EBADMSG
			     : base64_decode_exactly(item->bytes, item->n_bytes, ret->bytes,
						     sizeof(ret->bytes));
}

static int read_text(struct reader *reader, struct text *ret)
{
	struct json_item item;
	int r = next(reader, JSON_STRING, &item);

	return r < 0 ? r : json_decode(&item, ret);
}

static int read_path(struct reader *reader)
{
	struct json_item item;
	int r = next(reader, JSON_ARRAY_BEGIN, &item);

	while (r >= 0 && (r = json_next(&reader->scanner, &item)) > 0) {
		if (item.kind == JSON_ARRAY_END)
			return 0;
		if (item.kind != JSON_STRING || reader->proof.n_path == MERKLE_PATH_MAX)
			return -EBADMSG;
		r = decode_hash(&item, &reader->proof.path[reader->proof.n_path++]);
	}
	return r < 0 ? r : -EBADMSG;
}

static int read_epochs(struct reader *reader)
{
	struct json_item item;
	int r = next(reader, JSON_ARRAY_BEGIN, &item);

	while (r >= 0 && (r = json_next(&reader->scanner, &item)) > 0) {
		if (item.kind == JSON_ARRAY_END)
			return 0;
		if (item.kind != JSON_STRING)
			return -EBADMSG;
		r = json_decode(&item, &reader->epochs);
		text_add_char(&reader->epochs, '\0');
		reader->proof.n_epochs++;
	}
	return r < 0 ? r : -EBADMSG;
}

static int read_seq(struct reader *reader)
{
	return read_u64(reader, &reader->proof.seq);
}
static int read_size(struct reader *reader)
{
	return read_u64(reader, &reader->proof.size);
}
static int read_previous(struct reader *reader)
{
	struct json_item item;
	int r = next(reader, JSON_STRING, &item);

	return r < 0 ? r : decode_hash(&item, &reader->proof.previous);
}
static int read_record(struct reader *reader)
{
	return read_text(reader, &reader->record);
}
static int read_checkpoint(struct reader *reader)
{
	return read_text(reader, &reader->checkpoint);
}

static const struct {
	const char *name;
	int (*read)(struct reader *reader);
} members[] = {
	{ "seq", read_seq },
	{ "record", read_record },
	{ "previous", read_previous },
	{ "size", read_size },
	{ "path", read_path },
	{ "epochs", read_epochs },
	{ "checkpoint", read_checkpoint },
};

static int read_member(struct reader *reader, const struct json_item *name)
{
	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		if (!json_equals(name, members[i].name))
			continue;
		if (reader->seen & (1u << i))
			return -EBADMSG;
		reader->seen |= 1u << i;
		return members[i].read(reader);
	}
	return -EBADMSG;
}

/* Requires exactly these members, each once. */
static int read_proof(struct reader *reader, const char *bytes, size_t n_bytes)
{
	struct json_item item;
	int r;

	json_scan(&reader->scanner, bytes, n_bytes);
	r = next(reader, JSON_OBJECT_BEGIN, &item);
	while (r >= 0 && (r = json_next(&reader->scanner, &item)) > 0 &&
	       item.kind != JSON_OBJECT_END)
		r = read_member(reader, &item);
	if (r <= 0 || reader->seen != (1u << N_ELEMENTS(members)) - 1)
		return r < 0 ? r : -EBADMSG;
	if (text_status(&reader->record) < 0 || text_status(&reader->epochs) < 0 ||
	    text_status(&reader->checkpoint) < 0)
		return -ENOMEM;
	return json_next(&reader->scanner, &item) == 0 ? 0 : -EBADMSG;
}

/* ---- checking ---- */

static int follow_trail(const struct reader *reader, struct audit_trail *trail,
			struct sbx_error *err)
{
	const char *epoch = text_string(&reader->epochs);
	int r = 0;

	for (size_t i = 0; r == 0 && i < reader->proof.n_epochs; i++) {
		r = trail_follow(trail, epoch, strlen(epoch), err);
		if (r == 0 && !trail->last.is_last_of_epoch) {
			r = sbx_error_what(err, -EBADMSG, "the proof is not valid");
			sbx_error_why(err, "a checkpoint in 'epochs' does not end an epoch");
		}
		epoch += strlen(epoch) + 1;
	}
	return r < 0 ? r
		     : trail_follow(trail, text_string(&reader->checkpoint), reader->checkpoint.len,
				    err);
}

static int check(const struct reader *reader, const struct note_verifier *verifier,
		 struct sbx_error *err)
{
	const struct proof *proof = &reader->proof;
	struct audit_trail trail;
	struct audit_hash leaf;
	int r;

	trail_begin(&trail, verifier, 0);
	r = follow_trail(reader, &trail, err);
	if (r < 0)
		return r;
	if (trail.last.size != proof->size)
		return error_fill(err, -EBADMSG, "its checkpoint covers another number of records",
				  NULL, "the proof is not valid");
	r = chain_next(proof->seq, &proof->previous, text_string(&reader->record),
		       (uint32_t)reader->record.len, &leaf);
	if (r >= 0)
		r = merkle_verify_inclusion(proof->seq, proof->size, &leaf, proof->path,
					    proof->n_path, &trail.last.root);
	return r < 0 ? error_fill(err, r, "the record, its number or a hash was changed", NULL,
				  "the record does not lead to the signed root")
		     : 0;
}

int audit_verb_verify_proof(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_reader_ struct reader reader = { .seen = 0 };
	_cleanup_free_ char *bytes = NULL;
	struct note_verifier verifier;
	const char *path;
	size_t n_bytes = 0;
	int r;

	if (!values->key) {
		(void)error_fill(err, -EINVAL,
				 "a proof can only be checked with the first public key of the log",
				 "pass the output of 'sbx-audit setup' with --key",
				 "no key is given");
		return TOOL_USAGE;
	}
	if (note_verifier_parse(values->key, strlen(values->key), &verifier, err) < 0)
		return TOOL_USAGE;
	path = n_operands == 0 || strcmp(operands[0], "-") == 0 ? "/dev/stdin" : operands[0];
	r = file_read(AT_FDCWD, path, PROOF_BYTES_MAX, &bytes, &n_bytes, err);
	if (r < 0)
		return r == -ENOMEM ? r : TOOL_UNREADABLE;
	r = read_proof(&reader, bytes, n_bytes);
	if (r < 0) {
		(void)sbx_error_what(err, r, "this is not a proof");
		if (r != -ENOMEM)
			sbx_error_why(err, "it does not have the members that a proof has");
		sbx_error_fix(err, "pass the output of 'sbx-audit prove'");
		return r == -ENOMEM ? r : TOOL_UNREADABLE;
	}
	r = check(&reader, &verifier, err);
	if (r < 0 && r != -EIO)
		sbx_error_fix(err, "get the proof again with 'sbx-audit prove', and pass the key "
				   "that 'sbx-audit setup' printed for its log with --key");
	if (r < 0)
		return r == -EIO ? r : TOOL_NO;
	if (run->verbosity < 0)
		return TOOL_YES;
	if (run->json) {
		struct json_writer json;

		json_begin_object(&json, &run->out);
		json_member_u64(&json, "seq", reader.proof.seq);
		json_member_u64(&json, "size", reader.proof.size);
		json_end_line(&json);
	} else {
		text_addf(&run->out, "record %" PRIu64 " is in the log of size %" PRIu64 "\n",
			  reader.proof.seq, reader.proof.size);
	}
	return TOOL_YES;
}

/* ---- prove ---- */

/*
 * sbx-audit prove, verify-proof, consistency: proves that a record is in the log, and that the log
 * only grew, to a verifier who has only the first public key
 *
 * A proof is a JSON object: the record as stored, the input of its chain hash, the path to the
 * root, and the checkpoint with that root. If the checkpoint's key is not the first one, the last
 * checkpoints of the earlier epochs are included: each names the next key.
 */

/* ---- the leaves of the tree ---- */

struct leaves {
	struct segment_about begin; /* earlier records were deleted; their tree is known */
	struct audit_hash *hashes;
	size_t n;
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
	if (ARRAY_ADD(leaves->hashes, leaves->n, &row->hash) < 0)
		return sbx_error_what(err, -ENOMEM, "not enough memory for the hashes of the log");
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

static int read_hashed(void *userdata, uint64_t index, struct audit_hash *ret)
{
	int r = read_leaf(userdata, index, ret);

	return r < 0 ? r : merkle_leaf(ret, ret);
}

static int fail_deleted(const struct leaves *leaves, struct sbx_error *err)
{
	return error_fill(err, -ERANGE,
			  "they exceeded the retention time or the size limit of the policy",
			  "restore the archives with them from a copy",
			  "the records before %" PRIu64 " were deleted", leaves->begin.first);
}

/* ---- checkpoints ---- */

/* The notes that lead to the wanted one. */
struct notes {
	struct arena arena;
	const char **epochs; /* texts in the arena */
	size_t n_epochs;
	const char *last;
	uint64_t least_size; /* size of the first wanted checkpoint, at least */
	uint64_t size;
};

static void notes_free(struct notes *notes)
{
	arena_deinit(&notes->arena);
}
#define _cleanup_notes_ _cleanup_(notes_free)

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

	/* Only the last checkpoint of an epoch has "next". The note is not verified here. */
	if (notes->last || (!is_wanted && !memmem(note, n_bytes, "\nnext ", 6)))
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
	return error_fill(err, -ERANGE, "the log has fewer records",
			  "see how many there are: sbx-audit stats",
			  "no checkpoint has %" PRIu64 " records", least_size);
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
	return error_fill(err, -EINVAL, "it is not a whole number, or too large",
			  "the first record is 0; 'sbx-audit tail' shows the last ones",
			  "'%.40s' is not the number of a record", text);
}

static int open_all(struct tool_run *run, struct rows *rows, struct leaves *leaves,
		    struct sbx_error *err)
{
	int r = rows_open_to_show(run, NULL, rows, err);

	if (r < 0)
		return r;
	r = rows_read_begin(rows, &leaves->begin, err);
	return r < 0 ? r : rows_each(rows, 0, add_leaf, leaves, err);
}

static struct merkle_leaves tree_of(struct leaves *leaves)
{
	return (struct merkle_leaves){ &leaves->begin.frontier, read_hashed, leaves };
}

static int prove(struct tool_run *run, uint64_t seq, struct sbx_error *err)
{
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_leaves_ struct leaves leaves = { .n = 0 };
	_cleanup_notes_ struct notes notes = { .arena = ARENA_INIT };
	_cleanup_text_ struct text body = TEXT_INIT;
	struct wanted wanted = { .seq = seq, .body = TEXT_INIT };
	struct proof proof = { .seq = seq };
	struct merkle_leaves tree;
	int r = open_all(run, &rows, &leaves, err);

	if (r < 0)
		return r;
	if (seq < leaves.begin.first)
		return fail_deleted(&leaves, err);
	r = find_note(&rows, seq + 1, &notes, err);
	if (r < 0)
		return r;
	r = rows_each(&rows, seq, copy_record, &wanted, err);
	body = wanted.body;
	if (r < 0)
		return r;
	tree = tree_of(&leaves);
	/* The chain hash of the previous record. */
	proof.previous = leaves.begin.previous;
	r = seq == leaves.begin.first ? 0 : read_leaf(&leaves, seq - 1, &proof.previous);
	if (r == 0)
		r = merkle_prove_inclusion_behind(seq, notes.size, &tree, proof.path);
	if (r < 0)
		return sbx_error_what(err, r, "cannot prove record %" PRIu64, seq);
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

	if (r < 0)
		return places_status_of(r);
	r = prove(run, seq, err);
	return r < 0 ? places_status_of(r) : TOOL_YES;
}

/* ---- consistency ---- */

static int read_sizes(char *operands[], uint64_t *ret_old, uint64_t *ret_new, struct sbx_error *err)
{
	int r = audit_read_number(operands[0], ret_old, err);

	return r < 0 ? r : audit_read_number(operands[1], ret_new, err);
}

int audit_verb_consistency(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_leaves_ struct leaves leaves = { .n = 0 };
	struct audit_hash path[MERKLE_PATH_MAX], old_root, new_root;
	uint64_t old_size, new_size, end;
	struct merkle_leaves tree;
	int r = read_sizes(operands, &old_size, &new_size, err);

	if (r < 0)
		return places_status_of(r);
	r = open_all(run, &rows, &leaves, err);
	if (r < 0)
		return places_status_of(r);
	end = leaves.begin.first + leaves.n;
	tree = tree_of(&leaves);
	if (old_size == 0 || old_size > new_size || new_size > end) {
		(void)sbx_error_what(err, -EINVAL, "cannot compare the log at these two sizes");
		sbx_error_why(err, "the log has %" PRIu64 " records, and it only grows", end);
		sbx_error_fix(err, "give two sizes from 1 to %" PRIu64 ", the smaller one first",
			      end);
		return TOOL_USAGE;
	}
	if (old_size < leaves.begin.first)
		return places_status_of(fail_deleted(&leaves, err));
	r = merkle_prove_consistency_behind(old_size, new_size, &tree, path);
	if (r >= 0 && (merkle_root_behind(old_size, &tree, &old_root) < 0 ||
		       merkle_root_behind(new_size, &tree, &new_root) < 0))
		r = -EIO;
	if (r < 0)
		return sbx_error_what(err, r, "cannot prove that the log only grew");
	consistency_add(&run->out, old_size, new_size, &old_root, &new_root, path, (size_t)r);
	return TOOL_YES;
}
