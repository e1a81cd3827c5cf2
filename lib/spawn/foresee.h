/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The answer of execve() before there is a sandbox, for --dry-run and --print-plan
 */

#include <limits.h>
#include <stdbool.h>

struct plan;
struct sbx_error;

/* 0 where the command can be executed or where that cannot be said; else SPAWN_NOT_FOUND or
 * SPAWN_CANNOT_EXECUTE, with the same @err as the run would have. */
int spawn_foresee(const struct plan *plan, struct sbx_error *err);

/* True with the first path on the way to @path inside, through its links, that is there outside and
 * not shown in the sandbox. */
bool foresee_find_hidden(const struct plan *plan, const char *path, char ret[static PATH_MAX]);
