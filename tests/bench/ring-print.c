/* SPDX-License-Identifier: MIT */

/* Prints results, as a table or as JSON lines */

#include "ring-bench.h"

#include "base/json.h"
#include "base/text.h"
#include "decimal.h"

static const char *unit_name(enum ring_unit unit)
{
	static const char *const names[] = {
		[RING_NS] = "ns",
		[RING_US] = "us",
		[RING_MB_PER_S] = "MB/s",
		[RING_GB_PER_S] = "GB/s",
	};

	return names[unit];
}

static bool has_ratio(const struct ring_result *result)
{
	return result->reference > 0;
}

static bool has_target(const struct ring_bench *bench)
{
	return bench->at_most > 0 || bench->at_least > 0;
}

static bool is_met(const struct ring_bench *bench, const struct ring_result *result)
{
	return (bench->at_most == 0 || result->ratio_p50 <= bench->at_most) &&
	       (bench->at_least == 0 || result->ratio_p50 >= bench->at_least);
}

/* Small ratios need more digits: 0.0066. */
static void add_number(struct text *out, bool is_known, double value)
{
	if (!is_known)
		text_addf(out, " %8s", "-");
	else
		text_addf(out, " %8.*f",
			  value < 0.1	 ? 4
			  : value < 10	 ? 2
			  : value < 1000 ? 1
					 : 0,
			  value);
}

/* ---- the table ---- */

void ring_print_header(struct text *out)
{
	text_addf(out, "%-19s %-5s %3s %8s %8s %-4s %8s %8s %8s  %-8s %s\n", "BENCHMARK", "PLACE",
		  "N", "P50", "AGAINST", "UNIT", "R-P10", "R-P50", "R-P90", "TARGET", "AGAINST");
}

static void add_target(struct text *out, const struct ring_bench *bench,
		       const struct ring_result *result)
{
	if (!has_target(bench)) {
		text_addf(out, "  %-8s", "-");
		return;
	}
	text_addf(out, "  %s%.2f %s", bench->at_most > 0 ? "<=" : ">=",
		  bench->at_most > 0 ? bench->at_most : bench->at_least,
		  !has_ratio(result)	  ? " "
		  : is_met(bench, result) ? " "
					  : "!");
}

void ring_print_row(struct text *out, const struct ring_bench *bench,
		    const struct ring_result *result)
{
	text_addf(out, "%-19s %-5s %3zu", bench->name,
		  result->n_samples > 0 ? ring_place_name(result->place) : "-", result->n_samples);
	add_number(out, result->n_samples > 0, result->value);
	add_number(out, has_ratio(result), result->reference);
	text_addf(out, " %-4s", unit_name(bench->unit));
	add_number(out, has_ratio(result), result->ratio_p10);
	add_number(out, has_ratio(result), result->ratio_p50);
	add_number(out, has_ratio(result), result->ratio_p90);
	add_target(out, bench, result);
	text_addf(out, " %s\n", bench->against ? bench->against : "");
}

/* ---- JSON ---- */

void ring_print_json(struct text *out, const struct ring_bench *bench,
		     const struct ring_result *result)
{
	struct json_writer writer;
	bool is_known = result->n_samples > 0;

	json_write(&writer, out);
	json_add_object(&writer);
	json_member_string(&writer, "name", bench->name);
	json_member_string(&writer, "what", bench->what);
	json_member_string(&writer, "against", bench->against);
	json_member_string(&writer, "unit", unit_name(bench->unit));
	json_member_string(&writer, "place", is_known ? ring_place_name(result->place) : NULL);
	json_member_u64(&writer, "samples", result->n_samples);
	json_member_u64(&writer, "dropped", result->n_dropped);
	decimal_add_member(&writer, "value", is_known, result->value, 5);
	decimal_add_member(&writer, "against_value", has_ratio(result), result->reference, 5);
	decimal_add_member(&writer, "ratio_p10", has_ratio(result), result->ratio_p10, 5);
	decimal_add_member(&writer, "ratio_p50", has_ratio(result), result->ratio_p50, 5);
	decimal_add_member(&writer, "ratio_p90", has_ratio(result), result->ratio_p90, 5);
	decimal_add_member(&writer, "at_most", bench->at_most > 0, bench->at_most, 5);
	decimal_add_member(&writer, "at_least", bench->at_least > 0, bench->at_least, 5);
	json_add_name(&writer, "met");
	if (has_target(bench) && has_ratio(result))
		json_add_bool(&writer, is_met(bench, result));
	else
		json_add_null(&writer);
	json_end_object(&writer);
	text_add_char(out, '\n');
}
