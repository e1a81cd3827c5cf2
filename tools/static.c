/* SPDX-License-Identifier: MIT */

/*
 * base/module.h for a program without a loader: these functions fail, and replace those of lib/base
 * at link time
 */

#include <stddef.h>

#include "base/module.h"

bool module_is_possible(void)
{
	return false;
}

void *module_open(const char *path, const char **ret_why)
{
	*ret_why = "this program is linked statically";
	return NULL;
}

void *module_symbol(void *module, const char *name)
{
	return NULL;
}

void module_close(void *module) {}
