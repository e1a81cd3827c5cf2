/* SPDX-License-Identifier: MIT */

/*
 * Since Linux 6.9 every process has an inode of its own in pidfs, counted up in 64 bits and never
 * used again. Before, all pidfds share one inode; there the pid together with the start time, in
 * ticks of 10 ms since the boot, serves: within one tick a pid would have to go once around.
 */

#include "server/process.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/process.h"

#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif

#define PID_BITS 22 /* the kernel's largest pid_max */

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
