/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * SHA-256 of short inputs, one after the other
 *
 * A hasher is made once and used again and again: a digest allocates nothing. It is no more shared
 * between threads than any other buffer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/cleanup.h"

#define AUDIT_HASH_SIZE 32

struct audit_hash {
	uint8_t bytes[AUDIT_HASH_SIZE];
};

struct hasher;

/* 0 or -ENOMEM. */
int hasher_new(struct hasher **ret);
struct hasher *hasher_free(struct hasher *hasher);
void hasher_free_ptr(struct hasher **hasher);
#define _cleanup_hasher_ _cleanup_(hasher_free_ptr)

/* The digest of @n_parts parts, one behind the other. 0, or -EIO where libcrypto fails. */
int hasher_digest(struct hasher *hasher, const struct iovec *parts, size_t n_parts,
		  struct audit_hash *ret);

bool audit_hash_equal(const struct audit_hash *a, const struct audit_hash *b);
