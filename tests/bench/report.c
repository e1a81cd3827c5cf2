/* SPDX-License-Identifier: MIT */

/*
 * Prints a result
 *
 * Columns have fixed widths, so that each row can be printed as soon as it is measured. The
 * absolute time comes first, because a percentage without it says little.
 */

#include "report.h"

#include "base/json.h"
#include "base/text.h"
#include "bench.h"
#include "decimal.h"
#include "measure.h"

/* A column whose value may be unknown. */
static void add_cell(struct text *out, bool known, int width, int decimals, double value)
{
	if (known)
		text_addf(out, " %*.*f", width, decimals, value);
	else
		text_addf(out, " %*s", width, "-");
}

void report_add_header(struct text *out, bool with_change)
{
	text_addf(out, "%-16s %11s %11s %9s %9s %8s", "BENCHMARK", "NS/OP", "P99", "MB/S",
		  "ALLOC/OP", "RATIO");
	text_addf(out, "%s  %s\n", with_change ? "    CHANGE" : "", "AGAINST");
}

void report_add_row(struct text *out, const struct bench *bench,
		    const struct measure_result *result, const struct report_change *change)
{
	text_addf(out, "%-16s %11.2f %11.2f", bench->name, result->ns_median, result->ns_p99);
	add_cell(out, result->bytes_per_op > 0, 9, 1, measure_mb_per_s(result));
	add_cell(out, result->counted, 9, 2, result->allocations_per_op);
	add_cell(out, result->compared, 8, 3, result->ratio);
	if (change->wanted && change->known)
		text_addf(out, " %+7.1f%%%s", change->percent, change->past_threshold ? "!" : " ");
	else if (change->wanted)
		text_addf(out, " %9s", "-");
	text_addf(out, "  %s\n", result->against);
}

static void add_change(struct json_writer *writer, const struct report_change *change)
{
	decimal_add_member(writer, "baseline_ratio", change->known, change->baseline_ratio, 6);
	decimal_add_member(writer, "change_percent", change->known, change->percent, 2);
	json_member_bool(writer, "past_threshold", change->past_threshold);
}

void report_add_json(struct text *out, const struct bench *bench,
		     const struct measure_result *result, const struct report_change *change)
{
	struct json_writer writer;

	json_write(&writer, out);
	json_add_object(&writer);
	json_member_string(&writer, "name", bench->name);
	json_member_string(&writer, "unit", bench->unit);
	decimal_add_member(&writer, "ns_median", true, result->ns_median, 3);
	decimal_add_member(&writer, "ns_p99", true, result->ns_p99, 3);
	json_member_u64(&writer, "samples", result->n_samples);
	json_member_u64(&writer, "batch", result->batch);
	decimal_add_member(&writer, "mb_per_s", result->bytes_per_op > 0, measure_mb_per_s(result),
			   3);
	decimal_add_member(&writer, "allocations_per_op", result->counted,
			   result->allocations_per_op, 4);
	json_member_string(&writer, "against", result->against);
	decimal_add_member(&writer, "against_ns_median", result->compared,
			   result->against_ns_median, 3);
	decimal_add_member(&writer, "ratio", result->compared, result->ratio, 6);
	if (change->wanted)
		add_change(&writer, change);
	json_end_object(&writer);
	text_add_char(out, '\n');
}

void report_add_listed(struct text *out, const struct bench *bench)
{
	text_addf(out, "%-16s %s\n%-16s   against: %s\n", bench->name, bench->subject, "",
		  bench->against);
	if (bench->claims_no_allocation)
		text_addf(out, "%-16s   claims: no allocation\n", "");
}

void report_add_listed_json(struct text *out, const struct bench *bench)
{
	struct json_writer writer;

	json_write(&writer, out);
	json_add_object(&writer);
	json_member_string(&writer, "name", bench->name);
	json_member_string(&writer, "subject", bench->subject);
	json_member_string(&writer, "unit", bench->unit);
	json_member_string(&writer, "against", bench->against);
	json_member_bool(&writer, "claims_no_allocation", bench->claims_no_allocation);
	json_end_object(&writer);
	text_add_char(out, '\n');
}
