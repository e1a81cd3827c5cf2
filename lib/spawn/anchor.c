/* SPDX-License-Identifier: MIT */

/*
 * Ending a visit
 *
 * setsid() and a double fork() lead out of a process group, but not away from a child subreaper:
 * whatever the command starts is a descendant of the anchor for ever. When the command ends, the
 * anchor kills its children; their children are handed to it by the kernel, before it sees them
 * dead, and are killed in the next round.
 *
 * A fork bomb would win a race against one process that kills. So the dead stay zombies meanwhile,
 * and count against the limit of processes: at that limit nothing new begins, and the rounds end.
 *
 * A process inside has the anchor's uid and can kill it. Then the supervisor ends the sandbox.
 */

#include "spawn/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spawn/child.h"
#include "spawn/join.h"
#include "spawn/message.h"
#include "spawn/signals.h"

#define LIST_MAX (64 * 1024)
#define ROUND_USEC 10000

struct round {
	size_t n;      /* children */
	size_t n_left; /* children that are not zombies yet */
	bool is_whole; /* all of them were seen */
};

int anchor_open(void)
{
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

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

/* Two rounds saw the same children, all zombies: no process is left that can fork. */
static void kill_all(const struct anchor *anchor)
{
	struct round before = { .n_left = 1 }, now;

	for (;; before = now) {
		siginfo_t info;

		now = kill_children(anchor);
		if (now.is_whole && now.n_left == 0 && before.n_left == 0 && now.n == before.n)
			return;
		/* The list is full of zombies: reap some, so that live children appear in it. */
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
		/* No shell waits for it that could continue it. */
		else if (WSTOPSIG(result.status) != SIGSTOP)
			(void)kill(-pid, SIGCONT);
	}
}

void anchor_run(struct anchor *anchor)
{
	for (;;) {
		siginfo_t info;

		reap(anchor);
		if (signals_wait(true, &info) == JOINED_END)
			end(anchor, NULL);
	}
}
