/* SPDX-License-Identifier: MIT */

/*
 * Entering a sandbox: cgroup, namespaces, the restrictions of PID 1, then a command like the first
 * one
 *
 * The process that enters is not in the sandbox's PID namespace (only its children are), so no
 * process inside can see it. Its child, the anchor, is inside, confines itself by the same plan and
 * starts the command, which gets nothing that the first command does not have.
 *
 * setsid() and a double fork() leave a process group, but not a child subreaper: all processes that
 * the command starts stay descendants of the anchor. When the command ends, the anchor kills its
 * children; the kernel reparents their children to it before it sees them dead, and they are killed
 * in the next round.
 *
 * A fork bomb would win a race against one process that kills. So zombies are not reaped meanwhile
 * and count against pids.max: when it is reached no new process can start, and the rounds end.
 *
 * A process inside has the anchor's uid and can kill it. Then the supervisor ends the sandbox.
 */

#include "spawn/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "spawn/command.h"
#include "spawn/message.h"
#include "spawn/signals.h"

#define LIST_MAX (64 * 1024)
#define ROUND_USEC 10000

struct anchor {
	int socket;   /* to the supervisor */
	int children; /* fd of the list of its children */
	pid_t command;
};

struct round {
	size_t n;      /* children */
	size_t n_left; /* not zombies yet */
	bool is_whole; /* the list is complete */
};

/* ---- the anchor ---- */

static bool is_dead(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == pid;
}

static void kill_one(struct round *round, pid_t pid)
{
	round->n++;
	if (is_dead(pid))
		return;
	round->n_left++;
	(void)kill(pid, SIGKILL);
}

static struct round kill_children(const struct anchor *anchor)
{
	static char list[LIST_MAX];
	struct round round = { .is_whole = true };
	size_t n_bytes = 0;
	pid_t pid = 0;
	ssize_t n;

	while (n_bytes < LIST_MAX && (n = pread(anchor->children, list + n_bytes,
						LIST_MAX - n_bytes, (off_t)n_bytes)) > 0)
		n_bytes += (size_t)n;
	round.is_whole = n_bytes < LIST_MAX;
	for (size_t i = 0; i < n_bytes; i++) {
		if (list[i] >= '0' && list[i] <= '9') {
			pid = pid * 10 + (list[i] - '0');
			continue;
		}
		if (pid > 0)
			kill_one(&round, pid);
		pid = 0;
	}
	return round;
}

/* If two rounds see the same children, all zombies, no process is left that can fork. */
static void kill_all(const struct anchor *anchor)
{
	struct round before = { .n_left = 1 }, now;

	for (;; before = now) {
		siginfo_t info;

		now = kill_children(anchor);
		if (now.is_whole && now.n_left == 0 && before.n_left == 0 && now.n == before.n)
			return;
		/* The list contains only zombies: reap some, so that live children appear in it. */
		while (!now.is_whole && wait4(-1, NULL, WNOHANG, NULL) > 0)
			;
		if (now.n_left > 0)
			(void)signals_wait_for(ROUND_USEC, &info);
	}
}

static void end(const struct anchor *anchor, const struct message *result)
{
	kill_all(anchor);
	if (result)
		(void)message_send(anchor->socket, result, NULL, 0);
	child_leave(0);
}

static void reap(const struct anchor *anchor)
{
	struct message result = { .kind = MESSAGE_RESULT };
	pid_t pid;

	while ((pid = wait4(-1, &result.status, WNOHANG | WUNTRACED, &result.usage)) > 0) {
		if (pid != anchor->command)
			continue;
		if (!WIFSTOPPED(result.status))
			end(anchor, &result);
		/* No shell would continue a stopped command. */
		else if (WSTOPSIG(result.status) != SIGSTOP)
			(void)kill(-pid, SIGCONT);
	}
}

/* Uses only the system calls of kernel_confine_reaper(). Waits for the end of the command or
 * JOINED_END, kills all descendants, sends the result to the supervisor, and exits. */
static void anchor_run(struct anchor *anchor)
{
	for (;;) {
		siginfo_t info;

		reap(anchor);
		if (signals_wait(true, &info) == JOINED_END)
			end(anchor, NULL);
	}
}

/* ---- entering ---- */

static int enter_cgroup(const struct visit *visit)
{
	const struct scope_cgroup *scope = visit->scope;
	int cgroup_fd = kernel_process_cgroup(visit->kernel), r;

	if (cgroup_fd < 0)
		return 0;
	r = kernel_write_cgroup(cgroup_fd, "cgroup.procs", "0");
	if (r != -EACCES || !scope->join)
		return r;
	/* cgroup v2: moving a process needs write permission in the common ancestor of both
	 * cgroups, which in a login session belongs to root. */
	r = scope->join(scope->unit, path_last(scope->directory) - 1);
	/* Both are in the scope now; if the manager did not move them, this fails again. */
	return r < 0 ? r : kernel_write_cgroup(cgroup_fd, "cgroup.procs", "0");
}

/* Drop root's supplementary groups here: inside, setgroups() is denied. */
static int drop_groups(const struct kernel *kernel, const struct plan *plan)
{
	return plan->uid != kernel->uid && setgroups(0, NULL) < 0 ? -errno : 0;
}

static int enter(const struct visit *visit, int socket)
{
	int r = enter_cgroup(visit);

	if (r < 0)
		return r;
	r = drop_groups(visit->kernel, visit->plan);
	if (r < 0)
		return r;
	r = namespace_set_enter(visit->namespaces, ~0ul);
	if (r < 0)
		return r;
	if ((namespace_set_of_plan(visit->plan) & CLONE_NEWCGROUP) && unshare(CLONE_NEWCGROUP) < 0)
		return -errno;
	return join_die_with_supervisor(socket);
}

/* Copies the plan of the first command for another one without a terminal of its own. */
static int copy_plan(const struct visit *visit, struct plan *ret)
{
	struct step *steps = calloc(visit->plan->n_steps, sizeof(*steps));
	size_t n = 0;

	if (!steps)
		return -ENOMEM;
	*ret = *visit->plan;
	for (size_t i = 0; i < visit->plan->n_steps; i++)
		if (visit->plan->steps[i].kind != STEP_TERMINAL)
			steps[n++] = visit->plan->steps[i];
	ret->steps = steps;
	ret->n_steps = n;
	ret->argv = visit->argv;
	return 0;
}

static noreturn void fail(const struct command *command)
{
	command_report(command);
	child_fail();
}

/* The process that has entered waits for the anchor; the supervisor has a socket to the anchor
 * itself. */
static noreturn void stay_outside(int socket, pid_t anchor)
{
	int none = -EBADF;

	(void)close(socket);
	child_close_stdio();
	if (child_close_others(&none, 1) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    kernel_confine_reaper() < 0)
		child_fail();
	for (;;) {
		siginfo_t info;

		if (wait4(anchor, NULL, WNOHANG, NULL) == anchor)
			child_leave(0);
		if (signals_wait(true, &info) == JOINED_END)
			(void)kill(anchor, JOINED_END);
	}
}

static void check(struct command *command, enum doing doing, int r)
{
	command->doing = doing;
	command->failure = (struct kernel_failure){ .step = KERNEL_NO_STEP, .code = r };
	if (r < 0)
		fail(command);
}

/* A terminal that controls another session is not one that sbx-ctl lent. */
static int take_terminal(struct command *command)
{
	for (int fd = 0; fd < 3; fd++) {
		if (!isatty(command->stdio[fd]))
			continue;
		if (!command->in_foreground &&
		    (setsid() < 0 || ioctl(command->stdio[fd], TIOCSCTTY, 0) < 0))
			return -errno;
		command->in_foreground = true;
	}
	return 0;
}

/* The anchor adopts orphans of the command and kills them at its end. It is killed when the process
 * that entered ends. */
static void become_anchor(struct command *command, int *ret_children)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		check(command, DOING_JOIN, -errno);
	/* While /proc is still reachable. */
	*ret_children = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	check(command, DOING_JOIN, *ret_children < 0 ? -errno : 0);
	if (kernel_confine(command->kernel, &command->failure) < 0) {
		command->doing = DOING_STEP;
		fail(command);
	}
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		check(command, DOING_JOIN, -errno);
}

static noreturn void anchor(struct command *command)
{
	int kept[] = { command->socket, -EBADF };
	struct anchor anchor = { .socket = command->socket };

	check(command, DOING_JOIN, take_terminal(command));
	become_anchor(command, &anchor.children);
	anchor.command = command_start(command);
	if (anchor.command < 0)
		fail(command);
	kept[1] = anchor.children;
	check(command, DOING_CLOSE, child_close_others(kept, N_ELEMENTS(kept)));
	child_close_stdio();
	check(command, DOING_INIT_FILTER, kernel_confine_reaper());
	anchor_run(&anchor);
	child_fail();
}

static noreturn void run(const struct visit *visit, int socket)
{
	struct kernel kernel = *visit->kernel;
	struct command command = COMMAND_INIT;
	struct plan plan;
	pid_t pid;

	command.socket = socket;
	command.kernel = &kernel;
	command.plan = &plan;
	command.dies_with_us = true;
	memcpy(command.stdio, visit->stdio, sizeof(command.stdio));
	kernel.plan = &plan;
	memcpy(kernel.streams, visit->stdio, sizeof(kernel.streams));
	check(&command, DOING_JOIN, copy_plan(visit, &plan));
	check(&command, DOING_JOIN, enter(visit, socket));
	pid = fork();
	if (pid < 0)
		check(&command, DOING_JOIN, -errno);
	if (pid == 0)
		anchor(&command);
	stay_outside(socket, pid);
}

int visit_start(const struct visit *visit, struct joined *ret)
{
	int kept[NAMESPACE_SET_MAX + N_ELEMENTS(visit->stdio) + 1];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < visit->namespaces->n; i++)
		kept[n++] = visit->namespaces->fds[i];
	for (size_t i = 0; i < N_ELEMENTS(visit->stdio); i++)
		kept[n++] = visit->stdio[i];
	kept[n++] = kernel_process_cgroup(visit->kernel);
	r = join_fork(ret, kept, n);
	if (r == 0)
		run(visit, ret->socket);
	return r < 0 ? r : 0;
}
