/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Checkpoints: the signed state of the log at one size
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
 * The times are the minimum and maximum of the records since the checkpoint before, in
 * microseconds: a clock that was set back does not make a record late.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/chain.h"

struct sbx_error;
struct text;

/*
 * Signed notes as in C2SP's signed-note: a text, an empty line, and a line for every signature
 *
 *   — NAME BASE64(key hash, signature)
 *
 * The key hash is the first four bytes of SHA-256(NAME, "\n", 1, public key): it tells which key to
 * try, and proves nothing.
 */

/* ---- Ed25519 (RFC 8032) ---- */

#define SIGNATURE_KEY_SIZE 32
#define SIGNATURE_SIZE 64

/* 0, or -EIO if libcrypto fails. */
int signature_public_key(const uint8_t private_key[SIGNATURE_KEY_SIZE],
			 uint8_t ret[SIGNATURE_KEY_SIZE]);
int signature_make(const uint8_t private_key[SIGNATURE_KEY_SIZE], const void *bytes, size_t n_bytes,
		   uint8_t ret[SIGNATURE_SIZE]);
/* 0, or -EKEYREJECTED if this key did not sign these bytes. */
int signature_verify(const uint8_t public_key[SIGNATURE_KEY_SIZE], const void *bytes,
		     size_t n_bytes, const uint8_t signature[SIGNATURE_SIZE]);

/* ---- notes ---- */

#define NOTE_NAME_SIZE 256 /* with its NUL */
#define NOTE_KEY_HASH_SIZE 4
#define NOTE_BYTES_MAX 65536
#define NOTE_SIGNATURES_MAX 32
#define NOTE_SIGNATURE "\xe2\x80\x94 " /* em dash: begins a signature line */

/* A key whose signatures are accepted. */
struct note_verifier {
	char name[NOTE_NAME_SIZE];
	uint8_t key_hash[NOTE_KEY_HASH_SIZE];
	uint8_t public_key[SIGNATURE_KEY_SIZE];
};

/* -EINVAL for a name that is empty, too long, not UTF-8, or contains a space, a control character
 * or '+'. */
int note_verifier_make(const char *name, const uint8_t public_key[SIGNATURE_KEY_SIZE],
		       struct note_verifier *ret);
/* Adds the verifier's text form, which users exchange: NAME+HEX+BASE64(1, public key). */
void note_verifier_add(struct text *out, const struct note_verifier *verifier);
int note_verifier_parse(const char *string, size_t n, struct note_verifier *ret,
			struct sbx_error *err);

/*
 * Adds a note of @text, which must end in a newline, signed with @private_key, whose public half is
 * in @verifier. -EINVAL for a text that note_open() would refuse; -EMSGSIZE if it is too long.
 */
int note_sign(struct text *out, const void *text, size_t n_text,
	      const struct note_verifier *verifier, const uint8_t private_key[SIGNATURE_KEY_SIZE]);

/*
 * Returns the text of a note signed by @verifier; it points into @bytes. Signatures of other keys
 * are skipped; all signatures of this key must be valid. -EBADMSG if the bytes are not a note,
 * -ENOKEY if this key has not signed it, -EKEYREJECTED if another key has signed under this name.
 */
int note_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
	      const char **ret_text, size_t *ret_n_text, struct sbx_error *err);

/* Does the line begin like a signature line? */
bool note_is_signature(const char *line, size_t n);
/* Parses a decimal number of at most 19 digits at *@at and advances past it. False if there is no
 * digit. */
bool note_take_number(const char **at, size_t *n, uint64_t *ret);

/* ---- checkpoints ---- */

#define CHECKPOINT_ORIGIN_PREFIX "sbx-audit/"

/* Limits for every writer: records from one checkpoint to the next, and the age of records that no
 * checkpoint covers. */
#define CHECKPOINT_RECORDS_MAX 4096
#define CHECKPOINT_INTERVAL_USEC UINT64_C(10000000)

struct audit_checkpoint {
	char origin[NOTE_NAME_SIZE];
	uint64_t size; /* at least 1: every log has record 0 */
	struct audit_hash root;
	struct audit_hash head;
	uint64_t epoch;
	uint64_t first_usec;
	uint64_t last_usec;
	bool is_last_of_epoch; /* next_key is the key of the next epoch */
	uint8_t next_key[SIGNATURE_KEY_SIZE];
};

/* Adds the unsigned text. -EINVAL for a checkpoint that checkpoint_parse() would refuse. */
int checkpoint_add_text(struct text *out, const struct audit_checkpoint *checkpoint);
/* Parses exactly the text of checkpoint_add_text(); anything else is -EBADMSG. */
int checkpoint_parse(const void *bytes, size_t n_bytes, struct audit_checkpoint *ret,
		     struct sbx_error *err);

/* Parses a note's text without checking any signature: 0, -EBADMSG or -ENOMEM. */
int checkpoint_peek(const char *note, size_t n_note, struct audit_checkpoint *ret);
/* Does the note's text name the key of the next epoch? */
bool checkpoint_ends_epoch(const char *note, size_t n_note);

/* Adds the checkpoint as a signed note. Its origin must be the name of @verifier. */
int checkpoint_sign(struct text *out, const struct audit_checkpoint *checkpoint,
		    const struct note_verifier *verifier,
		    const uint8_t private_key[SIGNATURE_KEY_SIZE], struct sbx_error *err);
/* note_open()'s errors, or -EBADMSG for a note of this key that is not a checkpoint. */
int checkpoint_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
		    struct audit_checkpoint *ret, struct sbx_error *err);

/* ---- sequences of checkpoints ---- */

/*
 * The sequence of a log's checkpoints, verified from its first public key on
 *
 * Each checkpoint must be signed with the key of its epoch and no other; the last one of an epoch
 * names the key of the next. A skipped epoch, a checkpoint signed with a later key, and a log that
 * shrank are each refused at that checkpoint.
 */

struct audit_trail {
	struct note_verifier verifier; /* the key that must sign the next checkpoint */
	uint64_t epoch;		       /* epoch of that key */
	bool has_last;		       /* last is set */
	struct audit_checkpoint last;
};

/* @verifier is the key of @epoch: epoch 0 if the log is verified from its beginning. */
void trail_begin(struct audit_trail *trail, const struct note_verifier *verifier, uint64_t epoch);

/*
 * Verifies the next checkpoint and stores it in trail->last. checkpoint_open()'s errors, or
 * -EBADMSG if it cannot follow the one before; then the trail is unchanged.
 */
int trail_follow(struct audit_trail *trail, const void *note, size_t n_note, struct sbx_error *err);
