/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A command that is there outside and not inside
 */

#include <stdbool.h>

struct plan;
struct sbx_error;

/* True with @err where @command, which could not be executed (@code), is found outside in what the
 * plan does not show. */
bool absent_explain(const struct plan *plan, const char *command, int code, struct sbx_error *err);
