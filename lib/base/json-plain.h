/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the two halves of base/json: the bytes that stand for themselves inside a string
 *
 * That is ASCII without quotes, backslashes and control characters (delete among them, which the
 * scanner takes and the writer escapes): nearly every byte of real
 * texts. Eight of them are judged at once.
 */

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* @byte in every place of a word. */
#define JSON_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Sets the top bit of each byte that is not plain. A subtraction borrows only from a byte below
 * that is marked itself, so marks above the lowest one may be wrong, the lowest one never is.
 */
static inline uint64_t json_mark_special(uint64_t word)
{
	uint64_t quote = (word ^ JSON_EACH('"')) - JSON_EACH(1);
	uint64_t backslash = (word ^ JSON_EACH('\\')) - JSON_EACH(1);
	uint64_t control = word - JSON_EACH(0x20);
	uint64_t delete = (word ^ JSON_EACH(0x7f)) - JSON_EACH(1);

	return (quote | backslash | control | delete | word) & JSON_EACH(0x80);
}

/* How many of the first bytes are plain. */
static inline size_t json_plain(const char *bytes, size_t n_bytes)
{
	size_t i = 0;

	for (; n_bytes - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		uint64_t word, marks;

		memcpy(&word, bytes + i, sizeof(word));
		marks = json_mark_special(le64toh(word));
		if (marks)
			return i + (size_t)__builtin_ctzll(marks) / 8;
	}
	while (i < n_bytes && !json_mark_special((uint8_t)bytes[i] | JSON_EACH('a') << 8))
		i++;
	return i;
}
