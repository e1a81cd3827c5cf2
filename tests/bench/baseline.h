/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A baseline: the lines that an earlier "sbx-bench --json" wrote
 *
 * Only ratios are compared. A time depends on the host; the ratio to a peer that ran in the same
 * minute on the same host mostly does not.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct sbx_error;

#define BASELINE_BYTES_MAX ((size_t)1024 * 1024)

struct baseline_row {
	char *name;
	bool has_ratio; /* the peer was installed */
	double ratio;
	bool compared; /* starts false; used by the comparison */
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
 * Parses the lines in @bytes; @name precedes the place in messages. -EINVAL: a line is not a JSON
 * object, has no name, no ratio or one that is neither positive nor null, a benchmark occurs twice,
 * or there is no line.
 */
int baseline_parse(const char *name, const char *bytes, size_t n_bytes, struct baseline *ret,
		   struct sbx_error *err);
/* The same from a regular file; other types are refused, so that it never blocks. */
int baseline_read(const char *path, struct baseline *ret, struct sbx_error *err);
void baseline_deinit(struct baseline *baseline);

/* NULL: the baseline does not contain it. */
struct baseline_row *baseline_find(const struct baseline *baseline, const char *name);
/* By how many percent @ratio is larger than that of the row; negative: it became faster. */
double baseline_change_percent(const struct baseline_row *row, double ratio);
