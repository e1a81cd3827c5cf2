/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a former run measured: the lines that "sbx-bench --json" wrote
 *
 * Only ratios are compared. A time belongs to the machine that took it; the ratio to a peer that
 * ran in the same minute on the same machine mostly survives a change of both.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct sbx_error;

#define BASELINE_BYTES_MAX ((size_t)1024 * 1024)

struct baseline_row {
	char *name;
	bool has_ratio; /* the peer was there */
	double ratio;
	bool compared; /* starts false; for whoever compares */
};

struct baseline {
	struct baseline_row *rows;
	size_t n_rows;
};

#define BASELINE_INIT                                                                              \
	{                                                                                          \
		.rows = NULL                                                                       \
	}
#define _cleanup_baseline_ _cleanup_(baseline_deinit)

/*
 * Reads the lines in @bytes; @name stands before the place of what is wrong. Refused (-EINVAL): a
 * line that is no JSON object, has no name, no ratio or one that is neither positive nor null, a
 * benchmark that stands there twice, and a text without any line.
 */
int baseline_parse(const char *name, const char *bytes, size_t n_bytes, struct baseline *ret,
		   struct sbx_error *err);
/* The same from a regular file; anything else is refused, so that nothing is waited for. */
int baseline_read(const char *path, struct baseline *ret, struct sbx_error *err);
void baseline_deinit(struct baseline *baseline);

/* NULL where the former run did not have it. */
struct baseline_row *baseline_find(const struct baseline *baseline, const char *name);
/* How much larger @ratio is than the row's, in percent; negative where it became faster. */
double baseline_change_percent(const struct baseline_row *row, double ratio);
