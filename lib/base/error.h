/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Printing of struct sbx_error. Only tools call the two that print; lib/ fills errors.
 */

#include <sbx/error.h>

struct text;

/* Replaces what we were doing; the reason and the remedy stay. Returns @code, which becomes err's.
 * The arguments may lie in @err. */
int error_retell(struct sbx_error *err, int code, const char *format, ...) SBX_PRINTF(3, 4);

/*
 * Three lines, those that are known:
 *
 *   sbx-spawn: cannot bind '/srv/data' into the sandbox
 *     why: p.yaml:14 names a path that does not exist
 *     fix: create it, or write 'optional: true' beside the path
 *
 * and a fourth, "context:", where there is one, before the fix: that is the closing line. Untrusted
 * bytes are made visible (text_add_visible()).
 */
void error_add_text(struct text *out, const char *tool, const struct sbx_error *err);

/* {"level":"error","what":...,"why":...,"fix":...,"context":...} and a newline; absent parts are
 * left out. */
void error_add_json(struct text *out, const struct sbx_error *err);
