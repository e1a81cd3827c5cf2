/* SPDX-License-Identifier: MIT */

/*
 * Services, cron jobs and "env -i" have no HOME, and the user of a container often has one that is
 * not writable. Audit records need a directory even then. All tools use this function, so that
 * readers of records look where the writer puts them.
 */

#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environment.h"
#include "base/path.h"
#include "base/text.h"

#define SYSTEM_STATE "/var/lib"
#define ACCOUNTS "/etc/passwd"
#define FALLBACK_NAME "/state"
#define WRITABLE_BY_OTHERS 022

static bool is_writable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0;
}

/* Is ~/.local/state writable, or can it be created? */
static bool is_usable(const char *home)
{
	_cleanup_text_ struct text state = TEXT_INIT;

	text_addf(&state, "%s" STATE_BELOW_HOME, home);
	return is_writable(home) || (text_status(&state) == 0 && is_writable(state.data));
}

/* The home in NAME:PASSWORD:UID:GID:COMMENT:HOME:SHELL, or NULL. */
static const char *home_in(char *line, uid_t uid)
{
	enum { UID = 2, HOME = 5, N_FIELDS = 7 };
	char *fields[N_FIELDS], *end;

	for (int i = 0; i < N_FIELDS; i++)
		fields[i] = strsep(&line, ":");
	if (!fields[N_FIELDS - 1] || fields[UID][0] < '0' || fields[UID][0] > '9' ||
	    strtoull(fields[UID], &end, 10) != uid || *end || !path_is_normal(fields[HOME]))
		return NULL;
	return fields[HOME];
}

static bool add_of_account(struct text *out, const char *accounts, uid_t uid)
{
	FILE *file = fopen(accounts, "re");
	_cleanup_free_ char *line = NULL;
	const char *home = NULL;
	size_t size = 0;

	if (!file)
		return false;
	while (!home && getline(&line, &size, file) > 0)
		home = home_in(line, uid);
	(void)fclose(file);
	if (!home || !is_usable(home))
		return false;
	text_addf(out, "%s" STATE_BELOW_HOME, home);
	return true;
}

static void add_fallback(struct text *out, char *const *environment, uid_t uid)
{
	const char *runtime = environment_find_directory(environment, "XDG_RUNTIME_DIR");

	if (runtime)
		text_addf(out, "%s/sbx" FALLBACK_NAME, runtime);
	else
		text_addf(out, "/tmp/sbx-%u" FALLBACK_NAME, (unsigned)uid);
}

int state_find_by(struct text *out, char *const *environment, uid_t uid, const char *accounts)
{
	const char *state = environment_find_directory(environment, "XDG_STATE_HOME");
	const char *home = environment_find_directory(environment, "HOME");
	enum state_place place = STATE_OF_ENVIRONMENT;
	int r;

	if (uid == 0) {
		text_add(out, SYSTEM_STATE);
	} else if (state) {
		text_add(out, state);
	} else if (home && is_usable(home)) {
		text_addf(out, "%s" STATE_BELOW_HOME, home);
	} else if (add_of_account(out, accounts, uid)) {
		place = STATE_OF_ACCOUNT;
	} else {
		place = STATE_FALLBACK;
		add_fallback(out, environment, uid);
	}
	r = text_status(out);
	return r < 0 ? r : (int)place;
}

int state_find(struct text *out, char *const *environment, uid_t uid)
{
	return state_find_by(out, environment, uid, ACCOUNTS);
}

int state_make_fallback(const char *path)
{
	_cleanup_free_ char *parent = strdup(path);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	struct stat st;

	if (!slash)
		return -ENOMEM;
	*slash = '\0';
	if (mkdir(parent, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(parent, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & WRITABLE_BY_OTHERS)
		       ? 0
		       : -EPERM;
}
