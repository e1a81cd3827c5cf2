/* SPDX-License-Identifier: MIT */

#include "policy/limit.h"

#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/keys.h"
#include "test.h"

static void every_limit_is_a_key_of_policies(void)
{
	_cleanup_free_ struct policy_key_node *tree = policy_key_tree();
	const struct policy_key_node *limits = policy_key_child(tree, tree, "limits");

	for (enum limit limit = 0; limit < N_LIMITS; limit++) {
		expect(policy_key_child(tree, limits, limit_name(limit)));
		expect(limit_called(limit));
	}
}

static void an_option_is_the_key_with_dashes(void)
{
	_cleanup_text_ struct text option = TEXT_INIT;

	for (enum limit limit = 0; limit < N_LIMITS; limit++) {
		if (!limit_option(limit))
			continue;
		text_truncate(&option, 0);
		text_addf(&option, "--%s", limit_name(limit));
		for (size_t i = 2; i < option.len; i++)
			if (option.data[i] == '_')
				option.data[i] = '-';
		expect_str(limit_option(limit), text_string(&option));
	}
	expect(!limit_option(LIMIT_PROCESSES));
}

/* The values of the design document. */
static void the_templates_set_their_limits(void)
{
	const uint64_t mib = UINT64_C(1) << 20, sec = 1000000;
	const struct policy_template *executor = policy_template_find(NULL, "code-executor");
	const struct policy_template *provider = policy_template_find(NULL, "ai-provider");
	const struct policy_template *evaluator = policy_template_find(NULL, "policy-sandbox");

	expect_eq(executor->limits[LIMIT_MEMORY], 1024 * mib);
	expect_eq(executor->limits[LIMIT_CPU], 1000);
	expect_eq(executor->limits[LIMIT_PIDS], 100);
	expect_eq(executor->limits[LIMIT_TIME], 300 * sec);
	expect_eq(provider->limits[LIMIT_MEMORY], 256 * mib);
	expect_eq(provider->limits[LIMIT_CPU], 500);
	expect_eq(provider->limits[LIMIT_PIDS], 10);
	expect_eq(provider->limits[LIMIT_TIME], 120 * sec);
	expect_eq(evaluator->limits[LIMIT_MEMORY], 128 * mib);
	expect_eq(evaluator->limits[LIMIT_CPU], 250);
	expect_eq(evaluator->limits[LIMIT_PIDS], 5);
	expect_eq(evaluator->limits[LIMIT_TIME], 0);
}

static void every_template_is_found_by_its_name(void)
{
	static const struct policy empty;

	for (const char *const *name = policy_template_names; *name; name++)
		expect_str(policy_template_find(NULL, *name)->name, *name);
	expect(!policy_template_find(NULL, "default"));
	expect_str(policy_template_find(&empty, NULL)->name, "code-executor");
	expect_str(policy_template_find(NULL, NULL)->name, "default");
	expect_eq(policy_template_find(NULL, NULL)->limits[LIMIT_PIDS], 4096);
	expect_eq(policy_template_find(NULL, NULL)->limits[LIMIT_TIME], 0);
}

static void a_value_is_written_as_it_is_read(void)
{
	static const struct {
		enum limit limit;
		const char *text;
	} rows[] = {
		{ LIMIT_MEMORY, "512MiB" },  { LIMIT_CPU, "0.5" },     { LIMIT_PIDS, "100" },
		{ LIMIT_TIME, "5m" },	     { LIMIT_FILES, "256" },   { LIMIT_PROCESSES, "7" },
		{ LIMIT_FILE_SIZE, "1GiB" }, { LIMIT_OUTPUT, "1KiB" }, { LIMIT_TMP_SIZE, "64MiB" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;
		struct sbx_error err = { .code = 0 };
		uint64_t value = 0;

		expect_eq(limit_parse(rows[i].limit, rows[i].text, &value, &err), 0);
		limit_add_value(&text, rows[i].limit, value);
		expect_str(text_string(&text), rows[i].text);
		expect(limit_parse(rows[i].limit, "much", &value, &err) < 0);
		expect(err.fix[0]);
	}
}

static const struct test tests[] = {
	TEST(every_limit_is_a_key_of_policies), TEST(an_option_is_the_key_with_dashes),
	TEST(the_templates_set_their_limits),	TEST(every_template_is_found_by_its_name),
	TEST(a_value_is_written_as_it_is_read), TEST_END,
};

int main(void)
{
	return test_run(tests);
}
