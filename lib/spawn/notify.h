/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The one execve() of a filter that knows none
 */

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "spawn/loop.h"

struct notifier {
	struct source listener; /* of the filter */
	struct source watch;	/* ends when the command begins */
	struct loop *loop;
	pid_t pid; /* of the process that becomes the command, once it has asked */
};

#define NOTIFIER_INIT                                                                              \
	{                                                                                          \
		.listener = { .fd = -EBADF }, .watch = {.fd = -EBADF }                             \
	}

/* Takes both fds, also on failure. @notifier is not moved any more. */
int notifier_begin(struct notifier *notifier, struct loop *loop, int listener, int watch);
/* From here on every such call fails. */
void notifier_deinit(struct notifier *notifier);
