/* SPDX-License-Identifier: MIT */

/*
 * --die-with-parent: the pidfd of the process that has started sbx-spawn
 *
 * PR_SET_PDEATHSIG would be about the thread that has started it, which may end long before its
 * process. A pidfd is about the process, and its end is an event of the supervisor's loop like any
 * other: the sandbox is ended and recorded.
 */

#include "spawn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/module.h"

#define PARENT_VARIABLE "SBX_SPAWN_PARENT"
#define PID_SIZE 16

static int fail(struct sbx_error *err, int code, const char *why)
{
	return error_fill(err, code, why, "leave out '--die-with-parent'",
			  "cannot watch the process that has started sbx-spawn");
}

/*
 * The PID of the parent, for the program that a start is handed over to. A process that adopts this
 * one later existed while the parent did, so it has another PID.
 */
static int add_pid(char ret[static PID_SIZE], pid_t pid)
{
	int n = snprintf(ret, PID_SIZE, "%d", (int)pid);

	return n > 0 && n < PID_SIZE ? 0 : -EINVAL;
}

/* Takes the variable out of the environment, which the command can inherit. */
static bool is_parent_of_before(pid_t parent)
{
	const char *before = module_is_possible() ? getenv(PARENT_VARIABLE) : NULL;
	char pid[PID_SIZE];
	bool is_same = !before || (add_pid(pid, parent) == 0 && strcmp(before, pid) == 0);

	(void)unsetenv(PARENT_VARIABLE);
	return is_same;
}

/* It has ended if this process has another parent by now. */
static int has_parent(pid_t parent, struct sbx_error *err)
{
	return getppid() == parent ? 0 : fail(err, -ESRCH, "it has ended already");
}

int spawn_watch_parent(struct spawn_run *run, struct sbx_error *err)
{
	pid_t parent = getppid();

	if (!is_parent_of_before(parent))
		return fail(err, -ESRCH, "it has ended already");
	if (parent == 0)
		return fail(err, -ESRCH, "it is outside of this PID namespace");
	run->parent = pidfd_of(parent);
	if (run->parent < 0)
		return fail(err, run->parent, NULL);
	return has_parent(parent, err);
}

/* The new program opens a pidfd again, if the parent has not ended meanwhile. */
int spawn_hand_over_parent(const struct spawn_run *run, struct sbx_error *err)
{
	struct pollfd end = { .fd = run->parent, .events = POLLIN };
	char pid[PID_SIZE];

	if (!run->values->die_with_parent)
		return 0;
	if (add_pid(pid, getppid()) < 0 || setenv(PARENT_VARIABLE, pid, 1) < 0)
		return fail(err, -ENOMEM, NULL);
	/* It has not ended before getppid() then, so that was its PID. */
	return poll(&end, 1, 0) == 0 ? 0 : fail(err, -ESRCH, "it has ended already");
}
