/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A command of the user's that gets some bytes on its stdin (private to heads.c)
 */

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct head_command {
	pid_t pid; /* not waited for yet, so it is nobody else's */
	int pidfd; /* readable when it has ended; -EBADF: none runs */
};

#define HEAD_COMMAND_INIT                                                                          \
	{                                                                                          \
		.pidfd = -EBADF                                                                    \
	}

/* /bin/sh -c @command, in a process group of its own; its stdout is our stderr. 0 or negative
 * errno. */
int head_command_start(struct head_command *ret, const char *command, const void *bytes,
		       size_t n_bytes);
/* 1 with what waitpid() says, or 0 while it runs. */
int head_command_has_ended(struct head_command *command, int *ret_status);
/* It ends soon. */
void head_command_kill(const struct head_command *command);
/* Kills what runs, and waits for it. */
void head_command_deinit(struct head_command *command);
