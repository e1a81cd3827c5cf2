/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Growing text
 *
 * Additions cannot fail one by one: the first failed allocation is remembered, later additions do
 * nothing, and the end of the work asks text_status() once. The bytes are always followed by a NUL
 * that is not counted. text_reset() keeps the memory, so a text that is reused soon allocates
 * nothing.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

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
void text_add_char(struct text *text, char c);
void text_addf(struct text *text, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
void text_addv(struct text *text, const char *format, va_list args)
	__attribute__((__format__(__printf__, 2, 0)));

/*
 * Adds @n_bytes of untrusted bytes as one line that is safe on a terminal: control characters,
 * escapes and bytes that are not UTF-8 become \xNN, also C1 controls and the bidirectional
 * overrides (U+202A-E, U+2066-9).
 */
void text_add_visible(struct text *text, const void *bytes, size_t n_bytes);

/* 0, or -ENOMEM after any failed addition. */
int text_status(const struct text *text);
/* The text so far, "" while empty; valid until the next addition. */
const char *text_string(const struct text *text);
/* Moves the string out; NULL after a failed addition. The caller frees it. */
char *text_take(struct text *text);

/*
 * Length of the valid UTF-8 sequence at @bytes (1 to 4), or 0 where there is none (overlong,
 * surrogate, above U+10FFFF, cut off).
 */
size_t utf8_sequence(const void *bytes, size_t n_bytes);
