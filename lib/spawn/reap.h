/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What PID 1 does for the rest of its life: it reaps, forwards signals and reports
 */

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/wait.h>

struct kernel;

struct reaper {
	int socket; /* to the supervisor */
	pid_t command;
	pid_t supervisor;   /* as we see it: 0 where it lives outside our pid namespace */
	bool is_pid_1;	    /* kill(-1) means the sandbox and nothing else */
	int cgroup_kill_fd; /* where it is not */
	int wait_flags;	    /* of wait4(); with WUNTRACED a stopped command is reported */
	int terminal;	    /* ours and the command's, whose foreground it gets when it reads */
	bool is_held;	    /* the supervisor has stopped everything, and need not be told */
};

#define REAPER_INIT                                                                                \
	{                                                                                          \
		.socket = -EBADF, .cgroup_kill_fd = -EBADF, .terminal = -EBADF,                    \
		.wait_flags = WNOHANG                                                              \
	}

/* Before anything is given up. 0 or negative errno. */
int reap_prepare(struct reaper *reaper, const struct kernel *kernel, unsigned long namespaces);
/* What PID 1 gets when the supervisor dies. */
int reap_death_signal(unsigned long namespaces);
/* With the system calls of kernel_confine_reaper(); ends when the command does. */
void reap_run(struct reaper *reaper);
