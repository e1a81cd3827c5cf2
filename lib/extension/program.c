/* SPDX-License-Identifier: MIT */

/*
 * Starts and kills the process of an extension
 *
 * posix_spawn() does not copy this process's memory and reports a failed exec. The child starts
 * with no blocked or ignored signals (the loop of a service blocks some), no fds but stdin, stdout
 * and stderr, only PATH and LC_ALL in its environment, and its own process group, which
 * program_kill() signals.
 */

#include "extension/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/start.h"

const char *const *program_copy_argv(const char *const *argv)
{
	size_t n = 0, n_bytes = 0;
	char **copy;
	char *at;

	for (; argv[n]; n++)
		n_bytes += strlen(argv[n]) + 1;
	copy = malloc((n + 1) * sizeof(*copy) + n_bytes);
	if (!copy)
		return NULL;
	at = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; i++) {
		copy[i] = at;
		at = stpcpy(at, argv[i]) + 1;
	}
	copy[n] = NULL;
	return (const char *const *)copy;
}

int program_start(struct program *program, const char *const *argv)
{
	static const char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
						   "LC_ALL=C.UTF-8", NULL };
	_cleanup_close_ int to_fd = -EBADF, from_fd = -EBADF, stdin_fd = -EBADF, stdout_fd = -EBADF;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	to_fd = pair[0];
	stdin_fd = pair[1];
	/* The program's end is for reading only: a write() to its stdin gets EPIPE. */
	(void)shutdown(to_fd, SHUT_RD);
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	from_fd = pair[0];
	stdout_fd = pair[1];
	if (fcntl(from_fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	const struct start start = { .argv = argv,
				     .environment = environment,
				     .directory = "/",
				     .stdin_fd = stdin_fd,
				     .stdout_fd = stdout_fd };

	r = start_program(&start, &program->pid);
	if (r < 0) {
		program->pid = 0;
		return r;
	}
	program->to_fd = take_fd(&to_fd);
	program->from_fd = take_fd(&from_fd);
	return 0;
}

void program_kill(struct program *program)
{
	close_fd(&program->to_fd);
	close_fd(&program->from_fd);
	program->to_fd = program->from_fd = -EBADF;
	if (program->pid > 0)
		(void)kill(-program->pid, SIGKILL);
	(void)program_is_gone(program);
}

bool program_is_gone(struct program *program)
{
	if (program->pid > 0 && waitpid(program->pid, NULL, WNOHANG) == program->pid)
		program->pid = 0;
	return program->pid == 0;
}

void program_wait(struct program *program)
{
	while (program->pid > 0 && waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
		;
	program->pid = 0;
}
