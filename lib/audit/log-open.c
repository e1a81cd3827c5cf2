/* SPDX-License-Identifier: MIT */

/*
 * The log's directory: its owner and lock, creating a log in it, and opening one
 *
 * flock() is taken on the directory itself, so the kernel releases the lock however the process
 * ends.
 */

#include "audit/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/log-internal.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/moment.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define LOCK_PAUSE_NSEC 2000000

void log_put_u64(uint8_t *at, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> (56 - 8 * i));
}

uint64_t log_get_u64(const uint8_t *at)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

int log_fail(struct sbx_error *err, int code, const char *directory, const char *why,
	     const char *fix)
{
	return error_fill(err, code, why, fix, "cannot open the log '%s'", directory);
}

/* ---- the lock ---- */

/* flock() has no timeout: poll. */
static int lock_directory(int directory, uint64_t wait_usec)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NSEC };
	uint64_t began = moment_now(CLOCK_MONOTONIC);

	while (flock(directory, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (moment_now(CLOCK_MONOTONIC) - began >= wait_usec)
			return -EBUSY;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static const char *what_to_do(int error)
{
	if (error == ENOENT)
		return "create it with 'sbx-audit setup'";
	if (error == ENOTDIR)
		return "name the directory of a log";
	return error == EACCES || error == EPERM ? "check the permissions of the directory" : NULL;
}

int log_open_directory(const struct audit_log_options *options, struct sbx_error *err)
{
	const char *path = options->directory;
	_cleanup_close_ int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int r;

	if (directory < 0)
		return log_fail(err, -errno, path, NULL, what_to_do(errno));
	if (fstat(directory, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return log_fail(err, -EPERM, path, "other users could write to the directory",
				"change its owner to the user of the log, and its mode to 0700");
	r = lock_directory(directory, options->wait_usec);
	if (r == -EBUSY)
		return log_fail(err, r, path, "another process is writing to it",
				"send records to its socket, or stop 'sbx-audit serve' first");
	if (r < 0)
		return log_fail(err, r, path, NULL, "keep the log on a local file system");
	return take_fd(&directory);
}

/* ---- segments ---- */

void log_segment_name(uint64_t first, char ret[SEGMENT_NAME_SIZE])
{
	(void)snprintf(ret, SEGMENT_NAME_SIZE, "%020" PRIu64 ".db", first);
}

int log_find_segment(int directory, char ret[SEGMENT_NAME_SIZE])
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(directory);
	const struct dirent *entry;
	bool is_found = false;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (strspn(entry->d_name, "0123456789") == SEGMENT_DIGITS &&
		    strcmp(entry->d_name + SEGMENT_DIGITS, ".db") == 0 &&
		    (!is_found || strcmp(entry->d_name, ret) > 0)) {
			memcpy(ret, entry->d_name, SEGMENT_NAME_SIZE);
			is_found = true;
		}
	return is_found;
}

/* ---- create ---- */

struct creation {
	struct chain_genesis genesis;
	struct text body;
};

static void creation_deinit(struct creation *creation)
{
	text_deinit(&creation->body);
}

static int describe(struct creation *creation, const struct audit_key *key)
{
	struct chain_genesis *genesis = &creation->genesis;
	_cleanup_close_ int boot = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
	uint8_t id[(AUDIT_LOG_ID_SIZE - 1) / 2];
	ssize_t n;

	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return -EIO;
	hex_print(id, sizeof(id), genesis->log_id);
	n = boot < 0 ? 0 : fd_read_full(boot, genesis->boot_id, AUDIT_BOOT_ID_SIZE - 1);
	genesis->boot_id[n == AUDIT_BOOT_ID_SIZE - 1 ? n : 0] = '\0';
	genesis->time_usec = moment_now(CLOCK_REALTIME);
	memcpy(genesis->public_key, key->public_key, sizeof(genesis->public_key));
	return chain_add_genesis(&creation->body, genesis);
}

int log_set_meta(struct store *store, const struct log_meta *values, size_t n,
		 struct sbx_error *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = store_set_meta(store, values[i].key, values[i].bytes, values[i].n_bytes,
				       err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_meta(struct store *store, const struct creation *creation, struct sbx_error *err)
{
	static const struct audit_hash zero;
	static const struct merkle_frontier empty;
	uint8_t first[8] = { 0 }, frontier[FRONTIER_BYTES_MAX];
	size_t n_frontier = log_save_frontier(&empty, frontier);
	const struct log_meta values[] = {
		{ META_LOG, creation->genesis.log_id, AUDIT_LOG_ID_SIZE - 1 },
		{ META_FIRST, first, sizeof(first) },
		{ META_PREVIOUS, zero.bytes, sizeof(zero.bytes) },
		{ META_FIRST_FRONTIER, frontier, n_frontier },
		{ META_FRONTIER, frontier, n_frontier },
	};

	return log_set_meta(store, values, N_ELEMENTS(values), err);
}

static int fill(struct store *store, void *userdata, struct sbx_error *err)
{
	struct creation *creation = userdata;
	const struct text *body = &creation->body;
	const struct audit_hash zero = { .bytes = { 0 } };
	struct store_row row = {
		.body = body->data,
		.n_body = (uint32_t)body->len,
	};
	int r = chain_next(0, &zero, body->data, row.n_body, &row.hash);

	if (r < 0)
		return r;
	r = fill_meta(store, creation, err);
	return r < 0 ? r : store_add(store, &row, err);
}

static int make_segment(int directory, const struct audit_key *key, const char *path,
			struct sbx_error *err)
{
	_cleanup_(creation_deinit) struct creation creation = { .body = TEXT_INIT };
	char name[SEGMENT_NAME_SIZE];
	int r = describe(&creation, key);

	if (r < 0)
		return log_fail(err, r, path, NULL, "free some memory");
	log_segment_name(0, name);
	return store_create(directory, name, fill, &creation, err);
}

/* Uses the key of @options->key_place or of the credential, else the key that an interrupted
 * audit_log_create() has stored, else a new one. */
static int find_key(int directory, const struct audit_log_options *options, struct audit_key *ret,
		    struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r;

	if (options->key_place)
		return key_store_elsewhere(directory, options->key_place, options->credentials, ret,
					   err);
	r = key_load(directory, options->credentials, ret, &why);
	if (r == -ENOENT) {
		r = key_make(0, ret, err);
		return r < 0 ? r : key_store_at(directory, ret, err);
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

static int first_key(int directory, const struct audit_log_options *options, struct audit_key *ret,
		     struct sbx_error *err)
{
	int r = find_key(directory, options, ret, err);

	if (r < 0)
		return r;
	if (ret->epoch != 0)
		return log_fail(err, -EEXIST, options->directory,
				"it contains the key of an earlier log",
				"restore that log, or name another directory");
	return 0;
}

int audit_log_create(const struct audit_log_options *options, struct sbx_error *err)
{
	_cleanup_audit_key_ struct audit_key key = AUDIT_KEY_INIT;
	_cleanup_audit_log_ struct audit_log *log = NULL;
	_cleanup_close_ int directory = -EBADF;
	char name[SEGMENT_NAME_SIZE];
	int r;

	if (mkdir(options->directory, 0700) < 0 && errno != EEXIST) {
		r = sbx_error_what(err, -errno, "cannot create the log '%s'", options->directory);
		sbx_error_fix(err, r == -ENOENT ? "create its parent directory"
						: "choose a directory that this user may create");
		return r;
	}
	directory = log_open_directory(options, err);
	if (directory < 0)
		return directory;
	r = log_find_segment(directory, name);
	if (r < 0)
		return log_fail(err, r, options->directory, NULL, "check the file system");
	if (r > 0)
		return error_fill(err, -EEXIST, "it exists already",
				  "see its key with 'sbx-audit key', or name another directory "
				  "with --log",
				  "cannot create the log '%s'", options->directory);
	r = first_key(directory, options, &key, err);
	if (r < 0)
		return r;
	r = make_segment(directory, &key, options->directory, err);
	if (r < 0)
		return r;
	/* Release the lock: audit_log_open() takes it again. */
	close_fd(&directory);
	r = audit_log_open(options, &log, err);
	return r < 0 ? r : audit_log_checkpoint(log, err);
}

/* ---- records after the last checkpoint ---- */

/*
 * Finding the end of the log
 *
 * The tree of the last checkpoint is stored beside it, so opening a log of any size means reading
 * only the few records after it, which are verified on the way. If one of them is wrong, the log
 * continues where it can and reports the break, because an attacker must not be able to stop it by
 * changing one byte. Proving what was there before is the verifier's task.
 */

/* Give up if so many consecutive records are missing. */
#define GAP_MAX 1000000

size_t log_save_frontier(const struct merkle_frontier *frontier, uint8_t ret[FRONTIER_BYTES_MAX])
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	size_t n = merkle_save(frontier, peaks);

	log_put_u64(ret, frontier->size);
	memcpy(ret + 8, peaks, n * sizeof(peaks[0]));
	return 8 + n * sizeof(peaks[0]);
}

int log_parse_frontier(const uint8_t *bytes, size_t n_bytes, struct merkle_frontier *ret)
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	size_t n_peaks = n_bytes < 8 ? 0 : (n_bytes - 8) / sizeof(peaks[0]);

	if (n_bytes != 8 + n_peaks * sizeof(peaks[0]) || n_peaks > MERKLE_PATH_MAX)
		return -EBADMSG;
	memcpy(peaks, bytes + 8, n_peaks * sizeof(peaks[0]));
	return merkle_load(log_get_u64(bytes), peaks, n_peaks, ret);
}

static int fail(struct audit_log *log, const char *why, struct sbx_error *err)
{
	return log_fail(err, -EBADMSG, log->log_id, why,
			"keep the directory as it is, and check it: sbx-audit verify --full");
}

void log_break(struct audit_log *log, uint64_t seq)
{
	if (!log->is_broken || seq < log->broken_seq)
		log->broken_seq = seq;
	log->is_broken = true;
}

/* 0, -EBADMSG without @err if the frontier is malformed, or an error of the store. */
static int load_frontier(struct audit_log *log, const char *key, struct merkle_frontier *ret,
			 struct sbx_error *err)
{
	uint8_t bytes[FRONTIER_BYTES_MAX];
	struct sbx_error why = { .code = 0 };
	int n = store_get_meta(log->store, key, bytes, sizeof(bytes), &why);

	if (n == -ENOENT || n == -EBADMSG)
		return -EBADMSG;
	if (n < 0 && err)
		*err = why;
	return n < 0 ? n : log_parse_frontier(bytes, (size_t)n, ret);
}

/* ---- rows ---- */

/* Is this the tree that the last checkpoint signed? */
static bool is_signed(struct audit_log *log, const struct merkle_frontier *frontier)
{
	struct audit_hash root;

	return log->now.last.size > 0 && frontier->size == log->now.last.size &&
	       merkle_root(frontier, &root) == 0 && audit_hash_equal(&root, &log->now.last.root);
}

struct walk {
	struct audit_log *log;
	uint64_t first;	   /* the first row asked for */
	uint64_t expected; /* number of the next row */
	bool has_previous; /* else the next row cannot be checked */
	struct audit_hash previous;
};

static int fill_gap(struct walk *walk, uint64_t to, struct sbx_error *err)
{
	struct merkle_frontier *frontier = &walk->log->now.frontier;
	const struct audit_hash zero = { .bytes = { 0 } };

	log_break(walk->log, walk->expected);
	if (to - walk->expected > GAP_MAX)
		return fail(walk->log, "its last records are missing", err);
	for (; walk->expected < to; walk->expected++)
		if (walk->expected >= frontier->size && merkle_add(frontier, &zero) < 0)
			return fail(walk->log, "libcrypto cannot hash", err);
	walk->has_previous = false;
	return 0;
}

void log_note_time(struct log_state *state, uint64_t usec)
{
	if (!state->has_time || usec < state->first_usec)
		state->first_usec = usec;
	if (!state->has_time || usec > state->last_usec)
		state->last_usec = usec;
	state->has_time = true;
}

void log_forget_times(struct log_state *state)
{
	state->has_time = false;
	state->first_usec = state->last_usec = 0;
}

static int walk_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct walk *walk = userdata;
	struct audit_log *log = walk->log;
	struct audit_hash hash;
	int r;

	if (row->problem)
		return fail(log, row->problem, err);
	r = row->seq > walk->expected ? fill_gap(walk, row->seq, err) : 0;
	if (r < 0)
		return r;
	if (walk->has_previous) {
		r = chain_next(row->seq, &walk->previous, row->body, row->n_body, &hash);
		if (r < 0)
			return fail(log, "libcrypto cannot hash", err);
		if (!audit_hash_equal(&hash, &row->hash))
			log_break(log, row->seq);
	}
	if (row->seq + 1 == log->now.last.size &&
	    !audit_hash_equal(&row->hash, &log->now.last.head))
		log_break(log, row->seq);
	walk->previous = row->hash;
	walk->has_previous = true;
	walk->expected = row->seq + 1;
	if (row->seq < log->now.frontier.size)
		return 0;
	r = entry_read_stored(&log->entry, row->body, row->n_body, NULL);
	if (r == -ENOMEM)
		return log_fail(err, r, log->log_id, NULL, "free some memory");
	if (r < 0)
		log_break(log, row->seq);
	else
		log_note_time(&log->now, log->entry.time_usec);
	if (merkle_add(&log->now.frontier, &row->hash) < 0)
		return fail(log, "libcrypto cannot hash", err);
	if (log->now.frontier.size != log->now.last.size)
		return 0;
	if (!is_signed(log, &log->now.frontier))
		log_break(log, walk->first);
	log_forget_times(&log->now);
	return 0;
}

/* Reports that the last records covered by a checkpoint are missing. */
static int break_end(struct audit_log *log, uint64_t first, struct sbx_error *err)
{
	uint64_t lowest, last;
	int r = store_bounds(log->store, &lowest, &last, err);

	if (r < 0)
		return r;
	log_break(log, r > 0 ? last + 1 : first);
	return 0;
}

/* Visits the rows after the frontier, and the one before them for its hash. */
static int walk_rows(struct audit_log *log, uint64_t first, const struct audit_hash *previous,
		     struct sbx_error *err)
{
	uint64_t size = log->now.frontier.size, from = size > first ? size - 1 : first;
	struct walk walk = { .log = log, .expected = from };
	int r;

	/* Start one row earlier still, so that the last covered row can be checked too. */
	if (from > first)
		walk.expected = --from;
	if (from == first) {
		walk.has_previous = true;
		walk.previous = *previous;
	}
	walk.first = from;
	r = store_each(log->store, from, UINT64_MAX, walk_row, &walk, err);
	if (r < 0)
		return r;
	if (walk.expected < log->now.frontier.size)
		return break_end(log, first, err);
	log->now.head = walk.previous;
	return 0;
}

/* ---- the segment's meta table ---- */

static int read_exactly(struct audit_log *log, const char *key, void *bytes, size_t n_bytes,
			struct sbx_error *err)
{
	int n = store_get_meta(log->store, key, bytes, n_bytes, err);

	if (n == -ENOENT || (n >= 0 && (size_t)n != n_bytes))
		return fail(log, "its segment does not name its log", err);
	return n < 0 ? n : 0;
}

/*
 * Chooses the frontier to continue from. If the log was cut off after a checkpoint, it continues
 * after that checkpoint's size: a number is never used twice, and missing records stay missing.
 */
static int choose_frontier(struct audit_log *log, uint64_t first, const struct audit_hash *previous,
			   struct sbx_error *err)
{
	struct log_state *now = &log->now;
	int r = load_frontier(log, META_FRONTIER, &now->frontier, err);

	if (r < 0 && r != -EBADMSG)
		return r;
	if (r == 0 && is_signed(log, &now->frontier)) {
		now->head = now->last.head;
		return 0;
	}
	/* The stored tree shows that there was a later checkpoint. */
	if (r == 0 && now->frontier.size > first && now->frontier.size > now->last.size)
		log_break(log, now->last.size);
	r = load_frontier(log, META_FIRST_FRONTIER, &now->frontier, err);
	if (r < 0 && r != -EBADMSG)
		return r;
	if (r < 0 || now->frontier.size != first)
		return fail(log, "the segment does not contain its initial tree", err);
	now->head = *previous;
	return 0;
}

/* Only the last segment is opened for writing: if it names a next one, that one is missing. */
static int look_behind(struct audit_log *log, struct sbx_error *err)
{
	uint8_t next[8];
	int n = store_get_meta(log->store, META_NEXT, next, sizeof(next), err);

	if (n == (int)sizeof(next))
		log_break(log, log_get_u64(next));
	return n < 0 && n != -ENOENT ? n : 0;
}

int log_read_tail(struct audit_log *log, struct sbx_error *err)
{
	struct audit_hash previous;
	uint8_t first[8];
	int r = read_exactly(log, META_LOG, log->log_id, AUDIT_LOG_ID_SIZE - 1, err);

	if (r < 0)
		return r;
	r = read_exactly(log, META_FIRST, first, sizeof(first), err);
	if (r < 0)
		return r;
	r = read_exactly(log, META_PREVIOUS, previous.bytes, sizeof(previous.bytes), err);
	if (r < 0)
		return r;
	r = log_load_checkpoint(log, err);
	if (r < 0)
		return r;
	r = choose_frontier(log, log_get_u64(first), &previous, err);
	if (r < 0)
		return r;
	r = walk_rows(log, log_get_u64(first), &previous, err);
	if (r < 0)
		return r;
	r = look_behind(log, err);
	if (r < 0)
		return r;
	log->committed = log->now;
	return 0;
}
