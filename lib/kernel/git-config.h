/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Git's configuration as git reads it: one call for each variable of a file
 *
 * Pure: it opens nothing. The file may have been written by anybody, so what git would not take is
 * an error and never passed over.
 */

#include <stddef.h>

/* More than any configuration has; longer ones are not read. */
#define GIT_CONFIG_MAX ((size_t)1 << 20)

/*
 * @name is as git prints it: "core.hookspath", section and last part in small letters, what stands
 * in quotes between them as it is. @value is NULL where no '=' follows. Whatever is not 0 ends
 * reading. Both texts last as long as the call.
 */
typedef int git_config_fn(void *context, const char *name, const char *value);

/* 0; -EBADMSG where this is no configuration; -ENOMEM; or what @fn has returned. */
int git_config_read(const char *bytes, size_t n_bytes, git_config_fn *fn, void *context);
