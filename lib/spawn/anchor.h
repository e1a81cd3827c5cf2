/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The parent of what sbx-ctl exec runs: when that command ends, the anchor kills all its
 * descendants
 */

#include <sys/types.h>

struct anchor {
	int socket;   /* to the supervisor */
	int children; /* of anchor_open() */
	pid_t command;
};

/* The list of the caller's children, while a path still leads there; or negative errno. */
int anchor_open(void);
/* With the system calls of kernel_confine_reaper(). Waits for the command's end or JOINED_END,
 * kills every descendant, tells the supervisor the result, and ends. */
void anchor_run(struct anchor *anchor);
