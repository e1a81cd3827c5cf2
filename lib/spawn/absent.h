/* SPDX-License-Identifier: MIT */
#pragma once

/* Explains a command that exists outside of the sandbox but not inside */

#include <stdbool.h>

struct plan;
struct sbx_error;

/* True with @err if @command, whose execution failed with @code, exists outside at a path that the
 * plan does not show. */
bool absent_explain(const struct plan *plan, const char *command, int code, struct sbx_error *err);
