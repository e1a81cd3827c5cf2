/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Printing of struct sbx_error. Only tools call these; lib/ fills errors and never prints.
 */

#include <sbx/error.h>

struct text;

/*
 * Three lines, those that are known:
 *
 *   sbx-spawn: cannot bind '/srv/data' into the sandbox
 *     why: p.yaml:14 names a path that does not exist
 *     fix: create it, or write 'optional: true' beside the path
 *
 * and a fourth, "context:", where there is one. Untrusted bytes are made visible
 * (text_add_visible()).
 */
void error_add_text(struct text *out, const char *tool, const struct sbx_error *err);

/* {"level":"error","what":...,"why":...,"fix":...,"context":...} and a newline; absent parts are
 * left out. */
void error_add_json(struct text *out, const struct sbx_error *err);
