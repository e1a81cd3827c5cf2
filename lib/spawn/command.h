/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The process that becomes the command
 *
 * Started like vfork(): it shares our memory, and we wait, until it executes the command or ends.
 * So it can say what failed by writing it down here.
 */

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "kernel/kernel.h"
#include "spawn/message.h"

struct command {
	struct kernel *kernel;
	const struct plan *plan;
	int socket;	/* to the supervisor */
	int stdio[3];	/* what becomes 0 to 2; -EBADF: stays as it is */
	const int *fds; /* what else it inherits, sorted */
	size_t n_fds;
	bool in_foreground; /* of our terminal, as a job of its own; else in a session of its own */
	bool is_job;	    /* in the background of our terminal, as a job of its own */
	bool dies_with_us;  /* where no pid namespace sees to it */

	bool has_failed;
	enum doing doing;
	struct kernel_failure failure;
	struct exec_failure execution; /* with DOING_EXEC */
};

#define COMMAND_INIT                                                                               \
	{                                                                                          \
		.socket = -EBADF, .stdio = { -EBADF, -EBADF, -EBADF }                              \
	}

/* The pid of the command, which runs now, or negative errno with has_failed, doing and failure. */
pid_t command_start(struct command *command);
/* Tells the supervisor what failed. */
void command_report(const struct command *command);
