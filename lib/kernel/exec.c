/* SPDX-License-Identifier: MIT */

/*
 * Executes the command, which is searched for in the command's own PATH
 *
 * Runs after vfork() in the memory of PID 1, so it must not allocate.
 */

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

/* Used if the environment has no PATH. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

const char *kernel_search_path(char *const *environment)
{
	for (; environment && *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return DEFAULT_PATH;
}

/* "DIRECTORY/NAME"; an empty entry is the working directory, as in shells. */
static int join(char path[static PATH_MAX], const char *directory, size_t n, const char *name)
{
	size_t n_name = strlen(name);

	if (n + n_name + 2 > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, directory, n);
	if (n > 0)
		path[n++] = '/';
	memcpy(path + n, name, n_name + 1);
	return 0;
}

/* The search continues in the next directory of PATH. */
static bool is_absence(int code)
{
	return code == -ENOENT || code == -ENOTDIR || code == -EACCES || code == -ENAMETOOLONG;
}

/* Determines why execve() failed with @code: a directory, no execute permission, ... */
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

int kernel_search(const struct plan *plan, kernel_try_fn *try, struct exec_failure *ret)
{
	const char *name = plan->argv[0];
	const char *at = kernel_search_path(plan->environment);
	int result = -ENOENT;

	*ret = (struct exec_failure){ .fault = EXEC_FAULT_NONE };
	if (*name == '\0')
		return -ENOENT;
	if (strchr(name, '/'))
		return try(plan, name, ret);
	for (;; at++) {
		char path[PATH_MAX];
		size_t n = strcspn(at, ":");
		int r = join(path, at, n, name);

		if (r == 0)
			r = try(plan, path, ret);
		if (!is_absence(r))
			return r;
		/* A file that may not be executed is a better answer than a missing one. */
		if (r == -EACCES)
			result = r;
		at += n;
		if (*at == '\0')
			return result;
	}
}

int kernel_exec(const struct plan *plan, struct exec_failure *ret)
{
	return kernel_search(plan, execute, ret);
}

/*
 * The working directory of the command. Its path is resolved inside the sandbox with the command's
 * uid; afterwards the supervisor's working directory outside cannot be reached.
 */

int command_enter_directory(struct kernel *kernel, const struct step *step, size_t number)
{
	return chdir(step->working_directory.target) < 0 ? -errno : 0;
}

/*
 * Hard and soft rlimits, which all descendants inherit. No process inside can raise them: that
 * needs CAP_SYS_RESOURCE in the initial user namespace. Without a user namespace root has it here,
 * but a lower hard limit of the caller stays, as the plan says.
 */

int rlimit_set(struct kernel *kernel, const struct step *step, size_t number)
{
	__rlimit_resource_t resource = (__rlimit_resource_t)step->rlimit.resource;
	struct rlimit limit;

	if (step->rlimit.resource < 0 || step->rlimit.resource >= RLIM_NLIMITS)
		return -EINVAL;
	if (getrlimit(resource, &limit) < 0)
		return -errno;
	if (limit.rlim_max > step->rlimit.limit)
		limit.rlim_max = step->rlimit.limit;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}
