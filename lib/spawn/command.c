/* SPDX-License-Identifier: MIT */

/*
 * From the start of the command's process to its execve()
 *
 * The child shares the memory of its parent (CLONE_VM) but has its own stack, fd table and signal
 * handlers. It must not allocate and must not take a lock. First it does what needs no privilege
 * and many system calls; then kernel_become() installs the command's own seccomp filter. After that
 * it only passes fds that kernel_become() has opened, waits for the supervisor and executes the
 * command.
 */

#include "spawn/command.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/process.h"
#include "spawn/join.h"
#include "spawn/signals.h"

#define STACK_SIZE (256 * 1024)
#define FIRST_FD (STDERR_FILENO + 1)

/* With 'sbx-ctl exec' any of fds 0 to 2 may be the terminal. */
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
	/* A process group of its own in this session: because its parent is in the same session,
	 * the group is not orphaned, and the terminal can stop it.
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
 * A directory fd that was opened outside lets the command escape: from it ".." leads anywhere, and
 * neither the mount namespace nor Landlock checks a lookup, stat() or connect() there.
 */
static int refuse_directories(void)
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
 * In the tier reduced the filter permits only connected pairs of AF_UNIX sockets, so that the
 * command cannot connect to a socket of the host by its name. An inherited socket without a peer,
 * or a datagram socket, could be used for that.
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

/* Closes all fds but 0 to 2 and those of --pass-fd. If one of these is not open, the command is not
 * started. */
static int keep_fds(const struct command *command)
{
	unsigned next = FIRST_FD;
	int r;

	for (int fd = 0; fd < FIRST_FD; fd++)
		if (command->stdio[fd] >= 0 && dup2(command->stdio[fd], fd) < 0)
			return -errno;
	r = refuse_directories();
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

/* Sends the supervisor the fds that kernel_become() made. */
static int hand_over(const struct command *command, const int *watch)
{
	const int fds[] = { command->kernel->notify_fd, watch[0] };

	if (!command->kernel->filter_notifies)
		return 0;
	return message_send_kind(command->socket, MESSAGE_NOTIFIER, fds, N_ELEMENTS(fds));
}

/* By read(), which every filter permits. It returns 0 when the supervisor dies. */
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

/* Returns only on failure. */
static int become(struct command *command)
{
	int watch[2] = { -EBADF, -EBADF };
	int r = lead(command);

	if (r < 0)
		return fail(command, DOING_START, r);
	/* Before keep_fds(): execve() must close the only writing end of this pipe. No copy of it
	 * exists, since CLONE_FILES is not set. */
	if (command->kernel->filter_notifies && pipe2(watch, O_CLOEXEC) < 0)
		return fail(command, DOING_START, -errno);
	r = keep_fds(command);
	if (r < 0)
		return fail(command, DOING_FDS, r);
	/* execve() keeps ignored signals ignored, and sbx-spawn ignores these. */
	(void)signal(SIGXFSZ, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
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

/* Reaps a child that has stored why it failed. */
static int take_failure(struct command *command, pid_t pid)
{
	(void)process_wait(pid, NULL);
	return command->failure.code;
}

pid_t command_start(struct command *command)
{
	/* One stack is enough: CLONE_VFORK suspends the parent until the child has left it. */
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	pid_t pid;

	/* Without CLONE_FILES and CLONE_FS the child has its own fds and working directory. */
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
