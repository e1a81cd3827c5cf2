/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Signed notes, as C2SP's signed-note specifies them: a text, an empty line, and a line for every
 * signature
 *
 *   — NAME BASE64(key hash, signature)
 *
 * The key hash is the first four bytes of SHA-256(NAME, "\n", 1, public key): it says which key to
 * try, and proves nothing.
 */

#include <stddef.h>
#include <stdint.h>

#include "audit/hash.h"
#include "audit/signature.h"

struct sbx_error;
struct text;

#define NOTE_NAME_SIZE 256 /* with its NUL */
#define NOTE_KEY_HASH_SIZE 4
#define NOTE_BYTES_MAX 65536
#define NOTE_SIGNATURES_MAX 32

/* Whose signature is believed. */
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
 * passed over, however many of ours there are must all be right. -EBADMSG where it is no note,
 * -ENOKEY where we did not sign it, -EKEYREJECTED where somebody else did in our name.
 */
int note_open(const void *bytes, size_t n_bytes, const struct note_verifier *verifier,
	      const char **ret_text, size_t *ret_n_text, struct sbx_error *err);
