/* SPDX-License-Identifier: MIT */

/*
 * An object, taken apart into its members: what they are called, and where their values stand
 */

#include "audit/entry-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

/* In the order of enum entry_known. */
static const char *const known_names[N_KNOWN] = {
	[KNOWN_OP] = "op",
	[KNOWN_TIME] = "time",
	[KNOWN_RULE] = "rule",
	[KNOWN_PEER] = "peer",
	[KNOWN_TOOL] = "tool",
	[KNOWN_EVENT] = "event",
	[KNOWN_INPUT] = "input",
	[KNOWN_RULES] = "rules",
	[KNOWN_CALLER] = "caller",
	[KNOWN_WRITER] = "writer",
	[KNOWN_POLICY] = "policy",
	[KNOWN_VERDICT] = "verdict",
	[KNOWN_BUILTIN] = "builtin",
	[KNOWN_DECISION] = "decision",
	[KNOWN_TIMESTAMP] = "timestamp",
	[KNOWN_EVENT_TYPE] = "event_type",
	[KNOWN_SANDBOX_ID] = "sandbox_id",
	[KNOWN_COMMITMENT] = "commitment",
	[KNOWN_SYSCALL_TYPE] = "syscall_type",
	[KNOWN_INPUT_SUMMARY] = "input_summary",
	[KNOWN_OUTPUT_SUMMARY] = "output_summary",
	[KNOWN_POLICY_DECISION] = "policy_decision",
	[KNOWN_POLICY_RULE_NAME] = "policy_rule_name",
};

/* Which of them have this length. */
static const struct {
	uint8_t first;
	uint8_t end;
} known_of_length[] = {
	[2] = { KNOWN_OP, KNOWN_TIME },
	[4] = { KNOWN_TIME, KNOWN_EVENT },
	[5] = { KNOWN_EVENT, KNOWN_CALLER },
	[6] = { KNOWN_CALLER, KNOWN_VERDICT },
	[7] = { KNOWN_VERDICT, KNOWN_DECISION },
	[8] = { KNOWN_DECISION, KNOWN_TIMESTAMP },
	[9] = { KNOWN_TIMESTAMP, KNOWN_EVENT_TYPE },
	[10] = { KNOWN_EVENT_TYPE, KNOWN_SYSCALL_TYPE },
	[12] = { KNOWN_SYSCALL_TYPE, KNOWN_INPUT_SUMMARY },
	[13] = { KNOWN_INPUT_SUMMARY, KNOWN_OUTPUT_SUMMARY },
	[14] = { KNOWN_OUTPUT_SUMMARY, KNOWN_POLICY_DECISION },
	[15] = { KNOWN_POLICY_DECISION, KNOWN_POLICY_RULE_NAME },
	[16] = { KNOWN_POLICY_RULE_NAME, N_KNOWN },
};

void entry_deinit(struct audit_entry *entry)
{
	text_deinit(&entry->body);
	text_deinit(&entry->names);
	text_deinit(&entry->values);
	text_deinit(&entry->decoded);
	text_deinit(&entry->piece);
	text_deinit(&entry->writer);
}

int entry_fail(struct sbx_error *err, int code, const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot take the record");
	sbx_error_why(err, "%s", why);
	if (fix)
		sbx_error_fix(err, "%s", fix);
	return code;
}

int entry_fail_memory(struct sbx_error *err)
{
	return entry_fail(err, -ENOMEM, "there is no memory", NULL);
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
				  "a text has half of a surrogate pair, which is not a character",
				  "write the other half, too");
	if (text_status(scratch) < 0)
		return entry_fail_memory(err);
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
		return entry_fail_memory(err);
	}
	text_truncate(&entry->names, 0);
	return 0;
}

int entry_fail_members(size_t n_max, struct sbx_error *err)
{
	(void)entry_fail(err, -EINVAL, "", "put what belongs together into an object");
	sbx_error_why(err, "it has more than %zu members", n_max);
	return -EINVAL;
}

/* N_KNOWN: none of them. */
static enum entry_known find_known(const struct entry_text *name)
{
	if (name->n_bytes >= N_ELEMENTS(known_of_length))
		return N_KNOWN;
	for (unsigned i = known_of_length[name->n_bytes].first;
	     i < known_of_length[name->n_bytes].end; i++)
		if (known_names[i][0] == name->bytes[0] &&
		    memcmp(known_names[i], name->bytes, name->n_bytes) == 0)
			return i;
	return N_KNOWN;
}

/* Two names of one bit are compared later, and mostly there are none. */
static void note_name(struct audit_entry *entry, const struct entry_text *name)
{
	enum entry_known known = find_known(name);
	uint64_t bit;
	unsigned mix;

	if (known != N_KNOWN) {
		entry->may_repeat |= entry->known[known] != 0;
		if (entry->known[known] == 0)
			entry->known[known] = (uint16_t)entry->n_members;
		return;
	}
	mix = (unsigned)name->n_bytes * 7;
	if (name->n_bytes > 0)
		mix += (unsigned char)name->bytes[0] * 3u +
		       (unsigned char)name->bytes[name->n_bytes - 1];
	bit = UINT64_C(1) << (mix & 63);
	entry->may_repeat |= (entry->seen_names & bit) != 0;
	entry->seen_names |= bit;
}

bool entry_may_repeat(const struct audit_entry *entry)
{
	return entry->may_repeat;
}

static int take_member(struct audit_entry *entry, struct json_scanner *scanner, const char *bytes,
		       const struct json_item *name, struct sbx_error *err)
{
	struct entry_member *member = &entry->members[entry->n_members];
	struct json_item value;
	int r;

	if (entry->n_members == ENTRY_MEMBERS_MAX)
		return entry_fail_members(ENTRY_MEMBERS_MAX, err);
	r = json_next(scanner, &value);
	if (r > 0)
		r = json_skip(scanner, &value);
	if (r < 0)
		return fail_json(scanner, r, err);
	member->raw = (struct entry_text){ name->bytes, name->n_bytes };
	member->value = (struct entry_text){ bytes + value.offset, scanner->at - value.offset };
	member->kind = (uint8_t)value.kind;
	member->escaped = value.escaped;
	r = entry_decode(name, &entry->names, &member->name, err);
	if (r < 0)
		return r;
	entry->n_members++;
	/* Two quotes, a colon, and a comma or the brace. */
	entry->n_compact += member->raw.n_bytes + member->value.n_bytes + 4;
	note_name(entry, &member->name);
	return 0;
}

static void begin_members(struct audit_entry *entry)
{
	entry->n_members = 0;
	memset(entry->known, 0, sizeof(entry->known));
	entry->seen_names = 0;
	entry->may_repeat = false;
	entry->n_compact = 1;
}

int entry_split(struct audit_entry *entry, const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	struct json_scanner scanner;
	struct json_item item;
	int r = reserve_names(entry, n_bytes, err);

	if (r < 0)
		return r;
	begin_members(entry);
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
	entry->end = scanner.at;
	if (r > 0)
		r = json_next(&scanner, &item);
	return r < 0 ? fail_json(&scanner, r, err) : 0;
}

const struct entry_member *entry_member(const struct audit_entry *entry, const char *name)
{
	size_t n = strlen(name);
	const struct entry_text wanted = { name, n };
	enum entry_known known = find_known(&wanted);

	if (known != N_KNOWN)
		return entry_known(entry, known);
	for (size_t i = 0; i < entry->n_members; i++)
		if (entry->members[i].name.n_bytes == n &&
		    memcmp(entry->members[i].name.bytes, name, n) == 0)
			return &entry->members[i];
	return NULL;
}
