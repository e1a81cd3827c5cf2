/* SPDX-License-Identifier: MIT */

/*
 * Becomes the command, found through the PATH that the command itself gets
 *
 * Runs in a process that shares its memory with PID 1, so nothing is allocated.
 */

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/kernel.h"

/* Where the environment has no PATH: what a login would give. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static const char *find_path(char *const *environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return DEFAULT_PATH;
}

/* "FOLDER/NAME"; an empty folder is the working folder, as in every shell. */
static int join(char path[static PATH_MAX], const char *folder, size_t n, const char *name)
{
	size_t n_name = strlen(name);

	if (n + n_name + 2 > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, folder, n);
	if (n > 0)
		path[n++] = '/';
	memcpy(path + n, name, n_name + 1);
	return 0;
}

/* Says nothing about the folders that come after. */
static bool is_absence(int code)
{
	return code == -ENOENT || code == -ENOTDIR || code == -EACCES || code == -ENAMETOOLONG;
}

/* Reads why execve() refused the file with @code: a directory, no execute permission, ... */
static void look(const char *path, int code, struct exec_failure *ret)
{
	struct stat st;

	if (ret->fault != EXEC_FAULT_NONE || stat(path, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		ret->fault = EXEC_FAULT_DIRECTORY;
	else if (code == -EACCES && !(st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		ret->fault = EXEC_FAULT_MODE;
	else if (code == -ENOENT)
		ret->fault = EXEC_FAULT_INTERPRETER;
	if (ret->fault == EXEC_FAULT_INTERPRETER &&
	    interpreter_find_missing(path, ret->interpreter) < 0)
		ret->interpreter[0] = '\0';
}

/* Returns only on failure. */
static int execute(const struct plan *plan, const char *path, struct exec_failure *ret)
{
	int r;

	(void)execve(path, plan->argv, plan->environment);
	r = -errno;
	look(path, r, ret);
	return r;
}

int kernel_exec(const struct plan *plan, struct exec_failure *ret)
{
	const char *name = plan->argv[0];
	const char *at = find_path(plan->environment);
	int result = -ENOENT;

	*ret = (struct exec_failure){ .fault = EXEC_FAULT_NONE };
	if (*name == '\0')
		return -ENOENT;
	if (strchr(name, '/'))
		return execute(plan, name, ret);
	for (;; at++) {
		char path[PATH_MAX];
		size_t n = strcspn(at, ":");
		int r = join(path, at, n, name);

		if (r == 0)
			r = execute(plan, path, ret);
		if (!is_absence(r))
			return r;
		/* One that is there and may not be executed is the better answer. */
		if (r == -EACCES)
			result = r;
		at += n;
		if (*at == '\0')
			return result;
	}
}
