/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the tests of lib/audit: hashes in hexadecimal */

#include "audit/chain.h"
#include "test.h"

static inline unsigned hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	if (!at)
		abort();
	return (unsigned)(at - digits);
}

/* Decodes exactly @n_bytes bytes; aborts if the test itself has a mistake. */
static inline void from_hex(const char *hex, void *ret, size_t n_bytes)
{
	uint8_t *out = ret;

	if (strlen(hex) != 2 * n_bytes)
		abort();
	for (size_t i = 0; i < n_bytes; i++)
		out[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
}

static inline struct audit_hash hash_of_hex(const char *hex)
{
	struct audit_hash hash = { { 0 } };

	from_hex(hex, hash.bytes, sizeof(hash.bytes));
	return hash;
}

#define expect_hash(got, hex)                                                                      \
	do {                                                                                       \
		const struct audit_hash _want = hash_of_hex(hex);                                  \
		expect(audit_hash_equal((got), &_want));                                           \
	} while (0)
