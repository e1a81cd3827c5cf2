/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Printing of struct sbx_error. Only tools call the two that print; lib/ fills errors.
 */

#include <sbx/error.h>

struct text;

/* Replaces err->what and sets err->code to @code; why and fix stay. Returns @code. The arguments
 * may point into @err. */
int error_retell(struct sbx_error *err, int code, const char *format, ...) SBX_PRINTF(3, 4);

/* Fills @err: @format is what failed; @why and @fix are texts as they are, or NULL. Returns @code.
 */
int error_fill(struct sbx_error *err, int code, const char *why, const char *fix,
	       const char *format, ...) SBX_PRINTF(5, 6);

/* What to do when a write to a file has failed with @code, a negative errno. */
const char *error_fix_of_write(int code);

/* Sets why and fix, texts as they are; NULL: it stays. */
void error_explain(struct sbx_error *err, const char *why, const char *fix);

/* Adds @word as a shell takes it (text_add_word()), or PATH if it would be cut in a fix. */
void error_add_word(struct text *text, const char *word);
/* Sets fix to @before, such a word, and @after. */
void error_fix_word(struct sbx_error *err, const char *before, const char *word, const char *after);

/* sbx_error_fix() with @id in place of each word "ID" of @fix. */
void error_fix_for(struct sbx_error *err, const char *fix, const char *id);

/*
 * At most three lines, those that are set:
 *
 *   sbx-spawn: cannot bind '/srv/data' into the sandbox
 *     why: p.yaml:14 names a path that does not exist
 *     fix: create it, or write 'optional: true' beside the path
 *
 * and, if set, a fourth one, "context:", before the fix, which is the last line. Without a why, the
 * fix for EMFILE and ENFILE is to raise a limit, whatever the failed operation said. Untrusted
 * bytes are escaped (text_add_visible()).
 */
void error_add_text(struct text *out, const char *tool, const struct sbx_error *err);

/* {"level":"error","what":...,"why":...,"fix":...,"context":...} and a newline; parts that are not
 * set are omitted. */
void error_add_json(struct text *out, const struct sbx_error *err);
