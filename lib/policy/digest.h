/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * SHA-256 by libcrypto's low-level calls, linked from its archive: they use the processor's
 * instructions and pull in nothing else
 */

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32

void digest_of(const void *bytes, size_t n_bytes, uint8_t ret[DIGEST_SIZE]);
