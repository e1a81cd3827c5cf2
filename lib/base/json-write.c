/* SPDX-License-Identifier: MIT */

/*
 * The JSON writer: valid JSON from any bytes
 *
 * One bit of state: does the next item need a comma before it? Brackets and names clear it, values
 * set it. Strings are copied in runs of plain bytes; only the byte that ends a run is examined.
 */

#include "base/json.h"

#include <string.h>

#include "base/json-plain.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Space for the next @n_bytes, after a comma if they need one. NULL after any failed addition. */
static char *extend(struct json_writer *writer, size_t n_bytes)
{
	size_t n_comma = writer->needs_comma;
	char *at = text_extend(writer->out, n_comma + n_bytes);

	if (at && n_comma)
		*at = ',';
	return at ? at + n_comma : NULL;
}

static void add_value(struct json_writer *writer, const char *bytes, size_t n_bytes)
{
	char *at = extend(writer, n_bytes);

	if (at && n_bytes > 0)
		memcpy(at, bytes, n_bytes);
	writer->needs_comma = true;
}

/* ASCII that must be escaped in a string. */
static void add_escape(struct text *out, char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char letters[0x80] = {
		['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
	};
	char letter = letters[(unsigned)c];
	char shortest[] = { '\\', letter };
	char number[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (letter)
		text_add_bytes(out, shortest, sizeof(shortest));
	else
		text_add_bytes(out, number, sizeof(number));
}

/* A character beyond ASCII that is not safe on a terminal, as \u escapes. */
static void add_hidden(struct text *out, uint32_t character)
{
	if (character < 0x10000)
		text_addf(out, "\\u%04x", character);
	else
		text_addf(out, "\\u%04x\\u%04x", 0xd7c0 + (character >> 10),
			  0xdc00 + (character & 0x3ff));
}

/* Adds the character at @bytes, which is not plain; returns its length. */
static size_t add_special(struct text *out, const char *bytes, size_t n_bytes)
{
	uint32_t character = 0;
	size_t n;

	if ((uint8_t)*bytes < 0x80) {
		add_escape(out, *bytes);
		return 1;
	}
	n = utf8_decode(bytes, n_bytes, &character);
	if (n == 0) {
		text_add(out, REPLACEMENT);
		return 1;
	}
	if (text_is_hidden(character))
		add_hidden(out, character);
	else
		text_add_bytes(out, bytes, n);
	return n;
}

/* Not inlined: nearly all strings are plain and need only the caller. */
__attribute__((__noinline__)) static void add_pieces(struct json_writer *writer, const char *bytes,
						     size_t n_bytes)
{
	char *quote = extend(writer, 1);
	size_t at = 0;

	if (quote)
		*quote = '"';
	while (at < n_bytes) {
		size_t n = json_plain(bytes + at, n_bytes - at);

		text_add_bytes(writer->out, bytes + at, n);
		at += n;
		if (at < n_bytes)
			at += add_special(writer->out, bytes + at, n_bytes - at);
	}
	text_add_char(writer->out, '"');
}

static void add_quoted(struct json_writer *writer, const char *bytes, size_t n_bytes)
{
	char *at;

	if (json_plain(bytes, n_bytes) < n_bytes) {
		add_pieces(writer, bytes, n_bytes);
		return;
	}
	at = extend(writer, n_bytes + 2);
	if (!at)
		return;
	*at++ = '"';
	if (n_bytes > 0)
		memcpy(at, bytes, n_bytes);
	at[n_bytes] = '"';
}

void json_write(struct json_writer *writer, struct text *out)
{
	*writer = (struct json_writer){ .out = out };
}

static void open_bracket(struct json_writer *writer, char bracket)
{
	char *at = extend(writer, 1);

	if (at)
		*at = bracket;
	writer->needs_comma = false;
}

static void close_bracket(struct json_writer *writer, char bracket)
{
	text_add_char(writer->out, bracket);
	writer->needs_comma = true;
}

void json_add_object(struct json_writer *writer)
{
	open_bracket(writer, '{');
}

void json_end_object(struct json_writer *writer)
{
	close_bracket(writer, '}');
}

void json_begin_object(struct json_writer *writer, struct text *out)
{
	json_write(writer, out);
	json_add_object(writer);
}

void json_end_line(struct json_writer *writer)
{
	json_end_object(writer);
	text_add_char(writer->out, '\n');
}

void json_add_array(struct json_writer *writer)
{
	open_bracket(writer, '[');
}

void json_end_array(struct json_writer *writer)
{
	close_bracket(writer, ']');
}

void json_add_name_bytes(struct json_writer *writer, const char *name, size_t n_bytes)
{
	add_quoted(writer, name, n_bytes);
	text_add_char(writer->out, ':');
	writer->needs_comma = false;
}

void json_add_string_bytes(struct json_writer *writer, const void *bytes, size_t n_bytes)
{
	add_quoted(writer, bytes, n_bytes);
	writer->needs_comma = true;
}

/* Without printf(), which would be most of the cost of a short record. */
static void add_integer(struct json_writer *writer, bool negative, uint64_t magnitude)
{
	char digits[sizeof("-18446744073709551615")];
	size_t start = sizeof(digits);

	do
		digits[--start] = (char)('0' + magnitude % 10);
	while (magnitude /= 10);
	if (negative)
		digits[--start] = '-';
	add_value(writer, digits + start, sizeof(digits) - start);
}

void json_add_u64(struct json_writer *writer, uint64_t value)
{
	add_integer(writer, false, value);
}

void json_add_i64(struct json_writer *writer, int64_t value)
{
	add_integer(writer, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_add_bool(struct json_writer *writer, bool value)
{
	const char *word = value ? "true" : "false";

	add_value(writer, word, strlen(word));
}

void json_add_null(struct json_writer *writer)
{
	add_value(writer, "null", strlen("null"));
}

void json_add_raw(struct json_writer *writer, const void *bytes, size_t n_bytes)
{
	add_value(writer, bytes, n_bytes);
}

void json_member_hex(struct json_writer *writer, const char *name, const void *bytes,
		     size_t n_bytes)
{
	json_add_name(writer, name);
	text_add_char(writer->out, '"');
	text_add_hex(writer->out, bytes, n_bytes);
	text_add_char(writer->out, '"');
	writer->needs_comma = true;
}
