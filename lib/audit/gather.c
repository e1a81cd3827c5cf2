/* SPDX-License-Identifier: MIT */

/*
 * Handing spools over
 *
 * The owner of a spool is hostile, and it can rename and link there at any time. So a file is moved
 * first, into a directory where only we can, and looked at behind that: what was not a plain file
 * of its owner alone is removed. Only then does it change its owner, once, and moves on. Whoever is
 * killed on the way leaves a file in the staging directory, whose name says where to go on.
 *
 * A process that has the file open goes on writing to it; the log reads it to its end.
 */

#include "audit/gather.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/claim.h"
#include "base/path.h"
#include "base/text.h"
#include "record/record.h"

/* As long as CLAIM_PREFIX. */
#define MOVED_PREFIX "handing-"

struct gather {
	const struct gather_options *options;
	struct stat staging, inbox;
	uint64_t n_files;
	int first; /* failure */
	struct sbx_error *err;
};

static void fail(struct gather *gather, int code, const char *name, const char *why,
		 const char *fix)
{
	if (gather->first < 0)
		return;
	gather->first = sbx_error_what(gather->err, code, "cannot hand over the spool '%s'", name);
	if (why)
		sbx_error_why(gather->err, "%s", why);
	sbx_error_fix(gather->err, "%s", fix);
}

static bool is_the_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- from the staging directory into the inbox ---- */

static bool is_of_owner_alone(const struct stat *st, uid_t owner)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 && (st->st_mode & 077) == 0 &&
	       st->st_uid == owner;
}

/* A crash may have left it with its new owner. */
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
		return -EPERM;
	if (st.st_uid == inbox->st_uid)
		return 0;
	return fchownat(fd, "", inbox->st_uid, inbox->st_gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static void finish(struct gather *gather, const char *name, uid_t owner)
{
	const struct gather_options *options = gather->options;
	char to[CLAIM_NAME_SIZE];
	int r = give(gather, name, owner);

	if (r == -EPERM) {
		/* Its owner has put it there in the moment in which it was moved. */
		if (unlinkat(options->staging, name, 0) < 0)
			(void)unlinkat(options->staging, name, AT_REMOVEDIR);
		fail(gather, r, name, "it was not a file of its owner alone, and is removed",
		     "look what that user's service does");
		return;
	}
	if (r == 0)
		r = claim_make_name(CLAIM_PREFIX, owner, to);
	if (r == 0 && renameat2(options->staging, name, options->inbox, to, RENAME_NOREPLACE) < 0)
		r = -errno;
	gather->n_files += r == 0;
	if (r < 0)
		fail(gather, r, name, NULL,
		     "check the file system and the permissions of the directories");
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
		fail(gather, -EPERM, name, "'" RECORD_SPOOL_NAME "' is no file of its owner alone",
		     "move the file away; it is made again with the right owner and mode 0600");
		return;
	}
	if (st.st_size == 0)
		return;
	r = claim_make_name(MOVED_PREFIX, owner, to);
	if (r == 0 &&
	    renameat2(spool, RECORD_SPOOL_NAME, gather->options->staging, to, RENAME_NOREPLACE) < 0)
		r = -errno;
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

	text_addf(&path, "%s/" RECORD_SPOOL_FOLDER, name);
	if (text_status(&path) < 0) {
		fail(gather, -ENOMEM, name, NULL, "free some memory");
		return;
	}
	spool = path_open_beneath(gather->options->state, path.data, O_RDONLY | O_DIRECTORY, 0);
	if (spool == -ENOENT || spool == -ENOTDIR)
		return;
	if (spool < 0 || fstat(spool, &st) < 0)
		fail(gather, spool < 0 ? spool : -errno, name, NULL,
		     "remove the link in its place, or what keeps root out");
	else if ((st.st_mode & 077) != 0)
		fail(gather, -EPERM, name, "others than its owner could change its records",
		     "give the directory mode 0700");
	else
		take_spool(gather, spool, name, st.st_uid);
}

/* ---- all of them ---- */

static DIR *open_again(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);

	if (!dir)
		close_fd(&again);
	return dir;
}

/* What a killed one of us has left. */
static void finish_all(struct gather *gather)
{
	_cleanup_closedir_ DIR *dir = open_again(gather->options->staging);
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
	_cleanup_closedir_ DIR *dir = open_again(gather->options->state);
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
		return sbx_error_what(err, -errno, "cannot hand over spools");
	if (gather.staging.st_uid != geteuid() || (gather.staging.st_mode & 077) != 0 ||
	    (gather.inbox.st_mode & 077) != 0) {
		(void)sbx_error_what(err, -EPERM, "cannot hand over spools");
		sbx_error_why(err, "others could change the records on their way");
		sbx_error_fix(err, "set the mode of the spool and of the log's directory to 0700");
		return -EPERM;
	}
	finish_all(&gather);
	if (!is_the_same(&gather.staging, &gather.inbox))
		take_spool(&gather, options->staging, "sbx/spool", geteuid());
	take_services(&gather);
	*ret_n_files = gather.n_files;
	return gather.first;
}
