/* SPDX-License-Identifier: MIT */

/*
 * A loop around sigwaitinfo()
 *
 * Everything inside has our uid and may send us signals. What is forwarded comes from the
 * supervisor, who is outside our pid namespace and so has the number 0 here, which nobody inside
 * can have.
 *
 * In the tier without a pid namespace we are an ordinary process to which orphans come. The end of
 * the supervisor is then a signal that we carry out ourselves: the whole cgroup is killed, and we
 * with it.
 */

#include "spawn/reap.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "kernel/kernel.h"
#include "spawn/child.h"
#include "spawn/message.h"
#include "spawn/signals.h"

/* So that a fork bomb, whose dead never end, cannot keep us from the supervisor's signals. */
#define REAP_AT_ONCE 64

#define DEATH_SIGNAL SIGIO

int reap_death_signal(unsigned long namespaces)
{
	return namespaces & CLONE_NEWPID ? SIGKILL : DEATH_SIGNAL;
}

int reap_prepare(struct reaper *reaper, const struct kernel *kernel, unsigned long namespaces)
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

/* The first read, or change of modes, in the background. Later ones are of jobs inside, and stops
 * like all others. */
static bool lets_read(struct reaper *reaper, int status)
{
	const struct message reads = { .kind = MESSAGE_READS };
	int signal = WSTOPSIG(status);

	if (reaper->terminal < 0 || (signal != SIGTTIN && signal != SIGTTOU) ||
	    tcsetpgrp(reaper->terminal, reaper->command) < 0)
		return false;
	(void)close(reaper->terminal);
	reaper->terminal = -EBADF;
	(void)message_send(reaper->socket, &reads, NULL, 0);
	(void)kill(-reaper->command, SIGCONT);
	return true;
}

/* true where there may be more. */
static bool reap(struct reaper *reaper)
{
	const struct message stopped = { .kind = MESSAGE_STOPPED };

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
		/* PTRACE_TRACEME has made us its tracer: no stop of a job. It stays in it. */
		else if (!(reaper->wait_flags & WUNTRACED))
			continue;
		else if (!reaper->is_held && !lets_read(reaper, status))
			(void)message_send(reaper->socket, &stopped, NULL, 0);
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
	/* Our own end, too. */
	if (write(reaper->cgroup_kill_fd, "1", 1) < 0)
		(void)kill(-reaper->command, SIGKILL);
	child_leave(0);
}

static bool is_from_supervisor(const struct reaper *reaper, const siginfo_t *info)
{
	return info->si_code == SI_USER && info->si_pid == reaper->supervisor;
}

void reap_run(struct reaper *reaper)
{
	/* The command may have ended before its first signal could reach us. */
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
