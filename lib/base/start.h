/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Starts a helper program: in its own process group, with no signal blocked or ignored, and with
 * three fds
 *
 * It inherits stderr. posix_spawn() does not copy the memory of the caller.
 */

#include <sys/types.h>

struct start {
	const char *const *argv;	/* ends with NULL; argv[0] is a path */
	const char *const *environment; /* ends with NULL */
	const char *directory;		/* working directory; NULL: the caller's */
	int stdin_fd;
	int stdout_fd;
};

int start_program(const struct start *start, pid_t *ret);
