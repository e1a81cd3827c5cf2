/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Directories that environment variables name. Pure: no file is opened, and the environment is an
 * argument, so that tests can use any home.
 */

/* The value of the first variable of this name if that is an absolute path; else NULL. */
const char *environment_find_directory(char *const *environment, const char *name);
