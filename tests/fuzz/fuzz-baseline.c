/* SPDX-License-Identifier: MIT */

/*
 * A baseline of sbx-bench: an accepted one has names and positive ratios, and can be printed and
 * read again; a refused one gives no output.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "../bench/baseline.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void write_row(struct text *out, const struct baseline_row *row)
{
	char ratio[64] = "null";
	struct json_writer writer;

	/* 17 digits are exact. */
	if (row->has_ratio)
		(void)snprintf(ratio, sizeof(ratio), "%.17g", row->ratio);
	json_write(&writer, out);
	json_add_object(&writer);
	json_member_string(&writer, "name", row->name);
	json_add_name(&writer, "ratio");
	json_add_raw(&writer, ratio, strlen(ratio));
	json_end_object(&writer);
	text_add_char(out, '\n');
}

static void check_row(struct baseline *baseline, struct baseline_row *row)
{
	check(row->name && !row->compared);
	check(baseline_find(baseline, row->name) == row);
	if (!row->has_ratio)
		return;
	check(isfinite(row->ratio) && row->ratio > 0);
	check(baseline_change_percent(row, row->ratio) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_baseline_ struct baseline baseline = BASELINE_INIT, again = BASELINE_INIT;
	_cleanup_text_ struct text written = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	if (baseline_parse("input", (const char *)bytes, n_bytes, &baseline, &err) < 0) {
		check(!baseline.rows && baseline.n_rows == 0);
		check(err.what[0] && err.why[0] && err.fix[0]);
		return 0;
	}
	check(baseline.n_rows > 0);
	for (size_t i = 0; i < baseline.n_rows; i++) {
		check_row(&baseline, &baseline.rows[i]);
		write_row(&written, &baseline.rows[i]);
	}
	check(baseline_parse("again", written.data, written.len, &again, NULL) == 0);
	check(again.n_rows == baseline.n_rows);
	for (size_t i = 0; i < baseline.n_rows; i++) {
		check(strcmp(again.rows[i].name, baseline.rows[i].name) == 0);
		check(again.rows[i].has_ratio == baseline.rows[i].has_ratio);
		check(!again.rows[i].has_ratio || again.rows[i].ratio == baseline.rows[i].ratio);
	}
	return 0;
}
