/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit append: stores JSON lines from a pipe as records
 *
 * Records are committed in groups: when the pipe has no more data available, or when there are
 * many. Committed records are signed when the pipe has been silent for a while, and at its end. A
 * line that is not a record is refused with its number, and the next lines are processed. A full
 * disk ends it: the error names the first line that is not in the log.
 */

#include "audit.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/lines.h"
#include "base/progress.h"
#include "record/record.h"
#include "tool.h"

#define GROUP 1000
#define SILENCE_MSEC ((int)(CHECKPOINT_INTERVAL_USEC / 1000))

struct appending {
	struct tool_run *run;
	struct audit_log *log;
	struct audit_writer writer;
	uint64_t n_added, n_refused;
	uint64_t number,
		committed_number; /* line numbers: the last one, and the last committed one */
	unsigned n_open;	  /* added but not committed */
	struct progress progress;
};

static void tell_in_json(uint64_t number, const struct sbx_error *why)
{
	_cleanup_text_ struct text message = TEXT_INIT;
	struct sbx_error told;

	(void)sbx_error_what(&told, why->code, "line %llu refused", (unsigned long long)number);
	sbx_error_why(&told, "%s", why->why[0] ? why->why : why->what);
	sbx_error_fix(&told, "%s", why->fix);
	error_add_json(&message, &told);
	(void)fd_write_all(STDERR_FILENO, text_string(&message), message.len);
}

static void tell_refused(struct appending *appending, uint64_t number, const struct sbx_error *why)
{
	appending->n_refused++;
	progress_clear(&appending->progress);
	if (appending->run->verbosity >= 0 && appending->run->json)
		tell_in_json(number, why);
	else if (appending->run->verbosity >= 0)
		log_write(&appending->run->log, LOG_LEVEL_WARNING, NULL,
			  "line %llu refused: %s%s%s%s%s", (unsigned long long)number, why->what,
			  why->why[0] ? ": " : "", why->why, why->fix[0] ? "; " : "", why->fix);
}

static int commit(struct appending *appending, struct sbx_error *err)
{
	int r = audit_log_commit(appending->log, err);

	appending->n_open = 0;
	if (r < 0)
		return r;
	appending->committed_number = appending->number;
	return 0;
}

/* Names the first line after the last commit, which the caller must append again. */
static int tell_where(const struct appending *appending, int r, struct sbx_error *err)
{
	if (r == -ENOSPC)
		sbx_error_fix(err,
			      "free space on the file system, then append again from line %llu on",
			      (unsigned long long)appending->committed_number + 1);
	return r;
}

static void refuse_length(struct sbx_error *why)
{
	(void)sbx_error_what(why, -EMSGSIZE, "it is longer than %d bytes", RECORD_BYTES_MAX);
	sbx_error_fix(why, "write a summary, and keep the rest elsewhere");
}

static int take(struct appending *appending, struct line_reader *reader, int state,
		const char *line, size_t n_bytes, struct sbx_error *err)
{
	const struct audit_values *values = appending->run->values;
	struct sbx_error why = { .code = 0 };
	int r = AUDIT_REFUSED;

	appending->number = reader->number;
	if (state == LINE_TOO_LONG)
		refuse_length(&why);
	else
		r = audit_log_add(appending->log, line, n_bytes, &appending->writer, NULL, &why);
	if (r == AUDIT_REFUSED) {
		tell_refused(appending, reader->number, &why);
		if (!values->strict)
			return 0;
		(void)sbx_error_what(err, -EINVAL, "line %llu is not a valid record",
				     (unsigned long long)reader->number);
		sbx_error_why(err, "%s", why.what);
		sbx_error_fix(err, "correct it, or leave out --strict to skip it");
		return -EINVAL;
	}
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	appending->n_added++;
	progress_show(&appending->progress, appending->n_added, 0);
	return ++appending->n_open < GROUP && lines_at_hand(reader) ? 0 : commit(appending, err);
}

/* Signs committed records when the pipe is silent. */
static int wait_for_lines(struct appending *appending, const struct line_reader *reader,
			  struct sbx_error *err)
{
	struct pollfd poller = { .fd = reader->fd, .events = POLLIN };

	if (audit_log_size(appending->log) == audit_log_checkpoint_size(appending->log) ||
	    lines_ready(reader) || poll(&poller, 1, SILENCE_MSEC) != 0)
		return 0;
	return audit_log_checkpoint(appending->log, err);
}

static int take_all(struct appending *appending, struct sbx_error *err)
{
	_cleanup_lines_ struct line_reader reader = { .fd = STDIN_FILENO, .max = RECORD_BYTES_MAX };
	size_t n_bytes;
	char *line;
	int r, state;

	do {
		r = wait_for_lines(appending, &reader, err);
		if (r < 0)
			return r;
		state = lines_next(&reader, &line, &n_bytes);
		if (state < 0)
			return sbx_error_what(err, state, "cannot read standard input");
		if (state != LINE_END)
			r = take(appending, &reader, state, line, n_bytes, err);
	} while (r == 0 && state != LINE_END);
	return r;
}

int audit_verb_append(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_audit_log_ struct audit_log *log = NULL;
	struct appending appending = { .run = run, .writer = { .uid = getuid(), .pid = getpid() } };
	struct sbx_error *rest = err;
	int r = places_open(run, &log, err), last;

	if (r < 0)
		return r;
	appending.log = log;
	tool_begin_progress(run, &appending.progress, "appending");
	r = tell_where(&appending, take_all(&appending, err), err);
	/* Records that were added before a failure are committed. */
	if (r < 0)
		rest = NULL;
	progress_clear(&appending.progress);
	last = tell_where(&appending, commit(&appending, rest), rest);
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
