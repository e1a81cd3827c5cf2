/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Base64 of RFC 4648 section 4, with padding
 *
 * Each byte string has exactly one encoding; the decoder refuses all others. Otherwise an attacker
 * could change a signed text without changing what it decodes to.
 */

#include <stddef.h>
#include <sys/types.h>

struct text;

void base64_add(struct text *out, const void *bytes, size_t n_bytes);
/* Returns the number of bytes in @ret, or -EBADMSG: not base64, or longer than @max. */
ssize_t base64_decode(const char *string, size_t n, void *ret, size_t max);
/* The same for exactly @n_bytes: 0 or -EBADMSG. */
int base64_decode_exactly(const char *string, size_t n, void *ret, size_t n_bytes);
