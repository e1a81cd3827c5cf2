/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Directories that environment variables name. Pure: no file is opened, and the environment is an
 * argument, so that tests can use any home.
 */

#include <sys/types.h>

struct text;

/* The value of the first variable of this name if that is an absolute path; else NULL. */
const char *environment_find_directory(char *const *environment, const char *name);

/* Adds the state directory of @uid: /var/lib for root, $XDG_STATE_HOME or $HOME/.local/state for
 * others. 0, -ENOENT if neither is set, -ENOMEM. */
int environment_add_state_directory(struct text *out, char *const *environment, uid_t uid);
