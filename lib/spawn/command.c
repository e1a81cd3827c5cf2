/* SPDX-License-Identifier: MIT */

/*
 * Everything from the start of the command's process to its execve()
 *
 * The code of the child runs on a stack of its own in its parent's memory, with its own table of
 * fds and its own signal handling. It allocates nothing and takes no lock. The order: what needs no
 * privilege and many system calls first, then kernel_become(), after which the command's own filter
 * holds. From there on it only passes on what kernel_become() has made, waits for the supervisor
 * and executes.
 */

#include "spawn/command.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "spawn/join.h"
#include "spawn/signals.h"

#define STACK_SIZE (256 * 1024)
#define FIRST_FD (STDERR_FILENO + 1)

/* Of a visit it may be any of the three that is the terminal. */
static int take_foreground(const struct command *command)
{
	int r = -ENOTTY;

	for (int fd = 0; fd < FIRST_FD && r < 0; fd++)
		r = tcsetpgrp(command->stdio[fd] < 0 ? fd : command->stdio[fd], getpid()) < 0
			    ? -errno
			    : 0;
	return r;
}

static int lead(const struct command *command)
{
	if (command->dies_with_us && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (!command->in_foreground && !command->is_job)
		return setsid() < 0 ? -errno : 0;
	/* A job like one of a shell: the parent in our session is what lets the terminal stop it.
	 */
	if (setpgid(0, 0) < 0)
		return -errno;
	return command->in_foreground ? take_foreground(command) : 0;
}

static int close_on_exec(unsigned from, unsigned to)
{
	return from <= to && close_range(from, to, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

/*
 * A folder that was opened outside is a way out: from it ".." leads anywhere, and neither a mount
 * view nor Landlock looks at who goes there, asks about a file or connects to a socket.
 */
static int refuse_folders(void)
{
	struct stat st;

	for (int fd = 0; fd < FIRST_FD; fd++) {
		int flags = fcntl(fd, F_GETFL);

		if (flags >= 0 && ((flags & O_PATH) || fstat(fd, &st) < 0 || S_ISDIR(st.st_mode)))
			return -EISDIR;
	}
	return 0;
}

/*
 * In the tier reduced the filter lets no AF_UNIX socket be made that could be connected to a name
 * of the host's. One that is inherited and has no peer yet, or that takes an address with each
 * datagram, would be such a socket.
 */
static int refuse_socket(int fd)
{
	struct sockaddr_un peer;
	socklen_t length = sizeof(int);
	int family, type, listens = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) < 0 || family != AF_UNIX)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0 || type == SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	(void)getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
	length = sizeof(peer);
	return listens || getpeername(fd, (struct sockaddr *)&peer, &length) == 0
		       ? 0
		       : -ESOCKTNOSUPPORT;
}

static int refuse_sockets(const struct command *command)
{
	int r = 0;

	if (!command->plan || command->plan->tier != TIER_REDUCED)
		return 0;
	for (int fd = 0; fd < FIRST_FD && r == 0; fd++)
		r = refuse_socket(fd);
	for (size_t i = 0; i < command->n_fds && r == 0; i++)
		r = refuse_socket(command->fds[i]);
	return r;
}

/* Leaves open what was named, and nothing else; where it is not open, the command is not started.
 */
static int keep_fds(const struct command *command)
{
	unsigned next = FIRST_FD;
	int r;

	for (int fd = 0; fd < FIRST_FD; fd++)
		if (command->stdio[fd] >= 0 && dup2(command->stdio[fd], fd) < 0)
			return -errno;
	r = refuse_folders();
	if (r == 0)
		r = refuse_sockets(command);
	if (r < 0)
		return r;
	for (size_t i = 0; i < command->n_fds; i++) {
		int fd = command->fds[i];

		r = fd < FIRST_FD ? 0 : fd_clear_cloexec(fd);
		if (r < 0)
			return r;
		if ((unsigned)fd < next)
			continue;
		r = close_on_exec(next, (unsigned)fd - 1);
		if (r < 0)
			return r;
		next = (unsigned)fd + 1;
	}
	return close_on_exec(next, ~0u);
}

/* What kernel_become() has made, for the supervisor. */
static int hand_over(const struct command *command, const int *watch)
{
	const struct message message = { .kind = MESSAGE_NOTIFIER };
	const int fds[] = { command->kernel->notify_fd, watch[0] };

	if (!command->kernel->filter_notifies)
		return 0;
	return message_send(command->socket, &message, fds, N_ELEMENTS(fds));
}

/* With read(), which every filter has. The supervisor's death ends it. */
static int await_go(int socket)
{
	struct message message;
	ssize_t n;

	do
		n = read(socket, &message, sizeof(message));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return message_parse(&message, (size_t)n, 0, FROM_SUPERVISOR, &message) == 0 &&
			       message.kind == MESSAGE_GO
		       ? 0
		       : -EBADMSG;
}

static int fail(struct command *command, enum doing doing, int code)
{
	command->has_failed = true;
	command->doing = doing;
	command->failure.code = code;
	return code;
}

/* Returns only where it failed. */
static int become(struct command *command)
{
	int watch[2] = { -EBADF, -EBADF };
	int r = lead(command);

	if (r < 0)
		return fail(command, DOING_START, r);
	/* Before the fds: its end must close when the command begins, and no copy of it may be
	 * left: we are alone in our table of fds. */
	if (command->kernel->filter_notifies && pipe2(watch, O_CLOEXEC) < 0)
		return fail(command, DOING_START, -errno);
	r = keep_fds(command);
	if (r < 0)
		return fail(command, DOING_FDS, r);
	/* Ours is ignored, and what is ignored stays so. */
	(void)signal(SIGXFSZ, SIG_DFL);
	signals_unblock_all();
	r = kernel_become(command->kernel, &command->failure);
	if (r < 0)
		return fail(command, DOING_STEP, r);
	r = hand_over(command, watch);
	if (r == 0)
		r = await_go(command->socket);
	if (r < 0)
		return fail(command, DOING_SPEAK, r);
	return fail(command, DOING_EXEC, kernel_exec(command->plan, &command->execution));
}

static int child(void *argument)
{
	(void)become(argument);
	child_leave(0);
	return 0;
}

/* Of the child that has written down why. */
static int take_failure(struct command *command, pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return command->failure.code;
}

pid_t command_start(struct command *command)
{
	/* Ours alone: we wait until the child has left it. */
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	pid_t pid;

	/* Without CLONE_FILES and CLONE_FS: its fds and its folder are its own from the start. */
	pid = clone(child, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, command);
	if (pid < 0)
		return fail(command, DOING_START, -errno);
	return command->has_failed ? take_failure(command, pid) : pid;
}

void command_report(const struct command *command)
{
	struct message message = {
		.kind = MESSAGE_FAILED,
		.doing = command->doing,
		.step = command->failure.step,
		.code = command->failure.code,
	};

	if (command->doing == DOING_EXEC)
		message.execution = command->execution;

	(void)message_send(command->socket, &message, NULL, 0);
}
