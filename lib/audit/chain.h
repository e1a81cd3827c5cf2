/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The hash chain: every record names the one before it
 *
 *   hash(0)   = SHA-256(tag, u64 0,   32 zero bytes, u32 length, bytes)
 *   hash(seq) = SHA-256(tag, u64 seq, hash(seq - 1), u32 length, bytes)
 *
 * over the exact bytes that are stored; the integers are big-endian. Every part has a fixed length
 * or one that stands before it, so that no two records have the same input.
 */

#include <stddef.h>
#include <stdint.h>

#include "audit/hash.h"

struct sbx_error;
struct text;

#define AUDIT_CHAIN_TAG "sbx-audit/1"
#define AUDIT_LOG_ID_SIZE 33  /* 128 random bits, in hexadecimal digits, and a NUL */
#define AUDIT_BOOT_ID_SIZE 37 /* as the kernel prints it, or empty */
#define AUDIT_PUBLIC_KEY_SIZE 32

/* @previous may be @ret. 0, or -EIO where libcrypto fails. */
int chain_next(struct hasher *hasher, uint64_t seq, const struct audit_hash *previous,
	       const void *bytes, uint32_t n_bytes, struct audit_hash *ret);

/* What record 0 says. The chain starts with it, so all that follows is bound to it. */
struct chain_genesis {
	char log_id[AUDIT_LOG_ID_SIZE];
	char boot_id[AUDIT_BOOT_ID_SIZE];
	uint64_t time_usec;			   /* since 1970, before the year 10000 */
	uint8_t public_key[AUDIT_PUBLIC_KEY_SIZE]; /* of epoch 0 */
};

/*
 * Adds the bytes of record 0:
 *
 *   {"version":1,"time":"2026-01-02T03:04:05.678901Z","boot":ID,"event":"log_created",
 *    "tool":"sbx-audit","format":"sbx-audit/1","log":ID,"key":BASE64}
 *
 * without the line break. 0, -EINVAL for what cannot be read again, or -ENOMEM.
 */
int chain_add_genesis(struct text *out, const struct chain_genesis *genesis);
/* Reads exactly what chain_add_genesis() writes; everything else is -EBADMSG. */
int chain_parse_genesis(const void *bytes, size_t n_bytes, struct chain_genesis *ret,
			struct sbx_error *err);
