/* SPDX-License-Identifier: MIT */

/*
 * Entries are checked one after the other, each entry's own hash first: if that is right, but
 * prev_hash is not the hash of the entry before, entries are missing; if it is wrong, the entry was
 * changed.
 */

#include "audit/seed.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/lines.h"
#include "base/text.h"

#define GENESIS "genesis:"
#define GENESIS_EVENT "kernel_start"
#define TIMESTAMP_DIGITS_MAX 16

enum member {
	MEMBER_PREV_HASH,
	MEMBER_TIMESTAMP,
	MEMBER_EVENT_TYPE,
	MEMBER_HASH,
	MEMBER_ID,
	N_MEMBERS,
};

/* The members up to hash have their own columns; all others are data. */
static const struct {
	const char *name;
	enum json_kind kind;
	bool is_data;
} members[N_MEMBERS] = {
	[MEMBER_PREV_HASH] = { "prev_hash", JSON_STRING, false },
	[MEMBER_TIMESTAMP] = { "timestamp", JSON_NUMBER, false },
	[MEMBER_EVENT_TYPE] = { "event_type", JSON_STRING, false },
	[MEMBER_HASH] = { "hash", JSON_STRING, false },
	[MEMBER_ID] = { "id", JSON_STRING, true },
};

struct entry {
	struct json_item values[N_MEMBERS];
	bool has[N_MEMBERS];
	struct text event;
	struct text data;
};

struct seed {
	struct seed_report *report;
	struct entry entry;
	uint64_t line;
	char last[AUDIT_HASH_DIGITS]; /* hash of the entry before */
	struct text last_id;
};

/* ---- findings ---- */

static int fail(struct seed *seed, enum verify_verdict verdict, const char *what, const char *why)
{
	struct sbx_error *finding = &seed->report->finding;

	seed->report->verdict = verdict;
	seed->report->has_bad = true;
	seed->report->bad_line = seed->line;
	(void)sbx_error_what(finding, -EBADMSG, "line %" PRIu64 " %s", seed->line, what);
	sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding,
		      "restore the log from a copy; the %" PRIu64 " entries before are good",
		      seed->report->n_good);
	return 1;
}

/* If not even the first line is an entry, the file is of another kind. */
static int fail_line(struct seed *seed, const char *why)
{
	return fail(seed, seed->report->n_good > 0 ? VERIFY_TAMPERED : VERIFY_UNREADABLE,
		    "is not an entry", why);
}

/* ---- one line ---- */

static bool is_hash(const struct json_item *item)
{
	if (item->n_bytes != AUDIT_HASH_DIGITS)
		return false;
	for (size_t i = 0; i < AUDIT_HASH_DIGITS; i++)
		if (!memchr("0123456789abcdef", item->bytes[i], 16))
			return false;
	return true;
}

static bool is_digits(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] < '0' || bytes[i] > '9')
			return false;
	return n > 0;
}

static enum member find_member(const struct json_item *name)
{
	enum member i = 0;

	while (i < N_MEMBERS && !json_equals(name, members[i].name))
		i++;
	return i;
}

/* Adds a member of data as spelt. */
static void add_data(struct text *data, const struct json_item *name, const char *value,
		     size_t n_value)
{
	text_add(data, data->len > 1 ? ",\"" : "\"");
	text_add_bytes(data, name->bytes, name->n_bytes);
	text_add(data, "\":");
	text_add_bytes(data, value, n_value);
}

/* 0, or 1 with a finding, or negative errno. */
static int take_member(struct seed *seed, struct json_scanner *scanner,
		       const struct json_item *name)
{
	struct entry *entry = &seed->entry;
	enum member member = find_member(name);
	struct json_item value;
	size_t begin;

	if (json_next(scanner, &value) <= 0)
		return fail_line(seed, "it is not a JSON object");
	begin = value.offset;
	if (json_skip(scanner, &value) < 0)
		return fail_line(seed, "it is not a JSON object");
	if (member < N_MEMBERS) {
		if (entry->has[member] || value.kind != members[member].kind)
			return fail_line(seed,
					 "a required member occurs twice, or has another type");
		entry->has[member] = true;
		entry->values[member] = value;
	}
	if (member == N_MEMBERS || members[member].is_data)
		add_data(&entry->data, name, scanner->bytes + begin, scanner->at - begin);
	return 0;
}

static int check_members(struct seed *seed)
{
	struct entry *entry = &seed->entry;
	const struct json_item *timestamp = &entry->values[MEMBER_TIMESTAMP];

	for (size_t i = 0; i < N_MEMBERS; i++)
		if (!entry->has[i])
			return fail_line(seed, "it must have id, timestamp, event_type, prev_hash "
					       "and hash");
	if (!is_digits(timestamp->bytes, timestamp->n_bytes) ||
	    timestamp->n_bytes > TIMESTAMP_DIGITS_MAX)
		return fail_line(seed, "its timestamp is not a whole number");
	if (!is_hash(&entry->values[MEMBER_PREV_HASH]) || !is_hash(&entry->values[MEMBER_HASH]))
		return fail_line(seed, "its hashes are not 64 hexadecimal digits");
	if (json_decode(&entry->values[MEMBER_EVENT_TYPE], &entry->event) < 0)
		return fail_line(seed, "its event_type is not a string");
	return text_status(&entry->event);
}

static int read_entry(struct seed *seed, const char *line, size_t n_bytes)
{
	struct entry *entry = &seed->entry;
	struct json_scanner scanner;
	struct json_item item;
	int r;

	memset(entry->has, 0, sizeof(entry->has));
	text_reset(&entry->event);
	text_reset(&entry->data);
	text_add_char(&entry->data, '{');
	json_scan(&scanner, line, n_bytes);
	if (json_next(&scanner, &item) <= 0 || item.kind != JSON_OBJECT_BEGIN)
		return fail_line(seed, "it is not a JSON object");
	for (;;) {
		if (json_next(&scanner, &item) <= 0)
			return fail_line(seed, "it is not a JSON object");
		if (item.kind != JSON_NAME)
			break;
		r = take_member(seed, &scanner, &item);
		if (r != 0)
			return r;
	}
	if (json_next(&scanner, &item) != 0)
		return fail_line(seed, "there is text after the object");
	text_add_char(&entry->data, '}');
	r = text_status(&entry->data);
	return r < 0 ? r : check_members(seed);
}

/* ---- the chain ---- */

static int digest(struct seed *seed, const struct iovec *parts, size_t n,
		  char ret[AUDIT_HASH_DIGITS])
{
	struct audit_hash hash;
	int r = audit_hash_digest(parts, n, &hash);

	if (r == 0)
		hex_print(hash.bytes, sizeof(hash.bytes), ret);
	return r;
}

static struct iovec part_of(const struct json_item *item)
{
	return (struct iovec){ (char *)item->bytes, item->n_bytes };
}

static bool is_value(const struct json_item *item, const char hash[AUDIT_HASH_DIGITS])
{
	return memcmp(item->bytes, hash, AUDIT_HASH_DIGITS) == 0;
}

static int check_hash(struct seed *seed)
{
	struct entry *entry = &seed->entry;
	const struct iovec parts[] = {
		part_of(&entry->values[MEMBER_PREV_HASH]),
		part_of(&entry->values[MEMBER_TIMESTAMP]),
		{ entry->event.data, entry->event.len },
		{ entry->data.data, entry->data.len },
	};
	char hash[AUDIT_HASH_DIGITS];
	int r = digest(seed, parts, N_ELEMENTS(parts), hash);

	if (r < 0 || is_value(&entry->values[MEMBER_HASH], hash))
		return r;
	return fail(seed, VERIFY_TAMPERED, "was changed", "its hash does not match its content");
}

/* The hash is right, so the entry was once written like this: after entries that are missing. */
static int check_begin(struct seed *seed)
{
	struct entry *entry = &seed->entry;
	const struct iovec parts[] = {
		{ (char *)GENESIS, strlen(GENESIS) },
		part_of(&entry->values[MEMBER_TIMESTAMP]),
	};
	char hash[AUDIT_HASH_DIGITS];
	int r = digest(seed, parts, N_ELEMENTS(parts), hash);

	if (r < 0)
		return r;
	if (entry->event.len == strlen(GENESIS_EVENT) &&
	    memcmp(entry->event.data, GENESIS_EVENT, entry->event.len) == 0 &&
	    is_value(&entry->values[MEMBER_PREV_HASH], hash))
		return 0;
	return fail(seed, VERIFY_INCOMPLETE, "is not the first entry of a log",
		    "the first entry is a " GENESIS_EVENT " whose prev_hash is the hash of its own "
		    "timestamp");
}

/* Numeric ids must ascend; other ids have no order. */
static bool is_id_next(const struct text *last, const struct json_item *id)
{
	if (is_digits(last->data, last->len) && is_digits(id->bytes, id->n_bytes) &&
	    last->len != id->n_bytes)
		return last->len < id->n_bytes;
	if (last->len != id->n_bytes)
		return true;
	return is_digits(id->bytes, id->n_bytes) ? memcmp(last->data, id->bytes, last->len) < 0
						 : memcmp(last->data, id->bytes, last->len) != 0;
}

static int check_place(struct seed *seed)
{
	const struct json_item *values = seed->entry.values;

	if (seed->report->n_good == 0)
		return check_begin(seed);
	if (!is_value(&values[MEMBER_PREV_HASH], seed->last))
		return fail(
			seed, VERIFY_TAMPERED, "does not follow from the one before it",
			"its prev_hash does not match: entries between them are missing, or it was inserted");
	if (!is_id_next(&seed->last_id, &values[MEMBER_ID]))
		return fail(seed, VERIFY_TAMPERED, "is out of order",
			    "its id does not come after the one before it");
	return 0;
}

static int take_line(struct seed *seed, const char *line, size_t n_bytes)
{
	const struct json_item *values = seed->entry.values;
	int r = read_entry(seed, line, n_bytes);

	if (r != 0)
		return r;
	r = check_hash(seed);
	if (r != 0)
		return r;
	r = check_place(seed);
	if (r != 0)
		return r;
	memcpy(seed->last, values[MEMBER_HASH].bytes, sizeof(seed->last));
	text_reset(&seed->last_id);
	text_add_bytes(&seed->last_id, values[MEMBER_ID].bytes, values[MEMBER_ID].n_bytes);
	seed->report->n_good++;
	return text_status(&seed->last_id);
}

static int take_lines(struct seed *seed, int fd, struct sbx_error *err)
{
	_cleanup_lines_ struct line_reader reader = { .fd = fd, .max = SEED_LINE_MAX };
	size_t n_bytes;
	char *line;

	for (;;) {
		int state = lines_next(&reader, &line, &n_bytes), r;

		seed->line = reader.number;
		if (state < 0)
			return sbx_error_what(err, state, "cannot read the log");
		if (state == LINE_END)
			return 0;
		r = state == LINE_TOO_LONG ? fail_line(seed, "it is longer than 1 MiB")
					   : take_line(seed, line, n_bytes);
		if (r != 0)
			return r < 0 ? sbx_error_what(err, r, "cannot verify the log") : 0;
	}
}

int seed_verify(int fd, struct seed_report *ret, struct sbx_error *err)
{
	struct seed_report report = { .verdict = VERIFY_INTACT };
	struct seed seed = { .report = &report };
	int r = take_lines(&seed, fd, err);

	text_deinit(&seed.entry.event);
	text_deinit(&seed.entry.data);
	text_deinit(&seed.last_id);
	if (r < 0)
		return r;
	if (report.n_good == 0 && report.verdict == VERIFY_INTACT) {
		seed.line = 1;
		(void)fail_line(&seed, "the file has no entries");
	}
	*ret = report;
	return 0;
}
