/* SPDX-License-Identifier: MIT */

/*
 * What a record says, read from its stored bytes
 *
 * Records of different tools say the same under different names, so a column has several sources;
 * the first that is there counts. A source is a path into the object: its steps are names, or "0"
 * for the first element of an array.
 */

#include "audit/entry.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/entry-internal.h"
#include "audit/event.h"
#include "base/json.h"

#define TIME_MSEC_MAX UINT64_C(253402300799999) /* the year 9999 ends */
#define STEPS_MAX 3

static const struct source {
	enum entry_column column;
	const char *path[STEPS_MAX + 1];
} sources[] = {
	{ ENTRY_OP, { "op" } },
	{ ENTRY_OP, { "syscall_type" } },
	{ ENTRY_OP, { "input", "op" } },
	{ ENTRY_DECISION, { "verdict" } },
	{ ENTRY_DECISION, { "policy_decision" } },
	{ ENTRY_DECISION, { "decision" } },
	{ ENTRY_RULE, { "policy_rule_name" } },
	{ ENTRY_RULE, { "rule" } },
	{ ENTRY_RULE, { "builtin" } },
	{ ENTRY_RULE, { "rules", "0", "name" } },
	{ ENTRY_SANDBOX, { "sandbox_id" } },
	{ ENTRY_SANDBOX, { "peer", "sandbox_id" } },
	{ ENTRY_CALLER, { "caller" } },
	{ ENTRY_CALLER, { "caller", "name" } },
	{ ENTRY_CALLER, { "input", "caller" } },
	{ ENTRY_CALLER, { "tool" } },
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

const char *entry_column_name(enum entry_column column)
{
	static const char *const names[] = {
		[ENTRY_OP] = "op",	     [ENTRY_DECISION] = "decision", [ENTRY_RULE] = "rule",
		[ENTRY_SANDBOX] = "sandbox", [ENTRY_CALLER] = "caller",
	};

	return column < N_ENTRY_COLUMNS ? names[column] : NULL;
}

/* The value as an item. Its bytes have been found in order before. */
static void value_item(struct json_scanner *scanner, const struct entry_member *member,
		       struct json_item *ret)
{
	json_scan(scanner, member->value.bytes, member->value.n_bytes);
	if (json_next(scanner, ret) <= 0)
		*ret = (struct json_item){ .kind = JSON_NULL };
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

	while (at < text->n_bytes &&
	       (n = utf8_sequence(text->bytes + at, text->n_bytes - at)) > 0 &&
	       at + n <= ENTRY_COLUMN_MAX)
		at += n;
	text->n_bytes = at;
}

static void translate_decision(struct entry_text *text)
{
	for (size_t i = 0; i < N_ELEMENTS(decisions); i++)
		if (strlen(decisions[i].said) == text->n_bytes &&
		    memcmp(decisions[i].said, text->bytes, text->n_bytes) == 0)
			*text = (struct entry_text){ decisions[i].column,
						     strlen(decisions[i].column) };
}

/* 1 if the source is there, 0 if not. */
static int read_source(struct audit_entry *entry, const struct source *source,
		       struct sbx_error *err)
{
	const struct entry_member *member = entry_member(entry, source->path[0]);
	struct entry_text *column = &entry->columns[source->column];
	struct json_scanner scanner;
	struct json_item item;
	int r;

	if (!member)
		return 0;
	value_item(&scanner, member, &item);
	for (size_t i = 1; source->path[i]; i++)
		if (!enter(&scanner, &item, source->path[i]))
			return 0;
	if (item.kind == JSON_NUMBER || item.kind == JSON_TRUE || item.kind == JSON_FALSE) {
		r = entry_fail(err, -EINVAL, "", "write it as a text");
		sbx_error_why(err, "'%s' is not a text", source->path[0]);
		return r;
	}
	if (item.kind != JSON_STRING)
		return 0;
	r = entry_decode(&item, &entry->values, column, err);
	if (r < 0)
		return r;
	if (source->column == ENTRY_DECISION)
		translate_decision(column);
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
	const struct entry_member *member = entry_member(entry, "event");
	struct json_scanner scanner;
	struct entry_text name;
	struct json_item item;
	int r;

	if (!member)
		member = entry_member(entry, "event_type");
	if (!member)
		return entry_fail(err, -EINVAL, "it has no event",
				  "add a member \"event\" with the event's name");
	value_item(&scanner, member, &item);
	if (item.kind != JSON_STRING)
		return entry_fail(err, -EINVAL, "its event is not a text",
				  "write the event's name in quotes");
	r = entry_decode(&item, &entry->values, &name, err);
	if (r < 0)
		return r;
	entry->event = event_of(name.bytes, name.n_bytes);
	return entry->event ? 0 : event_unknown(name.bytes, name.n_bytes, err);
}

/* Checkpoints say it of no records. */
static int check_time(const struct audit_entry *entry, struct sbx_error *err)
{
	return entry->time_usec > 0
		       ? 0
		       : entry_fail(err, -EINVAL, "its time is the very beginning of 1970",
				    "set the clock of who wrote it");
}

static int read_time(struct audit_entry *entry, struct sbx_error *err)
{
	const struct entry_member *member = entry_member(entry, "time");
	bool is_text = member != NULL;
	struct json_scanner scanner;
	struct json_item item;
	uint64_t msec;

	if (!member)
		member = entry_member(entry, "timestamp");
	if (!member)
		return entry_fail(err, -EINVAL, "it does not say when it happened",
				  "add \"time\":\"2026-01-02T03:04:05.678901Z\", in UTC");
	value_item(&scanner, member, &item);
	if (is_text) {
		if (item.kind == JSON_STRING &&
		    entry_parse_time(item.bytes, item.n_bytes, &entry->time_usec) == 0)
			return check_time(entry, err);
		return entry_fail(err, -EINVAL, "its time has another form than RFC 3339 in UTC",
				  "write it as \"2026-01-02T03:04:05.678901Z\"");
	}
	if (item.kind != JSON_NUMBER || json_u64(&item, &msec) < 0 || msec > TIME_MSEC_MAX)
		return entry_fail(err, -EINVAL, "its timestamp is no time",
				  "write milliseconds since 1970, as a whole number");
	entry->time_usec = msec * 1000;
	return check_time(entry, err);
}

int entry_read_stored(struct audit_entry *entry, const void *bytes, size_t n_bytes,
		      struct sbx_error *err)
{
	int r = entry_split(entry, bytes, n_bytes, err);

	if (r < 0)
		return r;
	/* As with the names: what is decoded is never longer than what is written. */
	text_reset(&entry->values);
	(void)text_extend(&entry->values, n_bytes + 1);
	if (text_status(&entry->values) < 0) {
		text_deinit(&entry->values);
		return entry_fail(err, -ENOMEM, "there is no memory", NULL);
	}
	text_truncate(&entry->values, 0);
	r = read_event(entry, err);
	if (r == 0)
		r = read_time(entry, err);
	return r < 0 ? r : read_columns(entry, err);
}
