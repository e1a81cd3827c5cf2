/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit stats, export: counts all records, and prints all records as lines that can be verified
 */

#include "audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/moment.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/table.h"
#include "tool.h"

#define EVENTS_MAX 64
#define REASONS_MAX 32
#define REASON_SIZE 32
#define EXITED "exit status not 0"
#define OTHERS "other reasons"

static const char *const decisions[] = { "allow", "warn", "require_review", "deny", "pass", NULL };
#define N_DECISIONS (N_ELEMENTS(decisions) - 1)

/* How often commands failed for this reason. */
struct failure {
	char reason[REASON_SIZE];
	uint64_t n;
};

struct counting {
	struct row_filter *filter;
	struct details details;
	struct progress progress;
	uint64_t n_rows;
	uint64_t n, first_usec, last_usec;
	uint64_t events[EVENTS_MAX];
	uint64_t decisions[N_DECISIONS];
	struct failure failures[REASONS_MAX];
	size_t n_reasons;
	uint64_t n_failures;
	uint64_t verified_size, verified_usec; /* 0: never, or unknown */
	uint64_t n_bytes;		       /* of all segments */
	size_t n_segments;
};

static void counting_deinit(struct counting *counting)
{
	details_deinit(&counting->details);
	filter_free_ptr(&counting->filter);
	progress_clear(&counting->progress);
}
#define _cleanup_counting_ _cleanup_(counting_deinit)

/* ---- counting ---- */

static void add_failure(struct counting *counting, const char *reason)
{
	size_t i = 0;

	while (i < counting->n_reasons && strcmp(counting->failures[i].reason, reason) != 0)
		i++;
	/* The last element counts all reasons that have none of their own. */
	if (i == counting->n_reasons && i == REASONS_MAX - 1)
		reason = OTHERS;
	if (i == counting->n_reasons && i < REASONS_MAX)
		counting->n_reasons++;
	if (i == REASONS_MAX)
		i = REASONS_MAX - 1;
	if (counting->failures[i].n == 0)
		(void)snprintf(counting->failures[i].reason, REASON_SIZE, "%s", reason);
	counting->failures[i].n++;
	counting->n_failures++;
}

static bool is_event(const struct audit_entry *said, const char *name)
{
	return strcmp(said->event->name, name) == 0;
}

/* A failed sandbox has a reason; a command that exited has a status. */
static void count_failure(struct counting *counting, const struct audit_entry *said,
			  const struct store_row *row)
{
	const struct details *details = &counting->details;
	bool has_failed = is_event(said, "sandbox_failed");

	if (!has_failed && !is_event(said, "sandbox_destroyed") && !is_event(said, "tool_result"))
		return;
	details_read(row->body, row->n_body, &counting->details);
	if (has_failed)
		add_failure(counting, details->reason.len > 0 ? text_string(&details->reason)
							      : "no reason given");
	else if (details->has_status && details->status != 0)
		add_failure(counting, EXITED);
}

static int count(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct counting *counting = userdata;
	const struct audit_event *event;
	const struct audit_entry *said = NULL;
	int r = filter_take(counting->filter, row, &said, err);

	progress_show(&counting->progress, ++counting->n_rows, 0);
	/* The service verifies the log at its start, and records that. */
	if (said && is_event(said, "log_verified")) {
		details_read(row->body, row->n_body, &counting->details);
		counting->verified_size = counting->details.size;
		counting->verified_usec = said->time_usec;
	}
	if (r <= 0 || !said)
		return r < 0 ? r : 0;
	if (counting->n++ == 0 || said->time_usec < counting->first_usec)
		counting->first_usec = said->time_usec;
	if (said->time_usec > counting->last_usec)
		counting->last_usec = said->time_usec;
	for (size_t i = 0; i < EVENTS_MAX && (event = event_at(i)); i++)
		counting->events[i] += event == said->event;
	for (size_t i = 0; i < N_DECISIONS; i++)
		counting->decisions[i] += rows_text_is(&said->columns[ENTRY_DECISION], decisions[i],
						       strlen(decisions[i]));
	count_failure(counting, said, row);
	return 0;
}

/* ---- as JSON ---- */

static void add_json_time(struct json_writer *json, const char *name, bool is_known, uint64_t usec)
{
	_cleanup_text_ struct text time = TEXT_INIT;

	moment_add(&time, usec);
	json_member_string(json, name, is_known ? text_string(&time) : NULL);
}

static void add_json_counts(struct json_writer *json, const struct counting *counting)
{
	const struct audit_event *event;

	json_member_object(json, "events");
	for (size_t i = 0; i < EVENTS_MAX && (event = event_at(i)); i++)
		if (counting->events[i] > 0)
			json_member_u64(json, event->name, counting->events[i]);
	json_end_object(json);
	json_member_object(json, "decisions");
	for (size_t i = 0; i < N_DECISIONS; i++)
		if (counting->decisions[i] > 0)
			json_member_u64(json, decisions[i], counting->decisions[i]);
	json_end_object(json);
	json_member_object(json, "failures");
	for (size_t i = 0; i < counting->n_reasons; i++)
		json_member_u64(json, counting->failures[i].reason, counting->failures[i].n);
	json_end_object(json);
}

static void add_json(struct text *out, const struct counting *counting)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_u64(&json, "records", counting->n);
	add_json_time(&json, "first", counting->n > 0, counting->first_usec);
	add_json_time(&json, "last", counting->n > 0, counting->last_usec);
	json_member_u64(&json, "bytes", counting->n_bytes);
	json_member_u64(&json, "segments", counting->n_segments);
	add_json_time(&json, "verified", counting->verified_usec > 0, counting->verified_usec);
	json_member_u64(&json, "verified_size", counting->verified_size);
	add_json_counts(&json, counting);
	json_end_line(&json);
}

/* ---- as tables ---- */

/* With at least two digits: "52KiB", "1024MiB". */
static void add_size(struct text *out, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	for (; bytes >= 10240 && i + 1 < N_ELEMENTS(units); i++)
		bytes = (bytes + 512) / 1024;
	text_addf(out, "%" PRIu64 "%s", bytes, units[i]);
}

static void add_time(struct table *table, const char *name, uint64_t usec)
{
	_cleanup_text_ struct text time = TEXT_INIT;

	moment_add(&time, usec);
	table_add(table, name);
	table_add(table, text_string(&time));
}

static void add_verified(struct table *table, const struct counting *counting,
			 const struct audit_values *values)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	table_add(table, "verified");
	if (counting->verified_usec == 0) {
		table_add(table,
			  values->directory ? "not known (verify --log keeps no state)" : "never");
		return;
	}
	text_add_count(&text, counting->verified_size, "record");
	text_add(&text, " at ");
	moment_add(&text, counting->verified_usec);
	table_add(table, text_string(&text));
}

static void add_summary(struct text *out, const struct counting *counting,
			const struct audit_values *values)
{
	_cleanup_table_ struct table table = { .n_columns = 2 };
	_cleanup_text_ struct text size = TEXT_INIT;

	table_add(&table, "records");
	table_add_number(&table, counting->n);
	if (counting->n > 0) {
		add_time(&table, "first", counting->first_usec);
		add_time(&table, "last", counting->last_usec);
	}
	table_add(&table, "failures");
	table_add_number(&table, counting->n_failures);
	add_size(&size, counting->n_bytes);
	text_add(&size, " in ");
	text_add_count(&size, counting->n_segments, "segment");
	table_add(&table, "size");
	table_add(&table, text_string(&size));
	add_verified(&table, counting, values);
	table_print(&table, out);
}

static void begin_counts(struct table *table, const char *name)
{
	table_add(table, name);
	table_add(table, "RECORDS");
}

static void end_counts(const struct table *table, struct text *out)
{
	if (table->n_cells == 2)
		return;
	text_add_char(out, '\n');
	table_print(table, out);
}

static void add_count(struct table *table, const char *name, uint64_t n)
{
	if (n == 0)
		return;
	table_add(table, name);
	table_add_number(table, n);
}

static void add_text(struct text *out, const struct counting *counting,
		     const struct audit_values *values)
{
	_cleanup_table_ struct table events = { .n_columns = 2, .numbers = 1 << 1 },
				     verdicts = events, failures = events;
	const struct audit_event *event;

	add_summary(out, counting, values);
	begin_counts(&events, "EVENT");
	for (size_t i = 0; i < EVENTS_MAX && (event = event_at(i)); i++)
		add_count(&events, event->name, counting->events[i]);
	end_counts(&events, out);
	begin_counts(&verdicts, "VERDICT");
	for (size_t i = 0; i < N_DECISIONS; i++)
		add_count(&verdicts, decisions[i], counting->decisions[i]);
	end_counts(&verdicts, out);
	begin_counts(&failures, "FAILURE");
	for (size_t i = 0; i < counting->n_reasons; i++) {
		_cleanup_text_ struct text shown = TEXT_INIT;
		const char *reason = counting->failures[i].reason;

		text_add_visible_string(&shown, reason);
		add_count(&failures, text_string(&shown), counting->failures[i].n);
	}
	end_counts(&failures, out);
}

int audit_verb_stats(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_counting_ struct counting counting = { .progress = PROGRESS_INIT };
	uint64_t size, usec;
	int r = filter_new(run, &counting.filter, err);

	if (r >= 0)
		r = rows_open_to_show(run, NULL, &rows, err);
	if (r < 0)
		return places_status_of(r);
	tool_begin_progress(run, &counting.progress, "counting");
	r = rows_each(&rows, 0, count, &counting, err);
	progress_clear(&counting.progress);
	if (r < 0)
		return places_status_of(r);
	counting.n_segments = rows.list.n;
	for (size_t i = 0; i < rows.list.n; i++)
		counting.n_bytes += rows.list.files[i].n_bytes;
	/* 'sbx-audit verify' stores its result beside the log. */
	if (known_read_last(run->values, &size, &usec) > 0 && usec >= counting.verified_usec) {
		counting.verified_size = size;
		counting.verified_usec = usec;
	}
	if (run->json)
		add_json(&run->out, &counting);
	else
		add_text(&run->out, &counting, run->values);
	return filter_status(counting.filter, TOOL_YES);
}

/* ---- export ---- */

/* {"seq":N,"hash":BASE64,"record":STRING}: the string contains the stored bytes. */
static int export_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct tool_run *run = userdata;
	_cleanup_text_ struct text hash = TEXT_INIT;
	struct json_writer json;

	if (row->problem)
		return rows_refuse(row, err);
	base64_add(&hash, row->hash.bytes, sizeof(row->hash.bytes));
	json_begin_object(&json, &run->out);
	json_member_u64(&json, "seq", row->seq);
	json_member_string(&json, "hash", text_string(&hash));
	json_add_name(&json, "record");
	json_add_string_bytes(&json, row->body, row->n_body);
	json_end_line(&json);
	return rows_flush(run, err);
}

static int export_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		       struct sbx_error *err)
{
	struct tool_run *run = userdata;
	struct json_writer json;

	json_begin_object(&json, &run->out);
	json_member_u64(&json, "size", size);
	json_add_name(&json, "checkpoint");
	json_add_string_bytes(&json, note, n_bytes);
	json_end_line(&json);
	return rows_flush(run, err);
}

static int export_rows(struct tool_run *run, const struct rows *rows, struct sbx_error *err)
{
	int r = rows_each(rows, 0, export_row, run, err);

	return r < 0 ? r : rows_each_checkpoint(rows, export_note, run, err);
}

int audit_verb_export(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	int r = values->archive ? audit_check_archive_name(values->archive, err) : 0;

	if (values->segment && !values->archive) {
		(void)error_fill(err, -EINVAL, "it says which segment the archive has",
				 "add --archive=FILE.tar.zst, or leave it out",
				 "--segment has no effect without --archive");
		return TOOL_USAGE;
	}
	if (r < 0)
		return places_status_of(r);
	r = rows_open_to_show(run, NULL, &rows, err);
	if (r < 0)
		return places_status_of(r);
	r = values->archive ? audit_export_archive(run, &rows, err) : export_rows(run, &rows, err);
	return r < 0 ? places_status_of(r) : TOOL_YES;
}
