/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit append: JSON lines from a pipe become records
 *
 * Records are committed in groups: as soon as the pipe has nothing more at hand, or when there are
 * many. A line that is no record is refused with its number, and the rest goes on.
 */

#include "audit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/lines.h"
#include "record/record.h"
#include "tool.h"

#define GROUP 1000

struct appending {
	struct tool_run *run;
	struct audit_log *log;
	struct audit_writer writer;
	uint64_t n_added, n_refused;
	unsigned n_open; /* added and not committed */
};

static void tell_refused(struct appending *appending, uint64_t number, const struct sbx_error *why)
{
	appending->n_refused++;
	if (appending->run->verbosity >= 0)
		log_write(&appending->run->log, LOG_LEVEL_WARNING, NULL,
			  "line %llu refused: %s%s%s", (unsigned long long)number, why->what,
			  why->why[0] ? ": " : "", why->why);
}

static int commit(struct appending *appending, struct sbx_error *err)
{
	appending->n_open = 0;
	return audit_log_commit(appending->log, err);
}

static int take(struct appending *appending, const struct line_reader *reader, int state,
		const char *line, size_t n_bytes, struct sbx_error *err)
{
	const struct audit_values *values = appending->run->values;
	struct sbx_error why = { .code = 0 };
	int r = AUDIT_REFUSED;

	if (state == LINE_TOO_LONG)
		(void)sbx_error_what(&why, -EMSGSIZE, "it is longer than %d bytes",
				     RECORD_BYTES_MAX);
	else
		r = audit_log_add(appending->log, line, n_bytes, &appending->writer, NULL, &why);
	if (r == AUDIT_REFUSED) {
		tell_refused(appending, reader->number, &why);
		if (!values->strict)
			return 0;
		(void)sbx_error_what(err, -EINVAL, "line %llu is no record",
				     (unsigned long long)reader->number);
		sbx_error_why(err, "%s", why.what);
		sbx_error_fix(err, "correct it, or leave out --strict to go on without it");
		return -EINVAL;
	}
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	appending->n_added++;
	return ++appending->n_open < GROUP && lines_ready(reader) ? 0 : commit(appending, err);
}

static int take_all(struct appending *appending, struct sbx_error *err)
{
	_cleanup_lines_ struct line_reader reader = { .fd = STDIN_FILENO, .max = RECORD_BYTES_MAX };
	size_t n_bytes;
	char *line;
	int r = 0, state;

	while (r == 0 && (state = lines_next(&reader, &line, &n_bytes)) != LINE_END) {
		if (state < 0)
			return sbx_error_what(err, state, "cannot read standard input");
		r = take(appending, &reader, state, line, n_bytes, err);
	}
	return r;
}

int audit_verb_append(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_audit_log_ struct audit_log *log = NULL;
	struct appending appending = { .run = run,
				       .writer = { .uid = getuid(), .pid = getppid() } };
	struct sbx_error *rest = err;
	int r = places_open(run, &log, err), last;

	if (r < 0)
		return r;
	appending.log = log;
	r = take_all(&appending, err);
	/* What was taken before a failure stays taken. */
	if (r < 0)
		rest = NULL;
	last = commit(&appending, rest);
	if (last == 0)
		last = audit_log_checkpoint(log, rest);
	if (run->verbosity > 0)
		log_write(&run->log, LOG_LEVEL_INFO, NULL, "%llu records added, %llu lines refused",
			  (unsigned long long)appending.n_added,
			  (unsigned long long)appending.n_refused);
	if (r == -EINVAL)
		return TOOL_USAGE;
	if (r < 0 || last < 0)
		return r < 0 ? r : last;
	return appending.n_refused > 0 ? TOOL_NO : TOOL_YES;
}
