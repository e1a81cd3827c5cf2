/* SPDX-License-Identifier: MIT */
#pragma once

/* FNV-1a, to detect incomplete files and to name files; not for security */

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_START 0xcbf29ce484222325u

static inline uint64_t checksum_add(uint64_t sum, const void *bytes, size_t n_bytes)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < n_bytes; i++)
		sum = (sum ^ b[i]) * 0x100000001b3u;
	return sum;
}
