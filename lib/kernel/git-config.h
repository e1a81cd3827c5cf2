/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A parser of git's configuration: one call for each variable of a file
 *
 * Pure: it opens no file. The file may be an attacker's, so syntax that git would refuse is an
 * error and never skipped.
 */

#include <stddef.h>

/* Larger files are refused. */
#define GIT_CONFIG_MAX ((size_t)1 << 20)

/*
 * @name is as git prints it: "core.hookspath", section and last part in lower case, a quoted part
 * between them unchanged. @value is NULL without '='. A result other than 0 ends parsing. Both
 * texts are valid during the call.
 */
typedef int git_config_fn(void *context, const char *name, const char *value);

/* 0; -EBADMSG for a syntax error; -ENOMEM; or the result of @fn. */
int git_config_read(const char *bytes, size_t n_bytes, git_config_fn *fn, void *context);
