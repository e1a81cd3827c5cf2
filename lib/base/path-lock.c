/* SPDX-License-Identifier: MIT */

/*
 * path_unlock() removes the file, so the fd on which a process waited may refer to an unlinked
 * file; then it opens the new one.
 */

#include "base/path-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define SUFFIX ".sbx-lock"

static int open_file(const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size != 0)
		return -EPERM;
	return take_fd(&fd);
}

int path_lock_open(int fd)
{
	struct stat st;

	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return fstat(fd, &st) < 0 ? -errno : st.st_nlink > 0;
}

static int lock_file(const char *path)
{
	for (;;) {
		_cleanup_close_ int fd = open_file(path);
		int r = fd < 0 ? fd : path_lock_open(fd);

		if (r != 0)
			return r < 0 ? r : take_fd(&fd);
	}
}

int path_lock(const char *path)
{
	_cleanup_text_ struct text file = TEXT_INIT;

	text_addf(&file, "%s" SUFFIX, path);
	return text_status(&file) < 0 ? text_status(&file) : lock_file(text_string(&file));
}

void path_unlock(int fd, const char *path)
{
	_cleanup_text_ struct text file = TEXT_INIT;

	text_addf(&file, "%s" SUFFIX, path);
	if (text_status(&file) == 0)
		(void)unlink(text_string(&file));
	(void)close(fd);
}
