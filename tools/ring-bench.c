/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring bench: how fast channels are on this host
 *
 * The command line of tests/bench/ring-*.c, which has the table of benchmarks and the method.
 */

#include "ring.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../tests/bench/ring-bench.h"
#include "../tests/bench/ring-place.h"
#include "base/json.h"
#include "tool.h"

#define QUICK_REPETITIONS 1

/* ---- options ---- */

static bool is_selected(const struct ring_bench *bench, const char *filter)
{
	return !filter || strstr(bench->name, filter);
}

static int check_filter(const char *filter, struct sbx_error *err)
{
	for (const struct ring_bench *bench = ring_benches; bench->name; bench++)
		if (is_selected(bench, filter))
			return 0;
	return error_fill(err, -EINVAL, "--filter takes a part of a name, not a pattern",
			  "see 'sbx-ring bench --list' for the names",
			  "no benchmark has '%s' in its name", filter);
}

static int check_repetitions(const struct ring_values *values, struct sbx_error *err)
{
	if (values->n_repetitions > 0 && values->quick)
		return error_fill(err, -EINVAL, "--quick means one repetition",
				  "drop one of the two",
				  "--quick and --repetitions exclude each other");
	if (values->n_repetitions <= RING_REPETITIONS_MAX)
		return 0;
	(void)sbx_error_what(err, -EINVAL, "option '--repetitions' cannot take '%" PRIu64 "'",
			     values->n_repetitions);
	sbx_error_why(err, "it is above %d", RING_REPETITIONS_MAX);
	sbx_error_fix(err, "write '--repetitions=%d'", RING_REPETITIONS_DEFAULT);
	return -EINVAL;
}

/* ---- listing ---- */

static void list_one(struct tool_run *run, const struct ring_bench *bench)
{
	struct json_writer writer;

	if (!run->json) {
		text_addf(&run->out, "%-19s %s; against: %s\n", bench->name, bench->what,
			  bench->against ? bench->against : "-");
		return;
	}
	json_begin_object(&writer, &run->out);
	json_member_string(&writer, "name", bench->name);
	json_member_string(&writer, "what", bench->what);
	json_member_string(&writer, "against", bench->against);
	json_end_line(&writer);
}

/* ---- measuring ---- */

/* Why it is left out, or NULL. */
static const char *why_not(const struct pair *pair, const struct ring_bench *bench)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	if (bench->needs_two_cpus && !pair_has_two_cpus(pair))
		return "a side spins, which needs two CPUs";
	if (bench->program && ring_place_of(bench->program, &path, NULL) < 0)
		return "its program is not beside sbx-ring";
	return NULL;
}

static int measure_one(struct tool_run *run, struct pair *pair, const struct ring_bench *bench,
		       struct sbx_error *err)
{
	const struct ring_values *values = run->values;
	struct ring_result results[RING_N_PLACES];
	const char *why = why_not(pair, bench);
	size_t n = 0;
	int r;

	if (why) {
		log_write(&run->log, LOG_LEVEL_WARNING, NULL, "%s is left out: %s", bench->name,
			  why);
		return 0;
	}
	tool_show_measuring(run, bench->name);
	r = ring_measure(pair, bench,
			 values->quick
				 ? QUICK_REPETITIONS
				 : tool_or_usual(values->n_repetitions, RING_REPETITIONS_DEFAULT),
			 values->quick, results, &n, err);
	tool_show_measuring(run, "");
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (run->json)
			ring_print_json(&run->out, bench, &results[i]);
		else
			ring_print_row(&run->out, bench, &results[i]);
	}
	return r < 0 ? r : tool_flush(run, err);
}

static int measure_selected(struct tool_run *run, const char *filter, struct sbx_error *err)
{
	_cleanup_(pair_deinit) struct pair pair = PAIR_INIT;
	int r = pair_init(&pair, err);

	if (r < 0)
		return r;
	if (!pair_has_two_cpus(&pair))
		log_write(&run->log, LOG_LEVEL_WARNING, NULL,
			  "only CPU %d may be used: both sides share it, and the targets are for "
			  "two",
			  pair.cpus[PAIR_NEAR]);
	if (!run->json)
		ring_print_header(&run->out);
	for (const struct ring_bench *bench = ring_benches; r == 0 && bench->name; bench++)
		if (is_selected(bench, filter))
			r = measure_one(run, &pair, bench, err);
	return r < 0 ? r : TOOL_YES;
}

int ring_verb_bench(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct ring_values *values = run->values;

	if (check_filter(values->filter, err) < 0 || check_repetitions(values, err) < 0)
		return TOOL_USAGE;
	if (!values->list)
		return measure_selected(run, values->filter, err);
	for (const struct ring_bench *bench = ring_benches; bench->name; bench++)
		if (is_selected(bench, values->filter))
			list_one(run, bench);
	return TOOL_YES;
}
