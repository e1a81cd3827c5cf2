/* SPDX-License-Identifier: MIT */

/*
 * A command that is there outside and not inside
 *
 * It is looked for as the shell of the caller would, by the command's own PATH, and only after it
 * could not be executed: a start that succeeds pays nothing.
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
#include "plan/permits.h"
#include "plan/plan.h"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static const char *search_path(const struct plan *plan)
{
	for (char *const *at = plan->environment; at && *at; at++)
		if (strncmp(*at, "PATH=", 5) == 0)
			return *at + 5;
	return "";
}

static const char *working_directory(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == STEP_FOLDER_OF_COMMAND)
			return plan->steps[i].working_folder.target;
	return "/";
}

static bool is_joined(char ret[static PATH_MAX], const char *directory, size_t n, const char *name)
{
	int len = snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, directory, name);

	return len > 0 && len < PATH_MAX && is_program(ret);
}

static bool find(const struct plan *plan, const char *name, char ret[static PATH_MAX])
{
	const char *at = search_path(plan);

	if (name[0] == '/')
		return is_joined(ret, "", 0, name + 1);
	if (strchr(name, '/')) {
		at = working_directory(plan);
		return is_joined(ret, at, strlen(at), name);
	}
	for (size_t n; *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		if (at[0] == '/' && is_joined(ret, at, n, name))
			return true;
	}
	return false;
}

/* Only what is bound from outside shows programs of the host. */
static bool is_shown(const struct plan *plan, const char *path)
{
	const struct step *carrier = plan_find_carrier(plan, path);

	return carrier && (carrier->kind == STEP_BIND || carrier->kind == STEP_OVERLAY);
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
	*slash = '\0';
	sbx_error_fix(err, "show the directory of the program: --read %.300s", real);
	return true;
}
