/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Progress of long work: one line, which is overwritten and finally cleared
 *
 * Nothing is shown during the first second, and the line changes at most every 200 ms, so a loop
 * may report each of its steps.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct progress {
	int fd;		  /* a terminal; -EBADF: nothing is shown */
	const char *what; /* "verifying" */
	const char *unit; /* "records" */
	uint64_t begin_usec, shown_usec;
	bool is_shown;
};

#define PROGRESS_INIT                                                                              \
	{                                                                                          \
		.fd = -EBADF                                                                       \
	}
#define _cleanup_progress_ _cleanup_(progress_clear)

void progress_begin(struct progress *progress, int fd, const char *what, const char *unit);
/* @total is 0 if it is not known. */
void progress_show(struct progress *progress, uint64_t done, uint64_t total);
/* The same at the time @now_usec of CLOCK_MONOTONIC. */
void progress_show_at(struct progress *progress, uint64_t now_usec, uint64_t done, uint64_t total);
/* Clears the line; call it before other output and at the end. */
void progress_clear(struct progress *progress);
