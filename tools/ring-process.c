/* SPDX-License-Identifier: MIT */

/*
 * Commands that sbx-ring starts: in its own process group, so that a terminal's signals reach them,
 * and with all fds that the caller has given
 */

#include "ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"

#include "tool.h"

#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127
#define STATUS_OF_SIGNAL 128

int process_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? STATUS_OF_SIGNAL + WTERMSIG(wait_status)
					: WEXITSTATUS(wait_status);
}

int process_wait(pid_t pid, int *ret_status)
{
	pid_t r;

	do
		r = waitpid(pid, ret_status, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

void process_exec(const struct tool_run *run, char *const argv[])
{
	struct sbx_error err = { .code = 0 };
	int code;

	(void)execvp(argv[0], argv);
	code = errno;
	(void)error_fill(&err, -code, code == ENOENT ? "there is no such program" : NULL,
			 "check its name and PATH", "cannot start '%s'", argv[0]);
	tool_tell(run, &err);
	_exit(code == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}
