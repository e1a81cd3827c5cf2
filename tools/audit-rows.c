/* SPDX-License-Identifier: MIT */

/* The rows of a log, segment by segment, and the filter of records */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/key.h"
#include "base/moment.h"
#include "base/units.h"
#include "tool.h"

#define FLUSH_BYTES (64 * 1024)

void rows_close(struct rows *rows)
{
	segment_list_deinit(&rows->list);
	close_fd(&rows->directory);
}

int rows_open(const struct audit_values *values, struct rows *ret, struct sbx_error *err)
{
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_text_ struct text directory = TEXT_INIT;
	int r = places_directory(values, &directory, err);

	if (r < 0)
		return r;
	rows.directory = open(text_string(&directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = rows.directory < 0 ? -errno : segment_list(rows.directory, &rows.list);
	if (r == 0 && rows.list.n == 0)
		r = -ENOENT;
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot read the log '%s'", text_string(&directory));
		places_explain(values, r, err);
		return r;
	}
	*ret = rows;
	rows = (struct rows)ROWS_INIT;
	return 0;
}

/* Any error of the file system or of SQLite means that the log cannot be read. */
static int unreadable(int r)
{
	return r >= 0 || r == -ENOMEM ? r : -EBADMSG;
}

int rows_open_to_show(struct tool_run *run, bool *has_said, struct rows *ret, struct sbx_error *err)
{
	int r = unreadable(rows_open(run->values, ret, err));

	if (r < 0)
		return r;
	/* Imported records go into the last segment, which is in the list. */
	places_take_in(run, has_said);
	return 0;
}

/* The segment may have been archived since the directory was read. */
int rows_open_segment(const struct rows *rows, size_t i, struct segment **ret,
		      struct sbx_error *err)
{
	struct segment_file file = rows->list.files[i];
	struct sbx_error why = { .code = 0 };
	int r = segment_open_patiently(rows->directory, &file, ret, &why);

	if (r == -ENOENT && file.kind == SEGMENT_STORE) {
		segment_become_archive(&file);
		r = segment_open_patiently(rows->directory, &file, ret, &why);
	}
	if (r < 0 && err)
		*err = why;
	return unreadable(r);
}

/* ---- records ---- */

int rows_each(const struct rows *rows, uint64_t from, store_visit visit, void *userdata,
	      struct sbx_error *err)
{
	const struct segment_list *list = &rows->list;
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		_cleanup_segment_ struct segment *segment = NULL;

		if (i + 1 < list->n && list->files[i + 1].first <= from)
			continue;
		r = rows_open_segment(rows, i, &segment, err);
		if (r >= 0)
			r = segment_each(segment, from, INT64_MAX, visit, userdata, err);
	}
	return r;
}

/* ---- checkpoints ---- */

/* Each checkpoint once: a segment repeats the last one of the previous segment. */
struct notes {
	uint64_t size; /* size of the last checkpoint */
	uint64_t end;  /* later ones are in segments */
	store_visit_note visit;
	void *userdata;
};

static int read_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct notes *notes = userdata;

	if (size <= notes->size || size > notes->end)
		return 0;
	notes->size = size;
	return notes->visit(notes->userdata, size, note, n_bytes, err);
}

/* Of deleted segments only checkpoints that end an epoch exist, in the file of epochs. */
int rows_each_checkpoint(const struct rows *rows, store_visit_note visit, void *userdata,
			 struct sbx_error *err)
{
	uint64_t first = rows->list.files[0].first;
	struct notes notes = { .end = first, .visit = visit, .userdata = userdata };
	int r = first > 0 ? epochs_each(rows->directory, read_note, &notes, err) : 0;

	if (r != 0)
		return r;
	notes.end = INT64_MAX;
	for (size_t i = 0; i < rows->list.n; i++) {
		_cleanup_segment_ struct segment *segment = NULL;

		r = rows_open_segment(rows, i, &segment, err);
		if (r < 0)
			return r;
		r = segment_each_checkpoint(segment, 0, read_note, &notes, err);
		if (r != 0)
			return r;
	}
	return 0;
}

/* ---- begin and size ---- */

int rows_read_begin(const struct rows *rows, struct segment_about *ret, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	int r = rows_open_segment(rows, 0, &segment, err);

	return r < 0 ? r : segment_read_about(segment, ret, err);
}

int rows_count(const struct rows *rows, uint64_t *ret, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	struct segment_about about;
	int r = rows_open_segment(rows, rows->list.n - 1, &segment, err);

	if (r >= 0)
		r = segment_read_about(segment, &about, err);
	if (r < 0)
		return r;
	*ret = about.size;
	return 0;
}

/* ---- the filter ---- */

#define USEC_PER_DAY (86400 * USEC_PER_SEC)

/* "today" and "yesterday" begin at midnight UTC, as dates do. */
static bool read_day(const char *text, uint64_t *ret)
{
	uint64_t now = moment_now(CLOCK_REALTIME), today = now - now % USEC_PER_DAY;

	if (strcmp(text, "today") == 0)
		*ret = today;
	else if (strcmp(text, "yesterday") == 0)
		*ret = today - USEC_PER_DAY;
	else
		return false;
	return true;
}

/* "2h" and "-2h" mean two hours ago. */
static bool read_ago(const char *text, uint64_t *ret)
{
	uint64_t ago, now = moment_now(CLOCK_REALTIME);

	if (units_parse_time(text + (text[0] == '-'), &ago, NULL) < 0)
		return false;
	*ret = ago < now ? now - ago : 0;
	return true;
}

static int read_moment(const char *option, const char *text, uint64_t *ret, struct sbx_error *err)
{
	_cleanup_text_ struct text moment = TEXT_INIT;

	if (read_day(text, ret) || read_ago(text, ret))
		return 0;
	text_addf(&moment, strlen(text) == 10 && !strchr(text, 'T') ? "%sT00:00:00Z" : "%s", text);
	if (text_status(&moment) == 0 && moment_parse(text_string(&moment), moment.len, ret) == 0)
		return 0;
	return error_fill(err, -EINVAL, "it is neither a date nor a time before now",
			  "write today, yesterday, 2026-01-02, 2026-01-02T03:04:05Z, or 2h for "
			  "two hours ago",
			  "option '%s' cannot take '%.100s'", option, text);
}

struct row_filter {
	struct tool_run *run;
	uint64_t since_usec, until_usec;
	struct entry_text columns[N_ENTRY_COLUMNS]; /* without bytes: any */
	bool has_passed_over;			    /* a record could not be read */
	struct audit_entry entry;
};

void filter_free_ptr(struct row_filter **filter)
{
	if (*filter)
		entry_deinit(&(*filter)->entry);
	free(*filter);
	*filter = NULL;
}

int filter_new(struct tool_run *run, struct row_filter **ret, struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	_cleanup_filter_ struct row_filter *filter = calloc(1, sizeof(*filter));
	int r;

	if (!filter)
		return sbx_error_what(err, -ENOMEM, "cannot read the log");
	filter->run = run;
	filter->until_usec = UINT64_MAX;
	for (size_t i = 0; i < N_ENTRY_COLUMNS; i++) {
		struct entry_text *column = &filter->columns[i];

		if (!values->columns[i])
			continue;
		*column = (struct entry_text){ values->columns[i], strlen(values->columns[i]) };
		entry_make_column((enum entry_column)i, column);
	}
	/* An unknown event name is a usage error (2), not an empty result (1). */
	for (size_t i = 0; i < values->events.n_items; i++) {
		const char *name = values->events.items[i];

		if (!event_of(name, strlen(name)))
			return event_unknown_in_log(name, strlen(name), err);
	}
	r = values->since ? read_moment("--since", values->since, &filter->since_usec, err) : 0;
	if (r < 0)
		return r;
	r = values->until ? read_moment("--until", values->until, &filter->until_usec, err) : 0;
	if (r < 0)
		return r;
	*ret = take_ptr(filter);
	return 0;
}

bool rows_text_is(const struct entry_text *text, const char *wanted, size_t n_bytes)
{
	return text->bytes && text->n_bytes == n_bytes && memcmp(text->bytes, wanted, n_bytes) == 0;
}

static bool is_wanted_event(const struct audit_values *values, const char *event)
{
	for (size_t i = 0; i < values->events.n_items; i++)
		if (strcmp(event, values->events.items[i]) == 0)
			return true;
	return values->events.n_items == 0;
}

static bool is_wanted(const struct row_filter *filter, const struct audit_entry *said)
{
	const struct audit_values *values = filter->run->values;

	if (said->time_usec < filter->since_usec || said->time_usec >= filter->until_usec ||
	    !is_wanted_event(values, said->event->name))
		return false;
	for (size_t i = 0; i < N_ENTRY_COLUMNS; i++) {
		const struct entry_text *column = &filter->columns[i];

		if (column->bytes &&
		    !rows_text_is(&said->columns[i], column->bytes, column->n_bytes))
			return false;
	}
	return true;
}

int filter_take(struct row_filter *filter, const struct store_row *row,
		const struct audit_entry **ret, struct sbx_error *err)
{
	int r = row->problem ? -EBADMSG
			     : entry_read_stored(&filter->entry, row->body, row->n_body, NULL);

	*ret = NULL;
	if (r == -ENOMEM)
		return sbx_error_what(err, r, "cannot read record %" PRIu64, row->seq);
	if (r >= 0) {
		*ret = &filter->entry;
		return is_wanted(filter, *ret);
	}
	/* Warns once; sbx-audit verify finds out what is wrong with the log. */
	if (!filter->has_passed_over)
		log_write(&filter->run->log, LOG_LEVEL_WARNING, NULL,
			  "record %" PRIu64
			  " cannot be read (%s); see what else is wrong: sbx-audit "
			  "verify --full",
			  row->seq, row->problem ? row->problem : "it is not a record");
	filter->has_passed_over = true;
	return 0;
}

int filter_status(const struct row_filter *filter, int status)
{
	return filter->has_passed_over ? TOOL_UNREADABLE : status;
}

int rows_refuse(const struct store_row *row, struct sbx_error *err)
{
	return error_fill(err, -EBADMSG, row->problem ? row->problem : "it is not a record",
			  "check the log: sbx-audit verify --full",
			  "record %" PRIu64 " cannot be read", row->seq);
}

void rows_show(struct tool_run *run, const struct store_row *row, const struct audit_entry *said)
{
	_cleanup_details_ struct details details = { .size = 0 };

	if (run->json) {
		text_add_bytes(&run->out, row->body, row->n_body);
		text_add_char(&run->out, '\n');
		return;
	}
	details_read(row->body, row->n_body, &details);
	moment_add(&run->out, said->time_usec);
	text_addf(&run->out, " %8llu %s", (unsigned long long)row->seq, said->event->name);
	for (size_t i = 0; i < N_ENTRY_COLUMNS; i++) {
		const struct entry_text *text = &said->columns[i];

		if (text->bytes)
			details_add_field(&run->out, entry_column_name((enum entry_column)i),
					  text->bytes, text->n_bytes);
	}
	details_add_text(&run->out, &details);
	text_add_char(&run->out, '\n');
}

int rows_flush(struct tool_run *run, struct sbx_error *err)
{
	return run->out.len < FLUSH_BYTES ? 0 : tool_flush(run, err);
}
