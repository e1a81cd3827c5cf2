/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What an environment says of folders. Pure: nothing is opened, and it is an argument, so that
 * tests can ask for any home.
 */

#include <sys/types.h>

struct text;

/* The value of the first variable of this name, where that is an absolute path; else NULL. */
const char *environment_find_folder(char *const *environment, const char *name);

/* Adds where programs of @uid keep their state: /var/lib for root, $XDG_STATE_HOME or
 * $HOME/.local/state for others. 0, -ENOENT where neither is set, -ENOMEM. */
int environment_add_state_folder(struct text *out, char *const *environment, uid_t uid);
