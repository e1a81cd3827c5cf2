/* SPDX-License-Identifier: MIT */

/*
 * Opening the spool
 *
 * It is written by every tool of a user at the same time: the kernel appends the bytes of one
 * write() as a whole. To look whether the last line is torn is only meaningful while nobody is
 * writing, because a reader can see half of a write; therefore writers share a lock, and who looks
 * has it alone.
 */

#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "base/path.h"
#include "record/record.h"

#define MOVED_TRIES_MAX 100

int spool_fail(struct sbx_error *err, int code, const char *folder, const char *why,
	       const char *fix)
{
	(void)sbx_error_what(err, code, "cannot open the spool of records in '%s'", folder);
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

/* Whoever else could write here could forget or forge records. */
static bool is_ours_alone(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 077) == 0;
}

/* Left behind by a crash. While others write there is no saying, and no need: they have looked. */
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

/* Was it moved away after it was opened? Root gives what it has moved to the log's user. */
static bool has_moved(int folder, const struct stat *st)
{
	struct stat now;

	return fstatat(folder, RECORD_SPOOL_NAME, &now, AT_SYMLINK_NOFOLLOW) < 0
		       ? errno == ENOENT
		       : now.st_ino != st->st_ino || now.st_dev != st->st_dev;
}

static int open_file(int folder, const char *name, struct sbx_error *err)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat st;
	int r, tries = 0;

	do {
		close_fd(&fd);
		fd = path_open_beneath(folder, RECORD_SPOOL_NAME,
				       O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0600);
		if (fd < 0)
			return spool_fail(err, fd, name, NULL,
					  "remove the link or the permissions in its place");
		if (fstat(fd, &st) < 0)
			return spool_fail(err, -errno, name, NULL, "check the file system");
	} while (st.st_uid != geteuid() && has_moved(folder, &st) && ++tries < MOVED_TRIES_MAX);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || !is_ours_alone(&st))
		return spool_fail(
			err, -EPERM, name, RECORD_SPOOL_NAME " is not a file of its owner alone",
			"move it away; it is made again with the right owner and mode 0600");
	r = end_torn_line(fd);
	if (r < 0)
		return spool_fail(err, r, name, NULL, "make room on the file system");
	return take_fd(&fd);
}

int spool_open_in(const char *state_folder, struct sbx_error *err)
{
	_cleanup_close_ int state = open(state_folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int folder = -EBADF;
	struct stat st;
	int r = state < 0 ? -errno : 0;

	if (r == 0)
		r = path_make_parents_beneath(state, RECORD_SPOOL_FOLDER, 0755);
	if (r == 0)
		r = path_make_parents_beneath(state, RECORD_SPOOL_FOLDER "/", 0700);
	if (r < 0)
		return spool_fail(err, r, state_folder, NULL,
				  "make the directory, or name another");
	folder = path_open_beneath(state, RECORD_SPOOL_FOLDER, O_RDONLY | O_DIRECTORY, 0);
	if (folder < 0)
		return spool_fail(err, folder, state_folder,
				  "'" RECORD_SPOOL_FOLDER "' is not a directory of sbx",
				  "remove the link in its place");
	if (fstat(folder, &st) < 0 || !is_ours_alone(&st))
		return spool_fail(err, -EPERM, state_folder,
				  "others could change the records in '" RECORD_SPOOL_FOLDER "'",
				  "give the directory to the user who runs this, with mode 0700");
	return open_file(folder, state_folder, err);
}

/* The user's own folders above the state folder may be links, as the user likes them. */
static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int spool_open(char *state_folder, struct sbx_error *err)
{
	int r = geteuid() == 0 ? 0 : make_folders(state_folder);

	return r < 0 ? spool_fail(err, r, state_folder, NULL,
				  "make the directory, or set HOME or XDG_STATE_HOME")
		     : spool_open_in(state_folder, err);
}
