/* SPDX-License-Identifier: MIT */

/*
 * Taking in the spool, every line once
 *
 * The spool's file is claimed: it gets a name that was never used and will never be used again.
 * How much of the file of that name has been taken stands in the segment, and is committed with the
 * records, so whoever is killed leaves both or none.
 *
 * Who had the file open before it was claimed still writes to it, perhaps for hours. So it stays,
 * and is read on, until nobody has it open: the kernel gives a lease for writing only then. An open
 * that is on its way at that moment fails (lib/record opens with O_NONBLOCK) and is tried again,
 * and by then the name leads to the next file. Only now can a last line without an end be called
 * torn.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/log-import.h"
#include "base/path.h"
#include "record/record.h"

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

/* Has nobody got it open but us? Then nobody will any more. */
static bool is_left_alone(int fd)
{
	/* Whoever wants to open it would be told of by SIGIO, which kills. */
	return fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

/* The number in the segment goes last, after the file. */
static int remove_file(struct import *import, struct sbx_error *err)
{
	char key[CLAIM_KEY_SIZE];
	int r;

	import_add_key(import->name, key);
	if (unlinkat(import->spool, import->name, 0) < 0)
		return import_fail_file(err, -errno);
	r = log_begin(import->log, err);
	if (r == 0)
		r = store_set_meta(import->log->store, key, NULL, 0, err);
	return r < 0 ? r : audit_log_commit(import->log, err);
}

static bool is_ours_alone(int fd, uint64_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return false;
	*ret_size = (uint64_t)st.st_size;
	return true;
}

static int take_open_file(struct import *import, struct sbx_error *err)
{
	uint64_t size = 0;
	int r;

	import->until = 0;
	if (!is_ours_alone(import->fd, &size))
		return import_fail(err, -EPERM,
				   "a file in it is not owned by the calling user alone",
				   "move the file away");
	r = import_read_offset(import, err);
	if (r == 0 && import->offset > size)
		return import_fail(err, -EBADMSG, "a file in it has become shorter",
				   "move the file away, and keep it");
	/* A process that writes as fast as it is read would keep the log's service for itself. */
	import->until = size;
	if (r == 0)
		r = import_take_lines(import, err);
	if (r < 0 || !is_left_alone(import->fd))
		return r;
	/* Perhaps somebody has written between the last line and the lease. */
	import->until = UINT64_MAX;
	r = import_take_lines(import, err);
	if (r == 0)
		r = import_take_torn_end(import, err);
	return r < 0 ? r : remove_file(import, err);
}

static int take_file(struct import *import, const char *name, uid_t owner, struct sbx_error *err)
{
	int r;

	/* claim_parse_name() has counted its letters. */
	memcpy(import->name, name, strlen(name) + 1);
	import->owner.uid = owner == CLAIM_NOBODY ? geteuid() : owner;
	import->fd = path_open_beneath(import->spool, name, O_RDONLY | O_NONBLOCK, 0);
	if (import->fd < 0)
		return import_fail_file(err, import->fd);
	r = take_open_file(import, err);
	/* The lease ends with the fd. */
	close_fd(&import->fd);
	if (r < 0)
		audit_log_rollback(import->log);
	return r;
}

/* A writer whose file has been handed over may still have it open, and can cut it off: the files
 * of the others are taken all the same, and the first failure is told. */
static int take_files(struct import *import, struct sbx_error *err)
{
	int fd = openat(import->spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), first = 0;
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uid_t owner;

	if (!dir) {
		close_fd(&fd);
		return import_fail_file(err, -EIO);
	}
	while ((entry = readdir(dir))) {
		int r = claim_parse_name(CLAIM_PREFIX, entry->d_name, &owner)
				? take_file(import, entry->d_name, owner, first ? NULL : err)
				: 0;

		first = first ? first : r;
		if (r < 0 && r != -EPERM && r != -EBADMSG)
			break;
	}
	return first;
}

/* ---- numbers of files that are no more ---- */

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

/* One after a crash, which is all that a crash leaves. */
static int forget_gone(struct import *import, struct sbx_error *err)
{
	struct gone gone = { .spool = import->spool };
	int r = store_each_meta(import->log->store, META_SPOOL, find_gone, &gone, err);

	if (r < 0 || gone.key[0] == '\0')
		return r;
	r = log_begin(import->log, err);
	if (r == 0)
		r = store_set_meta(import->log->store, gone.key, NULL, 0, err);
	return r < 0 ? r : audit_log_commit(import->log, err);
}

void audit_log_watch_import(struct audit_log *log, audit_imported *imported, void *userdata)
{
	log->imported = imported;
	log->imported_userdata = userdata;
}

int audit_log_import(struct audit_log *log, int spool, struct audit_import *ret,
		     struct sbx_error *err)
{
	struct import import = { .log = log, .spool = spool, .fd = -EBADF, .total = ret };
	_cleanup_free_ char *chunk = malloc(IMPORT_CHUNK_SIZE);
	int r;

	*ret = (struct audit_import){ .n_records = 0 };
	if (!chunk)
		return import_fail(err, -ENOMEM, NULL, "free some memory");
	import.chunk = chunk;
	r = audit_log_commit(log, err);
	if (r == 0)
		r = forget_gone(&import, err);
	if (r == 0)
		r = claim(spool, err);
	return r < 0 ? r : take_files(&import, err);
}
