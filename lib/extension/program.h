/* SPDX-License-Identifier: MIT */
#pragma once

/* The process of an extension, with its stdin and stdout */

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

struct program {
	pid_t pid;   /* 0: none; after program_kill() the killed process until it is reaped */
	int to_fd;   /* its stdin: a socket, because send() has MSG_NOSIGNAL */
	int from_fd; /* a pipe from its stdout */
};

#define PROGRAM_INIT                                                                               \
	{                                                                                          \
		.pid = 0, .to_fd = -EBADF, .from_fd = -EBADF                                       \
	}

/* One block, to free(). NULL: out of memory. */
const char *const *program_copy_argv(const char *const *argv);

int program_start(struct program *program, const char *const *argv);
/* Sends SIGKILL to its process group. Does not wait. */
void program_kill(struct program *program);
/* Reaps the killed process; true if there is none left. */
bool program_is_gone(struct program *program);
void program_wait(struct program *program);
