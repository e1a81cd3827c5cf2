/* SPDX-License-Identifier: MIT */

/*
 * Identifies a process by PID and start time
 *
 * PIDs are reused, but not within one tick of 10 ms, so PID and start time together are unique.
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
	/* After opening the pidfd: a process that got this PID later has another start time. */
	found = process_start_ticks(pid);
	if (found < 0)
		return (int)found;
	return (uint64_t)found == start ? take_fd(&fd) : -ESRCH;
}
