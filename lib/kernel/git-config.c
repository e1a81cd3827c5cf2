/* SPDX-License-Identifier: MIT */

/*
 * Git's configuration, character by character
 *
 * The grammar is defined only by git's own parser: a section ends where the next one begins, even
 * on the same line; quotes may begin and end anywhere in a value; a backslash at the end of a line
 * joins it with the next. The end of the file ends a line.
 */

#include "kernel/git-config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

struct reader {
	const char *at;
	const char *end;
	bool is_over;
	struct text name; /* of the section, followed by the variable's while that is read */
	size_t n_section;
	struct text value;
	git_config_fn *fn;
	void *context;
};

static int next(struct reader *reader)
{
	if (reader->at == reader->end) {
		reader->is_over = true;
		return '\n';
	}
	if (reader->at[0] == '\r' && reader->end - reader->at > 1 && reader->at[1] == '\n')
		reader->at++;
	return (unsigned char)*reader->at++;
}

/* Not those of ctype.h, which depend on the locale. */
static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of_name(int c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static void add_small(struct text *out, int c)
{
	text_add_char(out, (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
}

/* Reads a quoted subsection, after its first quote. */
static int read_subsection(struct reader *reader)
{
	int c;

	text_add_char(&reader->name, '.');
	while ((c = next(reader)) != '"') {
		if (c == '\\')
			c = next(reader);
		if (c == '\n')
			return -EBADMSG;
		text_add_char(&reader->name, (char)c);
	}
	return next(reader) == ']' ? 0 : -EBADMSG;
}

/* Reads a section, after its '['. */
static int read_section(struct reader *reader)
{
	int c, r = 0;

	text_reset(&reader->name);
	while (is_of_name(c = next(reader)) || c == '.')
		add_small(&reader->name, c);
	if (c != ']') {
		while (is_space(c) && c != '\n')
			c = next(reader);
		r = c == '"' ? read_subsection(reader) : -EBADMSG;
	}
	text_add_char(&reader->name, '.');
	reader->n_section = reader->name.len;
	return r;
}

/* Reads an escape, after its backslash. */
static int read_escape(struct reader *reader)
{
	static const char escapes[] = "tbn\\\"", meant[] = "\t\b\n\\\"";
	int c = next(reader);
	const char *at = c == '\n' ? NULL : strchr(escapes, c);

	if (at)
		text_add_char(&reader->value, meant[at - escapes]);
	return at || c == '\n' ? 0 : -EBADMSG;
}

static void skip_line(struct reader *reader)
{
	while (next(reader) != '\n')
		;
}

/* Reads a value, after its '='. White space at its ends is dropped. */
static int read_value(struct reader *reader)
{
	bool is_quoted = false;
	size_t n_kept = 0;
	int c, r = 0;

	text_reset(&reader->value);
	while (r == 0 && (c = next(reader)) != '\n') {
		if (is_space(c) && !is_quoted) {
			if (reader->value.len > 0)
				text_add_char(&reader->value, (char)c);
			continue;
		}
		if (!is_quoted && (c == ';' || c == '#')) {
			skip_line(reader);
			break;
		}
		if (c == '\\')
			r = read_escape(reader);
		else if (c == '"')
			is_quoted = !is_quoted;
		else
			text_add_char(&reader->value, (char)c);
		n_kept = reader->value.len;
	}
	text_truncate(&reader->value, n_kept);
	return r < 0 || is_quoted ? -EBADMSG : 0;
}

/* @c is its first letter. */
static int read_variable(struct reader *reader, int c)
{
	bool has_value;
	int r = 0;

	text_truncate(&reader->name, reader->n_section);
	for (; is_of_name(c); c = next(reader))
		add_small(&reader->name, c);
	while (c == ' ' || c == '\t')
		c = next(reader);
	has_value = c == '=';
	if (has_value)
		r = read_value(reader);
	else if (c != '\n')
		r = -EBADMSG;
	if (r == 0 && (text_status(&reader->name) < 0 || text_status(&reader->value) < 0))
		r = -ENOMEM;
	return r < 0 ? r
		     : reader->fn(reader->context, text_string(&reader->name),
				  has_value ? text_string(&reader->value) : NULL);
}

static int read_all(struct reader *reader)
{
	int r = 0;

	while (r == 0 && !reader->is_over) {
		int c = next(reader);

		if (is_space(c))
			continue;
		if (c == '#' || c == ';')
			skip_line(reader);
		else if (c == '[')
			r = read_section(reader);
		else
			r = is_letter(c) ? read_variable(reader, c) : -EBADMSG;
	}
	return r;
}

int git_config_read(const char *bytes, size_t n_bytes, git_config_fn *fn, void *context)
{
	static const char mark[] = "\xef\xbb\xbf";
	struct reader reader = {
		.at = bytes,
		.end = bytes + n_bytes,
		.name = TEXT_INIT,
		.value = TEXT_INIT,
		.fn = fn,
		.context = context,
	};
	int r;

	/* git takes a NUL for the end of a name; other parsers may not. */
	if (n_bytes > 0 && memchr(bytes, '\0', n_bytes))
		return -EBADMSG;
	if (n_bytes >= strlen(mark) && memcmp(bytes, mark, strlen(mark)) == 0)
		reader.at += strlen(mark);
	r = read_all(&reader);
	text_deinit(&reader.name);
	text_deinit(&reader.value);
	return r;
}
