/* SPDX-License-Identifier: MIT */

/* sbx-audit query, tail: prints records as text, or with --json as stored */

#include "audit.h"

#include <errno.h>
#include <poll.h>

#include "base/units.h"
#include "tool.h"

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

static int look(void *userdata, const struct store_row *row, struct sbx_error *err)
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
		r = rows_each(rows, 0, look, querying, err);
		querying->end = querying->next;
	}
	querying->n_skip = querying->n_found > n ? querying->n_found - n : 0;
	querying->is_counting = false;
	querying->n_found = 0;
	if (r >= 0)
		r = rows_each(rows, 0, look, querying, err);
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
			r = rows_each(&rows, querying->next, look, querying, err);
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
