/* SPDX-License-Identifier: MIT */

/*
 * The rows of a log, one segment after the other, and which of them somebody wants to see
 */

#include "audit.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "base/units.h"
#include "tool.h"

#define FLUSH_BYTES (64 * 1024)
#define NAME_DIGITS 20
#define SUFFIX ".db"

static bool is_segment(const char *name)
{
	return strspn(name, "0123456789") == NAME_DIGITS && strcmp(name + NAME_DIGITS, SUFFIX) == 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void rows_close(struct rows *rows)
{
	arena_deinit(&rows->arena);
	close_fd(&rows->folder);
}

/* Doubles the room whenever the number is a power of two. */
static int add_name(struct rows *rows, const char *name)
{
	size_t n = rows->n_names;

	if ((n & (n - 1)) == 0) {
		const char **names = arena_alloc(&rows->arena, (n ? 2 * n : 1) * sizeof(*names));

		if (!names)
			return -ENOMEM;
		for (size_t i = 0; i < n; i++)
			names[i] = rows->names[i];
		rows->names = names;
	}
	rows->names[n] = arena_copy(&rows->arena, name, strlen(name));
	if (!rows->names[n])
		return -ENOMEM;
	rows->n_names++;
	return 0;
}

static void close_listing(DIR **listing)
{
	if (*listing)
		(void)closedir(*listing);
}

static int list_segments(struct rows *rows)
{
	_cleanup_(close_listing) DIR *listing = NULL;
	_cleanup_close_ int fd = openat(rows->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int r = 0;

	listing = fd < 0 ? NULL : fdopendir(fd);
	if (!listing)
		return -errno;
	fd = -EBADF;
	while (r == 0 && (entry = readdir(listing)))
		if (is_segment(entry->d_name))
			r = add_name(rows, entry->d_name);
	if (rows->n_names > 0)
		qsort(rows->names, rows->n_names, sizeof(*rows->names), compare_names);
	return r;
}

int rows_open(const struct audit_values *values, struct rows *ret, struct sbx_error *err)
{
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	_cleanup_text_ struct text folder = TEXT_INIT;
	int r = places_folder(values, &folder, err);

	if (r < 0)
		return r;
	rows.folder = open(text_string(&folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = rows.folder < 0 ? -errno : list_segments(&rows);
	if (r == 0 && rows.n_names == 0)
		r = -ENOENT;
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot read the log '%s'", text_string(&folder));
		if (r == -ENOENT)
			sbx_error_fix(err, "make it: sbx-audit setup");
		return r;
	}
	*ret = rows;
	rows = (struct rows)ROWS_INIT;
	return 0;
}

/* Where a segment begins stands in its name. */
static uint64_t begin_of(const char *name)
{
	return strtoull(name, NULL, 10);
}

typedef int (*use_store)(struct store *store, void *userdata, struct sbx_error *err);

static int with_segment(const struct rows *rows, size_t i, use_store use, void *userdata,
			struct sbx_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	int r = store_open_to_read(rows->folder, rows->names[i], &store, err);

	if (r == 0)
		r = store_begin_reading(store, err);
	if (r < 0)
		return r;
	r = use(store, userdata, err);
	store_end_reading(store);
	return r;
}

struct reading {
	uint64_t from;
	store_visit visit;
	store_visit_note visit_note;
	void *userdata;
};

static int read_rows(struct store *store, void *userdata, struct sbx_error *err)
{
	const struct reading *reading = userdata;

	return store_each(store, reading->from, INT64_MAX, reading->visit, reading->userdata, err);
}

static int read_notes(struct store *store, void *userdata, struct sbx_error *err)
{
	const struct reading *reading = userdata;

	return store_each_checkpoint(store, 0, reading->visit_note, reading->userdata, err);
}

int rows_each(const struct rows *rows, uint64_t from, store_visit visit, void *userdata,
	      struct sbx_error *err)
{
	struct reading reading = { .from = from, .visit = visit, .userdata = userdata };
	int r = 0;

	for (size_t i = 0; r == 0 && i < rows->n_names; i++)
		if (i + 1 == rows->n_names || begin_of(rows->names[i + 1]) > from)
			r = with_segment(rows, i, read_rows, &reading, err);
	return r;
}

int rows_each_checkpoint(const struct rows *rows, store_visit_note visit, void *userdata,
			 struct sbx_error *err)
{
	struct reading reading = { .visit_note = visit, .userdata = userdata };
	int r = 0;

	for (size_t i = 0; r == 0 && i < rows->n_names; i++)
		r = with_segment(rows, i, read_notes, &reading, err);
	return r;
}

static int read_end(struct store *store, void *userdata, struct sbx_error *err)
{
	uint64_t *size = userdata, first, last;
	int r = store_bounds(store, &first, &last, err);

	if (r > 0)
		*size = last + 1;
	return r < 0 ? r : 0;
}

int rows_count(const struct rows *rows, uint64_t *ret, struct sbx_error *err)
{
	*ret = 0;
	return with_segment(rows, rows->n_names - 1, read_end, ret, err);
}

/* "10m" ago, or a moment: "2026-01-02T03:04:05Z", "2026-01-02". */
static int read_moment(const char *option, const char *text, uint64_t *ret, struct sbx_error *err)
{
	_cleanup_text_ struct text moment = TEXT_INIT;
	uint64_t ago = 0;
	struct timespec now;

	text_addf(&moment, strlen(text) == 10 && !strchr(text, 'T') ? "%sT00:00:00Z" : "%s", text);
	if (text_status(&moment) == 0 &&
	    entry_parse_time(text_string(&moment), moment.len, ret) == 0)
		return 0;
	if (isdigit((unsigned char)text[0]) && units_parse_time(text, &ago, NULL) == 0) {
		(void)clock_gettime(CLOCK_REALTIME, &now);
		*ret = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 - ago;
		return 0;
	}
	(void)sbx_error_what(err, -EINVAL, "option '%s' cannot take '%.100s'", option, text);
	sbx_error_fix(err, "write 2026-01-02, 2026-01-02T03:04:05Z, or 10m for ten minutes ago");
	return -EINVAL;
}

int filter_init(const struct audit_values *values, struct row_filter *ret, struct sbx_error *err)
{
	int r = 0;

	*ret = (struct row_filter){ .values = values, .until_usec = UINT64_MAX };
	if (values->since)
		r = read_moment("--since", values->since, &ret->since_usec, err);
	if (r == 0 && values->until)
		r = read_moment("--until", values->until, &ret->until_usec, err);
	return r;
}

static bool is_text(const struct entry_text *text, const char *wanted)
{
	return text->bytes && strlen(wanted) == text->n_bytes &&
	       memcmp(text->bytes, wanted, text->n_bytes) == 0;
}

static bool is_wanted_event(const struct audit_values *values, const struct entry_text *event)
{
	for (size_t i = 0; i < values->events.n_items; i++)
		if (is_text(event, values->events.items[i]))
			return true;
	return values->events.n_items == 0;
}

bool filter_takes(const struct row_filter *filter, const struct store_row *row)
{
	const struct audit_values *values = filter->values;

	if (row->time_usec < filter->since_usec || row->time_usec >= filter->until_usec ||
	    !is_wanted_event(values, &row->event))
		return false;
	for (size_t i = 0; i < N_ENTRY_COLUMNS; i++)
		if (values->columns[i] && !is_text(&row->columns[i], values->columns[i]))
			return false;
	return true;
}

int rows_refuse(const struct store_row *row, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EBADMSG, "record %llu cannot be read",
			     (unsigned long long)row->seq);
	sbx_error_why(err, "%s", row->problem);
	sbx_error_fix(err, "see what else is wrong: sbx-audit verify --full");
	return -EBADMSG;
}

static void add_shown(struct text *out, const struct entry_text *text)
{
	if (text->bytes)
		text_add_visible(out, text->bytes, text->n_bytes);
}

void rows_add(struct tool_run *run, const struct store_row *row)
{
	if (run->json) {
		text_add_bytes(&run->out, row->body, row->n_body);
		text_add_char(&run->out, '\n');
		return;
	}
	entry_add_time(&run->out, row->time_usec);
	text_addf(&run->out, " %8llu ", (unsigned long long)row->seq);
	add_shown(&run->out, &row->event);
	for (size_t i = 0; i < N_ENTRY_COLUMNS; i++) {
		if (!row->columns[i].bytes)
			continue;
		text_addf(&run->out, " %s=", entry_column_name((enum entry_column)i));
		add_shown(&run->out, &row->columns[i]);
	}
	text_add_char(&run->out, '\n');
}

int rows_flush(struct tool_run *run, struct sbx_error *err)
{
	return run->out.len < FLUSH_BYTES ? 0 : tool_flush(run, err);
}
