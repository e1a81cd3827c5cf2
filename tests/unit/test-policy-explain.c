/* SPDX-License-Identifier: MIT */

#include <stdint.h>

#include "policy/decide.h"
#include "policy-build.h"
#include "test.h"

#define ROWS_MAX 8

static const struct policy_request write_source = {
	.operation = "fs.write",
	.path = "/p/src/a.c",
	.project_root = "/p",
	.caller = "editor",
};

/* The explanation of the only rule; @n: the number of rows. */
static struct policy_explanation explain_one(struct built *built,
					     const struct policy_request *request, size_t *n)
{
	struct policy_explanation rows[ROWS_MAX] = { { .rule = ARTEFACT_NONE } };

	build_engine(built);
	*n = policy_explain(built->engine, request, rows, ROWS_MAX);
	return rows[0];
}

static void says_that_a_rule_applies(void)
{
	_cleanup_built_ struct built built = build_new();
	size_t n;

	build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/** caller=editor");

	struct policy_explanation row = explain_one(&built, &write_source, &n);

	expect_eq(n, 1);
	expect_eq(row.rule, 0);
	expect_eq(row.near, NEAR_APPLIES);
}

static void names_the_first_key_that_does_not_hold(void)
{
	static const struct {
		const char *words;
		enum match_key key;
	} cases[] = {
		{ "path=lib/** caller=other", MATCH_PATH },
		{ "path=src/** caller=other mode=x", MATCH_CALLER },
		{ "path=src/** tag=x mode=x", MATCH_TAG },
		{ "state=x", MATCH_STATE },
		{ "mode=x", MATCH_MODE },
		{ "host=a.example caller=other", MATCH_HOST },
		{ "cidr=::/0", MATCH_CIDR },
		{ "path=src/** port=1", MATCH_PORT },
		{ "path=src/** proto=tcp", MATCH_PROTO },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_built_ struct built built = build_new();
		struct policy_explanation row;
		size_t n;

		build_rule(&built, POLICY_ALLOW, "fs.write", cases[i].words);
		row = explain_one(&built, &write_source, &n);
		expect_eq(n, 1);
		expect_eq(row.near, NEAR_KEY);
		expect_eq(row.key, cases[i].key);
	}
}

static void says_that_a_path_was_taken_out(void)
{
	_cleanup_built_ struct built built = build_new();
	size_t n;

	build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/** path=!*.c caller=other");
	expect_eq(explain_one(&built, &write_source, &n).near, NEAR_EXCLUDED);
}

static void says_which_exception_takes_a_rule_back(void)
{
	_cleanup_built_ struct built built = build_new();
	struct rule *rule = build_rule(&built, POLICY_REVIEW, "fs.*", "path=src/**");
	struct policy_explanation row;
	size_t n;

	build_except(&built, rule, NULL, "path=src/b.c");
	build_except(&built, rule, "fs.read", "caller=editor");
	build_except(&built, rule, NULL, "path=src/a.c");
	build_except(&built, rule, NULL, "caller=editor");
	row = explain_one(&built, &write_source, &n);
	expect_eq(row.near, NEAR_EXCEPTED);
	/* In the order of the file, not of the compiled policy. */
	expect_eq(row.exception, 2);
}

static void says_that_a_rule_is_about_another_operation(void)
{
	_cleanup_built_ struct built built = build_new();
	size_t n;

	build_rule(&built, POLICY_ALLOW, "fs.read", "path=src/** caller=other");
	expect_eq(explain_one(&built, &write_source, &n).near, NEAR_OPERATION);
	expect_eq(n, 1);
}

static void leaves_out_rules_that_are_not_near(void)
{
	_cleanup_built_ struct built built = build_new();
	size_t n;

	build_rule(&built, POLICY_ALLOW, "fs.read", "path=lib/**");
	build_rule(&built, POLICY_ALLOW, "net.connect", "host=a.example");
	build_rule(&built, POLICY_ALLOW, "test.run", "caller=editor");
	build_rule(&built, POLICY_DENY, "exec", "path=a.c");
	(void)explain_one(&built, &write_source, &n);
	expect_eq(n, 0);
}

static void goes_on_after_a_denial_and_ascends(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_explanation rows[ROWS_MAX];

	build_rule(&built, POLICY_DENY, "fs.write", "path=/p/**");
	build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/**");
	build_rule(&built, POLICY_ALLOW, "fs.read", "path=lib/**");
	build_rule(&built, POLICY_ALLOW, "fs.write", "path=lib/**");
	build_engine(&built);
	expect_eq(policy_explain(built.engine, &write_source, rows, ROWS_MAX), 3);
	expect_eq(rows[0].rule, 0);
	expect_eq(rows[1].rule, 1);
	expect_eq(rows[1].near, NEAR_APPLIES);
	expect_eq(rows[2].rule, 3);
}

static void writes_no_more_rows_than_there_is_room_for(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_explanation rows[2] = { { .rule = 7 }, { .rule = 7 } };

	for (int i = 0; i < 5; i++)
		build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/**");
	build_engine(&built);
	expect_eq(policy_explain(built.engine, &write_source, rows, 1), 5);
	expect_eq(rows[0].rule, 0);
	expect_eq(rows[1].rule, 7);
	expect_eq(policy_explain(built.engine, &write_source, NULL, 0), 5);
}

static void says_nothing_about_a_request_that_cannot_be_judged(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = write_source;
	size_t n;

	build_rule(&built, POLICY_ALLOW, "fs.write", "");
	request.path = "src/a.c";
	(void)explain_one(&built, &request, &n);
	expect_eq(n, 0);
}

static const struct test tests[] = {
	TEST(says_that_a_rule_applies),
	TEST(names_the_first_key_that_does_not_hold),
	TEST(says_that_a_path_was_taken_out),
	TEST(says_which_exception_takes_a_rule_back),
	TEST(says_that_a_rule_is_about_another_operation),
	TEST(leaves_out_rules_that_are_not_near),
	TEST(goes_on_after_a_denial_and_ascends),
	TEST(writes_no_more_rows_than_there_is_room_for),
	TEST(says_nothing_about_a_request_that_cannot_be_judged),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
