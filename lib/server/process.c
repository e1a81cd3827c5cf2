/* SPDX-License-Identifier: MIT */

/*
 * Since Linux 6.9 every process has an inode of its own in pidfs, counted up in 64 bits and never
 * used again. Before, all pidfds share one inode; there the pid together with the start time, in
 * ticks of 10 ms since the boot, serves: within one tick a pid would have to go once around.
 */

#include "server/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/fd.h"

#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif

#define PID_BITS 22 /* the kernel's largest pid_max */
#define FIELDS_BEFORE_START 19

static int start_time(pid_t pid, uint64_t *ret)
{
	char path[64], bytes[1024];
	_cleanup_close_ int fd = -EBADF;
	ssize_t n;
	char *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = fd_read_full(fd, bytes, sizeof(bytes) - 1);
	if (n < 0)
		return (int)n;
	bytes[n] = '\0';
	/* The name stands in parentheses and may hold anything, also ") S 1". */
	at = strrchr(bytes, ')');
	for (int i = 0; at && i <= FIELDS_BEFORE_START; i++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %" SCNu64, ret) == 1 ? 0 : -EBADMSG;
}

int process_identify(pid_t pid, int pidfd, uint64_t *ret)
{
	_cleanup_close_ int own = pidfd < 0 ? pidfd_of(pid) : -EBADF;
	int fd = pidfd < 0 ? own : pidfd;
	struct statfs fs;
	struct stat st;
	uint64_t start = 0;
	int r;

	if (fd < 0)
		return fd;
	if (fstatfs(fd, &fs) == 0 && fs.f_type == PID_FS_MAGIC && fstat(fd, &st) == 0 &&
	    st.st_ino != 0) {
		*ret = st.st_ino;
		return 0;
	}
	r = start_time(pid, &start);
	if (r < 0)
		return r;
	*ret = (start + 1) << PID_BITS | (uint64_t)pid;
	return 0;
}
