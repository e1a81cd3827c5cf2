/* SPDX-License-Identifier: MIT */

/*
 * posix_spawn() without inherited signals and fds
 */

#include "base/start.h"

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setsigmask(attributes, &none);
	(void)posix_spawnattr_setsigdefault(attributes, &all);
	(void)posix_spawnattr_setpgroup(attributes, 0);
	return -posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
							     POSIX_SPAWN_SETSIGDEF |
							     POSIX_SPAWN_SETPGROUP);
}

static int set_actions(posix_spawn_file_actions_t *actions, const struct start *start)
{
	int r = -posix_spawn_file_actions_adddup2(actions, start->stdin_fd, STDIN_FILENO);

	if (r < 0)
		return r;
	r = -posix_spawn_file_actions_adddup2(actions, start->stdout_fd, STDOUT_FILENO);
	if (r >= 0 && start->stderr_fd > 0)
		r = -posix_spawn_file_actions_adddup2(actions, start->stderr_fd, STDERR_FILENO);
	if (r < 0)
		return r;
	for (size_t i = 0; i < start->n_fds; i++) {
		r = -posix_spawn_file_actions_adddup2(actions, start->fds[i],
						      STDERR_FILENO + 1 + (int)i);
		if (r < 0)
			return r;
	}
	r = -posix_spawn_file_actions_addclosefrom_np(actions,
						      STDERR_FILENO + 1 + (int)start->n_fds);
	if (r < 0 || !start->directory)
		return r;
	return -posix_spawn_file_actions_addchdir_np(actions, start->directory);
}

static int set_and_spawn(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
			 const struct start *start, pid_t *ret)
{
	int r = set_attributes(attributes);

	if (r < 0)
		return r;
	r = set_actions(actions, start);
	if (r < 0)
		return r;
	return -posix_spawn(ret, start->program ? start->program : start->argv[0], actions,
			    attributes, (char *const *)start->argv,
			    (char *const *)start->environment);
}

int start_program(const struct start *start, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r = -posix_spawn_file_actions_init(&actions);

	if (r < 0)
		return r;
	r = -posix_spawnattr_init(&attributes);
	if (r < 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return r;
	}
	r = set_and_spawn(&actions, &attributes, start, ret);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}
