/* SPDX-License-Identifier: MIT */

/*
 * What a record says, read from its stored bytes
 *
 * Records of different tools say the same under different names, so a column has several sources;
 * the first that is there counts. A source is a member and a path into it: its steps are names, or
 * "0" for the first element of an array.
 */

#include "audit/entry.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/entry-internal.h"
#include "audit/event.h"

#define TIME_MSEC_MAX UINT64_C(253402300799999) /* the year 9999 ends */
#define STEPS_MAX 2

static const struct source {
	enum entry_column column;
	enum entry_known member;
	const char *path[STEPS_MAX + 1];
} sources[] = {
	{ ENTRY_OP, KNOWN_OP, { NULL } },
	{ ENTRY_OP, KNOWN_SYSCALL_TYPE, { NULL } },
	{ ENTRY_OP, KNOWN_INPUT, { "op" } },
	{ ENTRY_DECISION, KNOWN_VERDICT, { NULL } },
	{ ENTRY_DECISION, KNOWN_POLICY_DECISION, { NULL } },
	{ ENTRY_DECISION, KNOWN_DECISION, { NULL } },
	{ ENTRY_RULE, KNOWN_POLICY_RULE_NAME, { NULL } },
	{ ENTRY_RULE, KNOWN_RULE, { NULL } },
	{ ENTRY_RULE, KNOWN_BUILTIN, { NULL } },
	{ ENTRY_RULE, KNOWN_RULES, { "0", "name" } },
	{ ENTRY_SANDBOX, KNOWN_SANDBOX_ID, { NULL } },
	{ ENTRY_SANDBOX, KNOWN_PEER, { "sandbox_id" } },
	{ ENTRY_CALLER, KNOWN_CALLER, { NULL } },
	{ ENTRY_CALLER, KNOWN_CALLER, { "name" } },
	{ ENTRY_CALLER, KNOWN_INPUT, { "caller" } },
	{ ENTRY_CALLER, KNOWN_TOOL, { NULL } },
};

/* Decisions in the words of those who ask, and in the policy's. */
static const struct {
	const char *said;
	const char *column;
} decisions[] = {
	{ "allowed", "allow" },
	{ "denied", "deny" },
	{ "review_required", "require_review" },
	{ "allowed_by_token", "allow" },
};

const char *const entry_decision_names[] = {
	"allow",
	"warn",
	"require_review",
	"deny",
	"pass",
	"allowed",
	"denied",
	"review_required",
	"allowed_by_token",
	NULL,
};

const char *entry_column_name(enum entry_column column)
{
	static const char *const names[] = {
		[ENTRY_OP] = "op",	     [ENTRY_DECISION] = "decision", [ENTRY_RULE] = "rule",
		[ENTRY_SANDBOX] = "sandbox", [ENTRY_CALLER] = "caller",
	};

	return column < N_ENTRY_COLUMNS ? names[column] : NULL;
}

/* The value as an item, without what is inside it. */
static struct json_item value_item(const struct entry_member *member)
{
	bool is_text = member->kind == JSON_STRING;

	return (struct json_item){
		.kind = member->kind,
		.bytes = member->value.bytes + is_text,
		.n_bytes = member->value.n_bytes - 2 * (size_t)is_text,
		.escaped = member->escaped,
	};
}

/* ---- columns ---- */

/* One step into @item, which becomes what is found there. */
static bool enter(struct json_scanner *scanner, struct json_item *item, const char *step)
{
	struct json_item name;

	if (item->kind == JSON_ARRAY_BEGIN)
		return strcmp(step, "0") == 0 && json_next(scanner, item) > 0 &&
		       item->kind != JSON_ARRAY_END;
	if (item->kind != JSON_OBJECT_BEGIN)
		return false;
	while (json_next(scanner, &name) > 0 && name.kind == JSON_NAME) {
		if (json_next(scanner, item) <= 0)
			return false;
		if (json_equals(&name, step))
			return true;
		if (json_skip(scanner, item) < 0)
			return false;
	}
	return false;
}

static void cut_column(struct entry_text *text)
{
	size_t at = 0, n;

	if (text->n_bytes <= ENTRY_COLUMN_MAX)
		return;
	while (at < text->n_bytes &&
	       (n = utf8_sequence(text->bytes + at, text->n_bytes - at)) > 0 &&
	       at + n <= ENTRY_COLUMN_MAX)
		at += n;
	text->n_bytes = at;
}

const char *entry_decision_column(const char *said)
{
	struct entry_text text = { said, strlen(said) };

	entry_translate_decision(&text);
	return text.bytes;
}

void entry_translate_decision(struct entry_text *text)
{
	for (size_t i = 0; i < N_ELEMENTS(decisions); i++)
		if (strlen(decisions[i].said) == text->n_bytes &&
		    memcmp(decisions[i].said, text->bytes, text->n_bytes) == 0)
			*text = (struct entry_text){ decisions[i].column,
						     strlen(decisions[i].column) };
}

/* Follows the path into the value, whose bytes have been found in order before. */
static bool follow(const struct entry_member *member, const char *const *path,
		   struct json_item *ret)
{
	struct json_scanner scanner;

	if (member->kind != JSON_OBJECT_BEGIN && member->kind != JSON_ARRAY_BEGIN)
		return false;
	json_scan(&scanner, member->value.bytes, member->value.n_bytes);
	if (json_next(&scanner, ret) <= 0)
		return false;
	for (; *path; path++)
		if (!enter(&scanner, ret, *path))
			return false;
	return true;
}

/* 1 if the source is there, 0 if not. */
static int read_source(struct audit_entry *entry, const struct source *source,
		       struct sbx_error *err)
{
	const struct entry_member *member = entry_known(entry, source->member);
	struct entry_text *column = &entry->columns[source->column];
	struct json_item item;
	int r;

	if (!member)
		return 0;
	item = value_item(member);
	if (source->path[0] && !follow(member, source->path, &item))
		return 0;
	if (item.kind == JSON_NUMBER || item.kind == JSON_TRUE || item.kind == JSON_FALSE) {
		r = entry_fail(err, -EINVAL, "", "write it as a text");
		sbx_error_why(err, "'%.*s' is not a text", (int)member->name.n_bytes,
			      member->name.bytes);
		return r;
	}
	if (item.kind != JSON_STRING)
		return 0;
	r = entry_decode(&item, &entry->values, column, err);
	if (r < 0)
		return r;
	if (source->column == ENTRY_DECISION)
		entry_translate_decision(column);
	cut_column(column);
	return 1;
}

static int read_columns(struct audit_entry *entry, struct sbx_error *err)
{
	for (size_t i = 0; i < N_ENTRY_COLUMNS; i++)
		entry->columns[i] = (struct entry_text){ .bytes = NULL };
	for (size_t i = 0; i < N_ELEMENTS(sources); i++)
		if (!entry->columns[sources[i].column].bytes) {
			int r = read_source(entry, &sources[i], err);

			if (r < 0)
				return r;
		}
	return 0;
}

/* ---- event and time ---- */

static int read_event(struct audit_entry *entry, struct sbx_error *err)
{
	const struct entry_member *member = entry_known(entry, KNOWN_EVENT);
	struct entry_text name;
	struct json_item item;
	int r;

	if (!member)
		member = entry_known(entry, KNOWN_EVENT_TYPE);
	if (!member)
		return entry_fail(err, -EINVAL, "it has no event",
				  "add a member \"event\" with the event's name");
	item = value_item(member);
	if (item.kind != JSON_STRING)
		return entry_fail(err, -EINVAL, "its event is not a text",
				  "write the event's name in quotes");
	r = entry_decode(&item, &entry->values, &name, err);
	if (r < 0)
		return r;
	entry->event = event_of(name.bytes, name.n_bytes);
	return entry->event ? 0 : event_unknown(name.bytes, name.n_bytes, err);
}

static int read_time(struct audit_entry *entry, struct sbx_error *err)
{
	const struct entry_member *member = entry_known(entry, KNOWN_TIME);
	bool is_text = member != NULL;
	struct json_item item;
	uint64_t msec;

	if (!member)
		member = entry_known(entry, KNOWN_TIMESTAMP);
	if (!member)
		return entry_fail(err, -EINVAL, "it does not say when it happened",
				  "add \"time\":\"2026-01-02T03:04:05.678901Z\", in UTC");
	item = value_item(member);
	if (is_text) {
		if (item.kind == JSON_STRING &&
		    entry_parse_time(item.bytes, item.n_bytes, &entry->time_usec) == 0)
			return 0;
		return entry_fail(err, -EINVAL, "its time has another form than RFC 3339 in UTC",
				  "write it as \"2026-01-02T03:04:05.678901Z\"");
	}
	if (item.kind != JSON_NUMBER || json_u64(&item, &msec) < 0 || msec > TIME_MSEC_MAX)
		return entry_fail(err, -EINVAL, "its timestamp is no time",
				  "write milliseconds since 1970, as a whole number");
	entry->time_usec = msec * 1000;
	return 0;
}

int entry_read_members(struct audit_entry *entry, size_t n_bytes, struct sbx_error *err)
{
	int r;

	/* As with the names: what is decoded is never longer than what is written. */
	text_reset(&entry->values);
	(void)text_extend(&entry->values, n_bytes + 1);
	if (text_status(&entry->values) < 0) {
		text_deinit(&entry->values);
		return entry_fail_memory(err);
	}
	text_truncate(&entry->values, 0);
	r = read_event(entry, err);
	if (r == 0)
		r = read_time(entry, err);
	return r < 0 ? r : read_columns(entry, err);
}

int entry_read_stored(struct audit_entry *entry, const void *bytes, size_t n_bytes,
		      struct sbx_error *err)
{
	int r = entry_split(entry, bytes, n_bytes, err);

	return r < 0 ? r : entry_read_members(entry, n_bytes, err);
}
