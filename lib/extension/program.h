/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The process of an extension: started with two ends of ours, killed with everything it started
 */

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

struct program {
	pid_t pid;   /* 0: none; after program_kill() until it is reaped: the dead one */
	int to_fd;   /* a socket, its stdin: a write to a dead program must not be a signal */
	int from_fd; /* a pipe, its stdout */
};

#define PROGRAM_INIT                                                                               \
	{                                                                                          \
		.pid = 0, .to_fd = -EBADF, .from_fd = -EBADF                                       \
	}

/* One block; free() it. NULL without memory. */
const char *const *program_copy_argv(const char *const *argv);

int program_start(struct program *program, const char *const *argv);
/* Also its children that are still in its process group. Does not wait. */
void program_kill(struct program *program);
/* Has what was killed been reaped? */
bool program_is_gone(struct program *program);
void program_wait(struct program *program);
