/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the two halves of the entry: members, and what is wrong with a line
 */

#include "audit/entry.h"

/* Splits the object into entry->members. -EBADMSG, -EINVAL or -ENOMEM. */
int entry_split(struct audit_entry *entry, const char *bytes, size_t n_bytes,
		struct sbx_error *err);
const struct entry_member *entry_member(const struct audit_entry *entry, const char *name);
/* The decoded text of a string: in place, or in @scratch. 0, -EINVAL or -ENOMEM. */
struct json_item;
int entry_decode(const struct json_item *item, struct text *scratch, struct entry_text *ret,
		 struct sbx_error *err);
/* "cannot take the record": returns @code. */
int entry_fail(struct sbx_error *err, int code, const char *why, const char *fix);
