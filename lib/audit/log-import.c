/* SPDX-License-Identifier: MIT */

/*
 * Importing the spool, every line exactly once
 *
 * The import claims a spool file by renaming it to a name that was never used and will never be
 * used again. The segment stores how much of the file of that name was imported, in the same
 * transaction as the records: a process that is killed leaves both or neither.
 *
 * A writer that opened the file before it was claimed may append to it for hours. So the file
 * stays, and is read on, until no process has it open: only then does F_SETLEASE grant F_WRLCK. An
 * open() at that moment fails (lib/record opens with O_NONBLOCK) and is retried, and by then the
 * old name leads to the next file. Only after the lease can a last line without a newline be called
 * torn.
 */

#include "audit/log.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/log-internal.h"
#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "record/record.h"

/* ---- names of claimed files ---- */

int claim_make_name(const char *prefix, uid_t uid, char ret[CLAIM_NAME_SIZE])
{
	uint8_t bytes[CLAIM_RANDOM_SIZE];
	size_t at = strlen(prefix);

	assert(at < sizeof(CLAIM_PREFIX));
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	memcpy(ret, prefix, at);
	hex_print(bytes, sizeof(bytes), ret + at);
	at += 2 * sizeof(bytes);
	ret[at] = '\0';
	if (uid != CLAIM_NOBODY)
		(void)snprintf(ret + at, CLAIM_NAME_SIZE - at, ".%u", (unsigned)uid);
	return 0;
}

/* At most ten digits, and not above the largest uid. */
static bool parse_uid(const char *digits, uid_t *ret)
{
	size_t n = strspn(digits, "0123456789");
	unsigned long long uid;

	if (n == 0 || n > 10 || digits[n] != '\0' || (digits[0] == '0' && n > 1))
		return false;
	uid = strtoull(digits, NULL, 10);
	if (uid >= CLAIM_NOBODY)
		return false;
	*ret = (uid_t)uid;
	return true;
}

bool claim_parse_name(const char *prefix, const char *name, uid_t *ret_uid)
{
	size_t n = strlen(prefix);

	*ret_uid = CLAIM_NOBODY;
	if (strncmp(name, prefix, n) != 0 ||
	    strspn(name + n, "0123456789abcdef") != 2 * CLAIM_RANDOM_SIZE)
		return false;
	name += n + 2 * CLAIM_RANDOM_SIZE;
	return *name == '\0' || (*name == '.' && parse_uid(name + 1, ret_uid));
}

/* ---- hand over ---- */

#define MOVED_PREFIX "handing-"

_Static_assert(sizeof(MOVED_PREFIX) <= sizeof(CLAIM_PREFIX), "CLAIM_NAME_SIZE has room for it");

struct gather {
	const struct gather_options *options;
	struct stat staging, inbox;
	uint64_t n_files;
	int first; /* the first failure */
	struct sbx_error *err;
};

static void fail(struct gather *gather, int code, const char *name, const char *why,
		 const char *fix)
{
	if (gather->first < 0)
		return;
	gather->first = sbx_error_what(gather->err, code, "cannot pass on the spool '%s'", name);
	if (why)
		sbx_error_why(gather->err, "%s", why);
	sbx_error_fix(gather->err, "%s", fix);
}

/* Moves a file to a name that was never used; returns it in @ret. */
static int move(int from_directory, const char *from, int to_directory, const char *prefix,
		uid_t owner, char ret[CLAIM_NAME_SIZE])
{
	int r = claim_make_name(prefix, owner, ret);

	if (r < 0)
		return r;
	return renameat2(from_directory, from, to_directory, ret, RENAME_NOREPLACE) < 0 ? -errno
											: 0;
}

/* ---- from the staging directory into the inbox ---- */

static bool is_of_owner_alone(const struct stat *st, uid_t owner)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 && (st->st_mode & 077) == 0 &&
	       st->st_uid == owner;
}

/* 1 if it is not a file of its owner alone. After a crash it may already have its new owner. */
static int give(const struct gather *gather, const char *name, uid_t owner)
{
	_cleanup_close_ int fd =
		path_open_beneath(gather->options->staging, name, O_PATH | O_NOFOLLOW, 0);
	const struct stat *inbox = &gather->inbox;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!is_of_owner_alone(&st, owner) && !is_of_owner_alone(&st, inbox->st_uid))
		return 1;
	if (st.st_uid != inbox->st_uid &&
	    fchownat(fd, "", inbox->st_uid, inbox->st_gid, AT_EMPTY_PATH) < 0)
		return -errno;
	/* Its former owner may have made it unreadable, but cannot do so any more. */
	return fchmodat(gather->options->staging, name, 0600, 0) < 0 ? -errno : 0;
}

static void fail_moving(struct gather *gather, int code, const char *name)
{
	fail(gather, code, name, NULL,
	     "check the file system and the permissions of the directories");
}

static void finish(struct gather *gather, const char *name, uid_t owner)
{
	const struct gather_options *options = gather->options;
	char to[CLAIM_NAME_SIZE];
	int r = give(gather, name, owner);

	if (r > 0) {
		/* The file's owner replaced it at the moment of the move. */
		if (unlinkat(options->staging, name, 0) < 0)
			(void)unlinkat(options->staging, name, AT_REMOVEDIR);
		fail(gather, -EPERM, name,
		     "it was removed: it was not a regular file that only its owner can write",
		     "check which service of that user created it");
		return;
	}
	if (r == 0)
		r = move(options->staging, name, options->inbox, CLAIM_PREFIX, owner, to);
	/* -ENOENT: another gather, which runs at the same time, has moved it into the inbox. */
	if (r < 0 && r != -ENOENT)
		fail_moving(gather, r, name);
	gather->n_files += r == 0;
}

/* ---- from a spool into the staging directory ---- */

static void take_spool(struct gather *gather, int spool, const char *name, uid_t owner)
{
	char to[CLAIM_NAME_SIZE];
	struct stat st;
	int r;

	if (fstatat(spool, RECORD_SPOOL_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			fail(gather, -errno, name, NULL, "check the file system");
		return;
	}
	if (!is_of_owner_alone(&st, owner)) {
		fail(gather, -EPERM, name,
		     "'" RECORD_SPOOL_NAME "' is not a regular file that only its owner can write",
		     "move the file away; it is created again with the right owner and mode 0600");
		return;
	}
	if (st.st_size == 0)
		return;
	r = move(spool, RECORD_SPOOL_NAME, gather->options->staging, MOVED_PREFIX, owner, to);
	if (r == 0)
		finish(gather, to, owner);
	else if (r != -ENOENT)
		fail(gather, r, name,
		     r == -EXDEV ? "it is on another file system than the spool of the calling user"
				 : NULL,
		     "check the file system of /var/lib/sbx");
}

static void take_service(struct gather *gather, const char *name)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_close_ int spool = -EBADF;
	struct stat st;

	text_addf(&path, "%s/" RECORD_SPOOL_DIRECTORY, name);
	if (text_status(&path) < 0) {
		fail(gather, -ENOMEM, name, NULL, "free some memory");
		return;
	}
	spool = path_open_beneath(gather->options->state, path.data, O_RDONLY | O_DIRECTORY, 0);
	if (spool == -ENOENT || spool == -ENOTDIR)
		return;
	if (spool < 0 || fstat(spool, &st) < 0)
		fail(gather, spool < 0 ? spool : -errno, name, NULL,
		     "replace the link with a directory that root can open");
	else if ((st.st_mode & 077) != 0)
		fail(gather, -EPERM, name, "users other than its owner could change its records",
		     "give the directory mode 0700");
	else
		take_spool(gather, spool, name, st.st_uid);
}

/* ---- all of them ---- */

/* Finishes moves of a tool that was killed. */
static void finish_all(struct gather *gather)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(gather->options->staging);
	const struct dirent *entry;
	uid_t owner;

	if (!dir)
		fail(gather, -errno, "sbx/spool", NULL, "check the file system");
	while (dir && (entry = readdir(dir)))
		if (claim_parse_name(MOVED_PREFIX, entry->d_name, &owner) && owner != CLAIM_NOBODY)
			finish(gather, entry->d_name, owner);
}

static void take_services(struct gather *gather)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(gather->options->state);
	const struct dirent *entry;
	struct stat st;

	if (!dir)
		fail(gather, -errno, ".", NULL, "check the file system");
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			take_service(gather, entry->d_name);
}

int audit_gather(const struct gather_options *options, uint64_t *ret_n_files, struct sbx_error *err)
{
	struct gather gather = { .options = options, .err = err };

	*ret_n_files = 0;
	if (fstat(options->staging, &gather.staging) < 0 ||
	    fstat(options->inbox, &gather.inbox) < 0)
		return sbx_error_what(err, -errno, "cannot pass on spools");
	if (gather.staging.st_uid != geteuid() || (gather.staging.st_mode & 077) != 0 ||
	    (gather.inbox.st_mode & 077) != 0)
		return error_fill(err, -EPERM, "other users could change the records in transit",
				  "set the mode of the spool and of the log's directory to 0700",
				  "cannot pass on spools");
	finish_all(&gather);
	if (gather.staging.st_dev != gather.inbox.st_dev ||
	    gather.staging.st_ino != gather.inbox.st_ino)
		take_spool(&gather, options->staging, "sbx/spool", geteuid());
	take_services(&gather);
	*ret_n_files = gather.n_files;
	return gather.first;
}

/* ---- take in ---- */

/* Large enough for the longest line and its newline. */
#define IMPORT_CHUNK_SIZE (4 * RECORD_BYTES_MAX)
#define CLAIM_KEY_SIZE (sizeof(META_SPOOL) + CLAIM_NAME_SIZE)
#define OFFSET_SIZE 8
/* What a file and a commit cost besides the bytes that are read: opening a file, and syncing the
 * log, takes about as long as reading so many. */
#define IMPORT_FILE_COST 1024
#define IMPORT_COMMIT_COST (64 * 1024)

struct import {
	struct audit_log *log;
	int spool;
	char name[CLAIM_NAME_SIZE];
	int fd;
	struct audit_writer owner; /* owner of the file, recorded as the writer */
	uint64_t offset;	   /* bytes before it have been imported */
	uint64_t until;		   /* lines that begin after it wait for the next import */
	uint64_t n_bytes_max;	   /* of this file */
	uint64_t n_bytes_run;	   /* of all files */
	uint64_t n_spent;	   /* of n_bytes_run */
	char *chunk;		   /* IMPORT_CHUNK_SIZE bytes */
	struct audit_import taken; /* counted since the last commit */
	struct audit_import *total;
};

static int import_fail(struct sbx_error *err, int code, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot import the spool");
}

static int import_fail_file(struct sbx_error *err, int code)
{
	return import_fail(err, code, NULL, "check the file system of the spool");
}

/* ---- the imported offset ---- */

static void import_add_key(const char *name, char ret[CLAIM_KEY_SIZE])
{
	(void)snprintf(ret, CLAIM_KEY_SIZE, META_SPOOL "%s", name);
}

static int import_read_offset(struct import *import, struct sbx_error *err)
{
	char key[CLAIM_KEY_SIZE];
	uint8_t offset[OFFSET_SIZE];
	int n;

	import_add_key(import->name, key);
	n = store_get_meta(import->log->store, key, offset, sizeof(offset), err);
	if (n < 0 && n != -ENOENT)
		return n;
	import->offset = n == sizeof(offset) ? log_get_u64(offset) : 0;
	return 0;
}

/* Commits the transaction with the imported offset, or (@offset: NULL) deletes the offset. */
static int commit_offset(struct audit_log *log, const char *key, const uint8_t *offset,
			 struct sbx_error *err)
{
	int r = log_begin(log, err);

	if (r < 0)
		return r;
	r = store_set_meta(log->store, key, offset, OFFSET_SIZE, err);
	return r < 0 ? r : audit_log_commit(log, err);
}

/* Commits the records imported since the last commit together with the offset. */
static int commit(struct import *import, struct sbx_error *err)
{
	struct audit_import *taken = &import->taken, *total = import->total;
	char key[CLAIM_KEY_SIZE];
	uint8_t offset[OFFSET_SIZE];
	int r;

	import->n_spent += IMPORT_COMMIT_COST;
	import_add_key(import->name, key);
	log_put_u64(offset, import->offset);
	r = commit_offset(import->log, key, offset, err);
	if (r < 0)
		return r;
	total->n_records += taken->n_records;
	total->n_refused += taken->n_refused;
	total->n_torn += taken->n_torn;
	*taken = (struct audit_import){ .n_records = 0 };
	if (import->log->imported)
		import->log->imported(import->log->imported_userdata, total->n_records);
	return 0;
}

/* ---- lines ---- */

/* Adds a record in place of a line that cannot be one: its length, and its hash if known. */
static int say_instead(struct import *import, const char *event, const char *line, size_t n_bytes,
		       const char *why, struct sbx_error *err)
{
	_cleanup_text_ struct text members = TEXT_INIT;
	const struct iovec part = { (void *)line, n_bytes };
	struct json_writer json;
	struct audit_hash hash;

	if (line && audit_hash_digest(&part, 1, &hash) < 0)
		return import_fail(err, -EIO, "libcrypto cannot hash",
				   "check how it is configured");
	json_write(&json, &members);
	json_member_string(&json, "source", "spool");
	json_member_u64(&json, "uid", import->owner.uid);
	json_member_u64(&json, "bytes", n_bytes);
	if (line)
		json_member_hex(&json, "sha256", hash.bytes, sizeof(hash.bytes));
	json_member_string(&json, "why", why);
	if (text_status(&members) < 0)
		return import_fail(err, -ENOMEM, NULL, "free some memory");
	return audit_log_say(import->log, event, members.data, err);
}

/* Does the JSON end where something must follow? */
static bool is_torn(const char *line, size_t n_bytes)
{
	size_t at;

	return json_validate(line, n_bytes, &at, NULL) < 0 && at >= n_bytes;
}

static int refuse(struct import *import, const char *line, size_t n_bytes, const char *why,
		  struct sbx_error *err)
{
	bool torn = line && is_torn(line, n_bytes);

	import->taken.n_torn += torn;
	import->taken.n_refused += !torn;
	return say_instead(import, torn ? "record_torn" : "record_refused", line, n_bytes, why,
			   err);
}

static int take_line(struct import *import, const char *line, size_t n_bytes, struct sbx_error *err)
{
	struct sbx_error refusal = { .code = 0 };
	int r;

	/* The end of a torn line, written by the next writer. */
	if (n_bytes == 0)
		return 0;
	r = audit_log_add(import->log, line, n_bytes, &import->owner, NULL, &refusal);
	if (r == AUDIT_REFUSED)
		return refuse(import, line, n_bytes,
			      refusal.why[0] != '\0' ? refusal.why : refusal.what, err);
	if (r < 0 && err)
		*err = refusal;
	import->taken.n_records += r == 0;
	return r;
}

/* The next byte from @at on that is not in a hole: a hole has no newline, and can be longer than
 * could ever be read. */
static off_t find_data(int fd, uint64_t at)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	return data < 0 && errno != ENXIO ? (off_t)at : data;
}

/* Length of the line at @at with its newline; 0 if there is no newline yet. A line from which
 * n_bytes_max have been read is refused in pieces. */
static int64_t line_length(struct import *import, uint64_t began)
{
	uint64_t n_read = 0;
	off_t at = find_data(import->fd, began);
	ssize_t n = 0;

	while (at >= 0 && (n = pread(import->fd, import->chunk, IMPORT_CHUNK_SIZE, at)) > 0) {
		const char *end = memchr(import->chunk, '\n', (size_t)n);

		if (end)
			return at - (off_t)began + (end - import->chunk) + 1;
		at += n;
		n_read += (uint64_t)n;
		import->n_spent += (uint64_t)n;
		if (n_read >= import->n_bytes_max)
			return at - (off_t)began;
		at = find_data(import->fd, (uint64_t)at);
	}
	return n < 0 ? -errno : 0;
}

/* Imports a line that does not fit into a chunk: 1, or 0 if its end is not written yet. */
static int take_giant(struct import *import, struct sbx_error *err)
{
	int64_t n = line_length(import, import->offset);
	int r;

	if (n <= 0)
		return n < 0 ? import_fail_file(err, (int)n) : 0;
	r = refuse(import, NULL, (size_t)n - 1, "it is longer than 128KiB", err);
	if (r < 0)
		return r;
	import->offset += (uint64_t)n;
	r = commit(import, err);
	return r < 0 ? r : 1;
}

/* Imports the complete lines of the next chunk: 1, or 0 if there is none. */
static int take_chunk(struct import *import, struct sbx_error *err)
{
	const char *at = import->chunk, *end;
	ssize_t n;
	int r;

	if (import->offset >= import->until)
		return 0;
	n = pread(import->fd, import->chunk, IMPORT_CHUNK_SIZE, (off_t)import->offset);
	if (n <= 0)
		return n < 0 ? import_fail_file(err, -errno) : 0;
	import->n_spent += (uint64_t)n;
	while ((end = memchr(at, '\n', (size_t)(import->chunk + n - at)))) {
		r = take_line(import, at, (size_t)(end - at), err);
		if (r < 0)
			return r;
		at = end + 1;
	}
	if (at == import->chunk)
		return n == IMPORT_CHUNK_SIZE ? take_giant(import, err) : 0;
	import->offset += (uint64_t)(at - import->chunk);
	r = commit(import, err);
	return r < 0 ? r : 1;
}

static int import_take_lines(struct import *import, struct sbx_error *err)
{
	int r;

	do
		r = take_chunk(import, err);
	while (r > 0);
	return r;
}

static int import_take_torn_end(struct import *import, struct sbx_error *err)
{
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(import->fd, &st) < 0)
		return import_fail_file(err, -errno);
	if ((uint64_t)st.st_size <= import->offset)
		return 0;
	n = pread(import->fd, import->chunk, IMPORT_CHUNK_SIZE, (off_t)import->offset);
	if (n < 0)
		return import_fail_file(err, -errno);
	import->taken.n_torn++;
	r = say_instead(import, "record_torn",
			(uint64_t)n == (uint64_t)st.st_size - import->offset ? import->chunk : NULL,
			(size_t)((uint64_t)st.st_size - import->offset), "it has no line end", err);
	import->offset = (uint64_t)st.st_size;
	return r < 0 ? r : commit(import, err);
}

/* ---- claim ---- */

static int claim(int spool, struct sbx_error *err)
{
	char name[CLAIM_NAME_SIZE];
	struct stat st;

	if (fstatat(spool, RECORD_SPOOL_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : import_fail_file(err, -errno);
	if (st.st_size == 0)
		return 0;
	if (claim_make_name(CLAIM_PREFIX, CLAIM_NOBODY, name) < 0)
		return import_fail(err, -EIO, "the kernel gives no random bytes", "try again");
	if (renameat2(spool, RECORD_SPOOL_NAME, spool, name, RENAME_NOREPLACE) < 0 &&
	    errno != ENOENT)
		return import_fail_file(err, -errno);
	return 0;
}

/* ---- files ---- */

/* Does no other process have the file open? Then none can open it any more. */
static bool is_left_alone(int fd)
{
	/* An open() by another process breaks the lease, which by default sends SIGIO and kills. */
	return fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

/* Remove the file first, then the offset in the segment. */
static int remove_file(struct import *import, struct sbx_error *err)
{
	char key[CLAIM_KEY_SIZE];

	import_add_key(import->name, key);
	import->n_spent += IMPORT_COMMIT_COST;
	if (unlinkat(import->spool, import->name, 0) < 0)
		return import_fail_file(err, -errno);
	return commit_offset(import->log, key, NULL, err);
}

static int check_file(struct import *import, uint64_t *ret_size, struct sbx_error *err)
{
	struct stat st;

	if (fstat(import->fd, &st) < 0)
		return import_fail_file(err, -errno);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return import_fail(err, -EPERM,
				   "a file in it is not owned by the calling user alone",
				   "move the file away");
	if (st.st_nlink != 1)
		return import_fail(err, -EPERM, "a file in it has a second hard link",
				   "copy the file, and move it away");
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* 1 if there is more than the share. */
static int take_share(struct import *import, uint64_t size, struct sbx_error *err)
{
	int r;

	import->until = size;
	if (size > import->offset && size - import->offset > import->n_bytes_max)
		import->until = import->offset + import->n_bytes_max;
	r = import_take_lines(import, err);
	return r == 0 && import->until < size && import->offset >= import->until ? 1 : r;
}

/* The same. */
static int take_open_file(struct import *import, struct sbx_error *err)
{
	uint64_t size = 0;
	struct stat st;
	int r = check_file(import, &size, err);

	if (r < 0)
		return r;
	import->until = 0;
	r = import_read_offset(import, err);
	if (r < 0)
		return r;
	if (import->offset > size)
		return import_fail(err, -EBADMSG, "a file in it has become shorter",
				   "move the file away, and keep it");
	/* Stop at the present size: a process that writes as fast as the import reads would
	 * otherwise occupy the log's service forever. */
	r = take_share(import, size, err);
	if (r != 0 || !is_left_alone(import->fd))
		return r;
	/* A writer may have appended between the last read and the lease, also more than a share.
	 */
	if (fstat(import->fd, &st) < 0)
		return import_fail_file(err, -errno);
	r = take_share(import, (uint64_t)st.st_size, err);
	if (r != 0)
		return r;
	r = import_take_torn_end(import, err);
	return r < 0 ? r : remove_file(import, err);
}

/* The same. */
static int take_file(struct import *import, const char *name, uid_t owner, struct sbx_error *err)
{
	int r;

	import->n_spent += IMPORT_FILE_COST;
	assert(strlen(name) < sizeof(import->name)); /* claim_parse_name() has checked it */
	memcpy(import->name, name, strlen(name) + 1);
	import->owner.uid = owner == CLAIM_NOBODY ? geteuid() : owner;
	import->fd = path_open_beneath(import->spool, name, O_RDONLY | O_NONBLOCK, 0);
	if (import->fd == -EAGAIN)
		return import_fail(err, -EAGAIN, "a process has a lease on a file in it",
				   "wait a minute");
	if (import->fd < 0)
		return import_fail_file(err, import->fd);
	r = take_open_file(import, err);
	/* Closing the fd releases the lease. */
	close_fd(&import->fd);
	if (r < 0)
		audit_log_rollback(import->log);
	return r;
}

/* ---- in a fair order ---- */

/*
 * The owner of a spool decides how many files it becomes and how long they are. So the files take
 * turns: first one file of each owner, then the second one of each, until the run has read what it
 * may; and of one file not more than an owner's share. The next run begins with the owner at whom
 * this one stopped, and with the next file of each owner, because one that is still open stays.
 */

struct waiting {
	char name[CLAIM_NAME_SIZE];
	uid_t owner;
	size_t turn;  /* how many files of its owner come before it in this run */
	size_t place; /* how many owners do */
};

struct waiting_list {
	struct waiting *files;
	size_t n, n_owners;
};

static void waiting_deinit(struct waiting_list *list)
{
	free(list->files);
}
#define _cleanup_waiting_ _cleanup_(waiting_deinit)

static int compare_owners(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_turns(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int list_waiting(int spool, struct waiting_list *list)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(spool);
	const struct dirent *entry;
	struct waiting file = { .name = "" };
	int r = dir ? 0 : -EIO;

	while (dir && r == 0 && (entry = readdir(dir)))
		if (claim_parse_name(CLAIM_PREFIX, entry->d_name, &file.owner)) {
			/* claim_parse_name() has checked the length. */
			memcpy(file.name, entry->d_name, strlen(entry->d_name) + 1);
			r = ARRAY_ADD(list->files, list->n, &file);
		}
	return r;
}

/* Sorts the files of each owner, beginning with another one in each run. */
static void give_turns(struct waiting_list *list, size_t n_runs)
{
	qsort(list->files, list->n, sizeof(*list->files), compare_owners);
	for (size_t first = 0, end; first < list->n; first = end) {
		for (end = first; end < list->n; end++)
			if (list->files[end].owner != list->files[first].owner)
				break;
		for (size_t i = first; i < end; i++) {
			list->files[i].turn = (i - first + n_runs) % (end - first);
			list->files[i].place = list->n_owners;
		}
		list->n_owners++;
	}
}

/* The owners that come before @next come last. */
static void take_turns(struct waiting_list *list, uid_t next)
{
	size_t n_before = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->files[i].owner < next)
			n_before = list->files[i].place + 1;
	for (size_t i = 0; i < list->n; i++) {
		size_t *place = &list->files[i].place;

		*place = (*place + list->n_owners - n_before) % list->n_owners;
	}
	qsort(list->files, list->n, sizeof(*list->files), compare_turns);
}

/* A writer that still has a handed-over file open can truncate it, or have a lease on it, which
 * delays an open() by 45 seconds. */
static bool concerns_one_file(int r)
{
	return r == -EPERM || r == -EACCES || r == -EBADMSG || r == -EAGAIN;
}

/* Takes a share of each file, and leaves in the list those that have more. A failure that concerns
 * one file must not stop the import of other users' files. The first failure is returned. */
static int take_shares(struct import *import, struct waiting_list *list, struct sbx_error *err)
{
	uint64_t share = (import->n_bytes_run - import->n_spent) / list->n_owners;
	size_t n_rest = 0;
	int first = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct waiting *file = &list->files[i];
		int r;

		if (import->n_spent >= import->n_bytes_run) {
			import->log->import_next = file->owner;
			import->total->has_more = true;
			break;
		}
		import->n_bytes_max = share > 0 ? share : 1;
		r = take_file(import, file->name, file->owner, first ? NULL : err);
		if (r > 0)
			list->files[n_rest++] = *file;
		else
			first = first ? first : r;
		if (r < 0 && !concerns_one_file(r)) {
			n_rest = 0;
			break;
		}
	}
	list->n = list->n_owners = n_rest;
	return first;
}

static int take_files(struct import *import, struct sbx_error *err)
{
	_cleanup_waiting_ struct waiting_list list = { .files = NULL };
	struct audit_log *log = import->log;
	int r = list_waiting(import->spool, &list), first = 0;

	if (r < 0)
		return import_fail_file(err, r);
	if (list.n == 0)
		return 0;
	give_turns(&list, log->n_imports++);
	take_turns(&list, log->import_next);
	/* Owners with little leave room for those with much. */
	while (list.n > 0 && import->n_spent < import->n_bytes_run) {
		r = take_shares(import, &list, first ? NULL : err);
		first = first ? first : r;
	}
	import->total->has_more |= list.n > 0;
	return first;
}

/* ---- offsets of files that are gone ---- */

struct gone {
	int spool;
	char key[CLAIM_KEY_SIZE]; /* "": none */
};

static int find_gone(void *userdata, const char *key, struct sbx_error *err)
{
	struct gone *gone = userdata;

	if (gone->key[0] != '\0' || strlen(key) >= sizeof(gone->key) ||
	    faccessat(gone->spool, key + strlen(META_SPOOL), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	(void)snprintf(gone->key, sizeof(gone->key), "%s", key);
	return 0;
}

/* Deletes the offset of one file that is gone: a crash leaves at most one. */
static int forget_gone(struct import *import, struct sbx_error *err)
{
	struct gone gone = { .spool = import->spool };
	int r = store_each_meta(import->log->store, META_SPOOL, find_gone, &gone, err);

	if (r < 0 || gone.key[0] == '\0')
		return r;
	return commit_offset(import->log, gone.key, NULL, err);
}

void audit_log_watch_import(struct audit_log *log, audit_imported *imported, void *userdata)
{
	log->imported = imported;
	log->imported_userdata = userdata;
}

int audit_log_import_some(struct audit_log *log, int spool, uint64_t n_bytes,
			  struct audit_import *ret, struct sbx_error *err)
{
	struct import import = {
		.log = log, .spool = spool, .fd = -EBADF, .n_bytes_run = n_bytes, .total = ret
	};
	_cleanup_free_ char *chunk = malloc(IMPORT_CHUNK_SIZE);
	int r;

	*ret = (struct audit_import){ .n_records = 0 };
	if (!chunk)
		return import_fail(err, -ENOMEM, NULL, "free some memory");
	import.chunk = chunk;
	r = audit_log_commit(log, err);
	if (r < 0)
		return r;
	r = forget_gone(&import, err);
	if (r < 0)
		return r;
	r = claim(spool, err);
	return r < 0 ? r : take_files(&import, err);
}

int audit_log_import(struct audit_log *log, int spool, struct audit_import *ret,
		     struct sbx_error *err)
{
	return audit_log_import_some(log, spool, UINT64_MAX, ret, err);
}
