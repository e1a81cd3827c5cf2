/* SPDX-License-Identifier: MIT */

/*
 * The log's folder: who may write in it, who does at the moment, and how a log is made in it
 *
 * The lock is on the folder itself, so it ends with the process whatever becomes of that.
 */

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
#include "base/fd.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define LOCK_PAUSE_NSEC 2000000
#define USEC_PER_SEC 1000000u
#define NSEC_PER_USEC 1000u

uint64_t log_now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / NSEC_PER_USEC;
}

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

int log_fail(struct sbx_error *err, int code, const char *folder, const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot open the log '%s'", folder);
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

/* ---- the lock ---- */

static uint64_t monotonic_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / NSEC_PER_USEC;
}

/* flock() itself waits for ever or not at all. */
static int lock_folder(int folder, uint64_t wait_usec)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NSEC };
	uint64_t began = monotonic_usec();

	while (flock(folder, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (monotonic_usec() - began >= wait_usec)
			return -EBUSY;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int log_open_folder(const struct audit_log_options *options, struct sbx_error *err)
{
	const char *path = options->folder;
	_cleanup_close_ int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int r;

	if (folder < 0)
		return log_fail(err, -errno, path, NULL, "make it with 'sbx-audit setup'");
	if (fstat(folder, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return log_fail(err, -EPERM, path, "other users could write to the directory",
				"change its owner to the user of the log, and its mode to 0700");
	r = lock_folder(folder, options->wait_usec);
	if (r == -EBUSY)
		return log_fail(err, r, path, "another process is writing to it",
				"send records to its socket, or stop 'sbx-audit serve' first");
	if (r < 0)
		return log_fail(err, r, path, NULL, "keep the log on a local file system");
	return take_fd(&folder);
}

/* ---- segments ---- */

void log_segment_name(uint64_t first, char ret[SEGMENT_NAME_SIZE])
{
	(void)snprintf(ret, SEGMENT_NAME_SIZE, "%020" PRIu64 ".db", first);
}

static bool is_segment(const char *name)
{
	return strspn(name, "0123456789") == SEGMENT_DIGITS &&
	       strcmp(name + SEGMENT_DIGITS, ".db") == 0;
}

int log_find_segment(int folder, char ret[SEGMENT_NAME_SIZE])
{
	/* Another position in the folder than that of whoever else reads it. */
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool is_found = false;

	if (!dir) {
		close_fd(&fd);
		return -EIO;
	}
	while ((entry = readdir(dir)))
		if (is_segment(entry->d_name) && (!is_found || strcmp(entry->d_name, ret) > 0)) {
			memcpy(ret, entry->d_name, SEGMENT_NAME_SIZE);
			is_found = true;
		}
	return is_found;
}

/* ---- create ---- */

struct creation {
	struct chain_genesis genesis;
	struct hasher *hasher;
	struct text body;
};

static int describe(struct creation *creation, const struct audit_key *key)
{
	struct chain_genesis *genesis = &creation->genesis;
	_cleanup_close_ int boot = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
	uint8_t id[(AUDIT_LOG_ID_SIZE - 1) / 2];
	ssize_t n;

	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return -EIO;
	for (size_t i = 0; i < sizeof(id); i++)
		(void)snprintf(genesis->log_id + 2 * i, 3, "%02x", id[i]);
	n = boot < 0 ? 0 : fd_read_full(boot, genesis->boot_id, AUDIT_BOOT_ID_SIZE - 1);
	genesis->boot_id[n == AUDIT_BOOT_ID_SIZE - 1 ? n : 0] = '\0';
	genesis->time_usec = log_now_usec();
	memcpy(genesis->public_key, key->public_key, sizeof(genesis->public_key));
	return chain_add_genesis(&creation->body, genesis);
}

static int fill_meta(struct store *store, const struct creation *creation, struct sbx_error *err)
{
	static const struct audit_hash zero;
	static const struct merkle_frontier empty;
	uint8_t first[8] = { 0 }, frontier[FRONTIER_BYTES_MAX];
	size_t n_frontier = log_save_frontier(&empty, frontier);
	const struct {
		const char *key;
		const void *bytes;
		size_t n_bytes;
	} values[] = {
		{ META_LOG, creation->genesis.log_id, AUDIT_LOG_ID_SIZE - 1 },
		{ META_FIRST, first, sizeof(first) },
		{ META_PREVIOUS, zero.bytes, sizeof(zero.bytes) },
		{ META_FIRST_FRONTIER, frontier, n_frontier },
		{ META_FRONTIER, frontier, n_frontier },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(values); i++)
		r = store_set_meta(store, values[i].key, values[i].bytes, values[i].n_bytes, err);
	return r;
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
	int r = chain_next(creation->hasher, 0, &zero, body->data, row.n_body, &row.hash);

	if (r == 0)
		r = fill_meta(store, creation, err);
	if (r < 0)
		return r;
	return store_add(store, &row, err);
}

static int make_segment(int folder, const struct audit_key *key, const char *path,
			struct sbx_error *err)
{
	_cleanup_hasher_ struct hasher *hasher = NULL;
	struct creation creation = { .body = TEXT_INIT };
	char name[SEGMENT_NAME_SIZE];
	int r = hasher_new(&hasher);

	creation.hasher = hasher;
	if (r == 0)
		r = describe(&creation, key);
	log_segment_name(0, name);
	r = r < 0 ? log_fail(err, r, path, NULL, "free some memory")
		  : store_create(folder, name, fill, &creation, err);
	text_deinit(&creation.body);
	return r;
}

/* The credential's, the one of a try before this, or a new one. */
static int first_key(int folder, const struct audit_log_options *options, struct audit_key *ret,
		     struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = options->key_place ? key_store_elsewhere(folder, options->key_place,
							 options->credentials, ret, &why)
				   : key_load(folder, options->credentials, ret, &why);

	if (r < 0 && (r != -ENOENT || options->key_place) && err)
		*err = why;
	if (r == -ENOENT && !options->key_place) {
		r = key_make(0, ret, err);
		if (r == 0)
			r = key_store_at(folder, ret, err);
	}
	if (r == 0 && ret->epoch != 0)
		return log_fail(err, -EEXIST, options->folder,
				"there is the key of a log that was used before",
				"restore that log, or name another directory");
	return r;
}

int audit_log_create(const struct audit_log_options *options, struct sbx_error *err)
{
	_cleanup_audit_key_ struct audit_key key = AUDIT_KEY_INIT;
	_cleanup_audit_log_ struct audit_log *log = NULL;
	_cleanup_close_ int folder = -EBADF;
	char name[SEGMENT_NAME_SIZE];
	int r;

	if (mkdir(options->folder, 0700) < 0 && errno != EEXIST)
		return log_fail(err, -errno, options->folder, NULL, "make its parent directory");
	folder = log_open_folder(options, err);
	if (folder < 0)
		return folder;
	r = log_find_segment(folder, name);
	if (r > 0)
		return log_fail(err, -EEXIST, options->folder, "there is one already",
				"use it, or name another directory");
	if (r == 0)
		r = first_key(folder, options, &key, err);
	if (r == 0)
		r = make_segment(folder, &key, options->folder, err);
	if (r < 0)
		return r;
	/* The lock is the folder's, and the log takes it again. */
	close_fd(&folder);
	r = audit_log_open(options, &log, err);
	return r < 0 ? r : audit_log_checkpoint(log, err);
}
