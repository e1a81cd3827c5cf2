/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Base64 of RFC 4648 section 4, with padding
 *
 * One text for every byte string: what could be written in another way is refused, so that a signed
 * text cannot be changed without changing what it says.
 */

#include <stddef.h>
#include <sys/types.h>

struct text;

void base64_add(struct text *out, const void *bytes, size_t n_bytes);
/* Returns the number of bytes in @ret, or -EBADMSG for what is not base64 or longer than @max. */
ssize_t base64_decode(const char *string, size_t n, void *ret, size_t max);
/* The same where exactly @n_bytes are expected: 0 or -EBADMSG. */
int base64_decode_exactly(const char *string, size_t n, void *ret, size_t n_bytes);
