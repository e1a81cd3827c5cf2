/* SPDX-License-Identifier: MIT */

/*
 * An object, taken apart into its members: what they are called, and where their values stand
 */

#include "audit/entry-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/json.h"

void entry_deinit(struct audit_entry *entry)
{
	text_deinit(&entry->body);
	text_deinit(&entry->names);
	text_deinit(&entry->values);
	text_deinit(&entry->decoded);
	text_deinit(&entry->piece);
}

int entry_fail(struct sbx_error *err, int code, const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot take the record");
	sbx_error_why(err, "%s", why);
	if (fix)
		sbx_error_fix(err, "%s", fix);
	return code;
}

int entry_decode(const struct json_item *item, struct text *scratch, struct entry_text *ret,
		 struct sbx_error *err)
{
	size_t at = scratch->len;
	int r;

	if (!item->escaped) {
		*ret = (struct entry_text){ item->bytes, item->n_bytes };
		return 0;
	}
	r = json_decode(item, scratch);
	if (r < 0)
		return entry_fail(err, -EINVAL,
				  "a text holds half of a surrogate pair, which is no character",
				  "write the other half, too");
	if (text_status(scratch) < 0)
		return entry_fail(err, -ENOMEM, "there is no memory", NULL);
	*ret = (struct entry_text){ scratch->data + at, scratch->len - at };
	return 0;
}

static int fail_json(const struct json_scanner *scanner, int r, struct sbx_error *err)
{
	(void)sbx_error_what(err, r == -E2BIG ? -EINVAL : -EBADMSG, "cannot take the record");
	sbx_error_why(err, "it is not JSON at byte %zu: %s", scanner->at + 1,
		      scanner->problem ? scanner->problem : "it is nested too deeply");
	sbx_error_fix(err, "write one JSON object a line");
	return r == -E2BIG ? -EINVAL : -EBADMSG;
}

/* The names stay where they are only if their memory does, so there is enough from the start. */
static int reserve_names(struct audit_entry *entry, size_t n_bytes, struct sbx_error *err)
{
	text_reset(&entry->names);
	(void)text_extend(&entry->names, n_bytes + 1);
	if (text_status(&entry->names) < 0) {
		text_deinit(&entry->names);
		return entry_fail(err, -ENOMEM, "there is no memory", NULL);
	}
	text_truncate(&entry->names, 0);
	return 0;
}

static int take_member(struct audit_entry *entry, struct json_scanner *scanner, const char *bytes,
		       const struct json_item *name, struct sbx_error *err)
{
	struct entry_member *member = &entry->members[entry->n_members];
	struct json_item value;
	int r;

	if (entry->n_members == ENTRY_MEMBERS_MAX)
		return entry_fail(err, -EINVAL, "it has more than 256 members",
				  "put what belongs together into an object");
	r = json_next(scanner, &value);
	if (r > 0)
		r = json_skip(scanner, &value);
	if (r < 0)
		return fail_json(scanner, r, err);
	member->raw = (struct entry_text){ name->bytes, name->n_bytes };
	member->value = (struct entry_text){ bytes + value.offset, scanner->at - value.offset };
	r = entry_decode(name, &entry->names, &member->name, err);
	if (r == 0)
		entry->n_members++;
	return r;
}

int entry_split(struct audit_entry *entry, const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	struct json_scanner scanner;
	struct json_item item;
	int r = reserve_names(entry, n_bytes, err);

	if (r < 0)
		return r;
	entry->n_members = 0;
	json_scan(&scanner, bytes, n_bytes);
	r = json_next(&scanner, &item);
	if (r > 0 && item.kind != JSON_OBJECT_BEGIN)
		return entry_fail(err, -EINVAL, "it is not an object",
				  "write one JSON object a line");
	while (r > 0 && (r = json_next(&scanner, &item)) > 0 && item.kind == JSON_NAME) {
		r = take_member(entry, &scanner, bytes, &item, err);
		if (r < 0)
			return r;
		r = 1;
	}
	if (r > 0)
		r = json_next(&scanner, &item);
	return r < 0 ? fail_json(&scanner, r, err) : 0;
}

const struct entry_member *entry_member(const struct audit_entry *entry, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < entry->n_members; i++)
		if (entry->members[i].name.n_bytes == n &&
		    memcmp(entry->members[i].name.bytes, name, n) == 0)
			return &entry->members[i];
	return NULL;
}
