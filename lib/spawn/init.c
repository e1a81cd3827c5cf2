/* SPDX-License-Identifier: MIT */

/*
 * PID 1 of a sandbox: builds the sandbox around itself, confines itself, starts the command, then
 * reaps, forwards signals and reports
 *
 * No untrusted code runs before the command. From then on PID 1 has no fd but its socket, no
 * capability, a filter with a few system calls, and is not dumpable. It never reads what the
 * command writes. When it exits, the kernel kills all other processes of the pid namespace. PID 1
 * itself is killed when the supervisor dies (PR_SET_PDEATHSIG); the kernel clears that setting when
 * ids or capabilities change, so it is set again after each stage.
 *
 * The processes inside have the same uid and may send signals to PID 1. A signal from the
 * supervisor, which is outside the pid namespace, has si_pid 0, which no process inside can have.
 *
 * In a tier without a pid namespace the reaper is an ordinary process that adopts orphans
 * (PR_SET_CHILD_SUBREAPER). The death of the supervisor is a signal then, and the reaper kills the
 * whole cgroup, itself included.
 */

#include "spawn/init.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "spawn/command.h"
#include "spawn/join.h"
#include "spawn/message.h"
#include "spawn/signals.h"

/* A fork bomb leaves zombies without end: look for signals of the supervisor after so many. */
#define REAP_AT_ONCE 64

#define DEATH_SIGNAL SIGIO

struct reaper {
	int socket; /* to the supervisor */
	pid_t command;
	pid_t supervisor;   /* its pid here; 0 if it is outside the pid namespace */
	bool is_pid_1;	    /* kill(-1) reaches the processes of the sandbox only */
	int cgroup_kill_fd; /* if not: cgroup.kill */
	int wait_flags;	    /* of wait4(); with WUNTRACED a stopped command is reported */
	int terminal; /* the lent terminal: the command becomes its foreground job when it reads */
	bool is_held; /* the supervisor stopped all processes: do not report stops */
};

#define REAPER_INIT                                                                                \
	{                                                                                          \
		.socket = -EBADF, .cgroup_kill_fd = -EBADF, .terminal = -EBADF,                    \
		.wait_flags = WNOHANG                                                              \
	}

/* ---- after the start: reap, forward, report ---- */

/* Called before any privilege is dropped. 0 or negative errno. */
static int reap_prepare(struct reaper *reaper, const struct kernel *kernel,
			unsigned long namespaces)
{
	reaper->is_pid_1 = (namespaces & CLONE_NEWPID) != 0;
	if (reaper->is_pid_1)
		return 0;
	reaper->supervisor = getppid();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -errno;
	reaper->cgroup_kill_fd = path_open_beneath(kernel->cgroup_fd, "cgroup.kill", O_WRONLY, 0);
	return reaper->cgroup_kill_fd < 0 ? reaper->cgroup_kill_fd : 0;
}

static void report(const struct reaper *reaper, int status, const struct rusage *usage)
{
	const struct message message = {
		.kind = MESSAGE_RESULT,
		.status = status,
		.usage = *usage,
	};

	(void)message_send(reaper->socket, &message, NULL, 0);
	child_leave(0);
}

/* The first SIGTTIN or SIGTTOU of the command in the background brings it to the foreground. Later
 * ones belong to jobs inside and are stops like any other. */
static bool lets_read(struct reaper *reaper, int status)
{
	int signal = WSTOPSIG(status);

	if (reaper->terminal < 0 || (signal != SIGTTIN && signal != SIGTTOU) ||
	    tcsetpgrp(reaper->terminal, reaper->command) < 0)
		return false;
	(void)close(reaper->terminal);
	reaper->terminal = -EBADF;
	(void)message_send_kind(reaper->socket, MESSAGE_READS, NULL, 0);
	(void)kill(-reaper->command, SIGCONT);
	return true;
}

/* True if there may be more children to reap. */
static bool reap(struct reaper *reaper)
{
	for (int i = 0; i < REAP_AT_ONCE; i++) {
		struct rusage usage;
		int status;
		pid_t pid = wait4(-1, &status, reaper->wait_flags, &usage);

		if (pid <= 0)
			return false;
		if (pid != reaper->command)
			continue;
		if (!WIFSTOPPED(status))
			report(reaper, status, &usage);
		/* A process that called PTRACE_TRACEME has PID 1 as its tracer: a ptrace stop,
		 * which is not reported. The process stays stopped. */
		else if (!(reaper->wait_flags & WUNTRACED))
			continue;
		else if (!reaper->is_held && !lets_read(reaper, status))
			(void)message_send_kind(reaper->socket, MESSAGE_STOPPED, NULL, 0);
	}
	return true;
}

static void send_all(const struct reaper *reaper, int signal)
{
	(void)kill(reaper->is_pid_1 ? -1 : -reaper->command, signal);
}

static void forward(struct reaper *reaper, int signal)
{
	if (signal == SIGNAL_END_ALL) {
		send_all(reaper, SIGTERM);
		send_all(reaper, SIGCONT);
	} else if (signal == SIGNAL_STOP_ALL) {
		reaper->is_held = true;
		send_all(reaper, SIGSTOP);
	} else if (signal == SIGNAL_CONT_ALL) {
		reaper->is_held = false;
		send_all(reaper, SIGCONT);
	} else if (signal_use(signal) == SIGNAL_FORWARDED) {
		(void)kill(-reaper->command, signal);
	}
}

static void end_all(const struct reaper *reaper)
{
	/* This kills the reaper itself, too. */
	if (write(reaper->cgroup_kill_fd, "1", 1) < 0)
		(void)kill(-reaper->command, SIGKILL);
	child_leave(0);
}

static bool is_from_supervisor(const struct reaper *reaper, const siginfo_t *info)
{
	return info->si_code == SI_USER && info->si_pid == reaper->supervisor;
}

/* Uses only the system calls of kernel_confine_reaper(). Returns when the command has ended. */
static void reap_run(struct reaper *reaper)
{
	/* The command may have ended before SIGCHLD could be read. */
	bool may_be_more = true;

	for (;;) {
		siginfo_t info = { .si_signo = 0 };

		if (may_be_more)
			may_be_more = reap(reaper);

		int signal = signals_wait(!may_be_more, &info);

		if (signal == SIGCHLD)
			may_be_more = true;
		else if (signal == DEATH_SIGNAL && !reaper->is_pid_1)
			end_all(reaper);
		else if (signal > 0 && is_from_supervisor(reaper, &info))
			forward(reaper, signal);
	}
}

/* ---- the start ---- */

static noreturn void fail(const struct init *init, enum doing doing,
			  const struct kernel_failure *failure)
{
	const struct command command = {
		.socket = init->socket,
		.doing = doing,
		.failure = *failure,
	};

	command_report(&command);
	child_fail();
}

static void check(const struct init *init, enum doing doing, int r)
{
	const struct kernel_failure failure = { .code = r };

	if (r < 0)
		fail(init, doing, &failure);
}

/* Sets PR_SET_PDEATHSIG, again after each stage. */
static int die_with_supervisor(const struct init *init)
{
	return child_die_with_supervisor(init->socket,
					 init->namespaces & CLONE_NEWPID ? SIGKILL : DEATH_SIGNAL);
}

static int leave_session(const struct init *init)
{
	int r = signals_block_all();

	(void)close(init->supervisor_socket);
	if (r < 0)
		return r;
	/* A session without the caller's terminal: Ctrl-C there signals only the supervisor. */
	if (setsid() < 0)
		return -errno;
	if (init->terminal >= 0 && ioctl(init->terminal, TIOCSCTTY, 0) < 0)
		return -errno;
	return die_with_supervisor(init);
}

/* Through the old /proc, and before PID 1 becomes non-dumpable: afterwards no process of the user
 * could open them. */
static int open_namespaces(const struct init *init, struct namespace_set *set, int *ret_mounts)
{
	namespace_set_list(set, init->hands_namespaces ? init->namespaces : 0);
	if (init->hands_tree) {
		*ret_mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
		if (*ret_mounts < 0)
			return -errno;
	}
	return namespace_set_open(set);
}

static int await_place(const struct init *init)
{
	struct message message;
	size_t n_fds = 0;
	int fds[MESSAGE_FDS_MAX];
	int r = message_receive(init->socket, FROM_SUPERVISOR, &message, fds, &n_fds);

	if (r < 0)
		return r;
	return r == 1 && message.kind == MESSAGE_PLACED ? 0 : -EBADMSG;
}

static int hand_tree(const struct init *init, int mounts)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int fds[] = { root, mounts };

	return root < 0 ? -errno
			: message_send_kind(init->socket, MESSAGE_TREE, fds, N_ELEMENTS(fds));
}

static int hand(const struct init *init, enum message_kind kind, const int *fds, size_t n_fds)
{
	return n_fds > 0 ? message_send_kind(init->socket, kind, fds, n_fds) : 0;
}

/* The namespaces are complete when another process joins. */
static int hand_made(const struct init *init, struct namespace_set *set, int mounts)
{
	const struct kernel *kernel = init->kernel;
	int r = hand(init, MESSAGE_NAMESPACES, set->fds, set->n);

	if (r < 0)
		return r;
	r = init->hands_tree ? hand_tree(init, mounts) : 0;
	if (r < 0)
		return r;
	r = hand(init, MESSAGE_LISTENERS, kernel->listeners, kernel->n_listeners);
	return r < 0 ? r
		     : hand(init, MESSAGE_TERMINAL, &kernel->pty_master, kernel->pty_master >= 0);
}

/* Keeps the fds that the command inherits, its stdio and the socket, and closes all others. The
 * caller frees @ret_fds, the fds for the command. */
static int keep_own(const struct init *init, int reaper_fd, int **ret_fds)
{
	size_t n_fds = init->plan->n_fds, n = 0;
	_cleanup_free_ int *kept = calloc(n_fds + N_ELEMENTS(init->stdio) + 3, sizeof(*kept));
	_cleanup_free_ int *fds = calloc(n_fds + 1, sizeof(*fds));
	int r;

	if (!kept || !fds)
		return -ENOMEM;
	for (size_t i = 0; i < n_fds; i++)
		kept[n++] = fds[i] = init->plan->fds[i];
	for (size_t i = 0; i < N_ELEMENTS(init->stdio); i++)
		kept[n++] = init->stdio[i];
	kept[n++] = init->socket;
	kept[n++] = reaper_fd;
	kept[n++] = init->terminal;
	child_sort(fds, n_fds);
	r = child_close_others(kept, n);
	if (r < 0)
		return r;
	*ret_fds = take_ptr(fds);
	return 0;
}

/* From here on untrusted code runs. */
static void serve(const struct init *init, struct reaper *reaper)
{
	int kept[] = { reaper->socket, reaper->cgroup_kill_fd, reaper->terminal };

	/* A reader at the other end must see EOF when the command closes it. */
	child_close_stdio();
	check(init, DOING_CLOSE, child_close_others(kept, N_ELEMENTS(kept)));
	check(init, DOING_INIT_FILTER, kernel_confine_reaper());
	reap_run(reaper);
}

noreturn void init_run(const struct init *init)
{
	struct kernel_failure failure = { .step = KERNEL_NO_STEP };
	struct reaper reaper = REAPER_INIT;
	struct command command = COMMAND_INIT;
	struct namespace_set set = { .n = 0 };
	int *fds = NULL, mounts = -EBADF;

	check(init, DOING_START, leave_session(init));
	if (init->awaits_place)
		check(init, DOING_SPEAK, await_place(init));
	check(init, DOING_START, open_namespaces(init, &set, &mounts));
	check(init, DOING_START, reap_prepare(&reaper, init->kernel, init->namespaces));
	if (kernel_build(init->kernel, &failure) < 0)
		fail(init, DOING_STEP, &failure);
	check(init, DOING_START, die_with_supervisor(init));
	if (kernel_confine(init->kernel, &failure) < 0)
		fail(init, DOING_STEP, &failure);
	check(init, DOING_START, die_with_supervisor(init));
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		check(init, DOING_START, -errno);
	check(init, DOING_SPEAK, hand_made(init, &set, mounts));
	check(init, DOING_CLOSE, keep_own(init, reaper.cgroup_kill_fd, &fds));

	command.kernel = init->kernel;
	command.plan = init->plan;
	command.socket = init->socket;
	for (size_t i = 0; i < N_ELEMENTS(command.stdio); i++)
		command.stdio[i] = init->stdio[i];
	command.fds = fds;
	command.n_fds = init->plan->n_fds;
	command.in_foreground = init->kernel->pty_master >= 0;
	command.dies_with_us = !(init->namespaces & CLONE_NEWPID);
	command.is_job = init->terminal >= 0;
	reaper.socket = init->socket;
	reaper.terminal = init->terminal;
	/* Without a terminal no shell would continue a stopped command. */
	if (command.in_foreground || command.is_job)
		reaper.wait_flags |= WUNTRACED;
	reaper.command = command_start(&command);
	if (reaper.command < 0) {
		command_report(&command);
		child_fail();
	}
	/* CLONE_VFORK: this is reached when the command's process has executed or ended. */
	if (init->tells_execution)
		check(init, DOING_SPEAK,
		      message_send_kind(init->socket, MESSAGE_EXECUTED, NULL, 0));
	serve(init, &reaper);
	child_fail();
}
