/* SPDX-License-Identifier: MIT */

/*
 * Signing checkpoints, and the keys for it
 *
 * A checkpoint, the tree that it signs, the key that signed it and its records are committed in one
 * transaction: a process that opens the log finds all of it or nothing.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "audit/log-internal.h"
#include "base/error.h"
#include "base/json.h"

#define SIGNER_SIZE (8 + SIGNATURE_KEY_SIZE)

static int fail_key(const char *log_id, const char *why, struct sbx_error *err)
{
	return log_fail(err, -EBADMSG, log_id, why,
			"restore the directory, its key and its segments together");
}

static int make_verifier(const char *log_id, const uint8_t public_key[SIGNATURE_KEY_SIZE],
			 struct note_verifier *ret, struct sbx_error *err)
{
	char origin[NOTE_NAME_SIZE];
	int r;

	(void)snprintf(origin, sizeof(origin), CHECKPOINT_ORIGIN_PREFIX "%s", log_id);
	r = note_verifier_make(origin, public_key, ret);
	return r < 0 ? fail_key(log_id, "its segment does not name its log", err) : 0;
}

/* ---- the last checkpoint ---- */

struct row {
	uint64_t size;
	struct text *note;
};

static int copy_row(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		    struct sbx_error *err)
{
	struct row *row = userdata;

	row->size = size;
	text_add_bytes(row->note, note, n_bytes);
	return text_status(row->note) < 0 ? sbx_error_what(err, -ENOMEM, "cannot read a checkpoint")
					  : 0;
}

/* Reads the key that signed the last checkpoint from the segment's meta table: 1, or 0 if it is
 * missing or malformed. */
static int read_signer(struct store *store, const char *log_id, struct note_verifier *ret,
		       struct sbx_error *err)
{
	uint8_t signer[SIGNER_SIZE];
	struct sbx_error why = { .code = 0 };
	int n = store_get_meta(store, META_SIGNER, signer, sizeof(signer), &why);
	bool is_said = n >= 0 || n == -ENOENT || n == -EBADMSG;

	if (!is_said && err)
		*err = why;
	if (!is_said)
		return n;
	return n == SIGNER_SIZE && make_verifier(log_id, signer + 8, ret, NULL) == 0;
}

struct last {
	uint64_t row_size; /* that of the checkpoint, unless the row was changed */
	struct audit_checkpoint checkpoint;
	bool is_of_key; /* the current key signed it */
};

/* 1, or 0 if there is no checkpoint, or this key signed none: then the log is broken. */
static int read_last(struct audit_log *log, struct last *ret, struct sbx_error *err)
{
	_cleanup_text_ struct text note = TEXT_INIT;
	struct row row = { .note = &note };
	struct note_verifier signer;
	int r = store_last_checkpoint(log->store, copy_row, &row, err);

	if (r <= 0)
		return r;
	ret->row_size = row.size;
	/* Common case: the checkpoint is of the present epoch. */
	ret->is_of_key =
		checkpoint_open(note.data, note.len, &log->verifier, &ret->checkpoint, NULL) == 0;
	if (ret->is_of_key)
		return 1;
	r = read_signer(log->store, log->log_id, &signer, err);
	if (r < 0)
		return r;
	if (r > 0 && checkpoint_open(note.data, note.len, &signer, &ret->checkpoint, NULL) == 0)
		return 1;
	log_break(log, 0);
	return 0;
}

/* ---- keys ---- */

static int reload(struct audit_log *log, struct sbx_error *err)
{
	int r = key_load(log->directory, log->credentials, &log->key, err);

	return r < 0 ? r : make_verifier(log->log_id, log->key.public_key, &log->verifier, err);
}

/*
 * The last checkpoint has ended the epoch of the present key: no verifier accepts what it signs
 * from now on. If the key that the checkpoint names cannot be put in place, nothing is signed until
 * it can. An attempt may have failed after the key was in place: then there is no next one.
 */
static int take_next_key(struct audit_log *log, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r_advance = key_advance(log->directory, &why), r = 0;

	if (r_advance == 0 || r_advance == -ENOENT)
		r = reload(log, err);
	if (r < 0)
		return r;
	if (r_advance < 0 && log->key.epoch < log->epoch_due) {
		if (err)
			*err = why;
		return r_advance;
	}
	log->epoch_due = 0;
	return 0;
}

/* The key must be the one that signed the last checkpoint, or the one that it names: no verifier
 * accepts signatures of any other. */
static int check_key(struct audit_log *log, const struct last *found, struct sbx_error *err)
{
	const struct audit_checkpoint *last = &found->checkpoint;

	if (last->epoch == log->key.epoch && !found->is_of_key)
		return fail_key(log->log_id, "its key is not the key of its last checkpoint", err);
	/* A change of keys was interrupted: complete it. */
	if (last->is_last_of_epoch && last->epoch == log->key.epoch) {
		int r;

		log->epoch_due = last->epoch + 1;
		r = take_next_key(log, err);
		if (r < 0)
			return r;
	}
	if (log->key.epoch != last->epoch + last->is_last_of_epoch)
		return fail_key(log->log_id,
				"its key and its last checkpoint have different epochs", err);
	if (last->is_last_of_epoch &&
	    memcmp(last->next_key, log->key.public_key, sizeof(last->next_key)) != 0)
		return fail_key(log->log_id,
				"its key is not the key that its last checkpoint names", err);
	return 0;
}

struct first_record {
	struct chain_genesis genesis;
	bool is_read;
};

static int read_genesis(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct first_record *first = userdata;

	first->is_read =
		!row->problem && chain_parse_genesis(row->body, row->n_body, &first->genesis) == 0;
	return 1;
}

/* A log without a checkpoint begins with the key that record 0 names. If there was a checkpoint
 * that is gone, the log is broken; it continues all the same. */
static int check_first_key(struct audit_log *log, struct sbx_error *err)
{
	struct first_record first = { .is_read = false };
	uint8_t signer[SIGNER_SIZE];
	int r = store_get_meta(log->store, META_SIGNER, signer, sizeof(signer), NULL);

	if (r != -ENOENT)
		return 0;
	r = store_each(log->store, 0, 0, read_genesis, &first, err);
	if (r < 0 || !first.is_read)
		return r < 0 ? r : 0;
	if (memcmp(first.genesis.public_key, log->key.public_key, SIGNATURE_KEY_SIZE) != 0)
		return fail_key(log->log_id, "its key is not the key that its first record names",
				err);
	return 0;
}

int log_load_checkpoint(struct audit_log *log, struct sbx_error *err)
{
	struct last last = { .is_of_key = false };
	int r = reload(log, err);

	if (r < 0)
		return r;
	r = read_last(log, &last, err);
	if (r < 0)
		return r;
	/* If the note is of another key, the log is broken already. */
	if (r == 0)
		return log->is_broken ? 0 : check_first_key(log, err);
	if (last.row_size != last.checkpoint.size)
		log_break(log, last.checkpoint.size);
	log->now.last = (struct log_signed){ last.checkpoint.size, last.checkpoint.head,
					     last.checkpoint.root };
	return check_key(log, &last, err);
}

/* ---- the key, for readers ---- */

int audit_log_read_key(struct store *store, const char *log_id, struct text *out,
		       struct sbx_error *err)
{
	_cleanup_text_ struct text note = TEXT_INIT;
	struct row row = { .note = &note };
	struct note_verifier verifier;
	struct audit_checkpoint last;
	int r = store_last_checkpoint(store, copy_row, &row, err);

	if (r > 0)
		r = read_signer(store, log_id, &verifier, err);
	if (r < 0)
		return r;
	if (r == 0 || checkpoint_open(note.data, note.len, &verifier, &last, NULL) < 0)
		return error_fill(err, -EBADMSG,
				  "it has no checkpoint that is signed with the key beside it",
				  "check the log: sbx-audit verify --full",
				  "cannot tell the key of the log");
	r = last.is_last_of_epoch ? make_verifier(log_id, last.next_key, &verifier, err) : 0;
	if (r < 0)
		return r;
	note_verifier_add(out, &verifier);
	return text_status(out) < 0 ? sbx_error_what(err, -ENOMEM, "cannot tell the key of the log")
				    : 0;
}

/* ---- sign ---- */

/* 1, or 0 if there is a checkpoint of this size that the log has not made. */
static int save(struct audit_log *log, const struct text *note, struct sbx_error *err)
{
	uint8_t frontier[FRONTIER_BYTES_MAX], signer[SIGNER_SIZE];
	size_t n = log_save_frontier(&log->now.frontier, frontier);
	int r;

	log_put_u64(signer, log->key.epoch);
	memcpy(signer + 8, log->key.public_key, SIGNATURE_KEY_SIZE);
	r = store_add_checkpoint(log->store, log->now.frontier.size, note->data, note->len, err);
	if (r <= 0)
		return r;
	r = store_set_meta(log->store, META_FRONTIER, frontier, n, err);
	if (r < 0)
		return r;
	r = store_set_meta(log->store, META_SIGNER, signer, sizeof(signer), err);
	return r < 0 ? r : 1;
}

static int make_note(struct audit_log *log, const struct audit_key *next,
		     struct audit_hash *ret_root, struct text *note, struct sbx_error *err)
{
	struct audit_checkpoint checkpoint = {
		.size = log->now.frontier.size,
		.head = log->now.head,
		.epoch = log->key.epoch,
		.first_usec = log->now.first_usec,
		.last_usec = log->now.last_usec,
		.is_last_of_epoch = next != NULL,
	};

	(void)snprintf(checkpoint.origin, sizeof(checkpoint.origin), "%s", log->verifier.name);
	if (next)
		memcpy(checkpoint.next_key, next->public_key, sizeof(checkpoint.next_key));
	if (merkle_root(&log->now.frontier, &checkpoint.root) < 0)
		return fail_key(log->log_id, "libcrypto cannot hash", err);
	*ret_root = checkpoint.root;
	return checkpoint_sign(note, &checkpoint, &log->verifier, log->key.private_key, err);
}

static int sign(struct audit_log *log, const struct audit_key *next, struct audit_hash *ret_root,
		struct sbx_error *err)
{
	int r;

	text_reset(&log->note);
	r = make_note(log, next, ret_root, &log->note, err);
	if (r < 0)
		return r;
	r = log_begin(log, err);
	return r < 0 ? r : save(log, &log->note, err);
}

int log_sign(struct audit_log *log, const struct audit_key *next, struct sbx_error *err)
{
	struct log_state *now = &log->now;
	struct audit_hash root;
	int r = log->epoch_due > 0 ? take_next_key(log, err) : 0;

	if (r < 0)
		return log_failed(log, r);
	r = sign(log, next, &root, err);
	if (r == 0 && next)
		r = fail_key(log->log_id,
			     "a checkpoint of its size, which it has not made, is there", err);
	if (r < 0)
		return log_failed(log, r);
	/* The next records will be signed together with these. */
	if (r == 0) {
		log_break(log, now->last.size);
		return 0;
	}
	now->last = (struct log_signed){ now->frontier.size, now->head, root };
	log_forget_times(now);
	return 0;
}

int audit_log_checkpoint(struct audit_log *log, struct sbx_error *err)
{
	bool is_signed = log->now.frontier.size == log->now.last.size;
	int r = is_signed ? 0 : log_sign(log, NULL, err);

	return r < 0 ? r : audit_log_commit(log, err);
}

int audit_log_change_key(struct audit_log *log, struct sbx_error *err)
{
	_cleanup_audit_key_ struct audit_key next = AUDIT_KEY_INIT;
	_cleanup_text_ struct text members = TEXT_INIT;
	int r = log->epoch_due > 0 ? take_next_key(log, err) : 0;

	if (r == 0)
		r = key_prepare_next(log->directory, &log->key, &next, err);
	if (r < 0)
		return r;
	text_addf(&members, "\"epoch\":%llu", (unsigned long long)next.epoch);
	if (text_status(&members) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot change the key");
	r = audit_log_say(log, "key_changed", members.data, err);
	if (r < 0)
		return r;
	r = log_sign(log, &next, err);
	if (r < 0)
		return r;
	r = audit_log_commit(log, err);
	if (r < 0)
		return r;
	log->epoch_due = next.epoch;
	return take_next_key(log, err);
}

bool audit_log_can_change_key(const struct audit_log *log)
{
	return !log->key.is_elsewhere;
}

/* ---- heads ---- */

void audit_log_watch(struct audit_log *log, const struct audit_watch *watch)
{
	log->watch = *watch;
}

void log_tell_head(struct audit_log *log)
{
	const struct log_signed *last = &log->committed.last;
	const struct audit_head head = {
		.origin = log->verifier.name,
		.size = last->size,
		.root = last->root,
		.note = text_string(&log->note),
		.n_note = log->note.len,
	};

	if (log->watch.head)
		log->watch.head(log->watch.userdata, &head);
}

int audit_log_tell_head(struct audit_log *log, struct sbx_error *err)
{
	int r;

	/* The commit of the open transaction will report a newer head. */
	if (log->is_in_transaction || log->committed.last.size == 0)
		return 0;
	text_reset(&log->note);
	r = store_last_checkpoint(log->store, copy_row, &(struct row){ .note = &log->note }, err);
	if (r > 0)
		log_tell_head(log);
	return r < 0 ? r : 0;
}
