/* SPDX-License-Identifier: MIT */

/*
 * Stopping: everything inside first, then the supervisor and its job
 *
 * A supervisor that is stopped cannot end the sandbox at its time limit, and the shell that stopped
 * it may never continue it. So a waker, a process of ours in a session of its own, continues the
 * supervisor when the limit comes; where no waker can be made, nothing is stopped.
 *
 * A process inside continues itself with a POSIX timer that sends SIGCONT. The freezer of the
 * sandbox's cgroup holds it all the same; without a cgroup of its own only SIGSTOP is left.
 */

#include <fcntl.h>
#include <stdnoreturn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "spawn/child.h"
#include "spawn/spawn-internal.h"

#define WAKE_AGAIN_USEC 100000

bool stop_is_paused(const struct spawn *spawn)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;

	return hooks && hooks->is_paused && hooks->is_paused(hooks->userdata);
}

static int freeze(const struct spawn *spawn, const char *state)
{
	_cleanup_close_ int fd =
		spawn->kernel.cgroup_fd < 0
			? -EBADF
			: path_open_beneath(spawn->kernel.cgroup_fd, "cgroup.freeze", O_WRONLY, 0);

	return fd < 0 ? fd : fd_write_all(fd, state, 1);
}

/* SIGCONT discards a SIGTSTP that is still pending, and does nothing to a supervisor that stops
 * only afterwards: so it is sent again until the supervisor ends us. */
static noreturn void wake(pid_t supervisor, uint64_t deadline_usec)
{
	siginfo_t info = { .si_signo = 0 };
	uint64_t now;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	if (setsid() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    kernel_confine_reaper() < 0)
		child_fail();
	for (;;) {
		now = loop_now();
		if (now >= deadline_usec) {
			(void)kill(supervisor, SIGCONT);
			deadline_usec = now + WAKE_AGAIN_USEC;
		}
		if (signals_wait_for(deadline_usec - now, &info) == JOINED_END &&
		    info.si_pid == supervisor)
			child_leave(0);
	}
}

static int start_waker(const struct spawn *spawn, struct joined *ret)
{
	uint64_t deadline_usec = limits_next(spawn);
	pid_t supervisor = getpid();
	int r;

	if (deadline_usec == LOOP_NO_DEADLINE)
		return 0;
	r = join_fork(ret, NULL, 0);
	if (r == 0)
		wake(supervisor, deadline_usec);
	return r < 0 ? r : 0;
}

static void stop_job(struct spawn *spawn, bool whole_job)
{
	struct joined waker = JOINED_INIT;

	if (start_waker(spawn, &waker) < 0)
		return;
	terminal_release(&spawn->terminal);
	signals_stop_ourselves(whole_job);
	terminal_seize(&spawn->terminal);
	joined_deinit(&waker);
}

void stop_with_job(struct spawn *spawn, bool whole_job)
{
	bool is_frozen = freeze(spawn, "1") == 0;

	if (!is_frozen)
		(void)pidfd_kill(spawn->kernel.pidfd, SIGNAL_STOP_ALL);
	stop_job(spawn, whole_job);
	/* 'sbx-ctl pause' uses the same freezer; what it holds only 'sbx-ctl resume' lets go on. */
	if (is_frozen && !stop_is_paused(spawn))
		(void)freeze(spawn, "0");
	(void)pidfd_kill(spawn->kernel.pidfd, is_frozen ? SIGCONT : SIGNAL_CONT_ALL);
}
