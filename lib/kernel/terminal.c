/* SPDX-License-Identifier: MIT */

/*
 * The private pseudoterminal of the sandbox
 *
 * PID 1 opens both ends in the sandbox's devpts, makes one its controlling terminal and its stdin,
 * stdout and stderr, which the command inherits, and stores the other in kernel->pty_master, for
 * the supervisor. Input that the command pushes into it (TIOCSTI) cannot reach the caller's
 * terminal. The slave is opened by ioctl (TIOCGPTPEER), so no path inside has to be trusted.
 *
 * Landlock is enforced already: the ruleset must allow reading, writing and ioctl for /dev/pts.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

#define MULTIPLEXER "/dev/pts/ptmx"

static int lead_session(void)
{
	/* EPERM: the process is a session leader already. */
	return setsid() < 0 && getsid(0) != getpid() ? -errno : 0;
}

int terminal_take(struct kernel *kernel, const struct step *step, size_t number)
{
	_cleanup_close_ int master = open(MULTIPLEXER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	_cleanup_close_ int terminal = -EBADF;
	int unlocked = 0;
	int r;

	if (master < 0)
		return -errno;
	if (ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return -errno;
	terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		return -errno;
	/*
	 * If sbx-spawn was started with stdin, stdout or stderr closed, open() reused that number.
	 */
	if (master <= STDERR_FILENO || terminal <= STDERR_FILENO)
		return -EBADF;
	r = lead_session();
	if (r < 0)
		return r;
	if (ioctl(terminal, TIOCSCTTY, 0) < 0)
		return -errno;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(terminal, fd) < 0)
			return -errno;
	kernel->pty_master = take_fd(&master);
	return 0;
}
