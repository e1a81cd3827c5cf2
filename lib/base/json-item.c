/* SPDX-License-Identifier: MIT */

/*
 * The meaning of a JSON item: its characters, its number, its place
 *
 * Items come from the scanner and are therefore well formed: their syntax is not checked again.
 * Escapes that are no character and numbers that are no integer, which the grammar allows, are
 * refused.
 */

#include "base/json.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

/* A run of characters without escapes, or one decoded escape. */
struct piece {
	const char *bytes;
	size_t n_bytes;
	char decoded[4];
};

/* The scanner has checked that they are hexadecimal. */
static unsigned four_digits(const char *digits)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		unsigned c = (uint8_t)digits[i];

		value = value << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return value;
}

/* Decodes the escape at *@at and moves *@at after it. Returns the character, or -EILSEQ. */
static int decode_escape(const char **at, const char *end)
{
	static const char letters[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
	const char *letter = strchr(letters, (*at)[1]);
	unsigned high, low;

	*at += 2;
	if (letter)
		return characters[letter - letters];
	high = four_digits(*at);
	*at += 4;
	if (high < 0xd800 || high > 0xdfff)
		return (int)high;
	if (high > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
		return -EILSEQ;
	low = four_digits(*at + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return -EILSEQ;
	*at += 6;
	return (int)(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
}

static size_t encode_utf8(unsigned character, char ret[4])
{
	static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; character >>= 6)
		ret[i] = (char)(0x80 | (character & 0x3f));
	ret[0] = (char)(lead[n] | character);
	return n;
}

/* 1 with the next piece, 0 at the end, -EILSEQ for an unpaired surrogate. */
static int next_piece(const char **at, const char *end, struct piece *ret)
{
	const char *backslash;
	int character;

	if (*at == end)
		return 0;
	if (**at == '\\') {
		character = decode_escape(at, end);
		if (character < 0)
			return character;
		ret->bytes = ret->decoded;
		ret->n_bytes = encode_utf8((unsigned)character, ret->decoded);
		return 1;
	}
	backslash = memchr(*at, '\\', (size_t)(end - *at));
	ret->bytes = *at;
	ret->n_bytes = (size_t)((backslash ? backslash : end) - *at);
	*at += ret->n_bytes;
	return 1;
}

static bool is_string(const struct json_item *item)
{
	return item->kind == JSON_NAME || item->kind == JSON_STRING;
}

int json_decode(const struct json_item *item, struct text *out)
{
	const char *at = item->bytes, *end = at + item->n_bytes;
	size_t len = out->len;
	struct piece piece;
	int r;

	if (!is_string(item))
		return -EINVAL;
	if (!item->escaped) {
		text_add_bytes(out, item->bytes, item->n_bytes);
		return 0;
	}
	while ((r = next_piece(&at, end, &piece)) > 0)
		text_add_bytes(out, piece.bytes, piece.n_bytes);
	if (r < 0)
		text_truncate(out, len);
	return r;
}

bool json_equals_bytes(const struct json_item *item, const char *bytes, size_t n_bytes)
{
	const char *at = item->bytes, *end = at + item->n_bytes;
	struct piece piece;
	int r;

	if (!is_string(item))
		return false;
	if (!item->escaped)
		return item->n_bytes == n_bytes && memcmp(at, bytes, n_bytes) == 0;
	while ((r = next_piece(&at, end, &piece)) > 0) {
		if (piece.n_bytes > n_bytes || memcmp(piece.bytes, bytes, piece.n_bytes) != 0)
			return false;
		bytes += piece.n_bytes;
		n_bytes -= piece.n_bytes;
	}
	return r == 0 && n_bytes == 0;
}

/* Splits an integer into sign and magnitude. -EINVAL for a fraction or exponent takes precedence
 * over -ERANGE. */
static int split_integer(const struct json_item *item, bool *ret_negative, uint64_t *ret_magnitude)
{
	bool negative = item->n_bytes > 0 && item->bytes[0] == '-';
	uint64_t magnitude = 0;
	bool fits = true;

	if (item->kind != JSON_NUMBER)
		return -EINVAL;
	for (size_t i = negative; i < item->n_bytes; i++) {
		unsigned digit = (unsigned)(item->bytes[i] - '0');

		if (digit > 9)
			return -EINVAL;
		fits = fits && !__builtin_mul_overflow(magnitude, 10, &magnitude) &&
		       !__builtin_add_overflow(magnitude, digit, &magnitude);
	}
	if (!fits)
		return -ERANGE;
	*ret_negative = negative;
	*ret_magnitude = magnitude;
	return 0;
}

int json_u64(const struct json_item *item, uint64_t *ret)
{
	uint64_t magnitude;
	bool negative;
	int r = split_integer(item, &negative, &magnitude);

	if (r < 0)
		return r;
	if (negative && magnitude > 0)
		return -ERANGE;
	*ret = magnitude;
	return 0;
}

int json_i64(const struct json_item *item, int64_t *ret)
{
	uint64_t magnitude;
	bool negative;
	int r = split_integer(item, &negative, &magnitude);

	if (r < 0)
		return r;
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = (int64_t)(negative ? -magnitude : magnitude);
	return 0;
}
