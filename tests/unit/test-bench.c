/* SPDX-License-Identifier: MIT */

/*
 * The harness of sbx-bench: reading baselines, statistics, and benchmarks that fail. The benchmarks
 * here count their calls.
 */

#include "test.h"

#include <errno.h>

#include <sbx/error.h>

#include "../bench/baseline.h"
#include "../bench/count-alloc.h"
#include "../bench/measure.h"
#include "../bench/percentile.h"

static int parse(const char *text, struct baseline *ret, struct sbx_error *err)
{
	return baseline_parse("b.jsonl", text, strlen(text), ret, err);
}

static void reads_what_a_former_run_wrote(void)
{
	_cleanup_baseline_ struct baseline baseline = BASELINE_INIT;

	expect_eq(parse("{\"name\":\"a\",\"batch\":[1,{\"name\":2}],\"ratio\":0.25}\n"
			"{\"ratio\":null,\"name\":\"\\u0062\"}",
			&baseline, NULL),
		  0);
	expect_eq(baseline.n_rows, 2);

	const struct baseline_row *a = baseline_find(&baseline, "a");
	const struct baseline_row *b = baseline_find(&baseline, "b");

	expect(a && a->has_ratio && a->ratio == 0.25);
	expect(b && !b->has_ratio);
	expect(!baseline_find(&baseline, "c"));
}

static void refuses_what_is_no_former_run(void)
{
	static const struct {
		const char *text;
		const char *place;
		const char *why;
	} cases[] = {
		{ "", "b.jsonl:1:", "empty" },
		{ "\n", "b.jsonl:1:", "one JSON object" },
		{ "[]", "b.jsonl:1:", "one JSON object" },
		{ "{\"name\":\"a\",\"ratio\":1} {}", "b.jsonl:1:", "one JSON object" },
		{ "{\"name\":\"a\",\"ratio\":1}\n{\"name\":\"b\",",
		  "b.jsonl:2:", "one JSON object" },
		{ "{\"ratio\":1}", "b.jsonl:1:", "no \"name\"" },
		{ "{\"name\":\"a\"}", "b.jsonl:1:", "no \"ratio\"" },
		{ "{\"name\":\"a\\u0000b\",\"ratio\":1}", "b.jsonl:1:", "\"name\" is not" },
		{ "{\"name\":7,\"ratio\":1}", "b.jsonl:1:", "\"name\" is not" },
		{ "{\"name\":\"a\",\"name\":\"b\",\"ratio\":1}", "b.jsonl:1:", "\"name\" is not" },
		{ "{\"name\":\"a\",\"ratio\":0}", "b.jsonl:1:", "\"ratio\" is neither" },
		{ "{\"name\":\"a\",\"ratio\":-1}", "b.jsonl:1:", "\"ratio\" is neither" },
		{ "{\"name\":\"a\",\"ratio\":1e999}", "b.jsonl:1:", "\"ratio\" is neither" },
		{ "{\"name\":\"a\",\"ratio\":\"1\"}", "b.jsonl:1:", "\"ratio\" is neither" },
		{ "{\"name\":\"a\",\"ratio\":[1]}", "b.jsonl:1:", "\"ratio\" is neither" },
		{ "{\"name\":\"a\",\"ratio\":1,\"ratio\":2}",
		  "b.jsonl:1:", "\"ratio\" is neither" },
		{ "{\"name\":\"a\",\"ratio\":1}\n{\"name\":\"a\",\"ratio\":1}",
		  "b.jsonl:2:", "twice" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct baseline baseline = { .n_rows = 42 };
		struct sbx_error err = { .code = 0 };

		expect_eq(parse(cases[i].text, &baseline, &err), -EINVAL);
		expect_eq(baseline.n_rows, 42);
		expect(strstr(err.what, cases[i].place));
		expect(strstr(err.why, cases[i].why));
		expect(strstr(err.fix, "sbx-bench --json"));
	}
}

static void a_larger_ratio_is_a_slowdown(void)
{
	const struct baseline_row row = { .name = NULL, .has_ratio = true, .ratio = 0.5 };

	expect(baseline_change_percent(&row, 0.75) == 50);
	expect(baseline_change_percent(&row, 0.5) == 0);
	expect(baseline_change_percent(&row, 0.25) == -50);
}

static void percentiles_are_values_that_were_measured(void)
{
	double values[] = { 5, 1, 4, 2, 3 };
	double hundred[100];

	for (int i = 0; i < 100; i++)
		hundred[i] = 100 - i;
	expect(percentile_of(values, 5, 99) == 5);
	expect(percentile_of(values, 5, 20) == 1);
	expect(percentile_of(values, 1, 99) == 1);
	expect(percentile_of(hundred, 100, 99) == 99);
}

static void the_median_of_an_even_number_lies_between_the_middle_two(void)
{
	double odd[] = { 9, 1, 5 }, even[] = { 8, 1, 2, 4 };

	expect(median_of(odd, 3) == 5);
	expect(median_of(even, 4) == 3);
}

/* A benchmark whose calls the test can see. */
struct probe {
	unsigned n_set_up, n_torn_down;
	uint64_t n_run, n_peer;
	bool setup_fails, verify_fails, peer_is_missing;
};

static struct probe probe;

static int probe_setup(struct bench_state *ret, struct sbx_error *err)
{
	if (probe.setup_fails)
		return sbx_error_what(err, -ENOMEM, "no state");
	probe.n_set_up++;
	*ret = (struct bench_state){ .data = &probe,
				     .bytes_per_op = 1000,
				     .peer_missing = probe.peer_is_missing ? "away" : NULL };
	return 0;
}

static bool probe_verify(const void *data)
{
	return !probe.verify_fails;
}

static void spin(uint64_t n_turns)
{
	for (uint64_t i = 0; i < n_turns; i++)
		bench_keep(&probe);
}

static void probe_run(void *data, uint64_t n_ops)
{
	probe.n_run += n_ops;
	spin(n_ops * 800);
}

static void probe_peer(void *data, uint64_t n_ops)
{
	probe.n_peer += n_ops;
	spin(n_ops * 100);
}

static void probe_allocates(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		void *memory = malloc(8);

		bench_keep(memory);
		free(memory);
	}
}

static void probe_teardown(void *data)
{
	probe.n_torn_down++;
}

static const struct bench probe_bench = {
	.name = "probe",
	.against = "a peer that does an eighth",
	.setup = probe_setup,
	.verify = probe_verify,
	.run = probe_run,
	.peer = probe_peer,
	.teardown = probe_teardown,
};

static void measures_the_subject_against_its_peer(void)
{
	struct measure_result result;

	probe = (struct probe){ .n_run = 0 };
	expect_eq(measure(&probe_bench, 9, &result, NULL), 0);
	expect_eq(result.n_samples, 9);
	/* The ratio depends on the host; that the peer ran in each round does not. */
	expect(result.compared && result.ratio > 0);
	expect(probe.n_peer >= 9);
	expect(result.ns_median > 0 && result.ns_p99 >= result.ns_median);
	expect(probe.n_run >= 9 * result.batch);
	expect_str(result.against, "a peer that does an eighth");
	expect(probe.n_set_up == 1 && probe.n_torn_down == 1);
}

static void a_missing_peer_leaves_the_ratio_open(void)
{
	struct measure_result result;

	probe = (struct probe){ .peer_is_missing = true };
	expect_eq(measure(&probe_bench, 3, &result, NULL), 0);
	expect(!result.compared);
	expect_str(result.against, "away");
	expect(result.ns_median > 0);
	expect_eq(probe.n_peer, 0);
}

static void a_wrong_result_is_not_measured(void)
{
	struct measure_result result = { .n_samples = 42 };
	struct sbx_error err = { .code = 0 };

	probe = (struct probe){ .verify_fails = true };
	expect_eq(measure(&probe_bench, 3, &result, &err), -EIO);
	expect_eq(result.n_samples, 42);
	expect_eq(probe.n_run, 0);
	expect_eq(probe.n_torn_down, 1);
	expect(strstr(err.what, "'probe'"));
	expect(err.fix[0] != '\0');
}

static void a_failed_setup_is_not_torn_down(void)
{
	struct measure_result result;
	struct sbx_error err = { .code = 0 };

	probe = (struct probe){ .setup_fails = true };
	expect_eq(measure(&probe_bench, 3, &result, &err), -ENOMEM);
	expect_str(err.what, "no state");
	expect_eq(probe.n_torn_down, 0);
}

static void counts_allocations_of_an_operation(void)
{
	struct bench allocating = probe_bench;
	double per_op;

	if (!count_alloc_works())
		skip("the heap belongs to a sanitizer");
	probe = (struct probe){ .n_run = 0 };
	expect_eq(measure_allocations(&probe_bench, &per_op, NULL), 0);
	expect(per_op == 0);
	allocating.run = probe_allocates;
	expect_eq(measure_allocations(&allocating, &per_op, NULL), 0);
	expect(per_op == 1);
}

static void megabytes_are_powers_of_ten(void)
{
	const struct measure_result result = { .bytes_per_op = 1000, .ns_median = 1000 };

	expect(measure_mb_per_s(&result) == 1000);
}

static const struct test tests[] = {
	TEST(reads_what_a_former_run_wrote),
	TEST(refuses_what_is_no_former_run),
	TEST(a_larger_ratio_is_a_slowdown),
	TEST(percentiles_are_values_that_were_measured),
	TEST(the_median_of_an_even_number_lies_between_the_middle_two),
	TEST(measures_the_subject_against_its_peer),
	TEST(a_missing_peer_leaves_the_ratio_open),
	TEST(a_wrong_result_is_not_measured),
	TEST(a_failed_setup_is_not_torn_down),
	TEST(counts_allocations_of_an_operation),
	TEST(megabytes_are_powers_of_ten),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
