/* SPDX-License-Identifier: MIT */
#pragma once

/* Results as a table, and as JSON lines for --compare */

#include <stdbool.h>

struct bench;
struct measure_result;
struct text;

/* The comparison of a result with a baseline. */
struct report_change {
	bool wanted; /* --compare was given */
	bool known;  /* both runs have a ratio */
	double baseline_ratio;
	double percent; /* positive: slower */
	bool past_threshold;
};

void report_add_header(struct text *out, bool with_change);
void report_add_row(struct text *out, const struct bench *bench,
		    const struct measure_result *result, const struct report_change *change);
/* One line; unknown values are null. */
void report_add_json(struct text *out, const struct bench *bench,
		     const struct measure_result *result, const struct report_change *change);

/* Adds the line of one benchmark for --list. */
void report_add_listed(struct text *out, const struct bench *bench);
void report_add_listed_json(struct text *out, const struct bench *bench);
