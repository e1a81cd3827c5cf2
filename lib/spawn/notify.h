/* SPDX-License-Identifier: MIT */
#pragma once

/* Answers the seccomp notification of the command's execve() */

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "spawn/loop.h"

struct notifier {
	struct source listener; /* the seccomp listener */
	struct source watch;	/* pipe that closes when the command is executed */
	struct loop *loop;
	pid_t pid; /* the process that becomes the command, after its first execve() */
};

#define NOTIFIER_INIT                                                                              \
	{                                                                                          \
		.listener = { .fd = -EBADF }, .watch = {.fd = -EBADF }                             \
	}

/* Takes both fds, even on failure. Do not move @notifier afterwards. */
int notifier_begin(struct notifier *notifier, struct loop *loop, int listener, int watch);
/* From here on every execve() that needs an answer fails. */
void notifier_deinit(struct notifier *notifier);
