/* SPDX-License-Identifier: MIT */

/*
 * sbx_spawn: starts sbx-spawn from other programs
 *
 * The caller may have threads that hold locks, so after fork() the child could deadlock.
 * posix_spawn() blocks all signals, shares the memory until execve() and only calls dup2(). Fds are
 * first copied above all wanted numbers, because one wanted number may be another one's source.
 */

#include <sbx/spawn.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#define SIZE_OLDEST sizeof(struct sbx_spawn_config) /* of the first version */
#define PROGRAM_DEFAULT SBX_BINDIR "/sbx-spawn"

/* Copies of the caller's fds, close-on-exec, in the order of the configuration. */
struct copies {
	int *fds;
	size_t n;
};

static void copies_deinit(struct copies *copies)
{
	for (size_t i = 0; i < copies->n; i++)
		(void)close(copies->fds[i]);
	free(copies->fds);
}

static int refuse(struct sbx_error *err, const char *why, const char *fix)
{
	return error_fill(err, -EINVAL, why, fix, "cannot start a sandbox");
}

static size_t count(const char *const *words)
{
	size_t n = 0;

	while (words && words[n])
		n++;
	return n;
}

/* "--" would make the options after it the command. */
static int check(const struct sbx_spawn_config *config, struct sbx_error *err)
{
	if (config->size < SIZE_OLDEST || config->size > sizeof(*config))
		return refuse(
			err, "'size' matches no version of the struct that this library supports",
			"set it to sizeof(struct sbx_spawn_config), or install a newer libsbx");
	if (count(config->command) == 0)
		return refuse(err, "'command' is empty", "set 'command'");
	for (const char *const *word = config->options; word && *word; word++)
		if (strcmp(*word, "--") == 0)
			return refuse(err, "'--' among the options would begin the command",
				      "put the command into 'command'");
	for (size_t i = 0; i < config->n_fds; i++)
		for (size_t j = 0; j <= i; j++)
			if (config->fds[i].as < 0 ||
			    (j < i && config->fds[i].as == config->fds[j].as))
				return refuse(err, "a number in 'fds' is negative or occurs twice",
					      "give each descriptor a different number");
	return 0;
}

/* The arguments of sbx-spawn; the caller frees the array. */
static const char **make_words(const struct sbx_spawn_config *config)
{
	size_t n_options = count(config->options), n_command = count(config->command), n = 0;
	const char **words = calloc(n_options + n_command + 5, sizeof(*words));

	if (!words)
		return NULL;
	words[n++] = "sbx-spawn";
	if (config->policy) {
		words[n++] = "--policy";
		words[n++] = config->policy;
	}
	for (size_t i = 0; i < n_options; i++)
		words[n++] = config->options[i];
	words[n++] = "--";
	for (size_t i = 0; i < n_command; i++)
		words[n++] = config->command[i];
	return words;
}

static int copy_fds(const struct sbx_spawn_config *config, struct copies *ret,
		    struct sbx_error *err)
{
	int above = STDERR_FILENO;

	for (size_t i = 0; i < config->n_fds; i++)
		if (config->fds[i].as > above)
			above = config->fds[i].as;
	ret->fds = calloc(config->n_fds + 1, sizeof(*ret->fds));
	if (!ret->fds)
		return sbx_error_what(err, -ENOMEM, "no memory to start a sandbox");
	for (; ret->n < config->n_fds; ret->n++) {
		int fd = above < INT_MAX ? fcntl(config->fds[ret->n].fd, F_DUPFD_CLOEXEC, above + 1)
					 : -1;

		if (fd < 0)
			return sbx_error_what(err, -errno, "cannot hand fd %d to a sandbox",
					      config->fds[ret->n].fd);
		ret->fds[ret->n] = fd;
	}
	return 0;
}

/* 0 or a positive errno, like posix_spawn(). */
static int start(const struct sbx_spawn_config *config, const struct copies *copies,
		 const char *const *words, pid_t *ret_pid)
{
	const char *program = config->program ? config->program : PROGRAM_DEFAULT;
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return r;
	for (size_t i = 0; i < copies->n && r == 0; i++)
		r = posix_spawn_file_actions_adddup2(&actions, copies->fds[i], config->fds[i].as);
	if (r == 0)
		r = posix_spawn(ret_pid, program, &actions, NULL, (char *const *)words,
				config->environment ? config->environment : environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

int sbx_spawn(const struct sbx_spawn_config *config, pid_t *ret_pid, struct sbx_error *err)
{
	_cleanup_(copies_deinit) struct copies copies = { .fds = NULL };
	_cleanup_free_ const char **words = NULL;
	int r = check(config, err);

	if (r == 0)
		r = copy_fds(config, &copies, err);
	if (r < 0)
		return r;
	words = make_words(config);
	if (!words)
		return sbx_error_what(err, -ENOMEM, "no memory to start a sandbox");
	r = start(config, &copies, words, ret_pid);
	if (r == 0)
		return 0;
	return error_fill(err, -r, NULL, "install sbx-spawn there, or set 'program' to its path",
			  "cannot execute '%s'",
			  config->program ? config->program : PROGRAM_DEFAULT);
}

int sbx_spawn_wait(pid_t pid, int *ret_status, struct sbx_error *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return sbx_error_what(err, -errno,
					      "cannot wait for the sandbox of process %d",
					      (int)pid);
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}
