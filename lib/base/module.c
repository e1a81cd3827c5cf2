/* SPDX-License-Identifier: MIT */

#include "base/module.h"

#include <dlfcn.h>
#include <stddef.h>

bool module_is_possible(void)
{
	return true;
}

void *module_open(const char *path, const char **ret_why)
{
	void *module = path[0] == '/' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!module && path[0] != '/')
		*ret_why = "its path is not absolute";
	else if (!module)
		*ret_why = dlerror();
	return module;
}

void *module_symbol(void *module, const char *name)
{
	return dlsym(module, name);
}

void module_close(void *module)
{
	(void)dlclose(module);
}
