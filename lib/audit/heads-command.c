/* SPDX-License-Identifier: MIT */

/*
 * The command that heads are given to
 *
 * It reads from a memfd, so it cannot make us wait by not reading, and there is no pipe to break.
 */

#include "audit/heads-command.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/start.h"

static int fd_of(const void *bytes, size_t n_bytes)
{
	_cleanup_close_ int fd = memfd_create("sbx-head", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, bytes, n_bytes);

	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? r : take_fd(&fd);
}

static int spawn(const char *command, int stdin_fd, pid_t *ret)
{
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	/* What it prints is for people; our own output is data. */
	const struct start start = { .argv = argv,
				     .environment = (const char *const *)environ,
				     .stdin_fd = stdin_fd,
				     .stdout_fd = STDERR_FILENO };

	return start_program(&start, ret);
}

int head_command_start(struct head_command *ret, const char *command, const void *bytes,
		       size_t n_bytes)
{
	_cleanup_close_ int fd = fd_of(bytes, n_bytes);
	struct head_command started = HEAD_COMMAND_INIT;
	int r = fd < 0 ? fd : spawn(command, fd, &started.pid);

	if (r < 0)
		return r;
	started.pidfd = pidfd_of(started.pid);
	if (started.pidfd < 0) {
		head_command_kill(&started);
		(void)waitpid(started.pid, NULL, 0);
		return started.pidfd;
	}
	*ret = started;
	return 0;
}

int head_command_has_ended(struct head_command *command, int *ret_status)
{
	pid_t pid = waitpid(command->pid, ret_status, WNOHANG);

	if (pid == 0)
		return 0;
	/* Whoever started us has children waited for by the kernel: nobody knows how it ended. */
	if (pid < 0)
		*ret_status = W_EXITCODE(127, 0);
	(void)close(take_fd(&command->pidfd));
	return 1;
}

/* All that it has started and that stayed in its group. */
void head_command_kill(const struct head_command *command)
{
	(void)kill(-command->pid, SIGKILL);
}

void head_command_deinit(struct head_command *command)
{
	if (command->pidfd < 0)
		return;
	head_command_kill(command);
	(void)waitpid(command->pid, NULL, 0);
	(void)close(take_fd(&command->pidfd));
}
