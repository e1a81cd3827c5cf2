/* SPDX-License-Identifier: MIT */

/*
 * A command that exists outside and not inside
 *
 * It is looked up as the caller's shell would, in the command's PATH, and only after execve()
 * failed, so a start that succeeds does not pay for it.
 */

#include "spawn/absent.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/environment.h"
#include "kernel/kernel.h"
#include "plan/plan.h"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_joined(char ret[static PATH_MAX], const char *directory, size_t n, const char *name)
{
	int len = snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, directory, name);

	return len > 0 && len < PATH_MAX && is_program(ret);
}

static bool find(const struct plan *plan, const char *name, char ret[static PATH_MAX])
{
	const char *at = kernel_search_path(plan->environment);

	if (name[0] == '/')
		return is_joined(ret, "", 0, name + 1);
	if (strchr(name, '/')) {
		at = plan_working_directory(plan);
		return is_joined(ret, at, strlen(at), name);
	}
	for (size_t n; *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		if (at[0] == '/' && is_joined(ret, at, n, name))
			return true;
	}
	return false;
}

/* Only a bind mount shows programs of the host. */
static bool is_shown(const struct plan *plan, const char *path)
{
	const struct step *carrier = plan_find_carrier(plan, path);

	return carrier && (carrier->kind == STEP_BIND || carrier->kind == STEP_OVERLAY);
}

/* A program may need files beside it, so the fix names its directory, except for /home and a home
 * itself. */
static bool is_wide(const struct plan *plan, const char *path, size_t n)
{
	const char *home = environment_find_directory(plan->environment, "HOME");
	_cleanup_free_ char *real = home ? realpath(home, NULL) : NULL;

	return !memchr(path + 1, '/', n - 1) ||
	       (real && strlen(real) == n && memcmp(real, path, n) == 0);
}

bool absent_explain(const struct plan *plan, const char *command, int code, struct sbx_error *err)
{
	_cleanup_free_ char *real = NULL;
	char path[PATH_MAX], *slash;

	if ((code != -ENOENT && code != -EACCES) || plan->tier != TIER_FULL ||
	    !find(plan, command, path))
		return false;
	real = realpath(path, NULL);
	slash = real ? strrchr(real, '/') : NULL;
	if (!slash || slash == real || is_shown(plan, real))
		return false;
	(void)sbx_error_what(err, code, "cannot execute '%s'", command);
	if (strcmp(path, real) == 0)
		sbx_error_why(err, "outside it is '%.300s', which the sandbox does not show", path);
	else
		sbx_error_why(err,
			      "outside it is '%.300s', a link to '%.300s', which the sandbox does "
			      "not show",
			      path, real);
	if (is_wide(plan, real, (size_t)(slash - real))) {
		sbx_error_fix(err, "show the file: --read %.300s", real);
		return true;
	}
	*slash = '\0';
	sbx_error_fix(err, "show the directory of the program: --read %.300s", real);
	return true;
}
