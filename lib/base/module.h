/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Modules, for programs that have a dynamic loader
 *
 * A statically linked program starts faster but cannot load modules: tools/static.c defines these
 * functions so that they fail, and a run that needs a module is passed to a program with a loader.
 */

#include <stdbool.h>

bool module_is_possible(void);

/* Valid until module_close(); NULL with a reason that is valid until the next call. @path must be
 * absolute: dlopen() searches LD_LIBRARY_PATH for other names. */
void *module_open(const char *path, const char **ret_why);
/* NULL: the module has no such symbol. */
void *module_symbol(void *module, const char *name);
void module_close(void *module);
