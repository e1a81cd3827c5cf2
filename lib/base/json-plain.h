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

/* The first of @n_bytes, 1 to 7, that is not plain, or @n_bytes. */
static inline size_t json_plain_few(const uint8_t *bytes, size_t n_bytes)
{
	uint64_t word = JSON_EACH('a') << (8 * n_bytes), marks;
	uint32_t first, last;

	if (n_bytes >= sizeof(first)) {
		/* Where the two overlap they agree. */
		memcpy(&first, bytes, sizeof(first));
		memcpy(&last, bytes + n_bytes - sizeof(last), sizeof(last));
		word |= le32toh(first) | (uint64_t)le32toh(last) << (8 * (n_bytes - sizeof(last)));
	} else {
		word |= bytes[0] | (uint64_t)bytes[n_bytes / 2] << (8 * (n_bytes / 2)) |
			(uint64_t)bytes[n_bytes - 1] << (8 * (n_bytes - 1));
	}
	marks = json_mark_special(word);
	return marks ? (size_t)__builtin_ctzll(marks) / 8 : n_bytes;
}

/* How many of the first bytes are plain. */
static inline size_t json_plain(const char *bytes, size_t n_bytes)
{
	size_t at = 0;

	if (n_bytes < sizeof(uint64_t))
		return n_bytes > 0 ? json_plain_few((const uint8_t *)bytes, n_bytes) : 0;
	for (;;) {
		uint64_t word, marks;

		memcpy(&word, bytes + at, sizeof(word));
		marks = json_mark_special(le64toh(word));
		if (marks)
			return at + (size_t)__builtin_ctzll(marks) / 8;
		at += sizeof(word);
		if (at == n_bytes)
			return at;
		/* The last word begins inside the one before. */
		if (n_bytes - at < sizeof(word))
			at = n_bytes - sizeof(word);
	}
}
