/* SPDX-License-Identifier: MIT */

/*
 * The log: adding and committing
 *
 * The state exists twice: the current one, and the one at the last commit. Any failure restores the
 * second, in memory as on disk, so that no number or hash of a record that was rolled back remains.
 */

#include "audit/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "audit/clock.h"
#include "audit/key.h"
#include "audit/entry.h"
#include "audit/log-internal.h"
#include "audit/redact.h"
#include "base/json.h"
#include "base/moment.h"

/* ---- open ---- */

struct audit_log *audit_log_free(struct audit_log *log)
{
	if (!log)
		return NULL;
	audit_log_rollback(log);
	(void)store_free(log->store);
	(void)redactor_free(log->own_redactor);
	key_deinit(&log->key);
	entry_deinit(&log->entry);
	text_deinit(&log->line);
	text_deinit(&log->note);
	/* Releases the lock: another process may open the log now. */
	close_fd(&log->directory);
	if (log->watch.end)
		log->watch.end(log->watch.userdata);
	free(log);
	return NULL;
}

static int prepare(struct audit_log *log, const struct audit_log_options *options,
		   struct sbx_error *err)
{
	int r;

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
	int r = log_find_segment(log->directory, name);

	if (r < 0)
		return log_fail(err, r, path, NULL, "check the file system");
	if (r == 0)
		return log_fail(err, -ENOENT, path, "there is no segment in the directory",
				"create the log with 'sbx-audit setup'");
	return store_open(log->directory, name, &log->store, err);
}

/* ---- the reserve ---- */

/*
 * The reserve: room for a record that the disk is full
 *
 * A log on a full disk could not record that. So a preallocated file occupies a little space. When
 * a commit fails with ENOSPC, the file is deleted, and the record and a checkpoint use its space.
 * It is made again when there is space again.
 */

#define RESERVE_NAME "reserve"
/* With less free space than this, the reserve itself would fill the disk. */
#define ROOM_MIN (4 * AUDIT_RESERVE_BYTES)

static bool has_room(int directory)
{
	struct statvfs room;

	return fstatvfs(directory, &room) == 0 &&
	       (uint64_t)room.f_bavail * room.f_frsize >= ROOM_MIN;
}

static bool is_allocated(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= AUDIT_RESERVE_BYTES &&
	       (uint64_t)st.st_blocks * 512 >= AUDIT_RESERVE_BYTES;
}

/* Creates the reserve if there is none and enough space is free. */
static void make_reserve(struct audit_log *log)
{
	_cleanup_close_ int fd = openat(log->directory, RESERVE_NAME,
					O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	log->has_reserve = fd >= 0 && is_allocated(fd);
	if (log->has_reserve || !has_room(log->directory))
		return;
	/* A partial reserve is useless and occupies space: delete it. */
	(void)unlinkat(log->directory, RESERVE_NAME, 0);
	close_fd(&fd);
	fd = openat(log->directory, RESERVE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	log->has_reserve = posix_fallocate(fd, 0, AUDIT_RESERVE_BYTES) == 0;
	if (!log->has_reserve)
		(void)unlinkat(log->directory, RESERVE_NAME, 0);
}

/* Deletes the reserve and commits a record of the full disk; does nothing if there is no reserve.
 * Uncommitted records must have been rolled back. */
static void use_reserve(struct audit_log *log)
{
	if (!log->has_reserve || log->is_in_transaction)
		return;
	log->has_reserve = false;
	if (unlinkat(log->directory, RESERVE_NAME, 0) < 0)
		return;
	/* Ignore failures: the caller reports the full disk in any case. */
	if (audit_log_say(log, "audit_storage_critical", "\"cause\":\"disk full\"", NULL) == 0 &&
	    log_sign(log, NULL, NULL) == 0)
		(void)audit_log_commit(log, NULL);
	audit_log_rollback(log);
}

/* ---- the log ---- */

int audit_log_open(const struct audit_log_options *options, struct audit_log **ret,
		   struct sbx_error *err)
{
	_cleanup_audit_log_ struct audit_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return log_fail(err, -ENOMEM, options->directory, NULL, "free some memory");
	log->directory = -EBADF;
	r = log_open_directory(options, err);
	if (r < 0)
		return r;
	log->directory = r;
	r = prepare(log, options, err);
	if (r < 0)
		return r;
	r = open_segment(log, options->directory, err);
	if (r < 0)
		return r;
	r = log_read_tail(log, err);
	if (r < 0)
		return r;
	make_reserve(log);
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
	if (r < 0)
		return r;
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
		use_reserve(log);
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
		make_reserve(log);
	if (has_new_head)
		log_tell_head(log);
	return 0;
}

/* ---- add ---- */

static int add_originals(struct audit_log *log, uint64_t seq, struct sbx_error *err)
{
	const struct audit_entry *entry = &log->entry;

	for (size_t i = 0; i < entry->n_originals; i++) {
		int r = store_add_original(log->store, seq, &entry->originals[i],
					   log->keep_originals, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int store_entry(struct audit_log *log, struct sbx_error *err)
{
	const struct audit_entry *entry = &log->entry;
	struct store_row row = {
		.seq = log->now.frontier.size,
		.body = entry->body.data,
		.n_body = (uint32_t)entry->body.len,
	};
	int r = chain_next(row.seq, &log->now.head, row.body, row.n_body, &row.hash);

	if (r == 0)
		r = merkle_add(&log->now.frontier, &row.hash);
	if (r < 0)
		return sbx_error_what(err, r, "cannot hash the record");
	r = store_add(log->store, &row, err);
	if (r < 0)
		return r;
	r = add_originals(log, row.seq, err);
	if (r < 0)
		return r;
	log->now.head = row.hash;
	log_note_time(&log->now, entry->time_usec);
	return log->now.frontier.size - log->now.last.size < CHECKPOINT_RECORDS_MAX
		       ? 0
		       : log_sign(log, NULL, err);
}

static int add_line(struct audit_log *log, const struct entry_options *options, const char *line,
		    size_t n_bytes, struct sbx_error *err)
{
	int r = entry_read(&log->entry, options, line, n_bytes, err);

	/* The line's fault. */
	if (r == -EINVAL || r == -EBADMSG || r == -EMSGSIZE)
		return AUDIT_REFUSED;
	if (r < 0)
		return log_failed(log, r);
	/* Begin late: before there is a transaction, nothing has to be undone. */
	r = log_begin(log, err);
	if (r < 0)
		return log_failed(log, r);
	r = store_entry(log, err);
	return r < 0 ? log_failed(log, r) : 0;
}

int audit_log_add(struct audit_log *log, const char *line, size_t n_bytes,
		  const struct audit_writer *writer, struct audit_receipt *ret,
		  struct sbx_error *err)
{
	const struct entry_options options = {
		.redactor = log->redactor,
		.now_usec = moment_now(CLOCK_REALTIME),
		.has_writer = writer != NULL,
		.uid = writer ? writer->uid : 0,
		.pid = writer ? writer->pid : 0,
		.confined = writer ? writer->confined : NULL,
		.ring = writer ? writer->ring : NULL,
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
		.now_usec = moment_now(CLOCK_REALTIME),
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

/* ---- getters ---- */

uint64_t audit_log_size(const struct audit_log *log)
{
	return log->now.frontier.size;
}

uint64_t audit_log_checkpoint_size(const struct audit_log *log)
{
	return log->now.last.size;
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

/* ---- the next segment ---- */

/*
 * Starting a new segment
 *
 * First the old segment gets a last checkpoint. Then the new segment is created with all that it
 * needs and renamed to its final name: the log continues in the last segment that has such a name,
 * so the rename decides. The imported offsets of spool files are copied into it, because the next
 * record of such a file may go there.
 */

static int keep_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		      struct sbx_error *err)
{
	struct audit_log *log = userdata;

	return checkpoint_ends_epoch(note, n_bytes) ? epochs_add(log->directory, note, n_bytes, err)
						    : 0;
}

struct next {
	struct audit_log *log;
	struct store *store;
};

static int copy_meta(void *userdata, const char *key, struct sbx_error *err)
{
	struct next *next = userdata;
	uint8_t bytes[STORE_META_MAX];
	int n = store_get_meta(next->log->store, key, bytes, sizeof(bytes), err);

	if (n < 0)
		return n == -ENOENT ? 0 : n;
	return store_set_meta(next->store, key, bytes, (size_t)n, err);
}

static int copy_all_meta(struct next *next, struct sbx_error *err)
{
	static const char *const keys[] = { META_LOG, META_SIGNER, META_DELETED, META_STORAGE,
					    META_CLOCK };

	for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
		int r = copy_meta(next, keys[i], err);

		if (r < 0)
			return r;
	}
	return store_each_meta(next->log->store, META_SPOOL, copy_meta, next, err);
}

static int write_joint(struct next *next, struct sbx_error *err)
{
	const struct log_state *now = &next->log->now;
	uint8_t first[8], begun[8], frontier[FRONTIER_BYTES_MAX];
	size_t n_frontier = log_save_frontier(&now->frontier, frontier);
	const struct log_meta values[] = {
		{ META_FIRST, first, sizeof(first) },
		{ META_BEGUN, begun, sizeof(begun) },
		{ META_PREVIOUS, now->head.bytes, sizeof(now->head.bytes) },
		{ META_FIRST_FRONTIER, frontier, n_frontier },
		{ META_FRONTIER, frontier, n_frontier },
	};

	log_put_u64(first, now->frontier.size);
	log_put_u64(begun, moment_now(CLOCK_REALTIME));
	return log_set_meta(next->store, values, N_ELEMENTS(values), err);
}

/* Copies the checkpoint at the end of the old segment, not notes that were added later. */
static int copy_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct next *next = userdata;
	int r;

	if (size != next->log->now.frontier.size)
		return 1;
	r = store_add_checkpoint(next->store, size, note, n_bytes, err);
	return r < 0 ? r : 1;
}

static int fill(struct store *store, void *userdata, struct sbx_error *err)
{
	struct next *next = userdata;
	int r;

	next->store = store;
	r = copy_all_meta(next, err);
	if (r < 0)
		return r;
	r = write_joint(next, err);
	if (r < 0)
		return r;
	r = store_each_checkpoint(next->log->store, next->log->now.frontier.size, copy_note, next,
				  err);
	return r < 0 ? r : 0;
}

/* Records in the old segment where the new one begins, so that a verifier notices if the new one is
 * deleted. A failure does not stop the log. Only the first call writes: if a lost segment is begun
 * again, verifiers still report the lost one. */
static void note_next(struct audit_log *log)
{
	struct store *store = log->store;
	uint8_t next[8];

	if (store_get_meta(store, META_NEXT, next, sizeof(next), NULL) != -ENOENT)
		return;
	log_put_u64(next, log->now.frontier.size);
	if (store_begin(store, NULL) < 0 ||
	    store_set_meta(store, META_NEXT, next, sizeof(next), NULL) < 0 ||
	    store_commit(store, NULL) < 0)
		store_rollback(store);
}

static int first_of(struct audit_log *log, uint64_t *ret, struct sbx_error *err)
{
	uint8_t first[8];
	int n = store_get_meta(log->store, META_FIRST, first, sizeof(first), err);

	if (n != (int)sizeof(first))
		return log_fail(err, n < 0 && n != -ENOENT ? n : -EBADMSG, log->log_id,
				"its segment does not name its first record",
				"check the log: sbx-audit verify --full");
	*ret = log_get_u64(first);
	return 0;
}

/* The new segment has its final name, so a process that opens the log continues in it: if it cannot
 * be opened here, remove it, or add nothing more to the old one. */
static int switch_to(struct audit_log *log, const char *name, struct sbx_error *err)
{
	char closed[SEGMENT_NAME_SIZE] = "";
	struct store *store = NULL;
	uint64_t first = 0;
	int r = store_open(log->directory, name, &store, err);

	log->is_closed = r < 0 && ((unlinkat(log->directory, name, 0) < 0 && errno != ENOENT) ||
				   fsync(log->directory) < 0);
	if (r < 0)
		return r;
	note_next(log);
	if (first_of(log, &first, NULL) == 0)
		log_segment_name(first, closed);
	(void)store_free(log->store);
	clock_correct_slow(log->directory, closed, store);
	log->store = store;
	store_set_patience(store, log->patience_msec);
	return 0;
}

int log_go_on(struct audit_log *log, struct sbx_error *err)
{
	char name[SEGMENT_NAME_SIZE];
	int r;

	log_segment_name(log->now.frontier.size, name);
	r = switch_to(log, name, err);
	return log->is_closed ? r : 0;
}

int audit_log_rotate(struct audit_log *log, struct sbx_error *err)
{
	struct next next = { .log = log };
	char name[SEGMENT_NAME_SIZE];
	uint64_t first = 0;
	int r = first_of(log, &first, err);

	if (r < 0)
		return r;
	r = audit_log_checkpoint(log, err);
	if (r < 0 || log->now.frontier.size <= first)
		return r;
	if (log->is_closed)
		return log_go_on(log, err);
	r = store_each_checkpoint(log->store, 0, keep_epoch, log, err);
	if (r < 0)
		return r;
	log_segment_name(log->now.frontier.size, name);
	r = store_create(log->directory, name, fill, &next, err);
	if (r < 0)
		return r;
	r = switch_to(log, name, err);
	return r < 0 ? r : 1;
}
