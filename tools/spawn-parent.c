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
#include <signal.h>
#include <sys/prctl.h>

#include "base/fd.h"

static int fail(struct sbx_error *err, int code, const char *why)
{
	return error_fill(err, code, why, "leave out '--die-with-parent'",
			  "cannot watch the process that has started sbx-spawn");
}

/* It has ended if this process has another parent by now. */
static int has_parent(pid_t parent, struct sbx_error *err)
{
	return getppid() == parent ? 0 : fail(err, -ESRCH, "it has ended already");
}

int spawn_watch_parent(struct spawn_run *run, struct sbx_error *err)
{
	pid_t parent = getppid();
	int r;

	if (parent == 0)
		return fail(err, -ESRCH, "it is outside of this PID namespace");
	run->parent = pidfd_of(parent);
	if (run->parent < 0)
		return fail(err, run->parent, NULL);
	r = has_parent(parent, err);
	/* That of a hand-over is not needed any more. */
	(void)prctl(PR_SET_PDEATHSIG, 0);
	return r;
}

/* The new program opens a pidfd again. Nothing has been made yet, so a signal may end this process
 * meanwhile. */
int spawn_hand_over_parent(const struct spawn_run *run, struct sbx_error *err)
{
	struct pollfd end = { .fd = run->parent, .events = POLLIN };

	if (!run->values->die_with_parent)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return fail(err, -errno, NULL);
	return poll(&end, 1, 0) == 0 ? 0 : fail(err, -ESRCH, "it has ended already");
}
