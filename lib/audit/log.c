/* SPDX-License-Identifier: MIT */

/*
 * The log: adding and committing
 *
 * The state exists twice, as it is and as it was at the last commit. A failure of any kind goes
 * back to the second, in memory as on the disk, so that no number and no hash is left of a record
 * that is not there.
 */

#include "audit/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "audit/event.h"
#include "audit/log-internal.h"
#include "audit/redact.h"
#include "base/json.h"

/* ---- open ---- */

struct audit_log *audit_log_free(struct audit_log *log)
{
	if (!log)
		return NULL;
	audit_log_rollback(log);
	(void)store_free(log->store);
	(void)redactor_free(log->own_redactor);
	(void)hasher_free(log->hasher);
	key_deinit(&log->key);
	entry_deinit(&log->entry);
	text_deinit(&log->line);
	text_deinit(&log->note);
	/* Now another process may. */
	close_fd(&log->folder);
	if (log->watch.end)
		log->watch.end(log->watch.userdata);
	free(log);
	return NULL;
}

void audit_log_free_ptr(struct audit_log **log)
{
	*log = audit_log_free(*log);
}

static int prepare(struct audit_log *log, const struct audit_log_options *options,
		   struct sbx_error *err)
{
	int r = hasher_new(&log->hasher);

	if (r < 0)
		return log_fail(err, r, options->folder, "libcrypto has no SHA-256",
				"check how libcrypto is configured");
	log->patience_msec = STORE_PATIENCE_MSEC;
	log->keep_originals = options->keep_originals;
	log->credentials = options->credentials;
	log->redactor = options->redactor;
	if (log->redactor)
		return 0;
	r = redactor_new(options->patterns, options->n_patterns, &log->own_redactor, err);
	log->redactor = log->own_redactor;
	return r;
}

static int open_segment(struct audit_log *log, const char *path, struct sbx_error *err)
{
	char name[SEGMENT_NAME_SIZE];
	int r = log_find_segment(log->folder, name);

	if (r < 0)
		return log_fail(err, r, path, NULL, "check the file system");
	if (r == 0)
		return log_fail(err, -ENOENT, path, "there is no segment in the directory",
				"make the log with 'sbx-audit setup'");
	return store_open(log->folder, name, &log->store, err);
}

int audit_log_open(const struct audit_log_options *options, struct audit_log **ret,
		   struct sbx_error *err)
{
	_cleanup_audit_log_ struct audit_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return log_fail(err, -ENOMEM, options->folder, NULL, "free some memory");
	log->folder = -EBADF;
	r = log_open_folder(options, err);
	if (r < 0)
		return r;
	log->folder = r;
	r = prepare(log, options, err);
	if (r == 0)
		r = open_segment(log, options->folder, err);
	if (r == 0)
		r = log_read_tail(log, err);
	if (r < 0)
		return r;
	log_make_reserve(log);
	*ret = take_ptr(log);
	return 0;
}

void audit_log_set_patience(struct audit_log *log, unsigned msec)
{
	log->patience_msec = msec;
	store_set_patience(log->store, msec);
}

/* ---- transactions ---- */

int log_begin(struct audit_log *log, struct sbx_error *err)
{
	int r;

	if (log->is_in_transaction)
		return 0;
	r = log->is_closed ? log_go_on(log, err) : 0;
	if (r == 0)
		r = store_begin(log->store, err);
	log->is_in_transaction = r == 0;
	return r;
}

void audit_log_rollback(struct audit_log *log)
{
	if (!log->is_in_transaction)
		return;
	store_rollback(log->store);
	log->now = log->committed;
	log->is_in_transaction = false;
}

int log_failed(struct audit_log *log, int code)
{
	audit_log_rollback(log);
	if (code == -ENOSPC)
		log_use_reserve(log);
	return code;
}

int audit_log_commit(struct audit_log *log, struct sbx_error *err)
{
	bool has_new_head = log->now.last.size != log->committed.last.size;
	int r;

	if (!log->is_in_transaction)
		return 0;
	r = store_commit(log->store, err);
	if (r < 0)
		return log_failed(log, r);
	log->committed = log->now;
	log->is_in_transaction = false;
	if (!log->has_reserve)
		log_make_reserve(log);
	if (has_new_head)
		log_tell_head(log);
	return 0;
}

/* ---- add ---- */

static int add_originals(struct audit_log *log, uint64_t seq, struct sbx_error *err)
{
	const struct audit_entry *entry = &log->entry;
	int r = 0;

	for (size_t i = 0; r == 0 && i < entry->n_originals; i++)
		r = store_add_original(log->store, seq, &entry->originals[i], log->keep_originals,
				       err);
	return r;
}

static int store_entry(struct audit_log *log, struct sbx_error *err)
{
	const struct audit_entry *entry = &log->entry;
	struct store_row row = {
		.seq = log->now.frontier.size,
		.body = entry->body.data,
		.n_body = (uint32_t)entry->body.len,
	};
	int r;

	r = chain_next(log->hasher, row.seq, &log->now.head, row.body, row.n_body, &row.hash);
	if (r == 0)
		r = merkle_add(log->hasher, &log->now.frontier, &row.hash);
	if (r < 0)
		return sbx_error_what(err, r, "cannot hash the record");
	r = store_add(log->store, &row, err);
	if (r == 0)
		r = add_originals(log, row.seq, err);
	if (r < 0)
		return r;
	log->now.head = row.hash;
	log_note_time(&log->now, entry->time_usec);
	if (log->now.frontier.size - log->now.last.size >= CHECKPOINT_RECORDS_MAX)
		r = log_sign(log, NULL, err);
	return r;
}

static bool is_the_lines_fault(int code)
{
	return code == -EINVAL || code == -EBADMSG || code == -EMSGSIZE;
}

static int add_line(struct audit_log *log, const struct entry_options *options, const char *line,
		    size_t n_bytes, struct sbx_error *err)
{
	int r = entry_read(&log->entry, options, line, n_bytes, err);

	if (is_the_lines_fault(r))
		return AUDIT_REFUSED;
	/* Nothing can be undone before there is a transaction. */
	if (r == 0)
		r = log_begin(log, err);
	if (r == 0)
		r = store_entry(log, err);
	return r < 0 ? log_failed(log, r) : r;
}

int audit_log_add(struct audit_log *log, const char *line, size_t n_bytes,
		  const struct audit_writer *writer, struct audit_receipt *ret,
		  struct sbx_error *err)
{
	const struct entry_options options = {
		.redactor = log->redactor,
		.hasher = log->hasher,
		.now_usec = log_now_usec(),
		.has_writer = writer != NULL,
		.uid = writer ? writer->uid : 0,
		.pid = writer ? writer->pid : 0,
		.confined = writer ? writer->confined : NULL,
	};
	int r = add_line(log, &options, line, n_bytes, err);

	if (r == 0 && ret)
		*ret = (struct audit_receipt){
			.seq = log->now.frontier.size - 1,
			.is_sync = log->entry.event->is_sync,
		};
	return r;
}

int audit_log_say(struct audit_log *log, const char *event, const char *members,
		  struct sbx_error *err)
{
	const struct entry_options options = {
		.redactor = log->redactor,
		.hasher = log->hasher,
		.now_usec = log_now_usec(),
		.is_own = true,
	};
	int r;

	text_reset(&log->line);
	text_addf(&log->line, "{\"version\":1,\"event\":\"%s\",\"tool\":\"sbx-audit\"%s%s}", event,
		  *members ? "," : "", members);
	if (text_status(&log->line) < 0) {
		audit_log_rollback(log);
		return sbx_error_what(err, -ENOMEM, "cannot write the record '%s'", event);
	}
	r = add_line(log, &options, log->line.data, log->line.len, err);
	return r == AUDIT_REFUSED ? -EINVAL : r;
}

/* ---- what it is ---- */

uint64_t audit_log_size(const struct audit_log *log)
{
	return log->now.frontier.size;
}

uint64_t audit_log_checkpoint_size(const struct audit_log *log)
{
	return log->now.last.size;
}

void audit_log_head(const struct audit_log *log, struct audit_hash *ret)
{
	*ret = log->now.head;
}

const char *audit_log_id(const struct audit_log *log)
{
	return log->log_id;
}

void audit_log_add_verifier(const struct audit_log *log, struct text *out)
{
	note_verifier_add(out, &log->verifier);
}

bool audit_log_has_reserve(const struct audit_log *log)
{
	return log->has_reserve;
}

bool audit_log_is_broken(const struct audit_log *log, uint64_t *ret_seq)
{
	if (log->is_broken)
		*ret_seq = log->broken_seq;
	return log->is_broken;
}
