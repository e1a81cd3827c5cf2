/* SPDX-License-Identifier: MIT */

/*
 * A carriage return and "erase to the end of the line" overwrite the line. The caller decides
 * whether to show it, from --quiet, --json and the configuration.
 */

#include "base/moment.h"
#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"

#define FIRST_USEC UINT64_C(1000000)
#define EACH_USEC UINT64_C(200000)
#define LINE_SIZE 128
#define CLEAR "\r\033[K"

void progress_begin(struct progress *progress, int fd, const char *what, const char *unit)
{
	*progress = (struct progress){ .fd = fd,
				       .what = what,
				       .unit = unit,
				       .begin_usec = fd < 0 ? 0 : moment_now(CLOCK_MONOTONIC) };
}

static bool is_due(const struct progress *progress, uint64_t now)
{
	return now >= progress->begin_usec + FIRST_USEC &&
	       (progress->shown_usec == 0 || now >= progress->shown_usec + EACH_USEC);
}

void progress_show_at(struct progress *progress, uint64_t now, uint64_t done, uint64_t total)
{
	char line[LINE_SIZE];

	if (progress->fd < 0 || !is_due(progress, now))
		return;
	if (total > 0)
		(void)snprintf(line, sizeof(line),
			       CLEAR "%s: %" PRIu64 " of %" PRIu64 " %s (%" PRIu64 "%%)",
			       progress->what, done, total, progress->unit,
			       done < total ? (uint64_t)((double)done * 100 / (double)total) : 100);
	else
		(void)snprintf(line, sizeof(line), CLEAR "%s: %" PRIu64 " %s", progress->what, done,
			       progress->unit);
	(void)fd_write_all(progress->fd, line, strlen(line));
	progress->shown_usec = now;
	progress->is_shown = true;
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total)
{
	if (progress->fd >= 0)
		progress_show_at(progress, moment_now(CLOCK_MONOTONIC), done, total);
}

void progress_clear(struct progress *progress)
{
	if (progress->is_shown)
		(void)fd_write_all(progress->fd, CLEAR, strlen(CLEAR));
	progress->is_shown = false;
}
