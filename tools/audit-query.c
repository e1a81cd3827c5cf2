/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit query, tail: records for people, and for other programs with --json
 */

#include "audit.h"

#include <errno.h>
#include <poll.h>

#include <sbx/error.h>

#include "tool.h"

#define TAIL_DEFAULT 10
#define FOLLOW_MSEC 250

struct querying {
	struct tool_run *run;
	struct row_filter filter;
	uint64_t next; /* the number behind the last row that was seen */
	uint64_t n_found;
	uint64_t n_skip; /* of those found: so many come before the last ones */
	bool is_counting;
};

static int look(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct querying *querying = userdata;

	if (row->problem)
		return rows_refuse(row, err);
	querying->next = row->seq + 1;
	if (!filter_takes(&querying->filter, row))
		return 0;
	if (querying->n_found++ < querying->n_skip || querying->is_counting)
		return 0;
	rows_add(querying->run, row);
	return rows_flush(querying->run, err);
}

/* The last @n of what the filter takes, or all of it. */
static int show(struct querying *querying, const struct rows *rows, uint64_t n,
		struct sbx_error *err)
{
	int r = 0;

	querying->is_counting = n > 0;
	if (n > 0)
		r = rows_each(rows, 0, look, querying, err);
	querying->n_skip = querying->n_found > n ? querying->n_found - n : 0;
	if (n == 0)
		querying->n_skip = 0;
	querying->is_counting = false;
	querying->n_found = 0;
	return r < 0 ? r : rows_each(rows, 0, look, querying, err);
}

static int begin(struct querying *querying, struct tool_run *run, struct rows *ret,
		 struct sbx_error *err)
{
	int r = places_take_in(run, err);

	querying->run = run;
	if (r == 0)
		r = filter_init(run->values, &querying->filter, err);
	return r < 0 ? r : rows_open(run->values, ret, err);
}

static int status_of(int r)
{
	return r == -EINVAL ? TOOL_USAGE : r == -EBADMSG ? TOOL_UNREADABLE : r;
}

int audit_verb_query(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct audit_values *values = run->values;
	_cleanup_rows_ struct rows rows = ROWS_INIT;
	struct querying querying = { .next = 0 };
	int r = begin(&querying, run, &rows, err);

	if (r == 0)
		r = show(&querying, &rows, values->n_last, err);
	if (r < 0)
		return status_of(r);
	return querying.n_found > 0 ? TOOL_YES : TOOL_NO;
}

/* Ends with the reader of its output, or by a signal. */
static int follow(struct querying *querying, struct sbx_error *err)
{
	for (;;) {
		_cleanup_rows_ struct rows rows = ROWS_INIT;
		int r = tool_flush(querying->run, err);

		if (r == 0)
			(void)poll(NULL, 0, FOLLOW_MSEC);
		if (r == 0)
			r = places_take_in(querying->run, err);
		if (r == 0)
			r = rows_open(querying->run->values, &rows, err);
		if (r == 0)
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
	struct querying querying = { .next = 0 };
	int r = begin(&querying, run, &rows, err);

	if (r == 0)
		r = show(&querying, &rows, values->n_last ? values->n_last : TAIL_DEFAULT, err);
	querying.n_skip = 0;
	if (r == 0 && values->follow)
		r = follow(&querying, err);
	return r < 0 ? status_of(r) : TOOL_YES;
}
