/* SPDX-License-Identifier: MIT */

/*
 * Becomes the command, found through the PATH that the command itself gets
 *
 * Runs in a process that shares its memory with PID 1, so nothing is allocated.
 */

#include <errno.h>
#include <limits.h>
#include <string.h>
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

int kernel_exec(const struct plan *plan)
{
	const char *name = plan->argv[0];
	const char *at = find_path(plan->environment);
	int result = -ENOENT;

	if (*name == '\0')
		return -ENOENT;
	if (strchr(name, '/')) {
		(void)execve(name, plan->argv, plan->environment);
		return -errno;
	}
	for (;; at++) {
		char path[PATH_MAX];
		size_t n = strcspn(at, ":");
		int r = join(path, at, n, name);

		if (r == 0) {
			(void)execve(path, plan->argv, plan->environment);
			r = -errno;
		}
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
