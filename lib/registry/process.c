/* SPDX-License-Identifier: MIT */

/*
 * Which process a pid meant
 *
 * A pid is used again; a pid together with the moment at which its process began is not, since all
 * pids would have to go once around within one tick of 10 ms.
 */

#include "registry/registry.h"

#include <errno.h>

#include "base/fd.h"
#include "base/process.h"

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
