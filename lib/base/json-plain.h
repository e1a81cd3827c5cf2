/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by scanner and writer of base/json: the bytes that need no escape inside a string
 *
 * These are ASCII without quotes, backslashes and control characters (including DEL, which the
 * scanner accepts and the writer escapes), which are nearly all bytes of real texts. Eight bytes
 * are checked at once, or sixteen with SSE2.
 */

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* @byte in every byte of a word. */
#define JSON_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Sets the top bit of each byte that is not plain. A subtraction borrows only from a lower byte
 * that is marked itself, so marks above the lowest one may be wrong, but the lowest one is exact.
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
		/* The two loads overlap; the common bytes are equal. */
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

static inline size_t json_plain_by_words(const char *bytes, size_t n_bytes)
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
		/* The last word overlaps the previous one. */
		if (n_bytes - at < sizeof(word))
			at = n_bytes - sizeof(word);
	}
}

#ifdef __SSE2__
/* A bit for each of sixteen bytes that is not plain. */
static inline unsigned json_special_of(const char *bytes)
{
	__m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)bytes);
	__m128i quote = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8('"'));
	__m128i backslash = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8('\\'));
	__m128i delete = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8(0x7f));
	/* Bytes from 0x80 on are negative in this signed comparison. */
	__m128i control = _mm_cmplt_epi8(sixteen, _mm_set1_epi8(' '));

	return (unsigned)_mm_movemask_epi8(
		_mm_or_si128(_mm_or_si128(quote, backslash), _mm_or_si128(delete, control)));
}
#endif

/* How many of the first bytes are plain. */
static inline size_t json_plain(const char *bytes, size_t n_bytes)
{
#ifdef __SSE2__
	for (size_t at = 0; n_bytes >= 16;) {
		unsigned special = json_special_of(bytes + at);

		if (special)
			return at + (unsigned)__builtin_ctz(special);
		at += 16;
		if (at == n_bytes)
			return at;
		/* The last sixteen bytes overlap the previous ones. */
		if (n_bytes - at < 16)
			at = n_bytes - 16;
	}
#endif
	return json_plain_by_words(bytes, n_bytes);
}
