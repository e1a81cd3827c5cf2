/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The hash chain: each record's hash covers the hash of the record before it
 *
 *   hash(0)   = SHA-256(tag, u64 0,   32 zero bytes, u32 length, bytes)
 *   hash(seq) = SHA-256(tag, u64 seq, hash(seq - 1), u32 length, bytes)
 *
 * over the exact stored bytes; integers are big-endian. Every part has a fixed length or is
 * preceded by its length, so no two records give the same input.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/cleanup.h"

struct text;

/* ---- hashes ---- */

#define AUDIT_HASH_SIZE 32
#define AUDIT_HASH_DIGITS ((size_t)2 * AUDIT_HASH_SIZE)

struct audit_hash {
	uint8_t bytes[AUDIT_HASH_SIZE];
};

/* Digest of the concatenated @n_parts parts. 0, or -EIO if libcrypto fails. */
int audit_hash_digest(const struct iovec *parts, size_t n_parts, struct audit_hash *ret);

bool audit_hash_equal(const struct audit_hash *a, const struct audit_hash *b);

/* ---- the chain ---- */

#define AUDIT_CHAIN_TAG "sbx-audit/1"
#define AUDIT_LOG_ID_SIZE 33  /* 128 random bits as hexadecimal digits, and a NUL */
#define AUDIT_BOOT_ID_SIZE 37 /* as in /proc/sys/kernel/random/boot_id, or empty */
#define AUDIT_PUBLIC_KEY_SIZE 32

/* @previous may be @ret. 0, or -EIO if libcrypto fails. */
int chain_next(uint64_t seq, const struct audit_hash *previous, const void *bytes, uint32_t n_bytes,
	       struct audit_hash *ret);

/* The content of record 0. The chain starts with it, so it binds all later records to this log. */
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
 * without the newline. 0, -EINVAL for values that chain_parse_genesis() would refuse, or -ENOMEM.
 */
int chain_add_genesis(struct text *out, const struct chain_genesis *genesis);
/* Reads exactly what chain_add_genesis() writes; everything else is -EBADMSG. */
int chain_parse_genesis(const void *bytes, size_t n_bytes, struct chain_genesis *ret);

/* ---- stubs ---- */

/*
 * A stub replaces a deleted archive: a record of the log itself, signed before the file is deleted
 *
 * Stubs excuse missing records only if they cover them without a gap from record 0 on: the first
 * stub begins with 0 and 32 zero bytes; each later one begins with the number after, and the head
 * of, the one before; and the last one joins the first segment that still exists: its head is that
 * segment's previous, its root the root of that segment's frontier.
 *
 * Stubs are records, so they too end up in archives that are deleted one day. The stub of an
 * archive that holds stubs replaces these as well: its first is 0, its previous zero bytes. So the
 * sequence that counts begins with the last stub whose first is 0; earlier stubs may have lost the
 * ones that they joined.
 */

#define STUB_EVENT "audit_archive_deleted"

enum stub_reason {
	STUB_AGE,
	STUB_SIZE,
	N_STUB_REASONS,
};

struct audit_stub {
	uint64_t first; /* the archive held records first to last */
	uint64_t last;
	struct audit_hash previous; /* hash of the record before the first */
	struct audit_hash head;	    /* hash of record last */
	struct audit_hash root;	    /* root of the tree of last + 1 records */
	struct audit_hash archive;  /* SHA-256 of the file */
	enum stub_reason reason;
};

/*
 * Adds the members for audit_log_say():
 *
 *   "first":N,"last":N,"previous":BASE64,"head":BASE64,"root":BASE64,"archive_sha256":HEX,
 *   "reason":"age"
 *
 * -EINVAL for values that stub_read() would refuse, or -ENOMEM.
 */
int stub_add_members(struct text *out, const struct audit_stub *stub);
/* Is the record a stub event? Cheap enough to be called for every record. */
bool stub_is(const void *body, size_t n_body);
/* Reads exactly the record that the log writes with these members; anything else is -EBADMSG. */
int stub_read(const void *body, size_t n_body, struct audit_stub *ret);
