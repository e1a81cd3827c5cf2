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

#include "audit/chain.h"

struct sbx_error;
struct text;

/*
 * Signed notes, as C2SP's signed-note specifies them: a text, an empty line, and a line for every
 * signature
 *
 *   — NAME BASE64(key hash, signature)
 *
 * The key hash is the first four bytes of SHA-256(NAME, "\n", 1, public key): it says which key to
 * try, and proves nothing.
 */

/* ---- Ed25519 (RFC 8032) ---- */

#define SIGNATURE_KEY_SIZE 32
#define SIGNATURE_SIZE 64

/* 0, or -EIO where libcrypto fails. */
int signature_public_key(const uint8_t private_key[SIGNATURE_KEY_SIZE],
			 uint8_t ret[SIGNATURE_KEY_SIZE]);
int signature_make(const uint8_t private_key[SIGNATURE_KEY_SIZE], const void *bytes, size_t n_bytes,
		   uint8_t ret[SIGNATURE_SIZE]);
/* 0, or -EKEYREJECTED where it is not the signature of these bytes by this key. */
int signature_verify(const uint8_t public_key[SIGNATURE_KEY_SIZE], const void *bytes,
		     size_t n_bytes, const uint8_t signature[SIGNATURE_SIZE]);

/* ---- notes ---- */

#define NOTE_NAME_SIZE 256 /* with its NUL */
#define NOTE_KEY_HASH_SIZE 4
#define NOTE_BYTES_MAX 65536
#define NOTE_SIGNATURES_MAX 32
#define NOTE_SIGNATURE "\xe2\x80\x94 " /* U+2014 and a space: a signature line begins with it */

/* The key whose signatures are believed. */
struct note_verifier {
	char name[NOTE_NAME_SIZE];
	uint8_t key_hash[NOTE_KEY_HASH_SIZE];
	uint8_t public_key[SIGNATURE_KEY_SIZE];
};

/* -EINVAL for a name that is empty, too long, not UTF-8, or that has a space, a control character
 * or a '+' in it. */
int note_verifier_make(struct hasher *hasher, const char *name,
		       const uint8_t public_key[SIGNATURE_KEY_SIZE], struct note_verifier *ret);
/* The text that people exchange: NAME+HEX+BASE64(1, public key). */
void note_verifier_add(struct text *out, const struct note_verifier *verifier);
int note_verifier_parse(struct hasher *hasher, const char *string, size_t n,
			struct note_verifier *ret, struct sbx_error *err);

/*
 * Adds the note of @text, which ends in a newline, signed with @private_key, whose public half is
 * @verifier's. -EINVAL for a text that note_open() would not open; -EMSGSIZE for one too long.
 */
int note_sign(struct text *out, const void *text, size_t n_text,
	      const struct note_verifier *verifier, const uint8_t private_key[SIGNATURE_KEY_SIZE]);

/*
 * The text of a note that @verifier has signed; it points into @bytes. Signatures of others are
 * passed over, all signatures of this key must be right. -EBADMSG where it is no note,
 * -ENOKEY where this key has not signed it, -EKEYREJECTED where another key has signed in its
 * name.
 */
int note_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
	      const char **ret_text, size_t *ret_n_text, struct sbx_error *err);

/* Does the line begin as a signature does? */
bool note_is_signature(const char *line, size_t n);
/* The decimal number, of at most 19 digits, at *@at, which goes on behind it. False where there is
 * no digit. */
bool note_take_number(const char **at, size_t *n, uint64_t *ret);

/* ---- checkpoints ---- */

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

/* The text of a note whose signatures are not looked at: 0, -EBADMSG or -ENOMEM. */
int checkpoint_peek(const char *note, size_t n_note, struct audit_checkpoint *ret);
/* Does its text name the key of the next epoch? */
bool checkpoint_ends_epoch(const char *note, size_t n_note);

/* The same as a signed note. Its origin must be the name of @verifier. */
int checkpoint_sign(struct text *out, const struct audit_checkpoint *checkpoint,
		    const struct note_verifier *verifier,
		    const uint8_t private_key[SIGNATURE_KEY_SIZE], struct sbx_error *err);
/* note_open()'s errors, or -EBADMSG for a note of this key that is no checkpoint. */
int checkpoint_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
		    struct audit_checkpoint *ret, struct sbx_error *err);

/* ---- one after the other ---- */

/*
 * The row of checkpoints of one log, verified from its first public key on
 *
 * Each one must be signed with the key of its epoch and of no other; the last one of an epoch names
 * the key of the next. An epoch that is left out, a checkpoint that is signed with a later key, and
 * a log that grew smaller are refused where they come.
 */

struct audit_trail {
	struct note_verifier verifier; /* of the epoch that the next checkpoint must be of */
	uint64_t epoch;		       /* its number */
	bool has_last;		       /* one was followed */
	struct audit_checkpoint last;
};

/* @verifier is the key of @epoch: of epoch 0 where the log is verified from its beginning. */
void trail_begin(struct audit_trail *trail, const struct note_verifier *verifier, uint64_t epoch);

/*
 * Goes on to the next checkpoint, which is trail->last afterwards. checkpoint_open()'s errors, or
 * -EBADMSG where it does not follow from the one before; then the trail stays where it was.
 */
int trail_follow(struct audit_trail *trail, struct hasher *hasher, const void *note, size_t n_note,
		 struct sbx_error *err);
