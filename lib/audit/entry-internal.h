/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parts of the entry: members, and what is wrong with a line
 */

#include "audit/entry.h"
#include "base/json.h"

/* The names that say something to us, the shorter before the longer ones. */
enum entry_known {
	KNOWN_OP,
	KNOWN_TIME,
	KNOWN_RULE,
	KNOWN_PEER,
	KNOWN_TOOL,
	KNOWN_EVENT,
	KNOWN_INPUT,
	KNOWN_RULES,
	KNOWN_CALLER,
	KNOWN_WRITER,
	KNOWN_POLICY,
	KNOWN_VERDICT,
	KNOWN_BUILTIN,
	KNOWN_DECISION,
	KNOWN_TIMESTAMP,
	KNOWN_EVENT_TYPE,
	KNOWN_SANDBOX_ID,
	KNOWN_COMMITMENT,
	KNOWN_SYSCALL_TYPE,
	KNOWN_INPUT_SUMMARY,
	KNOWN_OUTPUT_SUMMARY,
	KNOWN_POLICY_DECISION,
	KNOWN_POLICY_RULE_NAME,
	N_KNOWN,
};
_Static_assert(N_KNOWN <= ENTRY_KNOWN_MAX, "an entry knows where each of them is");

/* Splits the object into entry->members. -EBADMSG, -EINVAL or -ENOMEM. */
int entry_split(struct audit_entry *entry, const char *bytes, size_t n_bytes,
		struct sbx_error *err);
/* Can two members have the same name? False is certain. */
bool entry_may_repeat(const struct audit_entry *entry);
const struct entry_member *entry_member(const struct audit_entry *entry, const char *name);
/* The first of that name, or NULL. */
static inline const struct entry_member *entry_known(const struct audit_entry *entry,
						     enum entry_known known)
{
	return entry->known[known] ? &entry->members[entry->known[known] - 1] : NULL;
}
/* Reads event, time and columns from the members. */
int entry_read_members(struct audit_entry *entry, size_t n_bytes, struct sbx_error *err);
/* A decision in the policy's words, where it was in those of who asked. */
void entry_translate_decision(struct entry_text *text);
/* The decoded text of a string: in place, or in @scratch. 0, -EINVAL or -ENOMEM. */
int entry_decode(const struct json_item *item, struct text *scratch, struct entry_text *ret,
		 struct sbx_error *err);
/* Adds the value without its secrets to entry->piece: 1, or 0 where there are none. */
int entry_clean_value(struct audit_entry *entry, const struct redactor *redactor,
		      const struct entry_text *value, struct sbx_error *err);
/* What stands in entry->piece or in @value, cut: 1 with the shorter one in entry->piece, or 0 where
 * it is short enough. */
int entry_cut_summary(struct audit_entry *entry, const struct entry_text *value,
		      struct sbx_error *err);
/* "cannot take the record": returns @code. */
int entry_fail(struct sbx_error *err, int code, const char *why, const char *fix);
int entry_fail_memory(struct sbx_error *err);
int entry_fail_members(size_t n_max, struct sbx_error *err);
