/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A program of somebody else's beside us: in a process group of its own, with no signal blocked or
 * ignored, and with three fds
 *
 * Its standard error is ours. posix_spawn() does not copy our memory, however much there is.
 */

#include <sys/types.h>

struct start {
	const char *const *argv;	/* ends with NULL; argv[0] is a path */
	const char *const *environment; /* ends with NULL */
	const char *folder;		/* NULL: ours */
	int stdin_fd;
	int stdout_fd;
};

int start_program(const struct start *start, pid_t *ret);
