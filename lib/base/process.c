/* SPDX-License-Identifier: MIT */

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd.h"

#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif

#define FIELDS_BEFORE_START 19
#define STATUS_OF_SIGNAL 128
#define PID_BITS 22 /* the kernel's largest pid_max */

int64_t process_start_ticks(pid_t pid)
{
	char path[64], bytes[1024];
	_cleanup_close_ int fd = -EBADF;
	int64_t start = 0;
	ssize_t n;
	char *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = fd_read_full(fd, bytes, sizeof(bytes) - 1);
	if (n < 0)
		return n;
	bytes[n] = '\0';
	/* The name is in parentheses and may contain anything, such as ") S 1". */
	at = strrchr(bytes, ')');
	for (int i = 0; at && i <= FIELDS_BEFORE_START; i++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %" SCNd64, &start) == 1 && start >= 0 ? start : -EBADMSG;
}

/*
 * Since Linux 6.9 pidfs gives every process a 64-bit inode number that is never reused. Before, all
 * pidfds share one inode: use the PID with the start time (ticks of 10 ms since boot). A duplicate
 * would need all PIDs to be used within one tick.
 */
int process_identify(pid_t pid, int pidfd, uint64_t *ret)
{
	_cleanup_close_ int own = pidfd < 0 ? pidfd_of(pid) : -EBADF;
	int fd = pidfd < 0 ? own : pidfd;
	struct statfs fs;
	struct stat st;
	int64_t start;

	if (fd < 0)
		return fd;
	if (fstatfs(fd, &fs) == 0 && fs.f_type == PID_FS_MAGIC && fstat(fd, &st) == 0 &&
	    st.st_ino != 0) {
		*ret = st.st_ino;
		return 0;
	}
	start = process_start_ticks(pid);
	if (start < 0)
		return (int)start;
	*ret = ((uint64_t)start + 1) << PID_BITS | (uint64_t)pid;
	return 0;
}

int process_wait(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int process_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? STATUS_OF_SIGNAL + WTERMSIG(wait_status)
					: WEXITSTATUS(wait_status);
}

mode_t process_open_umask(void)
{
	mode_t before = umask(0);

	(void)umask(before & ~(mode_t)S_IRWXU);
	return before;
}
