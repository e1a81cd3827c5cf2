/* SPDX-License-Identifier: MIT */

/*
 * Base64 encoding and decoding, four characters for three bytes. libcrypto's decoder accepts white
 * space and non-zero unused bits; this one combines the four characters to one number, in which the
 * unused bits of the last group must be zero.
 */

#include "base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void add_group(const uint8_t *bytes, size_t n, char out[4])
{
	uint32_t group = (uint32_t)bytes[0] << 16;

	if (n > 1)
		group |= (uint32_t)bytes[1] << 8;
	if (n > 2)
		group |= bytes[2];
	for (size_t i = 0; i < 4; i++)
		if (i > n)
			out[i] = '=';
		else
			out[i] = alphabet[group >> (18 - 6 * i) & 63];
}

void base64_add(struct text *out, const void *bytes, size_t n_bytes)
{
	const uint8_t *from = bytes;

	for (size_t at = 0; at < n_bytes; at += 3) {
		char *group = text_extend(out, 4);

		if (!group)
			return;
		add_group(from + at, n_bytes - at < 3 ? n_bytes - at : 3, group);
	}
}

static int value_of(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -EBADMSG;
}

/* The 1 to 3 bytes of four characters; only the last group has padding. */
static ssize_t decode_group(const char *string, bool is_last, uint8_t ret[3])
{
	size_t n_padding = 0;
	uint32_t group = 0;

	if (is_last)
		n_padding = string[3] != '=' ? 0 : string[2] != '=' ? 1 : 2;
	for (size_t i = 0; i < 4 - n_padding; i++) {
		int value = value_of(string[i]);

		if (value < 0)
			return value;
		group |= (uint32_t)value << (18 - 6 * i);
	}
	ret[0] = (uint8_t)(group >> 16);
	ret[1] = (uint8_t)(group >> 8);
	ret[2] = (uint8_t)group;
	for (size_t i = 3 - n_padding; i < 3; i++)
		if (ret[i] != 0)
			return -EBADMSG;
	return (ssize_t)(3 - n_padding);
}

ssize_t base64_decode(const char *string, size_t n, void *ret, size_t max)
{
	uint8_t *out = ret;
	size_t len = 0;

	if (n % 4 != 0)
		return -EBADMSG;
	for (size_t at = 0; at < n; at += 4) {
		uint8_t group[3];
		ssize_t n_group = decode_group(string + at, at + 4 == n, group);

		if (n_group < 0)
			return n_group;
		if ((size_t)n_group > max - len)
			return -EBADMSG;
		memcpy(out + len, group, (size_t)n_group);
		len += (size_t)n_group;
	}
	return (ssize_t)len;
}

int base64_decode_exactly(const char *string, size_t n, void *ret, size_t n_bytes)
{
	if (n != (n_bytes + 2) / 3 * 4)
		return -EBADMSG;
	return base64_decode(string, n, ret, n_bytes) == (ssize_t)n_bytes ? 0 : -EBADMSG;
}
