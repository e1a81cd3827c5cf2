/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Starts a helper program: in its own process group, with no signal blocked or ignored, and with
 * only the fds that it needs
 *
 * posix_spawn() does not copy the memory of the caller.
 */

#include <stddef.h>
#include <sys/types.h>

struct start {
	const char *program;		/* its path; NULL: argv[0] is one */
	const char *const *argv;	/* ends with NULL */
	const char *const *environment; /* ends with NULL */
	const char *directory;		/* working directory; NULL: the caller's */
	int stdin_fd;
	int stdout_fd;
	int stderr_fd; /* 0: the caller's stderr */
	/* More fds, which become 3, 4 and so on. No fd of this struct may be one of these numbers.
	 */
	const int *fds;
	size_t n_fds;
};

int start_program(const struct start *start, pid_t *ret);
