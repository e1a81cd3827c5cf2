/* SPDX-License-Identifier: MIT */
#pragma once

/* Predicts the result of execve() before the sandbox exists, for --dry-run and --print-plan */

#include <limits.h>
#include <stdbool.h>

struct plan;
struct sbx_error;

/* 0 if the command can be executed or the result is uncertain; else SPAWN_NOT_FOUND or
 * SPAWN_CANNOT_EXECUTE, with the same @err as the run would have. */
int spawn_foresee(const struct plan *plan, struct sbx_error *err);

/* True with the first path in the resolution of @path inside, links included, that exists outside
 * and is not visible in the sandbox. */
bool foresee_find_hidden(const struct plan *plan, const char *path, char ret[static PATH_MAX]);
