/* SPDX-License-Identifier: MIT */

/*
 * Running sbx-spawn: the one beside us, never one that an environment names
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/path.h"

#define SPAWN_NAME "sbx-spawn"
#define FIRST_OTHER_FD 3

int spawn_find(char ret[4096], struct sbx_error *err)
{
	ssize_t n = readlink("/proc/self/exe", ret, 4096 - sizeof(SPAWN_NAME));

	if (n > 0) {
		ret[n] = '\0';
		memcpy(ret + (path_last(ret) - ret), SPAWN_NAME, sizeof(SPAWN_NAME));
		if (access(ret, X_OK) == 0)
			return 0;
	}
	(void)sbx_error_what(err, -ENOPKG, "cannot find " SPAWN_NAME);
	sbx_error_why(err, "it is not in the directory of " CTL_TOOL);
	sbx_error_fix(err, "install both from the same package");
	return -ENOPKG;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct spawn_start *start)
{
	int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

	if (r == 0)
		r = start->out >= 0
			    ? posix_spawn_file_actions_adddup2(actions, start->out, STDOUT_FILENO)
			    : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null",
							       O_WRONLY, 0);
	if (r == 0 && start->err >= 0)
		r = posix_spawn_file_actions_adddup2(actions, start->err, STDERR_FILENO);
	if (r == 0 && start->cwd)
		r = posix_spawn_file_actions_addchdir_np(actions, start->cwd);
	/* What our caller has left open would be held open for as long as the sandbox lives. */
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, FIRST_OTHER_FD);
	return r;
}

pid_t spawn_start(const struct spawn_start *start, struct sbx_error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t pid = 0;
	mode_t ours;
	int r;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return sbx_error_what(err, -ENOMEM, "no memory to start " SPAWN_NAME);
	(void)posix_spawnattr_init(&attributes);
	if (start->is_own_session)
		(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	r = add_actions(&actions, start);
	ours = umask(start->umask);
	if (r == 0)
		r = posix_spawn(&pid, start->argv[0], &actions, &attributes,
				(char *const *)(uintptr_t)start->argv, environ);
	(void)umask(ours);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r == 0)
		return pid;
	return ctl_fail(err, -r, "start", start->argv[0], NULL,
			"check that its file and the working directory still exist");
}

int spawn_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
