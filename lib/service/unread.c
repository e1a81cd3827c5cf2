/* SPDX-License-Identifier: MIT */

/*
 * The kernel does not let a process wait for a lingering socket when it exits: a connection with
 * unread messages gets a second process, which has the last reference to it and exits.
 */

#include "service/unread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* Is a message queued? With SO_PASSCRED each message has control data; an empty message cannot be
 * told from the end otherwise. */
static bool is_queued(int fd)
{
	const int yes = 1;
	int error, r;
	socklen_t n_error = sizeof(error);

	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0)
		return true;
	/* Takes the error of a reset, which the kernel would report ahead of the messages. */
	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n_error);
	r = fd_has_control(fd);
	return r != 0 && r != -EAGAIN;
}

static void leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

/* Copies this process. Its end raises no signal, so that no handler of SIGCHLD reaps it. The C
 * library does not notice: the copy makes system calls only. */
static pid_t copy_process(void)
{
	return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

static void close_all_but(unsigned a, unsigned b)
{
	unsigned low = a < b ? a : b, high = a < b ? b : a;

	if (low > 0)
		(void)close_range(0, low - 1, 0);
	if (high - low > 1)
		(void)close_range(low + 1, high - 1, 0);
	(void)close_range(high + 1, UINT_MAX, 0);
}

/* The child leaves its own child to init, which holds @fd until the service has closed the other
 * end of @gate. */
static void hold(int fd, int gate)
{
	pid_t pid;
	char byte;

	close_all_but((unsigned)fd, (unsigned)gate);
	pid = copy_process();
	if (pid != 0)
		leave(pid < 0);
	while (read(gate, &byte, 1) < 0 && errno == EINTR)
		;
	leave(0);
}

static bool has_succeeded(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return false;
	return status == 0;
}

static bool close_by_exit(int *fd)
{
	_cleanup_close_ int gate = -EBADF;
	int ends[2], kept = take_fd(fd);
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	gate = ends[1];
	pid = copy_process();
	if (pid == 0)
		hold(kept, ends[0]);
	close_fd(&ends[0]);
	if (pid < 0 || !has_succeeded(pid))
		return false;
	close_fd(&kept);
	return true;
}

static bool close_now(int *fd)
{
	close_fd(fd);
	return true;
}

bool unread_close(int *fd)
{
	if (*fd < 0)
		return true;
	/* From now on the peer cannot send. */
	(void)shutdown(*fd, SHUT_RDWR);
	return is_queued(*fd) ? close_by_exit(fd) : close_now(fd);
}

bool unread_close_listener(int *fd)
{
	return *fd < 0 || fd_refuses_fds(*fd) ? close_now(fd) : close_by_exit(fd);
}
