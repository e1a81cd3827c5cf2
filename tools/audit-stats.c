/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit stats, export: all records counted, and all records as lines that can be verified again
 */

#include "audit.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "audit/event.h"
#include "base/json.h"
#include "tool.h"

#define EVENTS_MAX 64
static const char *const decisions[] = { "allow", "warn", "require_review", "deny", NULL };
#define N_DECISIONS (N_ELEMENTS(decisions) - 1)

struct counting {
	struct row_filter *filter;
	uint64_t n, first_usec, last_usec;
	uint64_t events[EVENTS_MAX];
	uint64_t decisions[N_DECISIONS];
};

static int count(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct counting *counting = userdata;
	const struct audit_event *event;
	struct entry_said said;
	int r = filter_take(counting->filter, row, &said, err);

	if (r <= 0)
		return r;
	if (counting->n++ == 0 || said.time_usec < counting->first_usec)
		counting->first_usec = said.time_usec;
	if (said.time_usec > counting->last_usec)
		counting->last_usec = said.time_usec;
	for (size_t i = 0; i < EVENTS_MAX && (event = event_at(i)); i++)
		counting->events[i] += event == said.event;
	for (size_t i = 0; i < N_DECISIONS; i++)
		counting->decisions[i] += rows_text_is(&said.columns[ENTRY_DECISION], decisions[i]);
	return 0;
}

static void add_json(struct text *out, const struct counting *counting)
{
	_cleanup_text_ struct text time = TEXT_INIT;
	const struct audit_event *event;
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	json_member_u64(&json, "records", counting->n);
	entry_add_time(&time, counting->first_usec);
	json_member_string(&json, "first", counting->n ? text_string(&time) : NULL);
	text_reset(&time);
	entry_add_time(&time, counting->last_usec);
	json_member_string(&json, "last", counting->n ? text_string(&time) : NULL);
	json_add_name(&json, "events");
	json_add_object(&json);
	for (size_t i = 0; i < EVENTS_MAX && (event = event_at(i)); i++)
		if (counting->events[i] > 0)
			json_member_u64(&json, event->name, counting->events[i]);
	json_end_object(&json);
	json_add_name(&json, "decisions");
	json_add_object(&json);
	for (size_t i = 0; i < N_DECISIONS; i++)
		if (counting->decisions[i] > 0)
			json_member_u64(&json, decisions[i], counting->decisions[i]);
	json_end_object(&json);
	json_end_object(&json);
	text_add_char(out, '\n');
}

static void add_text(struct text *out, const struct counting *counting)
{
	const struct audit_event *event;

	text_addf(out, "records %llu\n", (unsigned long long)counting->n);
	if (counting->n == 0)
		return;
	text_add(out, "first ");
	entry_add_time(out, counting->first_usec);
	text_add(out, "\nlast  ");
	entry_add_time(out, counting->last_usec);
	text_add_char(out, '\n');
	for (size_t i = 0; i < EVENTS_MAX && (event = event_at(i)); i++)
		if (counting->events[i] > 0)
			text_addf(out, "event %s %llu\n", event->name,
				  (unsigned long long)counting->events[i]);
	for (size_t i = 0; i < N_DECISIONS; i++)
		if (counting->decisions[i] > 0)
			text_addf(out, "decision %s %llu\n", decisions[i],
				  (unsigned long long)counting->decisions[i]);
}

int audit_verb_stats(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_filter_ struct row_filter *filter = NULL;
	struct counting counting = { .n = 0 };
	int r = filter_new(run, &filter, err);

	counting.filter = filter;
	if (r == 0)
		r = rows_open_to_show(run, NULL, &rows, err);
	if (r == 0)
		r = rows_each(&rows, 0, count, &counting, err);
	if (r < 0)
		return places_status_of(r);
	(run->json ? add_json : add_text)(&run->out, &counting);
	return filter_status(filter, TOOL_YES);
}

/* ---- export ---- */

/* {"seq":N,"hash":BASE64,"record":STRING}: the string holds the stored bytes. */
static int export_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct tool_run *run = userdata;
	_cleanup_text_ struct text hash = TEXT_INIT;
	struct json_writer json;

	if (row->problem)
		return rows_refuse(row, err);
	base64_add(&hash, row->hash.bytes, sizeof(row->hash.bytes));
	json_write(&json, &run->out);
	json_add_object(&json);
	json_member_u64(&json, "seq", row->seq);
	json_member_string(&json, "hash", text_string(&hash));
	json_add_name(&json, "record");
	json_add_string_bytes(&json, row->body, row->n_body);
	json_end_object(&json);
	text_add_char(&run->out, '\n');
	return rows_flush(run, err);
}

static int export_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		       struct sbx_error *err)
{
	struct tool_run *run = userdata;
	struct json_writer json;

	json_write(&json, &run->out);
	json_add_object(&json);
	json_member_u64(&json, "size", size);
	json_add_name(&json, "checkpoint");
	json_add_string_bytes(&json, note, n_bytes);
	json_end_object(&json);
	text_add_char(&run->out, '\n');
	return rows_flush(run, err);
}

int audit_verb_export(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	int r = rows_open_to_show(run, NULL, &rows, err);

	if (r == 0 && values->archive)
		r = audit_export_archive(run, &rows, err);
	if (r == 0 && !values->archive)
		r = rows_each(&rows, 0, export_row, run, err);
	if (r == 0 && !values->archive)
		r = rows_each_checkpoint(&rows, export_note, run, err);
	return r < 0 ? places_status_of(r) : TOOL_YES;
}
