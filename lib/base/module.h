/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Modules, for programs that have a dynamic loader
 *
 * A program that is linked statically starts sooner and has none: it brings its own answers to
 * these (tools/static.c), which are all no, and leaves what needs a module to a program that has a
 * loader.
 */

#include <stdbool.h>

bool module_is_possible(void);

/* Stays open until module_close(); NULL with a reason that lives until the next call. @path is
 * absolute: anything else would be looked for along LD_LIBRARY_PATH. */
void *module_open(const char *path, const char **ret_why);
/* NULL: there is none of that name. */
void *module_symbol(void *module, const char *name);
void module_close(void *module);
