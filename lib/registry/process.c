/* SPDX-License-Identifier: MIT */

/*
 * Which process a pid meant
 *
 * A pid is used again; a pid together with the moment at which its process began is not, since all
 * pids would have to go once around within one tick of 10 ms.
 */

#include "registry/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

#define FIELDS_BEFORE_START 19

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
	/* The name stands in parentheses and may hold anything, also ") S 1". */
	at = strrchr(bytes, ')');
	for (int i = 0; at && i <= FIELDS_BEFORE_START; i++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %" SCNd64, &start) == 1 && start >= 0 ? start : -EBADMSG;
}

int process_open(pid_t pid, uint64_t start)
{
	_cleanup_close_ int fd = pid > 0 ? pidfd_of(pid) : -ESRCH;
	int64_t found;

	if (fd < 0)
		return fd;
	/* Behind the pidfd: whatever begins later under this number began at another time. */
	found = process_start_ticks(pid);
	if (found < 0)
		return (int)found;
	return (uint64_t)found == start ? take_fd(&fd) : -ESRCH;
}
