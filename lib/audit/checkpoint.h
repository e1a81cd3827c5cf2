/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Checkpoints: what the log was at one size, signed
 *
 * The text of the note is a C2SP tlog-checkpoint with extension lines:
 *
 *   sbx-audit/LOG-ID            origin, also the name of the key
 *   20852163                    size: records 0 to size - 1
 *   BASE64                      root of the Merkle tree
 *   head BASE64                 chain hash of record size - 1
 *   epoch 3                     number of the key
 *   time 1767323045678901 1767323055678901
 *   next BASE64                 in the last checkpoint of an epoch only: the next public key
 *
 * The times are the least and the greatest of the records since the checkpoint before, in
 * microseconds; a clock that was set back makes no record late.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/hash.h"
#include "audit/note.h"
#include "audit/signature.h"

struct sbx_error;
struct text;

#define CHECKPOINT_ORIGIN_PREFIX "sbx-audit/"

/* What every writer keeps to: records from one checkpoint to the next, and how old the last ones
 * may be without one. */
#define CHECKPOINT_RECORDS_MAX 4096
#define CHECKPOINT_INTERVAL_USEC UINT64_C(10000000)

struct audit_checkpoint {
	char origin[NOTE_NAME_SIZE];
	uint64_t size; /* at least 1: a log begins with a record */
	struct audit_hash root;
	struct audit_hash head;
	uint64_t epoch;
	uint64_t first_usec;
	uint64_t last_usec;
	bool is_last_of_epoch; /* then next_key is the key of the next one */
	uint8_t next_key[SIGNATURE_KEY_SIZE];
};

/* The text without a signature. -EINVAL for what checkpoint_parse() would refuse. */
int checkpoint_add_text(struct text *out, const struct audit_checkpoint *checkpoint);
/* Reads exactly what checkpoint_add_text() writes; everything else is -EBADMSG. */
int checkpoint_parse(const void *bytes, size_t n_bytes, struct audit_checkpoint *ret,
		     struct sbx_error *err);

/* The same as a signed note. Its origin must be the name of @verifier. */
int checkpoint_sign(struct text *out, const struct audit_checkpoint *checkpoint,
		    const struct note_verifier *verifier,
		    const uint8_t private_key[SIGNATURE_KEY_SIZE], struct sbx_error *err);
/* note_open()'s errors, or -EBADMSG for a note of ours that is no checkpoint of ours. */
int checkpoint_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
		    struct audit_checkpoint *ret, struct sbx_error *err);
