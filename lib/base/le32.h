/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * 32-bit numbers in bytes of any alignment, least significant byte first
 */

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t le32_load(const void *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline void le32_store(void *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof(value));
}
