/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One walk over an ordinary record: the texts that its columns can come from
 */

#include <stdbool.h>
#include <stdint.h>

#include "audit/entry.h"

/* What a column can come from; for each column the first that is there counts. */
enum slot {
	SLOT_OP,
	SLOT_SYSCALL,
	SLOT_INPUT_OP,
	SLOT_VERDICT,
	SLOT_POLICY_DECISION,
	SLOT_DECISION,
	SLOT_POLICY_RULE,
	SLOT_RULE,
	SLOT_BUILTIN,
	SLOT_RULES_NAME,
	SLOT_SANDBOX,
	SLOT_PEER_SANDBOX,
	SLOT_CALLER,
	SLOT_CALLER_NAME,
	SLOT_INPUT_CALLER,
	SLOT_TOOL,
	N_COLUMN_SLOTS,
	SLOT_EVENT = N_COLUMN_SLOTS,
	SLOT_EVENT_TYPE,
	SLOT_TIME,
	SLOT_INPUT, /* objects, in which there are more */
	SLOT_PEER,
	SLOT_RULES,
	N_SLOTS,
};

/* Start it with @at and @end; the rest is 0. */
struct entry_walk {
	const char *at;
	const char *end;
	uint32_t seen; /* slots whose name has come by */
	struct entry_text texts[N_SLOTS];
};

/* False where the record is not an ordinary one; then nothing is known about it. */
bool entry_walk_record(struct entry_walk *walk);
