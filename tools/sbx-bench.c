/* SPDX-License-Identifier: MIT */

/*
 * sbx-bench: measures the cost of the parts of sbx, against a peer or a floor
 *
 * The command line of tests/bench/, which has the benchmarks and the measurement: list them,
 * measure them, compare with a baseline, or check their claims of no allocation.
 */

#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../tests/bench/baseline.h"
#include "../tests/bench/bench.h"
#include "../tests/bench/count-alloc.h"
#include "../tests/bench/measure.h"
#include "../tests/bench/report.h"
#include "base/units.h"

#define THRESHOLD_DEFAULT 10
#define THRESHOLD_MAX 10000
#define ATTEMPTS 3

struct values {
	bool list;
	bool allocations;
	const char *filter;
	const char *samples; /* numbers as text: NULL is "not given", 0 is a value */
	const char *threshold;
	const char *compare;
};

/* The same, checked. */
struct settings {
	const char *filter;
	size_t n_samples;
	double threshold_percent;
	const char *baseline_path;
	struct baseline baseline;
};

/* @ret keeps its default if @text is NULL. */
static int read_number(const char *option, const char *text, uint64_t min, uint64_t max,
		       uint64_t *ret, struct sbx_error *err)
{
	uint64_t value;

	if (!text)
		return 0;
	if (units_parse_count(text, &value, err) < 0)
		return -EINVAL;
	if (value < min || value > max) {
		(void)sbx_error_what(err, -EINVAL, "option '%s' cannot take '%s'", option, text);
		sbx_error_why(err, "it is outside %" PRIu64 " to %" PRIu64, min, max);
		sbx_error_fix(err, "write '%s=%" PRIu64 "'", option, *ret);
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

static int check_usage(const struct tool_run *run, const struct values *values,
		       struct sbx_error *err)
{
	if (values->list + values->allocations + (values->compare != NULL) > 1)
		return error_fill(err, -EINVAL, "they exclude each other", "run them one by one",
				  "--list, --allocations and --compare exclude each other");
	if (values->threshold && !values->compare)
		return error_fill(err, -EINVAL,
				  "without an earlier run there is nothing to compare with",
				  "add '--compare=FILE', written by 'sbx-bench --json'",
				  "--threshold needs --compare");
	if (values->allocations && run->json)
		return error_fill(err, -EINVAL, "it prints TAP, which is for machines already",
				  "drop --json", "--allocations and --json exclude each other");
	return 0;
}

static int check_filter(const char *filter, struct sbx_error *err)
{
	const struct bench *bench;

	for (size_t i = 0; (bench = bench_at(i)); i++)
		if (bench_is_selected(bench, filter))
			return 0;
	return error_fill(err, -EINVAL, "--filter takes a part of a name, not a pattern",
			  "see 'sbx-bench --list' for the names",
			  "no benchmark has '%s' in its name", filter);
}

static int read_settings(const struct tool_run *run, struct settings *ret, struct sbx_error *err)
{
	const struct values *values = run->values;
	uint64_t n_samples = MEASURE_SAMPLES_DEFAULT, threshold = THRESHOLD_DEFAULT;
	int r = check_usage(run, values, err);

	if (r < 0)
		return r;
	r = check_filter(values->filter, err);
	if (r < 0)
		return r;
	r = read_number("--samples", values->samples, MEASURE_SAMPLES_MIN, MEASURE_SAMPLES_MAX,
			&n_samples, err);
	if (r < 0)
		return r;
	r = read_number("--threshold", values->threshold, 0, THRESHOLD_MAX, &threshold, err);
	if (r < 0)
		return r;
	ret->filter = values->filter;
	ret->n_samples = n_samples;
	ret->threshold_percent = (double)threshold;
	ret->baseline_path = values->compare;
	return values->compare ? baseline_read(values->compare, &ret->baseline, err) : 0;
}

static void list(struct tool_run *run, const char *filter)
{
	const struct bench *bench;

	for (size_t i = 0; (bench = bench_at(i)); i++) {
		if (!bench_is_selected(bench, filter))
			continue;
		if (run->json)
			report_add_listed_json(&run->out, bench);
		else
			report_add_listed(&run->out, bench);
	}
}

/* Self-tests must fail, unless one was selected by its name. */
static bool claim_holds(struct text *out, unsigned number, const struct bench *bench, bool inverted,
			double per_op)
{
	bool holds = inverted ? per_op == bench->self_test_allocations : per_op == 0;

	text_addf(out, "%s %u - ", holds ? "ok" : "not ok", number);
	if (inverted)
		text_addf(out, "the counter sees %s\n", bench->subject);
	else
		text_addf(out, "%s allocates nothing\n", bench->name);
	if (!holds && inverted)
		text_addf(out, "# %.4f allocations an operation, expected %u\n", per_op,
			  bench->self_test_allocations);
	else if (!holds)
		text_addf(out, "# %.4f allocations an operation\n", per_op);
	return holds;
}

static int check_allocations(struct tool_run *run, const char *filter, struct sbx_error *err)
{
	const struct bench *bench;
	unsigned n = 0, n_broken = 0;

	if (!count_alloc_works()) {
		text_add(&run->out, "1..0 # SKIP a sanitizer owns the heap of this build\n");
		return TOOL_YES;
	}
	for (size_t i = 0; (bench = bench_at(i)); i++) {
		bool inverted = !filter && bench_is_self_test(bench);
		double per_op;
		int r;

		if (!bench->claims_no_allocation || !(inverted || bench_is_selected(bench, filter)))
			continue;
		r = measure_allocations(bench, &per_op, err);
		if (r < 0)
			return r;
		n_broken += !claim_holds(&run->out, ++n, bench, inverted, per_op);
	}
	text_addf(&run->out, "1..%u%s\n", n, n == 0 ? " # SKIP nothing here claims it" : "");
	return n_broken > 0 ? TOOL_NO : TOOL_YES;
}

static struct report_change judge(struct settings *settings, const struct bench *bench,
				  const struct measure_result *result)
{
	struct report_change change = { .wanted = settings->baseline_path != NULL };
	struct baseline_row *row = baseline_find(&settings->baseline, bench->name);

	if (!row || !row->has_ratio || !result->compared)
		return change;
	row->compared = true;
	change.known = true;
	change.baseline_ratio = row->ratio;
	change.percent = baseline_change_percent(row, result->ratio);
	change.past_threshold = change.percent > settings->threshold_percent;
	return change;
}

/* A real slowdown occurs each time; one caused by the host rarely repeats, so measure again. */
static int measure_and_judge(struct settings *settings, const struct bench *bench,
			     struct measure_result *ret, struct report_change *ret_change,
			     struct sbx_error *err)
{
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		int r = measure(bench, settings->n_samples, ret, err);

		if (r < 0)
			return r;
		*ret_change = judge(settings, bench, ret);
		if (!ret_change->past_threshold)
			break;
	}
	return 0;
}

static int slower(const struct settings *settings, unsigned n_slower, const char *names,
		  struct sbx_error *err)
{
	(void)sbx_error_what(err, -EINVAL, "%u benchmark%s slower than in '%s'", n_slower,
			     n_slower == 1 ? " is" : "s are", settings->baseline_path);
	sbx_error_why(err, "past %.0f%%, %u times in a row: %s", settings->threshold_percent,
		      ATTEMPTS, names);
	sbx_error_fix(err, "find the change that did it, or write a new baseline: "
			   "sbx-bench --json > FILE");
	return TOOL_NO;
}

/* Without this check a comparison would silently skip benchmarks that are missing in the baseline.
 */
static int find_incomparable(const struct settings *settings, struct sbx_error *err)
{
	for (size_t i = 0; i < settings->baseline.n_rows; i++) {
		const struct baseline_row *row = &settings->baseline.rows[i];

		if (!row->has_ratio || row->compared ||
		    (settings->filter && !strstr(row->name, settings->filter)))
			continue;
		(void)error_fill(err, -ENODATA,
				 "this run has no ratio for it: it is gone or its peer is",
				 "install the peer ('sbx-bench --list' names it), or write a new "
				 "baseline",
				 "cannot compare '%s' with '%s'", row->name,
				 settings->baseline_path);
		return TOOL_INCOMPLETE;
	}
	return TOOL_YES;
}

static int measure_all(struct tool_run *run, struct settings *settings, struct sbx_error *err)
{
	_cleanup_text_ struct text slow = TEXT_INIT;
	const struct bench *bench;
	unsigned n_slower = 0;

	if (!run->json)
		report_add_header(&run->out, settings->baseline_path != NULL);
	for (size_t i = 0; (bench = bench_at(i)); i++) {
		struct measure_result result;
		struct report_change change;
		int r;

		if (!bench_is_selected(bench, settings->filter))
			continue;
		tool_show_measuring(run, bench->name);
		r = measure_and_judge(settings, bench, &result, &change, err);
		tool_show_measuring(run, "");
		if (r < 0)
			return r;
		if (run->json)
			report_add_json(&run->out, bench, &result, &change);
		else
			report_add_row(&run->out, bench, &result, &change);
		log_write(&run->log, LOG_LEVEL_INFO, NULL,
			  "%s: %zu samples of %" PRIu64 " operations", bench->name,
			  result.n_samples, result.batch);
		if (change.past_threshold)
			text_addf(&slow, "%s%s (%+.1f%%)", n_slower++ ? ", " : "", bench->name,
				  change.percent);
		r = tool_flush(run, err);
		if (r < 0)
			return r;
	}
	if (n_slower > 0)
		return slower(settings, n_slower, text_string(&slow), err);
	return find_incomparable(settings, err);
}

static void settings_deinit(struct settings *settings)
{
	baseline_deinit(&settings->baseline);
}

static int run_bench(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct values *values = run->values;
	_cleanup_(settings_deinit) struct settings settings = { .filter = NULL };

	if (read_settings(run, &settings, err) < 0)
		return TOOL_USAGE;
	if (values->allocations)
		return check_allocations(run, settings.filter, err);
	if (!values->list)
		return measure_all(run, &settings, err);
	list(run, settings.filter);
	return TOOL_YES;
}

#define OPTION(...) OPTION_ROW(struct values, __VA_ARGS__)

static const struct option_spec options[] = {
	OPTION("list", 'l', OPTION_FLAG, list, NULL, "list the benchmarks and measure nothing"),
	OPTION("filter", 'f', OPTION_STRING, filter, "TEXT",
	       "only benchmarks with TEXT in their name"),
	OPTION("samples", 'n', OPTION_STRING, samples, "N",
	       "take N samples of each, 3 to 100000 (200)"),
	OPTION("compare", 'c', OPTION_PATH, compare, "FILE",
	       "compare with a former run's --json; 1 if slower"),
	OPTION("threshold", 't', OPTION_STRING, threshold, "PERCENT",
	       "how much slower is too slow for --compare (10)"),
	OPTION("allocations", 'a', OPTION_FLAG, allocations, NULL,
	       "check the claims of no allocation, as TAP"),
	OPTION_END,
};

static const struct tool tool = {
	.command = {
		.name = "sbx-bench",
		.summary = "Measures what the parts of sbx cost, against a peer or a floor.",
		.operand_kind = OPERAND_NONE,
		.options = options,
		.run = run_bench,
		.ignores_config = true,
	},
	.values_size = sizeof(struct values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
