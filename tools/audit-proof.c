/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit verify-proof, and the text of proofs
 *
 * Whoever checks a proof has the first public key and the text, and trusts nothing else: the record
 * gives the leaf, the leaf and the path give a root, and a checkpoint that the key has signed, or
 * that a key it names has signed, must have that root.
 */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "audit/chain.h"
#include "audit/trail.h"
#include "base/file.h"
#include "base/json.h"
#include "tool.h"

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
	json_add_name(json, "path");
	json_add_array(json);
	for (size_t i = 0; i < n; i++)
		add_hash(json, &path[i]);
	json_end_array(json);
}

void proof_add(struct text *out, const struct proof *proof)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	json_member_u64(&json, "seq", proof->seq);
	json_member_string(&json, "record", proof->record);
	json_add_name(&json, "previous");
	add_hash(&json, &proof->previous);
	json_member_u64(&json, "size", proof->size);
	add_path(&json, proof->path, proof->n_path);
	json_add_name(&json, "epochs");
	json_add_array(&json);
	for (size_t i = 0; i < proof->n_epochs; i++)
		json_add_string(&json, proof->epochs[i]);
	json_end_array(&json);
	json_member_string(&json, "checkpoint", proof->checkpoint);
	json_end_object(&json);
	text_add_char(out, '\n');
}

void consistency_add(struct text *out, uint64_t old_size, uint64_t new_size,
		     const struct audit_hash *old_root, const struct audit_hash *new_root,
		     const struct audit_hash *path, size_t n_path)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	json_member_u64(&json, "old_size", old_size);
	json_add_name(&json, "old_root");
	add_hash(&json, old_root);
	json_member_u64(&json, "new_size", new_size);
	json_add_name(&json, "new_root");
	add_hash(&json, new_root);
	add_path(&json, path, n_path);
	json_end_object(&json);
	text_add_char(out, '\n');
}

/* ---- reading what somebody sent ---- */

struct reader {
	struct json_scanner scanner;
	struct proof proof;
	struct text record, checkpoint;
	struct text epochs; /* each with its NUL */
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

static int read_hash(struct reader *reader, struct audit_hash *ret)
{
	struct json_item item;
	int r = next(reader, JSON_STRING, &item);

	return r < 0 ? r : decode_hash(&item, ret);
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
	return read_hash(reader, &reader->proof.previous);
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

/* Exactly these members, each once. */
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

static int follow_trail(const struct reader *reader, struct hasher *hasher,
			struct audit_trail *trail, struct sbx_error *err)
{
	const char *epoch = text_string(&reader->epochs);
	int r = 0;

	for (size_t i = 0; r == 0 && i < reader->proof.n_epochs; i++) {
		r = trail_follow(trail, hasher, epoch, strlen(epoch), err);
		if (r == 0 && !trail->last.is_last_of_epoch) {
			r = sbx_error_what(err, -EBADMSG, "the proof does not hold");
			sbx_error_why(err, "a checkpoint in 'epochs' does not end an epoch");
		}
		epoch += strlen(epoch) + 1;
	}
	return r < 0 ? r
		     : trail_follow(trail, hasher, text_string(&reader->checkpoint),
				    reader->checkpoint.len, err);
}

static int check(const struct reader *reader, struct hasher *hasher,
		 const struct note_verifier *verifier, struct sbx_error *err)
{
	const struct proof *proof = &reader->proof;
	struct audit_trail trail;
	struct audit_hash leaf;
	int r;

	trail_begin(&trail, verifier, 0);
	r = follow_trail(reader, hasher, &trail, err);
	if (r < 0)
		return r;
	if (trail.last.size != proof->size) {
		r = sbx_error_what(err, -EBADMSG, "the proof does not hold");
		sbx_error_why(err, "its checkpoint covers another number of records");
		return r;
	}
	r = chain_next(hasher, proof->seq, &proof->previous, text_string(&reader->record),
		       (uint32_t)reader->record.len, &leaf);
	if (r == 0)
		r = merkle_verify_inclusion(hasher, proof->seq, proof->size, &leaf, proof->path,
					    proof->n_path, &trail.last.root);
	return r < 0 ? sbx_error_what(err, r, "the record does not lead to the signed root") : 0;
}

static int read_input(const char *path, char **ret, size_t *ret_n, struct sbx_error *err)
{
	if (strcmp(path, "-") == 0)
		path = "/dev/stdin";
	return file_read(AT_FDCWD, path, PROOF_BYTES_MAX, ret, ret_n, err);
}

static int no_key(struct sbx_error *err)
{
	(void)sbx_error_what(err, -EINVAL, "no key is given");
	sbx_error_why(err, "a proof says nothing without the first public key of the log");
	sbx_error_fix(err, "give --key with what 'sbx-audit setup' has printed");
	return TOOL_USAGE;
}

int audit_verb_verify_proof(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_reader_ struct reader reader = { .seen = 0 };
	_cleanup_hasher_ struct hasher *hasher = NULL;
	_cleanup_free_ char *bytes = NULL;
	struct note_verifier verifier;
	size_t n_bytes = 0;
	int r = values->key ? hasher_new(&hasher) : 0;

	if (!values->key)
		return no_key(err);
	if (r == 0 &&
	    note_verifier_parse(hasher, values->key, strlen(values->key), &verifier, err) < 0)
		return TOOL_USAGE;
	if (r < 0)
		return r;
	r = read_input(n_operands > 0 ? operands[0] : "-", &bytes, &n_bytes, err);
	if (r < 0)
		return r == -ENOMEM ? r : TOOL_UNREADABLE;
	r = read_proof(&reader, bytes, n_bytes);
	if (r < 0) {
		(void)sbx_error_what(err, r, "this is no proof");
		sbx_error_fix(err, "give what 'sbx-audit prove' has printed");
		return r == -ENOMEM ? r : TOOL_UNREADABLE;
	}
	r = check(&reader, hasher, &verifier, err);
	if (r < 0)
		return r == -EIO ? r : TOOL_NO;
	if (run->verbosity >= 0)
		text_addf(&run->out, "record %llu is in the log of size %llu\n",
			  (unsigned long long)reader.proof.seq,
			  (unsigned long long)reader.proof.size);
	return TOOL_YES;
}
