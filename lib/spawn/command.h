/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The process that becomes the command
 *
 * It is started like vfork(): it shares the memory of its parent, which is suspended until execve()
 * or exit. So the child can report a failure by writing it into struct command.
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
	int stdio[3];	/* fds that become 0 to 2; -EBADF: unchanged */
	const int *fds; /* further inherited fds, sorted */
	size_t n_fds;
	bool in_foreground; /* a foreground job of the terminal; else in its own session */
	bool is_job;	    /* a background job of the terminal */
	bool dies_with_us;  /* set if there is no PID namespace that kills it with PID 1 */

	bool has_failed;
	enum doing doing;
	struct kernel_failure failure;
	struct exec_failure execution; /* set with DOING_EXEC */
};

#define COMMAND_INIT                                                                               \
	{                                                                                          \
		.socket = -EBADF, .stdio = { -EBADF, -EBADF, -EBADF }                              \
	}

/* The pid of the running command, or negative errno with has_failed, doing and failure set. */
pid_t command_start(struct command *command);
/* Reports the failure to the supervisor. */
void command_report(const struct command *command);
