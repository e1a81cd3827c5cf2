/* SPDX-License-Identifier: MIT */

/*
 * Growing text, validation of UTF-8, and escaping of untrusted bytes for a terminal
 */

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_FIRST 128

void text_deinit(struct text *text)
{
	free_ptr(&text->data);
	*text = (struct text)TEXT_INIT;
}

void text_reset(struct text *text)
{
	text_truncate(text, 0);
	text->failed = false;
}

void text_truncate(struct text *text, size_t len)
{
	if (len >= text->len)
		return;
	text->len = len;
	text->data[len] = '\0';
}

/* Makes room for @n_bytes more and the NUL. False after any failed addition. */
static bool reserve(struct text *text, size_t n_bytes)
{
	size_t needed, size = text->size ? text->size : SIZE_FIRST;
	char *data;

	if (text->failed)
		return false;
	if (__builtin_add_overflow(text->len, n_bytes, &needed) || needed >= SIZE_MAX / 2) {
		text->failed = true;
		return false;
	}
	if (needed < text->size)
		return true;

	while (size <= needed)
		size *= 2;
	data = realloc(text->data, size);
	if (!data) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->size = size;
	return true;
}

char *text_extend_slowly(struct text *text, size_t n_bytes)
{
	return reserve(text, n_bytes) ? text_extend(text, n_bytes) : NULL;
}

void text_add_bytes(struct text *text, const void *bytes, size_t n_bytes)
{
	char *at = text_extend(text, n_bytes);

	if (at && n_bytes > 0)
		memcpy(at, bytes, n_bytes);
}

void text_add(struct text *text, const char *string)
{
	text_add_bytes(text, string, strlen(string));
}

void hex_print(const void *bytes, size_t n_bytes, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (const uint8_t *at = bytes, *end = at + n_bytes; at < end; at++) {
		*ret++ = digits[*at >> 4];
		*ret++ = digits[*at & 15];
	}
}

void text_add_hex(struct text *text, const void *bytes, size_t n_bytes)
{
	char *at = text_extend(text, 2 * n_bytes);

	if (at)
		hex_print(bytes, n_bytes, at);
}

void text_add_count(struct text *text, uint64_t n, const char *noun)
{
	text_addf(text, "%" PRIu64 " %s%s", n, noun, n == 1 ? "" : "s");
}

void text_addv(struct text *text, const char *format, va_list args)
{
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (len < 0) {
		text->failed = true;
		return;
	}
	if (!reserve(text, (size_t)len))
		return;
	(void)vsnprintf(text->data + text->len, (size_t)len + 1, format, args);
	text->len += (size_t)len;
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_addv(text, format, args);
	va_end(args);
}

int text_status(const struct text *text)
{
	return text->failed ? -ENOMEM : 0;
}

const char *text_string(const struct text *text)
{
	return text->data ? text->data : "";
}

char *text_take(struct text *text)
{
	char *taken;

	/* An empty text has no buffer yet, but text_take() returns NULL only on failure. */
	if (!reserve(text, 0))
		return NULL;
	text->data[text->len] = '\0';
	taken = take_ptr(text->data);
	*text = (struct text)TEXT_INIT;
	return taken;
}

/* U+FFFD replaces bytes that are no character. */
#define REPLACEMENT 0xfffd

/*
 * By length of a sequence: the lowest character that needs so many bytes. A lower one is overlong.
 */
static const uint32_t utf8_lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };

static size_t utf8_length(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	if (first >= 0xf0 && first < 0xf5)
		return 4;
	return 0;
}

size_t utf8_decode(const void *text, size_t n_bytes, uint32_t *ret_character)
{
	const uint8_t *bytes = text;
	size_t len = n_bytes > 0 ? utf8_length(bytes[0]) : 0;
	uint32_t character;

	if (len == 0 || len > n_bytes)
		return 0;
	character = len == 1 ? bytes[0] : bytes[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (bytes[i] & 0x3fu);
	}
	if (character < utf8_lowest[len] || character > 0x10ffff)
		return 0;
	if (character >= 0xd800 && character < 0xe000)
		return 0;
	*ret_character = character;
	return len;
}

size_t utf8_sequence(const void *bytes, size_t n_bytes)
{
	uint32_t character;

	return utf8_decode(bytes, n_bytes, &character);
}

/*
 * Sorted. Characters that move the cursor, end a line, reorder text, are invisible, or look like a
 * space: the categories Cc, Zl, Zp and Zs (but U+0020), Bidi_Control and
 * Default_Ignorable_Code_Point of Unicode 15.1, and the one pattern of Braille without a dot.
 */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x0000, 0x001f },   /* controls, including escape */
	{ 0x007f, 0x00a0 },   /* delete; the controls again, as one character each; a space */
	{ 0x00ad, 0x00ad },   /* the soft hyphen */
	{ 0x034f, 0x034f },   /* the grapheme joiner */
	{ 0x061c, 0x061c },   /* the Arabic letter mark */
	{ 0x115f, 0x1160 },   /* blank letters of Hangul */
	{ 0x1680, 0x1680 },   /* a space of Ogham */
	{ 0x17b4, 0x17b5 },   /* vowels of Khmer that are not shown */
	{ 0x180b, 0x180f },   /* variations of Mongolian, and what separates its vowels */
	{ 0x2000, 0x200f },   /* spaces; without width; the two marks of direction */
	{ 0x2028, 0x202f },   /* line and paragraph separator; embeddings and overrides; a space */
	{ 0x205f, 0x206f },   /* a space; word joiner, unseen operators; isolates */
	{ 0x2800, 0x2800 },   /* Braille pattern without dots */
	{ 0x3000, 0x3000 },   /* a space as wide as a character */
	{ 0x3164, 0x3164 },   /* a blank letter of Hangul */
	{ 0xfe00, 0xfe0f },   /* variations of the character before */
	{ 0xfeff, 0xfeff },   /* the byte order mark: no width */
	{ 0xffa0, 0xffa0 },   /* a blank letter of Hangul, half as wide */
	{ 0xfff0, 0xfffb },   /* not assigned; marks around an annotation */
	{ 0x1bca0, 0x1bca3 }, /* format of shorthand */
	{ 0x1d173, 0x1d17a }, /* format of music */
	{ 0xe0000, 0xe0fff }, /* tags, a second ASCII that cannot be seen; more variations */
};

bool text_is_hidden(uint32_t character)
{
	for (size_t i = 0; i < N_ELEMENTS(hidden) && character >= hidden[i].first; i++)
		if (character <= hidden[i].last)
			return true;
	return false;
}

void text_add_visible(struct text *text, const void *bytes, size_t n_bytes)
{
	const uint8_t *at = bytes, *end = at + n_bytes;

	while (at < end) {
		uint32_t character = 0;
		size_t len = utf8_decode(at, (size_t)(end - at), &character);
		bool is_ours = character == '\\' && at + 1 < end && at[1] == 'x';

		if (len > 0 && !is_ours && !text_is_hidden(character)) {
			text_add_bytes(text, at, len);
			at += len;
			continue;
		}
		for (const uint8_t *stop = at + (len > 0 ? len : 1); at < stop; at++)
			text_addf(text, "\\x%02x", *at);
	}
}

void text_add_visible_string(struct text *text, const char *string)
{
	text_add_visible(text, string, strlen(string));
}

static bool is_plain_word(const char *bytes, size_t n_bytes)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+,-";

	for (size_t i = 0; i < n_bytes; i++)
		if (bytes[i] == '\0' || !strchr(plain, bytes[i]))
			return false;
	return n_bytes > 0;
}

/* Is it shown as it is? */
static bool is_visible(const void *bytes, size_t n_bytes)
{
	const uint8_t *at = bytes, *end = at + n_bytes;

	for (size_t len; at < end; at += len) {
		uint32_t character = 0;

		len = utf8_decode(at, (size_t)(end - at), &character);
		if (len == 0 || text_is_hidden(character) ||
		    (character == '\\' && at + 1 < end && at[1] == 'x'))
			return false;
	}
	return true;
}

static void add_octal_word(struct text *text, const uint8_t *at, const uint8_t *end)
{
	text_add(text, "$'");
	while (at < end) {
		uint32_t character = 0;
		size_t len = utf8_decode(at, (size_t)(end - at), &character);

		if (len > 0 && character != '\\' && character != '\'' &&
		    !text_is_hidden(character)) {
			text_add_bytes(text, at, len);
			at += len;
			continue;
		}
		for (const uint8_t *stop = at + (len > 0 ? len : 1); at < stop; at++)
			text_addf(text, "\\%03o", *at);
	}
	text_add_char(text, '\'');
}

void text_add_word(struct text *text, const void *bytes, size_t n_bytes)
{
	const char *at = bytes;

	if (is_plain_word(at, n_bytes)) {
		text_add_bytes(text, at, n_bytes);
		return;
	}
	if (!is_visible(at, n_bytes)) {
		add_octal_word(text, bytes, (const uint8_t *)bytes + n_bytes);
		return;
	}
	text_add_char(text, '\'');
	for (size_t i = 0; i < n_bytes; i++)
		if (at[i] == '\'')
			text_add(text, "'\\''");
		else
			text_add_char(text, at[i]);
	text_add_char(text, '\'');
}

void text_add_word_string(struct text *text, const char *string)
{
	text_add_word(text, string, strlen(string));
}

/* U+FFFE and U+FFFF are noncharacters, which YAML allows nowhere. */
static bool is_none(uint32_t character)
{
	return (character & 0xfffe) == 0xfffe;
}

static void add_escape(struct text *text, uint32_t character)
{
	if (character == '\n')
		text_add(text, "\\n");
	else if (character < 0x100)
		text_addf(text, "\\x%02X", character);
	else if (character < 0x10000)
		text_addf(text, "\\u%04X", character);
	else
		text_addf(text, "\\U%08X", character);
}

void text_add_quoted(struct text *text, const char *string)
{
	size_t left = strlen(string), len;

	text_add_char(text, '"');
	for (; left > 0; string += len, left -= len) {
		uint32_t character = REPLACEMENT;
		bool is_valid;

		len = utf8_decode(string, left, &character);
		is_valid = len > 0;
		len += len == 0;
		if (character == '"' || character == '\\')
			text_addf(text, "\\%c", (int)character);
		else if (!is_valid || text_is_hidden(character) || is_none(character))
			add_escape(text, character);
		else
			text_add_bytes(text, string, len);
	}
	text_add_char(text, '"');
}
