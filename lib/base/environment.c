/* SPDX-License-Identifier: MIT */

/*
 * Variables that name directories; the XDG specification requires that relative paths are ignored
 */

#include "base/environment.h"

#include <string.h>

const char *environment_find_directory(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (char *const *entry = environment; entry && *entry; entry++)
		if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
			return (*entry)[len + 1] == '/' ? *entry + len + 1 : NULL;
	return NULL;
}
