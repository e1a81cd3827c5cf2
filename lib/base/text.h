/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Growing text
 *
 * Additions return no error: after the first failed allocation later additions do nothing, and the
 * caller checks text_status() once at the end. The bytes are always followed by a NUL that is not
 * counted. text_reset() keeps the buffer, so a reused text needs no further allocations.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct text {
	char *data;
	size_t len;
	size_t size;
	bool failed;
};

#define TEXT_INIT                                                                                  \
	{                                                                                          \
		.data = NULL                                                                       \
	}
#define _cleanup_text_ _cleanup_(text_deinit)

void text_deinit(struct text *text);
void text_reset(struct text *text);
/* Shortens to @len bytes; a longer @len changes nothing. */
void text_truncate(struct text *text, size_t len);

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t n_bytes);
/* The part of text_extend() that allocates, or fails. */
char *text_extend_slowly(struct text *text, size_t n_bytes);
/*
 * Adds @n_bytes, all of which the caller must write, and returns their address, or NULL after any
 * failed addition. Inline, because the JSON writer calls it for every quote, name and number.
 */
static inline char *text_extend(struct text *text, size_t n_bytes)
{
	char *at;

	if (text->failed || n_bytes >= text->size - text->len)
		return text_extend_slowly(text, n_bytes);
	at = text->data + text->len;
	text->len += n_bytes;
	at[n_bytes] = '\0';
	return at;
}
static inline void text_add_char(struct text *text, char c)
{
	char *at = text_extend(text, 1);

	if (at)
		*at = c;
}
/* Two lower-case hexadecimal digits for each byte, without a NUL. */
void hex_print(const void *bytes, size_t n_bytes, char *ret);
void text_add_hex(struct text *text, const void *bytes, size_t n_bytes);
void text_addf(struct text *text, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
/* "1 record", "2 records": @noun is the word for one. */
void text_add_count(struct text *text, uint64_t n, const char *noun);
void text_addv(struct text *text, const char *format, va_list args)
	__attribute__((__format__(__printf__, 2, 0)));

/*
 * Adds @n_bytes of untrusted bytes as one line that is safe on a terminal: bytes that are not UTF-8
 * and characters that text_is_hidden() become \xNN, byte by byte. So does a backslash before an
 * 'x': every "\x" of the result is one of these.
 */
void text_add_visible(struct text *text, const void *bytes, size_t n_bytes);
void text_add_visible_string(struct text *text, const char *string);

/*
 * Adds @string in double quotes, with escapes for quotes, backslashes and characters that are
 * text_is_hidden(): safe on a terminal, and a YAML parser gets the same text. Bytes that are not
 * UTF-8 become U+FFFD.
 */
void text_add_quoted(struct text *text, const char *string);

/*
 * Adds a word of a command line for a person who copies it into a shell: as it is, or in quotes
 * if a shell would split or interpret it. What text_add_visible() would escape is octal in $'...',
 * so that the copied word is the original one.
 */
void text_add_word(struct text *text, const void *bytes, size_t n_bytes);
void text_add_word_string(struct text *text, const char *string);

/* 0, or -ENOMEM after any failed addition. */
int text_status(const struct text *text);
/* The text so far, "" while empty; valid until the next addition. */
const char *text_string(const struct text *text);
/* Moves the string out; NULL after a failed addition. The caller frees it. */
char *text_take(struct text *text);

/* Is this a control character, a line separator, a mark that reorders text, a space other than
 * U+0020, or invisible? The only such list, for all output to terminals. */
bool text_is_hidden(uint32_t character);

/*
 * Length of the valid UTF-8 sequence at @bytes (1 to 4), or 0 if there is none (overlong,
 * surrogate, above U+10FFFF, cut off).
 */
size_t utf8_sequence(const void *bytes, size_t n_bytes);
/* The same, with the character; *@ret_character is written only on success. */
size_t utf8_decode(const void *bytes, size_t n_bytes, uint32_t *ret_character);
