/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How far a log was verified: what the next verification goes on from
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

/* How the log was at one size. */
struct verified_place {
	uint64_t size;
	struct audit_hash head; /* of the last record before; zeros before the first one */
	struct audit_hash root; /* of the tree; zeros where it is empty */
};

/*
 * A log up to one of its checkpoints, all of it verified. A caller that keeps it elsewhere goes on
 * from there, and notices when that part of the log is cut off.
 */
struct verified_state {
	char origin[NOTE_NAME_SIZE]; /* "" means that there is no state */
	uint8_t first_key[SIGNATURE_KEY_SIZE];
	bool is_key_own; /* the first key was the log's own word */
	uint64_t epoch;	 /* of the checkpoint that has to come next, with its key */
	uint8_t key[SIGNATURE_KEY_SIZE];
	struct audit_hash head;
	struct merkle_frontier frontier; /* its size is the log's */
	struct verified_place deleted;	 /* the log itself says that the records before are gone */
};

/* A text with a digest of itself behind it, which finds accidents and no intruders. 0 or -ENOMEM,
 * or -EINVAL for no state. */
int verified_state_add_text(struct text *out, const struct verified_state *state);
/* Reads exactly what verified_state_add_text() writes; everything else is -EBADMSG. */
int verified_state_parse(const char *bytes, size_t n_bytes, struct verified_state *ret,
			 struct sbx_error *err);

/* ---- what was witnessed elsewhere ---- */

struct witness_head {
	uint64_t size;
	struct audit_hash root;
};

struct witness {
	char origin[NOTE_NAME_SIZE]; /* "": only sizes and roots */
	struct witness_head *heads;  /* in the order of their sizes */
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
 * Reads signed checkpoints, one behind the other, and lines "SIZE BASE64", in any order. Their
 * signatures are not looked at: a witness is believed, and a head that the log has not had is found
 * in any case. -EBADMSG for anything else, or for heads of several logs.
 */
int witness_parse(struct witness *ret, const char *bytes, size_t n_bytes, struct sbx_error *err);

void witness_sort(struct witness *witness);
/* Forgets the heads of less than @size records. */
void witness_drop(struct witness *witness, uint64_t size);

/* ---- the systemd journal ---- */

/*
 * The heads of a log that are in the systemd journal, as a witness
 *
 * Any process may write entries like those of audit/heads.h, and journald adds its uid: only those
 * of root and of the log's owner are heads of the log.
 */

struct journal_options {
	const char *directory; /* of journal files; NULL: this machine's journal */
	const char *origin;    /* of the log */
	uid_t owner;
};

/*
 * -ENODATA where the journal has no head of this log (or none that this user may read), -EBADMSG
 * where an entry is none, or the errno with which the journal cannot be read. Where there are very
 * many, some are left out, the last one never.
 */
int witness_read_journal(struct witness *ret, const struct journal_options *options,
			 struct sbx_error *err);
