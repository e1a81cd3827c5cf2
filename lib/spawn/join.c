/* SPDX-License-Identifier: MIT */

/*
 * Namespaces as fds, and helper processes that keep nothing of the supervisor but one socket
 *
 * PID 1 sends fds of its own namespaces while it is built. Later it is not dumpable, and its user
 * could not open them any more.
 */

#include "spawn/join.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/process.h"
#include "kernel/kernel.h"
#include "spawn/signals.h"

#define STATUS_FAILED 125
#define END_WAIT_MSEC 2000

/* ---- first and last steps of a child ---- */

int child_die_with_supervisor(int socket, int signal)
{
	struct pollfd other = { .fd = socket };

	if (prctl(PR_SET_PDEATHSIG, signal) < 0)
		return -errno;
	/* If the supervisor died before prctl(), its end of the socket is closed. */
	if (poll(&other, 1, 0) < 0)
		return -errno;
	return other.revents ? -ESRCH : 0;
}

static int compare(const void *left, const void *right)
{
	return *(const int *)left < *(const int *)right ? -1 : 1;
}

void child_sort(int *fds, size_t n)
{
	qsort(fds, n, sizeof(*fds), compare);
}

static int close_gap(unsigned from, unsigned to)
{
	return from <= to && close_range(from, to, 0) < 0 ? -errno : 0;
}

int child_close_others(int *kept, size_t n)
{
	unsigned next = STDERR_FILENO + 1;
	int r = 0;

	child_sort(kept, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (kept[i] < (int)next)
			continue;
		r = close_gap(next, (unsigned)kept[i] - 1);
		next = (unsigned)kept[i] + 1;
	}
	return r < 0 ? r : close_gap(next, ~0u);
}

void child_close_stdio(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
}

void child_leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

noreturn void child_fail(void)
{
	for (;;)
		child_leave(STATUS_FAILED);
}

/* ---- namespaces ---- */

static const struct {
	int flag;
	const char *name;
} namespaces[] = {
	/* The user namespace comes first, because it permits entering the others; the mount
	 * namespace comes last, because it changes what paths mean. */
	{ CLONE_NEWUSER, "user" }, { CLONE_NEWIPC, "ipc" }, { CLONE_NEWUTS, "uts" },
	{ CLONE_NEWNET, "net" },   { CLONE_NEWPID, "pid" }, { CLONE_NEWNS, "mnt" },
};

unsigned long namespace_set_of_plan(const struct plan *plan)
{
	const struct step *step = plan_find_step(plan, STEP_NAMESPACES);

	return step ? step->namespaces.clone_flags : 0;
}

void namespace_set_list(struct namespace_set *set, unsigned long wanted)
{
	set->n = 0;
	for (size_t i = 0; i < N_ELEMENTS(namespaces); i++) {
		if (!(wanted & (unsigned long)namespaces[i].flag))
			continue;
		set->flags[set->n] = namespaces[i].flag;
		set->fds[set->n++] = -EBADF;
	}
}

static const char *name_of(int flag)
{
	for (size_t i = 0; i < N_ELEMENTS(namespaces); i++)
		if (namespaces[i].flag == flag)
			return namespaces[i].name;
	return "";
}

int namespace_set_open(struct namespace_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name_of(set->flags[i]));
		set->fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (set->fds[i] < 0)
			return -errno;
	}
	return 0;
}

void namespace_set_close(struct namespace_set *set)
{
	fd_close_many(set->fds, set->n);
}

int namespace_set_enter(const struct namespace_set *set, unsigned long wanted)
{
	for (size_t i = 0; i < set->n; i++)
		if (((unsigned long)set->flags[i] & wanted) &&
		    setns(set->fds[i], set->flags[i]) < 0)
			return -errno;
	return 0;
}

int join_die_with_supervisor(int socket)
{
	/* Not dumpable: other processes of this user cannot ptrace it either. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return child_die_with_supervisor(socket, SIGKILL);
}

static int begin_child(struct joined *ret, int socket, int supervisor_socket, const int *kept,
		       size_t n_kept)
{
	int own[JOIN_KEPT_MAX];
	int r;

	if (signals_block_all() < 0)
		child_fail();
	(void)close(supervisor_socket);
	for (size_t i = 0; i < n_kept; i++)
		own[i] = kept[i];
	own[n_kept] = socket;
	r = child_close_others(own, n_kept + 1);
	if (r == 0)
		r = join_die_with_supervisor(socket);
	if (r < 0)
		child_fail();
	*ret = (struct joined){ .pidfd = -EBADF, .socket = socket };
	return 0;
}

int join_fork(struct joined *ret, const int *kept, size_t n_kept)
{
	_cleanup_close_ int ours = -EBADF, its = -EBADF;
	int pair[2];
	pid_t pid;
	int pidfd;

	if (n_kept >= JOIN_KEPT_MAX)
		return -EMFILE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	its = pair[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		return begin_child(ret, take_fd(&its), take_fd(&ours), kept, n_kept);

	pidfd = pidfd_of(pid);
	*ret = (struct joined){ .pid = pid, .pidfd = pidfd, .socket = take_fd(&ours) };
	if (pidfd < 0) {
		joined_deinit(ret);
		return pidfd;
	}
	return 1;
}

void join_become_helper(void)
{
	child_close_stdio();
	if (setsid() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    kernel_confine_reaper() < 0)
		child_fail();
}

bool joined_end(const struct joined *joined)
{
	struct pollfd end = { .fd = joined->pidfd, .events = POLLIN };

	return joined->pidfd < 0 || pidfd_kill(joined->pidfd, JOINED_END) < 0 ||
	       poll(&end, 1, END_WAIT_MSEC) == 1;
}

void joined_deinit(struct joined *joined)
{
	if (joined->pid > 0) {
		/* Otherwise a subreaper of the host would reap its child at an unknown time, and
		 * the sandbox could not end before. */
		(void)joined_end(joined);
		(void)kill(joined->pid, SIGKILL);
		(void)process_wait(joined->pid, NULL);
	}
	close_fd(&joined->pidfd);
	close_fd(&joined->socket);
	*joined = (struct joined)JOINED_INIT;
}
