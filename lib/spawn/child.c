/* SPDX-License-Identifier: MIT */

/*
 * Beginning and end of a process of ours: it dies with the supervisor, and has no fd that it does
 * not need
 */

#include "spawn/child.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS_FAILED 125

int child_die_with_supervisor(int socket, int signal)
{
	struct pollfd other = { .fd = socket };

	if (prctl(PR_SET_PDEATHSIG, signal) < 0)
		return -errno;
	/* It may have died before that: then its end of the socket is closed. */
	if (poll(&other, 1, 0) < 0)
		return -errno;
	return other.revents ? -ESRCH : 0;
}

static int compare(const void *left, const void *right)
{
	return *(const int *)left < *(const int *)right ? -1 : 1;
}

void child_sort(int *fds, size_t n)
{
	qsort(fds, n, sizeof(*fds), compare);
}

static int close_gap(unsigned from, unsigned to)
{
	return from <= to && close_range(from, to, 0) < 0 ? -errno : 0;
}

int child_close_others(int *kept, size_t n)
{
	unsigned next = STDERR_FILENO + 1;
	int r = 0;

	child_sort(kept, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (kept[i] < (int)next)
			continue;
		r = close_gap(next, (unsigned)kept[i] - 1);
		next = (unsigned)kept[i] + 1;
	}
	return r < 0 ? r : close_gap(next, ~0u);
}

void child_leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

noreturn void child_fail(void)
{
	for (;;)
		child_leave(STATUS_FAILED);
}
