/* SPDX-License-Identifier: MIT */

/*
 * The one parser of records
 *
 * It reads the members once and remembers the first value of every name that has a meaning; then it
 * takes event, time and columns from those. Different tools use different names for the same fact,
 * so a column has several sources, of which the first present one is used. Compact text, as every
 * tool writes it, is fast because json_next_member() and json_skip() are; nothing here depends on
 * it.
 */

#include "audit/entry.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/moment.h"
#include "audit/shape.h"
#include "base/json.h"

#define TIME_MSEC_MAX UINT64_C(253402300799999) /* the end of the year 9999 */
#define TIME_SIZE (ENTRY_MINUTE_SIZE + sizeof(":00.000000Z") - 1)

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
	[KNOWN_INPUT_OP] = "op",
	[KNOWN_INPUT_CALLER] = "caller",
	[KNOWN_PEER_SANDBOX_ID] = "sandbox_id",
	[KNOWN_CALLER_NAME] = "name",
	[KNOWN_RULES_NAME] = "name",
};

struct known_range {
	uint8_t first;
	uint8_t end;
};

/* Known member names by length: range of enum entry_known. */
static const struct known_range known_of_length[] = {
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
	[16] = { KNOWN_POLICY_RULE_NAME, KNOWN_INPUT_OP },
};

/* Known names inside a member that is an object, or an array whose first element is an object; and
 * those in the record itself. */
static const struct inside {
	enum json_kind kind;
	struct known_range names;
} insides[] = {
	[KNOWN_PEER] = { JSON_OBJECT_BEGIN, { KNOWN_PEER_SANDBOX_ID, KNOWN_CALLER_NAME } },
	[KNOWN_INPUT] = { JSON_OBJECT_BEGIN, { KNOWN_INPUT_OP, KNOWN_PEER_SANDBOX_ID } },
	[KNOWN_RULES] = { JSON_ARRAY_BEGIN, { KNOWN_RULES_NAME, N_KNOWN } },
	[KNOWN_CALLER] = { JSON_OBJECT_BEGIN, { KNOWN_CALLER_NAME, KNOWN_RULES_NAME } },
};

/* The sources of each column, the preferred ones first; @member is the member of the record which
 * is the source or contains it. */
static const struct source {
	enum entry_column column;
	enum entry_known known;
	enum entry_known member;
} sources[] = {
	{ ENTRY_OP, KNOWN_OP, KNOWN_OP },
	{ ENTRY_OP, KNOWN_SYSCALL_TYPE, KNOWN_SYSCALL_TYPE },
	{ ENTRY_OP, KNOWN_INPUT_OP, KNOWN_INPUT },
	{ ENTRY_DECISION, KNOWN_VERDICT, KNOWN_VERDICT },
	{ ENTRY_DECISION, KNOWN_POLICY_DECISION, KNOWN_POLICY_DECISION },
	{ ENTRY_DECISION, KNOWN_DECISION, KNOWN_DECISION },
	{ ENTRY_RULE, KNOWN_POLICY_RULE_NAME, KNOWN_POLICY_RULE_NAME },
	{ ENTRY_RULE, KNOWN_RULE, KNOWN_RULE },
	{ ENTRY_RULE, KNOWN_BUILTIN, KNOWN_BUILTIN },
	{ ENTRY_RULE, KNOWN_RULES_NAME, KNOWN_RULES },
	{ ENTRY_SANDBOX, KNOWN_SANDBOX_ID, KNOWN_SANDBOX_ID },
	{ ENTRY_SANDBOX, KNOWN_PEER_SANDBOX_ID, KNOWN_PEER },
	{ ENTRY_CALLER, KNOWN_CALLER, KNOWN_CALLER },
	{ ENTRY_CALLER, KNOWN_CALLER_NAME, KNOWN_CALLER },
	{ ENTRY_CALLER, KNOWN_INPUT_CALLER, KNOWN_INPUT },
	{ ENTRY_CALLER, KNOWN_TOOL, KNOWN_TOOL },
};

/* Words for decisions in records, and the policy's word for each, which the column has. */
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

void entry_deinit(struct audit_entry *entry)
{
	text_deinit(&entry->body);
	text_deinit(&entry->names);
	text_deinit(&entry->values);
	text_deinit(&entry->decoded);
	text_deinit(&entry->piece);
	text_deinit(&entry->writer);
}

void entry_free_ptr(struct audit_entry **entry)
{
	if (*entry)
		entry_deinit(*entry);
	free(*entry);
	*entry = NULL;
}

/* ---- errors ---- */

int entry_fail(struct sbx_error *err, int code, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot take the record");
}

int entry_fail_memory(struct sbx_error *err)
{
	return entry_fail(err, -ENOMEM, "there is no memory", NULL);
}

int entry_fail_members(size_t n_max, struct sbx_error *err)
{
	(void)entry_fail(err, -EINVAL, "", "group members into an object");
	sbx_error_why(err, "it has more than %zu members", n_max);
	return -EINVAL;
}

int entry_fail_pair(struct sbx_error *err)
{
	return entry_fail(err, -EINVAL,
			  "a string contains half of a surrogate pair, which is not a character",
			  "write both halves, or neither");
}

static int fail_json(const struct json_scanner *scanner, int r, struct sbx_error *err)
{
	(void)sbx_error_what(err, r == -E2BIG ? -EINVAL : -EBADMSG, "cannot take the record");
	sbx_error_why(err, "it is not JSON at byte %zu: %s", scanner->at + 1,
		      scanner->problem ? scanner->problem : "it is nested too deeply");
	sbx_error_fix(err, "write one JSON object a line");
	return r == -E2BIG ? -EINVAL : -EBADMSG;
}

/* ---- members ---- */

static struct json_item item_of(const struct audit_entry *entry, const struct entry_item *item)
{
	return (struct json_item){ .kind = item->kind,
				   .bytes = entry->base + item->at,
				   .n_bytes = item->n_bytes,
				   .escaped = item->is_escaped };
}

static struct entry_item keep_item(const struct json_item *item, const char *base)
{
	return (struct entry_item){ (uint32_t)(item->bytes - base), (uint32_t)item->n_bytes,
				    (uint8_t)item->kind, item->escaped };
}

struct entry_text entry_member_value(const struct audit_entry *entry,
				     const struct entry_member *member)
{
	return (struct entry_text){ entry->base + member->value, member->n_value };
}

struct entry_text entry_member_name(const struct audit_entry *entry,
				    const struct entry_member *member)
{
	if (member->name.is_escaped)
		return (struct entry_text){ text_string(&entry->names) + member->decoded,
					    member->n_decoded };
	return (struct entry_text){ entry->base + member->name.at, member->name.n_bytes };
}

static bool is_text(const struct entry_text *text, const char *bytes, size_t n_bytes)
{
	return text->n_bytes == n_bytes && memcmp(text->bytes, bytes, n_bytes) == 0;
}

/* N_KNOWN if the name has no meaning. */
static enum entry_known find_member_name(const struct entry_text *name)
{
	struct known_range range;

	if (name->n_bytes >= N_ELEMENTS(known_of_length))
		return N_KNOWN;
	range = known_of_length[name->n_bytes];
	for (unsigned i = range.first; i < range.end; i++)
		if (known_names[i][0] == name->bytes[0] &&
		    memcmp(known_names[i], name->bytes, name->n_bytes) == 0)
			return i;
	return N_KNOWN;
}

static enum entry_known find_inner_name(enum entry_known within, const struct json_item *name)
{
	for (unsigned i = insides[within].names.first; i < insides[within].names.end; i++)
		if (json_equals(name, known_names[i]))
			return i;
	return N_KNOWN;
}

/* If a name occurs twice, the first value is used. */
static void note_value(struct audit_entry *entry, enum entry_known known,
		       const struct json_item *value)
{
	if (entry_has_known(entry, known))
		return;
	entry->has_known |= UINT64_C(1) << known;
	entry->known[known] = keep_item(value, entry->base);
}

/* Sets a bit for a hash of the name: only if two names share a bit are they compared later. */
static void note_other_name(struct audit_entry *entry, const struct entry_text *name)
{
	unsigned mix = (unsigned)name->n_bytes * 7;
	uint64_t bit;

	if (name->n_bytes > 0)
		mix += (unsigned char)name->bytes[0] * 3u +
		       (unsigned char)name->bytes[name->n_bytes - 1];
	bit = UINT64_C(1) << (mix & 63);
	entry->may_repeat |= (entry->seen_names & bit) != 0;
	entry->seen_names |= bit;
}

/* ---- members of members ---- */

/* These functions return 0 or json_next()'s error. */

static int read_inner_object(struct audit_entry *entry, struct json_scanner *scanner,
			     enum entry_known within)
{
	struct json_item name, value;
	int r;

	while ((r = json_next_member(scanner, &name, &value)) > 0) {
		enum entry_known known = find_inner_name(within, &name);

		if (known != N_KNOWN)
			note_value(entry, known, &value);
		r = json_skip(scanner, &value);
		if (r < 0)
			return r;
	}
	return r;
}

static int read_inner_array(struct audit_entry *entry, struct json_scanner *scanner,
			    enum entry_known within)
{
	struct json_item item;
	bool is_first = true;
	int r;

	while ((r = json_next(scanner, &item)) > 0 && item.kind != JSON_ARRAY_END) {
		r = is_first && item.kind == JSON_OBJECT_BEGIN
			    ? read_inner_object(entry, scanner, within)
			    : json_skip(scanner, &item);
		if (r < 0)
			return r;
		is_first = false;
	}
	return r < 0 ? r : 0;
}

static int read_value(struct audit_entry *entry, struct json_scanner *scanner,
		      enum entry_known known, const struct json_item *value)
{
	if (known == N_KNOWN || entry_has_known(entry, known))
		return json_skip(scanner, value);
	note_value(entry, known, value);
	if (known >= N_ELEMENTS(insides) || insides[known].names.end == 0 ||
	    insides[known].kind != value->kind)
		return json_skip(scanner, value);
	return value->kind == JSON_ARRAY_BEGIN ? read_inner_array(entry, scanner, known)
					       : read_inner_object(entry, scanner, known);
}

/* ---- the object ---- */

static int decode_name(struct audit_entry *entry, const struct json_item *name,
		       struct entry_member *member, struct sbx_error *err)
{
	size_t at = entry->names.len;

	if (json_decode(name, &entry->names) < 0)
		return entry_fail_pair(err);
	if (text_status(&entry->names) < 0)
		return entry_fail_memory(err);
	member->decoded = (uint32_t)at;
	member->n_decoded = (uint32_t)(entry->names.len - at);
	return 0;
}

static int take_member(struct audit_entry *entry, struct json_scanner *scanner,
		       const struct json_item *name, const struct json_item *value,
		       struct sbx_error *err)
{
	struct entry_member *member = &entry->members[entry->n_members];
	struct entry_text text;
	enum entry_known known;
	int r;

	if (entry->n_members == ENTRY_MEMBERS_MAX)
		return entry_fail_members(ENTRY_MEMBERS_MAX, err);
	member->name = keep_item(name, entry->base);
	r = name->escaped ? decode_name(entry, name, member, err) : 0;
	if (r < 0)
		return r;
	text = entry_member_name(entry, member);
	known = find_member_name(&text);
	if (known == N_KNOWN)
		note_other_name(entry, &text);
	else
		entry->may_repeat |= entry_has_known(entry, known);
	r = read_value(entry, scanner, known, value);
	if (r < 0)
		return fail_json(scanner, r, err);
	member->known = (uint8_t)known;
	member->value = (uint32_t)value->offset;
	member->n_value = (uint32_t)(scanner->at - value->offset);
	entry->n_members++;
	/* 4: two quotes, a colon, and a comma or the brace. */
	entry->n_compact += member->name.n_bytes + member->n_value + 4;
	return 0;
}

static void begin_members(struct audit_entry *entry, const char *bytes)
{
	if (text_status(&entry->names) < 0)
		text_deinit(&entry->names);
	text_reset(&entry->names);
	entry->base = bytes;
	entry->n_members = 0;
	entry->has_known = 0;
	entry->seen_names = 0;
	entry->may_repeat = false;
	entry->n_compact = 1;
}

int entry_split(struct audit_entry *entry, const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	struct json_scanner scanner;
	struct json_item name, value;
	int r;

	if (n_bytes > ENTRY_BYTES_MAX)
		return entry_fail(err, -EMSGSIZE, "it is longer than the maximum of a record",
				  "split it");
	begin_members(entry, bytes);
	json_scan(&scanner, bytes, n_bytes);
	r = json_next(&scanner, &value);
	if (r > 0 && value.kind != JSON_OBJECT_BEGIN)
		return entry_fail(err, -EINVAL, "it is not an object",
				  "write one JSON object a line");
	while (r >= 0 && (r = json_next_member(&scanner, &name, &value)) > 0) {
		r = take_member(entry, &scanner, &name, &value, err);
		if (r < 0)
			return r;
	}
	entry->end = scanner.at;
	if (r < 0)
		return fail_json(&scanner, r, err);
	/* Only white space may follow the object. */
	r = json_next(&scanner, &value);
	return r < 0 ? fail_json(&scanner, r, err) : 0;
}

bool entry_has_member(const struct audit_entry *entry, const char *name)
{
	const struct entry_text wanted = { name, strlen(name) };
	enum entry_known known = find_member_name(&wanted);

	if (known != N_KNOWN)
		return entry_has_known(entry, known);
	for (size_t i = 0; i < entry->n_members; i++) {
		struct entry_text text = entry_member_name(entry, &entry->members[i]);

		if (is_text(&text, wanted.bytes, wanted.n_bytes))
			return true;
	}
	return false;
}

/* ---- event and time ---- */

/* Returns a text in the record's bytes or, if it is escaped, decoded in entry->values. That buffer
 * must not move, so its memory is allocated up front: decoded text is never longer than escaped
 * text. */
static int decode_value(struct audit_entry *entry, const struct entry_item *item,
			struct entry_text *ret, struct sbx_error *err)
{
	const struct json_item string = item_of(entry, item);
	size_t at = entry->values.len;
	const char *before = entry->values.data;

	if (!item->is_escaped) {
		*ret = (struct entry_text){ string.bytes, string.n_bytes };
		return 0;
	}
	if (at == 0) {
		(void)text_extend(&entry->values, entry->end + 1);
		text_truncate(&entry->values, 0);
	}
	if (json_decode(&string, &entry->values) < 0)
		return entry_fail_pair(err);
	if (text_status(&entry->values) < 0)
		return entry_fail_memory(err);
	assert(at == 0 || entry->values.data == before);
	*ret = (struct entry_text){ entry->values.data + at, entry->values.len - at };
	return 0;
}

/* Fast path: most records have the same event as the one before. */
static int read_event(struct audit_entry *entry, struct sbx_error *err)
{
	enum entry_known known =
		entry_has_known(entry, KNOWN_EVENT) ? KNOWN_EVENT : KNOWN_EVENT_TYPE;
	struct entry_text name = { "", 0 };
	int r;

	if (!entry_has_known(entry, known))
		return entry_fail(err, -EINVAL, "it has no event",
				  "add a member \"event\" with the event's name");
	if (entry->known[known].kind != JSON_STRING)
		return entry_fail(err, -EINVAL, "its event is not a string",
				  "write the event's name in quotes");
	r = decode_value(entry, &entry->known[known], &name, err);
	if (r < 0)
		return r;
	if (entry->event && is_text(&name, entry->event->name, entry->n_event))
		return 0;
	entry->event = event_of(name.bytes, name.n_bytes);
	entry->n_event = name.n_bytes;
	return entry->event ? 0 : event_unknown(name.bytes, name.n_bytes, err);
}

static unsigned digit(char c)
{
	return (unsigned)(unsigned char)c - '0';
}

/* Fast path: the minute rarely changes, and converting a date is slow. False for anything but
 * "...:SS.dddddd". */
static bool read_usual_time(struct audit_entry *entry, const char *bytes, size_t n_bytes)
{
	const char *at = bytes + ENTRY_MINUTE_SIZE;
	uint64_t usec = 0;

	if (n_bytes != TIME_SIZE || at[0] != ':' || at[3] != '.' || digit(at[1]) > 5 ||
	    digit(at[2]) > 9 || at[10] != 'Z')
		return false;
	for (size_t i = 4; i < 10; i++) {
		if (digit(at[i]) > 9)
			return false;
		usec = usec * 10 + digit(at[i]);
	}
	usec += (uint64_t)(digit(at[1]) * 10 + digit(at[2])) * USEC_PER_SEC;
	if (entry->minute[0] == '\0' || memcmp(entry->minute, bytes, ENTRY_MINUTE_SIZE) != 0) {
		uint64_t whole;

		if (moment_parse(bytes, n_bytes, &whole) < 0)
			return false;
		memcpy(entry->minute, bytes, ENTRY_MINUTE_SIZE);
		entry->minute_usec = whole - usec;
	}
	entry->time_usec = entry->minute_usec + usec;
	return true;
}

static int read_time(struct audit_entry *entry, struct sbx_error *err)
{
	struct json_item item;
	uint64_t msec;

	if (entry_has_known(entry, KNOWN_TIME)) {
		item = item_of(entry, &entry->known[KNOWN_TIME]);
		if (item.kind == JSON_STRING &&
		    (read_usual_time(entry, item.bytes, item.n_bytes) ||
		     moment_parse(item.bytes, item.n_bytes, &entry->time_usec) == 0))
			return 0;
		return entry_fail(err, -EINVAL, "its time is not in the format of RFC 3339 in UTC",
				  "write it as \"2026-01-02T03:04:05.678901Z\"");
	}
	if (!entry_has_known(entry, KNOWN_TIMESTAMP))
		return entry_fail(err, -EINVAL, "it has no time",
				  "add \"time\":\"2026-01-02T03:04:05.678901Z\", in UTC");
	item = item_of(entry, &entry->known[KNOWN_TIMESTAMP]);
	if (item.kind != JSON_NUMBER || json_u64(&item, &msec) < 0 || msec > TIME_MSEC_MAX)
		return entry_fail(err, -EINVAL, "its timestamp is not a valid time",
				  "write milliseconds since 1970, as a whole number");
	entry->time_usec = msec * 1000;
	return 0;
}

/* ---- columns ---- */

/* Of valid UTF-8 only complete characters are left. */
static void cut_column(struct entry_text *text)
{
	if (text->n_bytes <= ENTRY_COLUMN_MAX)
		return;
	text->n_bytes = ENTRY_COLUMN_MAX;
	while (text->n_bytes > 0 && ((unsigned char)text->bytes[text->n_bytes] & 0xc0) == 0x80)
		text->n_bytes--;
}

static void translate_decision(struct entry_text *text)
{
	for (size_t i = 0; i < N_ELEMENTS(decisions); i++)
		if (is_text(text, decisions[i].said, strlen(decisions[i].said)))
			*text = (struct entry_text){ decisions[i].column,
						     strlen(decisions[i].column) };
}

void entry_make_column(enum entry_column column, struct entry_text *text)
{
	if (column == ENTRY_DECISION)
		translate_decision(text);
	cut_column(text);
}

static int read_source(struct audit_entry *entry, const struct source *source,
		       struct sbx_error *err)
{
	const struct entry_item *item = &entry->known[source->known];
	struct entry_text *column = &entry->columns[source->column];
	int r;

	if (item->kind == JSON_NUMBER || item->kind == JSON_TRUE || item->kind == JSON_FALSE) {
		r = entry_fail(err, -EINVAL, "", "write it as a string");
		if (source->known == source->member)
			sbx_error_why(err, "'%s' is not a string", known_names[source->known]);
		else
			sbx_error_why(err, "'%s' in '%s' is not a string",
				      known_names[source->known], known_names[source->member]);
		return r;
	}
	if (item->kind != JSON_STRING)
		return 0;
	r = decode_value(entry, item, column, err);
	if (r < 0)
		return r;
	entry_make_column(source->column, column);
	return 0;
}

static int read_columns(struct audit_entry *entry, struct sbx_error *err)
{
	memset(entry->columns, 0, sizeof(entry->columns));
	for (size_t i = 0; i < N_ELEMENTS(sources); i++)
		if (entry_has_known(entry, sources[i].known) &&
		    !entry->columns[sources[i].column].bytes) {
			int r = read_source(entry, &sources[i], err);

			if (r < 0)
				return r;
		}
	return 0;
}

int entry_read_members(struct audit_entry *entry, struct sbx_error *err)
{
	int r;

	if (text_status(&entry->values) < 0)
		text_deinit(&entry->values);
	text_reset(&entry->values);
	r = read_event(entry, err);
	if (r < 0)
		return r;
	r = read_time(entry, err);
	return r < 0 ? r : read_columns(entry, err);
}

int entry_read_stored(struct audit_entry *entry, const void *bytes, size_t n_bytes,
		      struct sbx_error *err)
{
	int r = entry_split(entry, bytes, n_bytes, err);

	return r < 0 ? r : entry_read_members(entry, err);
}

int entry_check_stored(struct audit_entry *entry, struct shapes *shapes, const void *bytes,
		       size_t n_bytes)
{
	enum entry_known event;
	struct shape_match match;
	int r;

	if (shapes_match(shapes, bytes, n_bytes, &match) &&
	    (read_usual_time(entry, match.time, match.n_time) ||
	     moment_parse(match.time, match.n_time, &entry->time_usec) == 0))
		return 0;
	r = entry_read_stored(entry, bytes, n_bytes, NULL);
	event = entry_has_known(entry, KNOWN_EVENT) ? KNOWN_EVENT : KNOWN_EVENT_TYPE;
	if (r == 0 && entry_has_known(entry, KNOWN_TIME))
		shapes_learn(shapes, bytes, n_bytes, entry->known[event].at,
			     entry->known[KNOWN_TIME].at);
	return r;
}
