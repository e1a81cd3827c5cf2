/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The row of checkpoints of one log, verified from its first public key on
 *
 * Each one must be signed with the key of its epoch and of no other; the last one of an epoch names
 * the key of the next. An epoch that is left out, a checkpoint that is signed with a later key, and
 * a log that grew smaller are refused where they stand.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/checkpoint.h"

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
