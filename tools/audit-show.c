/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit show, query, tail: print records
 *
 * show prints one completely: each member is printed on its own line in stored order, members of
 * objects indented below their name. A list of scalars is printed on one line, its strings quoted
 * as for a shell.
 */

#include "audit.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/units.h"

#include "tool.h"

/* ---- details as text ---- */

#define COMMAND_BYTES_MAX 200
#define USEC_PER_MSEC 1000

void details_deinit(struct details *details)
{
	text_deinit(&details->command);
	text_deinit(&details->reason);
	text_deinit(&details->host);
}

/* Text that cannot be decoded (an unpaired surrogate) is copied as written. */
static void decode(const struct json_item *item, struct text *out)
{
	size_t begin = out->len;

	if (json_decode(item, out) == 0)
		return;
	text_truncate(out, begin);
	text_add_bytes(out, item->bytes, item->n_bytes);
}

/* ---- members ---- */

static void read_words(struct json_scanner *scanner, const struct json_item *first, void *ret)
{
	struct text *command = ret;
	_cleanup_text_ struct text word = TEXT_INIT;
	struct json_item item;

	text_reset(command);
	while (json_next(scanner, &item) > 0 && item.kind != JSON_ARRAY_END) {
		if (item.kind != JSON_STRING) {
			(void)json_skip(scanner, &item);
			continue;
		}
		text_reset(&word);
		decode(&item, &word);
		if (command->len > 0)
			text_add_char(command, ' ');
		text_add_word(command, text_string(&word), word.len);
	}
}

static void read_status(struct json_scanner *scanner, const struct json_item *item, void *details)
{
	struct details *all = details;

	all->has_status = json_i64(item, &all->status) == 0;
}

static void read_usec(struct json_scanner *scanner, const struct json_item *item, void *details)
{
	struct details *all = details;

	all->has_usec = json_u64(item, &all->usec) == 0;
}

static void read_text(struct json_scanner *scanner, const struct json_item *item, void *ret)
{
	text_reset(ret);
	decode(item, ret);
}

static void read_number(struct json_scanner *scanner, const struct json_item *item, void *ret)
{
	uint64_t *number = ret;

	if (json_u64(item, number) < 0)
		*number = 0;
}

/* Of a decision: the request, of which op is a column. */
static void read_input(struct json_scanner *scanner, const struct json_item *first, void *details)
{
	struct details *all = details;
	struct json_item name, value;

	while (json_next_member(scanner, &name, &value) > 0) {
		if (value.kind == JSON_STRING && json_equals(&name, "host"))
			read_text(scanner, &value, &all->host);
		else if (value.kind == JSON_NUMBER && json_equals(&name, "port"))
			read_number(scanner, &value, &all->port);
		else
			(void)json_skip(scanner, &value);
	}
}

static const struct {
	const char *name;
	enum json_kind kind;
	void (*read)(struct json_scanner *scanner, const struct json_item *item, void *member);
	size_t offset; /* of the member; 0: all details */
} members[] = {
	{ "argv", JSON_ARRAY_BEGIN, read_words, offsetof(struct details, command) },
	{ "reason", JSON_STRING, read_text, offsetof(struct details, reason) },
	{ "host", JSON_STRING, read_text, offsetof(struct details, host) },
	{ "port", JSON_NUMBER, read_number, offsetof(struct details, port) },
	{ "size", JSON_NUMBER, read_number, offsetof(struct details, size) },
	{ "status", JSON_NUMBER, read_status, 0 },
	{ "usec", JSON_NUMBER, read_usec, 0 },
	{ "input", JSON_OBJECT_BEGIN, read_input, 0 },
};

static void read_member(struct json_scanner *scanner, const struct json_item *name,
			const struct json_item *value, struct details *details)
{
	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		if (members[i].kind == value->kind && json_equals(name, members[i].name)) {
			members[i].read(scanner, value, (char *)details + members[i].offset);
			return;
		}
	(void)json_skip(scanner, value);
}

void details_read(const char *body, size_t n_body, struct details *ret)
{
	struct json_item name, value;
	struct json_scanner scanner;

	text_reset(&ret->command);
	text_reset(&ret->reason);
	text_reset(&ret->host);
	ret->port = 0;
	ret->has_status = ret->has_usec = false;
	ret->size = 0;
	json_scan(&scanner, body, n_body);
	if (json_next(&scanner, &value) <= 0 || value.kind != JSON_OBJECT_BEGIN)
		return;
	while (json_next(&scanner, &name) > 0 && name.kind == JSON_NAME &&
	       json_next(&scanner, &value) > 0)
		read_member(&scanner, &name, &value, ret);
}

/* ---- as text ---- */

/* Rounded: milliseconds if it is short, minutes or hours if it is long. */
static void add_duration(struct text *out, uint64_t usec)
{
	uint64_t seconds = usec / USEC_PER_SEC;

	if (seconds == 0)
		text_addf(out, "%" PRIu64 "ms", usec / USEC_PER_MSEC);
	else if (seconds < 60)
		text_addf(out, "%" PRIu64 ".%" PRIu64 "s", seconds,
			  usec % USEC_PER_SEC * 10 / USEC_PER_SEC);
	else if (seconds < 3600)
		text_addf(out, "%" PRIu64 "m%02" PRIu64 "s", seconds / 60, seconds % 60);
	else
		text_addf(out, "%" PRIu64 "h%02" PRIu64 "m", seconds / 3600, seconds / 60 % 60);
}

/* Is the text shown as it is, and does it end at the next space? */
static bool is_plain(const char *text, size_t len)
{
	_cleanup_text_ struct text shown = TEXT_INIT;

	if (len == 0 || memchr(text, ' ', len) || memchr(text, '\'', len))
		return false;
	text_add_visible(&shown, text, len);
	return shown.len == len && memcmp(text_string(&shown), text, len) == 0;
}

void details_add_field(struct text *out, const char *name, const void *bytes, size_t n_bytes)
{
	text_addf(out, " %s=", name);
	if (is_plain(bytes, n_bytes))
		text_add_bytes(out, bytes, n_bytes);
	else
		text_add_word(out, bytes, n_bytes);
}

static void add_host(struct text *out, const struct details *details)
{
	bool is_ipv6 = memchr(text_string(&details->host), ':', details->host.len) != NULL;
	_cleanup_text_ struct text host = TEXT_INIT;

	if (details->host.len == 0)
		return;
	text_add(&host, is_ipv6 ? "[" : "");
	text_add_bytes(&host, details->host.data, details->host.len);
	text_add(&host, is_ipv6 ? "]" : "");
	if (details->port > 0)
		text_addf(&host, ":%" PRIu64, details->port);
	details_add_field(out, "host", text_string(&host), host.len);
}

/* The command is the last, because its words are separated by spaces. */
void details_add_text(struct text *out, const struct details *details)
{
	size_t len = details->command.len;

	add_host(out, details);
	if (details->has_status)
		text_addf(out, " status=%" PRId64, details->status);
	if (details->reason.len > 0)
		details_add_field(out, "reason", details->reason.data, details->reason.len);
	if (details->has_usec) {
		text_add(out, " duration=");
		add_duration(out, details->usec);
	}
	if (len == 0)
		return;
	if (len > COMMAND_BYTES_MAX)
		for (len = COMMAND_BYTES_MAX;
		     len > 0 && ((unsigned char)details->command.data[len] & 0xc0) == 0x80;)
			len--;
	text_add(out, " command=");
	text_add_visible(out, details->command.data, len);
	if (len < details->command.len)
		text_add(out, "...");
}

/* ---- a complete record ---- */

#define INDENT 2
#define GAP 2
#define HASH "hash"
#define RECORD "record"

struct showing {
	struct text *out;
	struct json_scanner scanner;
};

static void add_spaces(struct text *out, size_t n)
{
	while (n-- > 0)
		text_add_char(out, ' ');
}

static void add_string(struct text *out, const struct json_item *item, bool is_word)
{
	_cleanup_text_ struct text decoded = TEXT_INIT, word = TEXT_INIT;

	decode(item, &decoded);
	if (is_word)
		text_add_word(&word, text_string(&decoded), decoded.len);
	else
		text_add_bytes(&word, text_string(&decoded), decoded.len);
	text_add_visible(out, text_string(&word), word.len);
}

static void add_scalar(struct text *out, const struct json_item *item, bool is_word)
{
	if (item->kind == JSON_STRING)
		add_string(out, item, is_word);
	else
		text_add_bytes(out, item->bytes, item->n_bytes);
}

/* Does the list that was just entered contain only scalars? */
static bool is_flat(const struct json_scanner *scanner)
{
	struct json_scanner ahead = *scanner;
	struct json_item item;

	while (json_next(&ahead, &item) > 0 && item.kind != JSON_ARRAY_END)
		if (item.kind == JSON_OBJECT_BEGIN || item.kind == JSON_ARRAY_BEGIN)
			return false;
	return true;
}

static void show_value(struct showing *showing, const struct json_item *value, size_t depth);

/* Is the object or list that was just entered empty? */
static bool is_empty(const struct json_scanner *scanner)
{
	struct json_scanner ahead = *scanner;
	struct json_item item;

	return json_next(&ahead, &item) > 0 &&
	       (item.kind == JSON_OBJECT_END || item.kind == JSON_ARRAY_END);
}

/* Is the value printed on the line of its name? */
static bool is_inline(const struct showing *showing, const struct json_item *value)
{
	if (value->kind == JSON_ARRAY_BEGIN)
		return is_flat(&showing->scanner);
	return value->kind != JSON_OBJECT_BEGIN || is_empty(&showing->scanner);
}

static void show_flat_list(struct showing *showing)
{
	struct json_item item;
	bool is_first = true;

	while (json_next(&showing->scanner, &item) > 0 && item.kind != JSON_ARRAY_END) {
		add_spaces(showing->out, is_first ? 0 : 1);
		add_scalar(showing->out, &item, true);
		is_first = false;
	}
	text_add_char(showing->out, '\n');
}

static void show_list(struct showing *showing, size_t depth)
{
	struct json_item item;

	if (is_flat(&showing->scanner)) {
		show_flat_list(showing);
		return;
	}
	text_add_char(showing->out, '\n');
	while (json_next(&showing->scanner, &item) > 0 && item.kind != JSON_ARRAY_END) {
		add_spaces(showing->out, depth * INDENT);
		text_add(showing->out, is_inline(showing, &item) ? "- " : "-");
		show_value(showing, &item, depth + 1);
	}
}

/* Width of the longest name of the object that was just entered, as printed. */
static size_t width_of_names(struct json_scanner scanner)
{
	struct json_item name, value;
	size_t width = 0;

	while (json_next(&scanner, &name) > 0 && name.kind == JSON_NAME &&
	       json_next(&scanner, &value) > 0 && json_skip(&scanner, &value) == 0) {
		_cleanup_text_ struct text shown = TEXT_INIT;

		add_string(&shown, &name, false);
		width = shown.len > width ? shown.len : width;
	}
	return width;
}

/* @width: column of the values of this object, after their names. */
static void show_members(struct showing *showing, size_t width, size_t depth)
{
	struct json_item name, value;

	while (json_next(&showing->scanner, &name) > 0 && name.kind == JSON_NAME &&
	       json_next(&showing->scanner, &value) > 0) {
		size_t begin;

		add_spaces(showing->out, depth * INDENT);
		begin = showing->out->len;
		add_string(showing->out, &name, false);
		if (is_inline(showing, &value))
			add_spaces(showing->out, width - (showing->out->len - begin) + GAP);
		show_value(showing, &value, depth + 1);
	}
}

static void show_value(struct showing *showing, const struct json_item *value, size_t depth)
{
	bool is_list = value->kind == JSON_ARRAY_BEGIN;

	if (!is_list && value->kind != JSON_OBJECT_BEGIN) {
		add_scalar(showing->out, value, false);
		text_add_char(showing->out, '\n');
	} else if (is_empty(&showing->scanner)) {
		(void)json_skip(&showing->scanner, value);
		text_add(showing->out, is_list ? "[]\n" : "{}\n");
	} else if (is_list) {
		show_list(showing, depth);
	} else {
		text_add_char(showing->out, '\n');
		show_members(showing, width_of_names(showing->scanner), depth);
	}
}

static void add_head(struct text *out, const char *name, size_t width)
{
	text_add(out, name);
	add_spaces(out, width - strlen(name) + GAP);
}

static void show_text(struct text *out, const struct store_row *row)
{
	struct showing showing = { .out = out };
	struct json_item begin;
	size_t width;

	json_scan(&showing.scanner, row->body, row->n_body);
	(void)json_next(&showing.scanner, &begin);
	width = width_of_names(showing.scanner);
	if (width < strlen(RECORD))
		width = strlen(RECORD);
	add_head(out, RECORD, width);
	text_addf(out, "%" PRIu64 "\n", row->seq);
	show_members(&showing, width, 0);
	add_head(out, HASH, width);
	base64_add(out, row->hash.bytes, sizeof(row->hash.bytes));
	text_add_char(out, '\n');
}

/* ---- the verb ---- */

struct wanted {
	struct tool_run *run;
	struct audit_entry *entry;
	uint64_t seq;
	bool is_found;
};

static int show_wanted(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct wanted *wanted = userdata;
	struct text *out = &wanted->run->out;

	if (row->seq != wanted->seq)
		return 1;
	if (row->problem || entry_read_stored(wanted->entry, row->body, row->n_body, NULL) < 0)
		return rows_refuse(row, err);
	wanted->is_found = true;
	if (wanted->run->json) {
		text_add_bytes(out, row->body, row->n_body);
		text_add_char(out, '\n');
	} else {
		show_text(out, row);
	}
	return 1;
}

static int fail_missing(const struct rows *rows, uint64_t seq, struct sbx_error *err)
{
	struct segment_about about;
	uint64_t n = 0;
	int r = rows_read_begin(rows, &about, err);

	if (r >= 0)
		r = rows_count(rows, &n, err);
	if (r < 0)
		return r;
	(void)sbx_error_what(err, -ERANGE, "there is no record %" PRIu64, seq);
	if (seq < about.first)
		sbx_error_why(err, "the records before %" PRIu64 " were deleted", about.first);
	else if (seq < n)
		sbx_error_why(err, "it is missing, although the log goes up to %" PRIu64, n - 1);
	else
		sbx_error_why(err, "the log has records %" PRIu64 " to %" PRIu64, about.first,
			      n - 1);
	sbx_error_fix(err, seq >= about.first && seq < n ? "check the log: sbx-audit verify --full"
							 : "see the last ones: sbx-audit tail");
	return -ERANGE;
}

int audit_verb_show(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_entry_free_ struct audit_entry *entry = calloc(1, sizeof(*entry));
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	struct wanted wanted = { .run = run, .entry = entry };
	int r;

	if (!entry)
		return sbx_error_what(err, -ENOMEM, "cannot read the log");
	r = audit_read_number(operands[0], &wanted.seq, err);
	if (r < 0)
		return places_status_of(r);
	r = rows_open_to_show(run, NULL, &rows, err);
	if (r < 0)
		return places_status_of(r);
	r = rows_each(&rows, wanted.seq, show_wanted, &wanted, err);
	if (r < 0)
		return places_status_of(r);
	return wanted.is_found ? TOOL_YES : places_status_of(fail_missing(&rows, wanted.seq, err));
}

/* ---- query, tail: records as text, or with --json as stored ---- */

#define ALL UINT64_MAX
#define TAIL_DEFAULT 10
#define FOLLOW_MSEC 250

struct querying {
	struct tool_run *run;
	struct row_filter *filter;
	uint64_t next; /* number after the last row that was read */
	uint64_t end;  /* no row from this number on is printed */
	uint64_t n_found;
	uint64_t n_skip; /* matching records before those to be printed */
	bool is_counting;
	bool has_said; /* the warning about the spool was printed */
};

static void querying_deinit(struct querying *querying)
{
	filter_free_ptr(&querying->filter);
}
#define _cleanup_querying_ _cleanup_(querying_deinit)

static int query_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct querying *querying = userdata;
	const struct audit_entry *said;
	int r;

	if (row->seq >= querying->end)
		return 0;
	r = filter_take(querying->filter, row, &said, err);
	querying->next = row->seq + 1;
	if (r <= 0)
		return r;
	if (querying->n_found++ < querying->n_skip || querying->is_counting)
		return 0;
	rows_show(querying->run, row, said);
	return rows_flush(querying->run, err);
}

/* Prints the last @n matching records. Those that are added after they were counted are none of
 * them. */
static int show(struct querying *querying, const struct rows *rows, uint64_t n,
		struct sbx_error *err)
{
	int r = 0;

	querying->is_counting = n < ALL;
	if (n < ALL) {
		r = rows_each(rows, 0, query_row, querying, err);
		querying->end = querying->next;
	}
	querying->n_skip = querying->n_found > n ? querying->n_found - n : 0;
	querying->is_counting = false;
	querying->n_found = 0;
	if (r >= 0)
		r = rows_each(rows, 0, query_row, querying, err);
	querying->end = UINT64_MAX;
	return r;
}

static int begin(struct querying *querying, struct tool_run *run, struct rows *ret,
		 struct sbx_error *err)
{
	int r = filter_new(run, &querying->filter, err);

	querying->run = run;
	querying->end = UINT64_MAX;
	return r < 0 ? r : rows_open_to_show(run, &querying->has_said, ret, err);
}

int audit_verb_query(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_querying_ struct querying querying = { .next = 0 };
	int r = begin(&querying, run, &rows, err);

	if (r >= 0)
		r = show(&querying, &rows, values->n_last ? values->n_last : ALL, err);
	if (r < 0)
		return places_status_of(r);
	return filter_status(querying.filter, querying.n_found > 0 ? TOOL_YES : TOOL_NO);
}

/* Runs until its reader exits, or until a signal. */
static int follow(struct querying *querying, struct sbx_error *err)
{
	for (;;) {
		_cleanup_rows_ struct rows rows = ROWS_INIT;
		int r = tool_flush(querying->run, err);

		if (r < 0)
			return r;
		(void)poll(NULL, 0, FOLLOW_MSEC);
		r = rows_open_to_show(querying->run, &querying->has_said, &rows, err);
		if (r >= 0)
			r = rows_each(&rows, querying->next, query_row, querying, err);
		if (r < 0)
			return r;
	}
}

int audit_verb_tail(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_querying_ struct querying querying = { .next = 0 };
	uint64_t n_last = TAIL_DEFAULT;
	struct sbx_error why = { .code = 0 };
	int r;

	if (values->last && units_parse_count(values->last, &n_last, &why) < 0) {
		(void)error_fill(err, -EINVAL, why.why, why.fix,
				 "option '--last' cannot take '%.100s'", values->last);
		return places_status_of(-EINVAL);
	}
	r = begin(&querying, run, &rows, err);
	if (r < 0)
		return places_status_of(r);
	r = show(&querying, &rows, n_last, err);
	if (r < 0)
		return places_status_of(r);
	querying.n_skip = 0;
	if (values->follow) {
		r = follow(&querying, err);
		if (r < 0)
			return places_status_of(r);
	}
	return filter_status(querying.filter, TOOL_YES);
}
