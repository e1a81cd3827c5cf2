/* SPDX-License-Identifier: MIT */

/*
 * Filling and showing struct sbx_error
 *
 * The texts have a fixed size, so that an error can be reported when no memory is left. Quoted
 * paths, keys and arguments may come from an attacker: they are stored unchanged and escaped when
 * they are printed.
 */

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Cuts a text that filled its buffer after its last complete character, and marks the cut. */
static void mark_cut(char text[SBX_ERROR_TEXT_SIZE])
{
	static const char mark[] = "...";
	size_t end = SBX_ERROR_TEXT_SIZE - sizeof(mark);

	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	memcpy(text + end, mark, sizeof(mark));
}

SBX_PRINTF(2, 0)
static void fill(char text[SBX_ERROR_TEXT_SIZE], const char *format, va_list args)
{
	int len = vsnprintf(text, SBX_ERROR_TEXT_SIZE, format, args);

	if (len >= SBX_ERROR_TEXT_SIZE)
		mark_cut(text);
}

int sbx_error_what(struct sbx_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	*err = (struct sbx_error){ .code = code };
	va_start(args, format);
	fill(err->what, format, args);
	va_end(args);
	return code;
}

void sbx_error_why(struct sbx_error *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, format);
	fill(err->why, format, args);
	va_end(args);
}

void sbx_error_fix(struct sbx_error *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, format);
	fill(err->fix, format, args);
	va_end(args);
}

void sbx_error_context(struct sbx_error *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, format);
	fill(err->context, format, args);
	va_end(args);
}

int error_fill(struct sbx_error *err, int code, const char *why, const char *fix,
	       const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	*err = (struct sbx_error){ .code = code };
	va_start(args, format);
	fill(err->what, format, args);
	va_end(args);
	error_explain(err, why, fix);
	return code;
}

const char *error_fix_of_write(int code)
{
	if (code == -ENOSPC || code == -EDQUOT)
		return "free some space on the file system";
	/* Of the process, and so of its caller; or of the file system. */
	if (code == -EFBIG)
		return "raise the limit of file sizes: ulimit -f";
	return "check the file system";
}

void error_explain(struct sbx_error *err, const char *why, const char *fix)
{
	if (why)
		sbx_error_why(err, "%s", why);
	if (fix)
		sbx_error_fix(err, "%s", fix);
}

int error_retell(struct sbx_error *err, int code, const char *format, ...)
{
	char what[SBX_ERROR_TEXT_SIZE];
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	fill(what, format, args);
	va_end(args);
	memcpy(err->what, what, sizeof(what));
	err->code = code;
	return code;
}

void error_add_word(struct text *text, const char *word)
{
	size_t len = text->len;

	text_add_word_string(text, word);
	if (text_status(text) == 0 && text->len - len > SBX_ERROR_TEXT_SIZE / 2) {
		text_truncate(text, len);
		text_add(text, "PATH");
	}
}

void error_fix_word(struct sbx_error *err, const char *before, const char *word, const char *after)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	error_add_word(&text, word);
	if (text_status(&text) == 0)
		sbx_error_fix(err, "%s%s%s", before, text_string(&text), after);
}

void error_fix_for(struct sbx_error *err, const char *fix, const char *id)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *at;

	while ((at = strstr(fix, " ID"))) {
		text_add_bytes(&text, fix, (size_t)(at - fix) + 1);
		fix = at + strlen(" ID");
		text_add(&text, strspn(fix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
					? "ID"
					: id);
	}
	text_add(&text, fix);
	if (text_status(&text) == 0)
		sbx_error_fix(err, "%s", text_string(&text));
}
