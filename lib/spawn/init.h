/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * PID 1 of a sandbox
 */

#include <stdbool.h>
#include <stdnoreturn.h>

#include "kernel/kernel.h"

struct init {
	struct kernel *kernel;
	const struct plan *plan;
	int socket;		  /* to the supervisor */
	int supervisor_socket;	  /* inherited from the supervisor, closed by PID 1 */
	int terminal;		  /* that is lent, or -EBADF */
	int stdio[3];		  /* of the command; -EBADF: ours */
	unsigned long namespaces; /* CLONE_NEW* that it lives in */
	bool hands_namespaces;	  /* send namespace fds, for processes that join later */
	bool hands_tree;	  /* send "/" and mountinfo, for watch.h */
	bool tells_execution;	  /* report the successful execve() */
	bool awaits_place;	  /* the service manager puts it into its cgroup */
};

/* Runs in the new process, which was cloned with the supervisor's signals blocked. */
noreturn void init_run(const struct init *init);
