/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The state of a verification, from which the next one can continue
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/chain.h"
#include "audit/checkpoint.h"
#include "audit/merkle.h"
#include "audit/verify.h"
#include "base/cleanup.h"

struct sbx_error;
struct text;

/* The log at one size. */
struct verified_place {
	uint64_t size;
	struct audit_hash head; /* hash of record size - 1; zeros if size is 0 */
	struct audit_hash root; /* root of the tree; zeros if size is 0 */
};

/*
 * A log that was verified up to one of its checkpoints. A caller that stores the state elsewhere
 * can continue from there, and notices if that part of the log was cut off.
 */
struct verified_state {
	char origin[NOTE_NAME_SIZE]; /* "" means that there is no state */
	uint8_t first_key[SIGNATURE_KEY_SIZE];
	bool is_key_own; /* first_key was taken from the log itself */
	uint64_t epoch;	 /* epoch of the key that signs the next checkpoint */
	uint8_t key[SIGNATURE_KEY_SIZE];
	struct audit_hash head;
	struct merkle_frontier frontier; /* its size is the log's size */
	struct verified_place deleted;	 /* earlier records were deleted, as signed stubs say */
};

/* Adds the state as text. The digest at its end detects accidents, not attackers. 0, -ENOMEM, or
 * -EINVAL if the state is empty. */
int verified_state_add_text(struct text *out, const struct verified_state *state);
/* Parses exactly the text of verified_state_add_text(); anything else is -EBADMSG. */
int verified_state_parse(const char *bytes, size_t n_bytes, struct verified_state *ret,
			 struct sbx_error *err);

/* ---- witnessed heads ---- */

struct witness_head {
	uint64_t size;
	struct audit_hash root;
};

struct witness {
	char origin[NOTE_NAME_SIZE]; /* "": only sizes and roots are known */
	struct witness_head *heads;  /* in ascending size */
	size_t n_heads;
};

#define WITNESS_INIT                                                                               \
	{                                                                                          \
		.heads = NULL                                                                      \
	}
#define WITNESS_HEADS_MAX 100000
#define _cleanup_witness_ _cleanup_(witness_deinit)

void witness_deinit(struct witness *witness);
/*
 * Parses signed checkpoints, one after the other, and lines "SIZE BASE64", in any order. Does not
 * check signatures: the witness is trusted, and a head that the log never had is detected in any
 * case. -EBADMSG for anything else, or for heads of several logs.
 */
int witness_parse(struct witness *ret, const char *bytes, size_t n_bytes, struct sbx_error *err);

void witness_sort(struct witness *witness);
/* Removes heads of fewer than @size records. */
void witness_drop(struct witness *witness, uint64_t size);

/* ---- the systemd journal ---- */

/*
 * The journal as a witness: any process may write entries like those of audit/heads.h, but journald
 * adds the uid of the sender, so only entries of root and of the log's owner are heads of the log.
 */

struct journal_options {
	const char *directory; /* directory of journal files; NULL: this machine's journal */
	const char *origin;    /* of the log */
	uid_t owner;
};

/*
 * -ENODATA if the journal has no head of this log (or none that this user may read), -EBADMSG if an
 * entry is malformed, or the errno of a failed read. If there are very many heads, some are left
 * out, but never the last one.
 */
int witness_read_journal(struct witness *ret, const struct journal_options *options,
			 struct sbx_error *err);
