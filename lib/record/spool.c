/* SPDX-License-Identifier: MIT */

/*
 * Opening the spool
 *
 * All tools of a user append to it concurrently: the kernel appends the bytes of one write() as a
 * whole. Whether the last line is torn can only be checked while no process writes, because a
 * reader can see half of a write; therefore writers hold a shared lock, and the check an exclusive
 * one.
 */

#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/state.h"
#include "record/record.h"

#define MOVED_TRIES_MAX 100

int spool_fail(struct sbx_error *err, int code, const char *directory, const char *why,
	       const char *fix)
{
	return error_fill(err, code, why, fix, "cannot open the spool of audit records in '%s'",
			  directory);
}

/* Another user with write access could remove or forge records. */
static bool is_ours_alone(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 077) == 0;
}

/* Ends a line that a crash has torn. If other processes hold the lock, skip this: each of them has
 * checked when it opened the file. */
static int end_torn_line(int fd)
{
	char last = '\n';
	struct stat st;
	int r = 0;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	if (fstat(fd, &st) < 0 || (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1))
		r = -EIO;
	else if (last != '\n')
		r = fd_write_all(fd, "\n", 1);
	(void)flock(fd, LOCK_UN);
	return r;
}

/* Was the file renamed after it was opened? Then its owner may have changed: root gives a renamed
 * spool to the log's user. */
static bool has_moved(int directory, const struct stat *st)
{
	struct stat now;

	return fstatat(directory, RECORD_SPOOL_NAME, &now, AT_SYMLINK_NOFOLLOW) < 0
		       ? errno == ENOENT
		       : now.st_ino != st->st_ino || now.st_dev != st->st_dev;
}

static const char *fix_to_open(int code)
{
	if (code == -ELOOP)
		return "remove '" RECORD_SPOOL_NAME "', which is a symbolic link";
	if (code == -EACCES || code == -EPERM)
		return "make '" RECORD_SPOOL_NAME "' readable and writable for its owner";
	if (code == -ENOSPC || code == -EDQUOT)
		return error_fix_of_write(code);
	return "check the file system of '" RECORD_SPOOL_NAME "'";
}

static int open_file(int directory, const char *name, struct sbx_error *err)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat st;
	int r, tries = 0;

	do {
		close_fd(&fd);
		fd = path_open_beneath(directory, RECORD_SPOOL_NAME,
				       O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0600);
		if (fd < 0)
			return spool_fail(err, fd, name, NULL, fix_to_open(fd));
		if (fstat(fd, &st) < 0)
			return spool_fail(err, -errno, name, NULL, "check the file system");
	} while (st.st_uid != geteuid() && has_moved(directory, &st) && ++tries < MOVED_TRIES_MAX);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || !is_ours_alone(&st))
		return spool_fail(
			err, -EPERM, name,
			RECORD_SPOOL_NAME " is not a regular file that only its owner can access",
			"move it away; sbx creates it again with the right owner and mode 0600");
	r = end_torn_line(fd);
	if (r < 0)
		return spool_fail(err, r, name, NULL, error_fix_of_write(r));
	return take_fd(&fd);
}

static int open_spool_directory(int state)
{
	return path_open_beneath(state, RECORD_SPOOL_DIRECTORY, O_RDONLY | O_DIRECTORY, 0);
}

static int make_spool_directory(int state)
{
	int r = path_make_parents_beneath(state, RECORD_SPOOL_DIRECTORY, 0755);

	return r < 0 ? r : path_make_parents_beneath(state, RECORD_SPOOL_DIRECTORY "/", 0700);
}

int spool_open_in(const char *state_directory, struct sbx_error *err)
{
	_cleanup_close_ int state = open(state_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = state < 0 ? -errno : 0;
	_cleanup_close_ int directory = r < 0 ? -EBADF : open_spool_directory(state);
	struct stat st;

	if (directory == -ENOENT) {
		r = make_spool_directory(state);
		directory = r < 0 ? r : open_spool_directory(state);
	}
	if (r < 0)
		return spool_fail(err, r, state_directory, NULL,
				  "create the directory, or choose another one");
	if (directory < 0)
		return spool_fail(err, directory, state_directory,
				  "'" RECORD_SPOOL_DIRECTORY "' is not a directory",
				  "remove it if it is a symbolic link");
	if (fstat(directory, &st) < 0 || !is_ours_alone(&st))
		return spool_fail(err, -EPERM, state_directory,
				  "other users could change the records in '" RECORD_SPOOL_DIRECTORY
				  "'",
				  "change its owner to the calling user and its mode to 0700");
	return open_file(directory, state_directory, err);
}

int spool_open(char *state_directory, struct sbx_error *err)
{
	/* Its parents belong to the user and may be links. */
	int r = geteuid() == 0 ? 0 : path_make_directories(state_directory, 0700);

	return r < 0 ? spool_fail(err, r, state_directory, NULL,
				  "create the directory, or set HOME or XDG_STATE_HOME")
		     : spool_open_in(state_directory, err);
}

int spool_open_fallback(char *state_directory, struct sbx_error *err)
{
	int r = state_make_fallback(state_directory);

	if (r < 0)
		return spool_fail(err, r, state_directory,
				  r == -EPERM ? "the directory that it is in belongs to another "
						"user, or others may write there"
					      : NULL,
				  "set HOME or XDG_STATE_HOME to a directory of your own");
	return spool_open(state_directory, err);
}
