/* SPDX-License-Identifier: MIT */
#pragma once

/* Predicts the result of execve() before the sandbox exists, for --dry-run and --print-plan */

#include <limits.h>
#include <stdbool.h>

#include "kernel/interpreter.h"

struct plan;
struct sbx_error;
struct text;

/* 0 if the command can be executed or the result is uncertain; else SPAWN_NOT_FOUND or
 * SPAWN_CANNOT_EXECUTE, with the same @err as the run would have. */
int spawn_foresee(const struct plan *plan, struct sbx_error *err);

/* True with the first path in the resolution of @path inside, links included, that exists outside
 * and is not visible in the sandbox. */
bool foresee_find_hidden(const struct plan *plan, const char *path, char ret[static PATH_MAX]);

/* True with the interpreter or loader that @program, a path inside, needs, directly or for its
 * interpreter, if that is masked or may not be executed. */
bool foresee_find_denied(const struct plan *plan, const char *program,
			 char ret[static INTERPRETER_MAX]);

/* Adds " --read PATH" for each path, at most eight, that the sandbox would have to show, besides
 * @shown or NULL, for the kernel to find @program outside, its interpreters and their loader. */
void foresee_add_hidden(const struct plan *plan, const char *shown, const char *program,
			struct text *out);
