/* SPDX-License-Identifier: MIT */

/*
 * Variables that name directories; the XDG specification requires that relative paths are ignored
 */

#include "base/environment.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

#define SYSTEM_STATE "/var/lib"

const char *environment_find_directory(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (char *const *entry = environment; entry && *entry; entry++)
		if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
			return (*entry)[len + 1] == '/' ? *entry + len + 1 : NULL;
	return NULL;
}

int environment_add_state_directory(struct text *out, char *const *environment, uid_t uid)
{
	const char *state = environment_find_directory(environment, "XDG_STATE_HOME");
	const char *home = environment_find_directory(environment, "HOME");

	if (uid == 0)
		text_add(out, SYSTEM_STATE);
	else if (state)
		text_add(out, state);
	else if (home)
		text_addf(out, "%s/.local/state", home);
	else
		return -ENOENT;
	return text_status(out);
}
