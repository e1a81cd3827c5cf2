/* SPDX-License-Identifier: MIT */

/*
 * One clone3() creates PID 1: in its namespaces, in its cgroup, with a pidfd and without the
 * supervisor's signal handlers
 *
 * Like fork() it copies the memory, because PID 1 keeps running beside untrusted code. The C
 * library does not notice it, so PID 1 must not call functions for which the library caches the PID
 * (raise(), abort(), threads).
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

static uint64_t namespaces(const struct kernel *kernel)
{
	const struct step *step = plan_find_step(kernel->plan, STEP_NAMESPACES);
	uint64_t flags = step ? step->namespaces.clone_flags : 0;

	/* The root of a cgroup namespace is the cgroup of the process that creates it, so PID 1
	 * creates it in its own cgroup (kernel_build()). */
	return kernel_joins_cgroup(kernel) ? flags & ~(uint64_t)CLONE_NEWCGROUP : flags;
}

static pid_t clone_into(const struct kernel *kernel, int *ret_pidfd)
{
	int cgroup_fd = kernel_process_cgroup(kernel);
	const struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND | namespaces(kernel) |
			 (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? -errno : (pid_t)pid;
}

static void kill_and_reap(int pidfd)
{
	siginfo_t info;

	(void)pidfd_kill(pidfd, SIGKILL);
	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0 && errno == EINTR)
		;
}

static void leave(void)
{
	for (;;)
		(void)syscall(SYS_exit_group, 0);
}

static bool is_killed_in(int cgroup_fd)
{
	_cleanup_close_ int pidfd = -EBADF;
	const struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_INTO_CGROUP,
		.pidfd = (uintptr_t)&pidfd,
		.cgroup = (uint64_t)cgroup_fd,
	};
	siginfo_t info = { .si_code = 0 };
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	bool is_over;
	int r;

	if (pid == 0)
		leave();
	if (pid < 0)
		return false;
	/* A paused sandbox is frozen, also one that is paused at this moment. */
	is_over = cgroup_lets_exit(cgroup_fd, pidfd);
	if (!is_over)
		(void)pidfd_kill(pidfd, SIGKILL);
	/* Without an exit signal, __WALL is needed. */
	do
		r = waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL);
	while (r < 0 && errno == EINTR);
	return is_over && r == 0 && info.si_code == CLD_KILLED && info.si_status == SIGKILL;
}

bool kernel_kills_at_birth(const struct kernel *kernel)
{
	static const char name[] = "birth";
	int sandbox = kernel->cgroup_fd, directory;
	bool is_killed;

	/* PID 1 was moved into a scope, not created in it. */
	if (sandbox < 0 || !plan_find_step(kernel->plan, STEP_CGROUP) ||
	    mkdirat(sandbox, name, 0700) < 0)
		return false;
	/* A new one: writing cgroup.kill to end the sandbox has counted in the sandbox's own. */
	directory = path_open_beneath(sandbox, name, O_RDONLY | O_DIRECTORY, 0);
	is_killed = directory >= 0 && is_killed_in(directory);
	close_fd(&directory);
	(void)unlinkat(sandbox, name, AT_REMOVEDIR);
	return is_killed;
}

pid_t kernel_clone(struct kernel *kernel)
{
	_cleanup_close_ int pidfd = -EBADF;
	int r = 0;

	if (kernel_borrows(kernel))
		r = identity_borrow(kernel->plan->uid, kernel->plan->gid);
	if (r < 0)
		return r;

	pid_t pid = clone_into(kernel, &pidfd);

	if (pid == 0)
		return 0;
	if (kernel_borrows(kernel))
		r = identity_return(kernel->uid, kernel->gid);
	if (pid < 0)
		return pid;
	if (r < 0) {
		kill_and_reap(pidfd);
		return r;
	}
	/* PID 1 has inherited them; a detached mount is dissolved when its last fd is closed. */
	fd_close_many(kernel->fds, kernel->plan->n_steps * KERNEL_STEP_FDS);
	kernel->pid = pid;
	kernel->pidfd = take_fd(&pidfd);
	return pid;
}
