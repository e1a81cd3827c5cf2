/* SPDX-License-Identifier: MIT */

/*
 * policy_add_votes() of policy/decide.h
 */

#include <stdint.h>

#include "policy/decide.h"
#include "test.h"

static struct policy_decision decision_of(enum policy_action verdict, enum policy_cause cause)
{
	static const uint32_t rules[] = { 3 };

	return (struct policy_decision){
		.verdict = verdict,
		.cause = cause,
		.rules = rules,
		.n_rules = 1,
		.constraints = { .require_sandbox = "L2", .max_file_size_bytes = 100 },
	};
}

/* The verdict of @decision after one vote. */
static enum policy_action vote(struct policy_decision *decision, enum policy_action action)
{
	const struct policy_vote votes[] = { { "checker", action, "its reason" } };

	policy_add_votes(decision, votes, 1);
	return decision->verdict;
}

static void no_vote_changes_a_final_decision(void)
{
	static const struct {
		enum policy_action verdict;
		enum policy_cause cause;
	} final[] = {
		{ POLICY_DENY, CAUSE_RULES },
		{ POLICY_DENY, CAUSE_BUILTIN },
		{ POLICY_DENY, CAUSE_BAD_REQUEST },
		{ POLICY_ALLOW, CAUSE_TOKEN },
	};

	for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++) {
		for (int action = POLICY_PASS; action <= POLICY_DENY; action++) {
			struct policy_decision decision =
				decision_of(final[i].verdict, final[i].cause);

			expect_eq(vote(&decision, (enum policy_action)action), final[i].verdict);
			expect_eq(decision.cause, final[i].cause);
			expect_eq(decision.n_rules, 1);
		}
	}
}

static void a_vote_decides_where_no_rule_did(void)
{
	for (int action = POLICY_ALLOW; action <= POLICY_DENY; action++) {
		struct policy_decision decision = decision_of(POLICY_DENY, CAUSE_DEFAULT);

		expect_eq(vote(&decision, (enum policy_action)action), action);
		expect_eq(decision.cause, CAUSE_EXTENSION);
		expect_str(decision.extension, "checker");
		expect_str(decision.reason, "its reason");
		expect_eq(decision.n_rules, 0);
		expect_eq(decision.constraints.max_file_size_bytes, UINT64_MAX);
	}
}

static void the_default_decides_where_all_votes_pass(void)
{
	struct policy_decision decision = decision_of(POLICY_ALLOW, CAUSE_DEFAULT);

	expect_eq(vote(&decision, POLICY_PASS), POLICY_ALLOW);
	expect_eq(decision.cause, CAUSE_DEFAULT);
	policy_add_votes(&decision, NULL, 0);
	expect_eq(decision.cause, CAUSE_DEFAULT);
}

static void only_a_more_severe_vote_changes_the_answer_of_rules(void)
{
	struct policy_decision decision = decision_of(POLICY_REVIEW, CAUSE_RULES);

	expect_eq(vote(&decision, POLICY_ALLOW), POLICY_REVIEW);
	expect_eq(vote(&decision, POLICY_WARN), POLICY_REVIEW);
	expect_eq(vote(&decision, POLICY_REVIEW), POLICY_REVIEW);
	expect_eq(decision.cause, CAUSE_RULES);
	expect_eq(vote(&decision, POLICY_DENY), POLICY_DENY);
	expect_eq(decision.cause, CAUSE_EXTENSION);
}

static void a_warning_keeps_the_constraints_of_the_permission(void)
{
	struct policy_decision decision = decision_of(POLICY_ALLOW, CAUSE_RULES);

	expect_eq(vote(&decision, POLICY_WARN), POLICY_WARN);
	expect_str(decision.constraints.require_sandbox, "L2");
	expect_eq(decision.constraints.max_file_size_bytes, 100);
}

static void the_most_severe_of_several_votes_counts(void)
{
	const struct policy_vote votes[] = {
		{ "a", POLICY_ALLOW, "1" },
		{ "b", POLICY_REVIEW, "2" },
		{ "c", POLICY_WARN, "3" },
		{ "d", POLICY_REVIEW, "4" },
	};
	struct policy_decision decision = decision_of(POLICY_DENY, CAUSE_DEFAULT);

	policy_add_votes(&decision, votes, 4);
	expect_eq(decision.verdict, POLICY_REVIEW);
	expect_str(decision.extension, "b");
}

static void a_vote_that_is_no_action_denies(void)
{
	struct policy_decision decision = decision_of(POLICY_ALLOW, CAUSE_RULES);

	expect_eq(vote(&decision, (enum policy_action)77), POLICY_DENY);
}

static const struct test tests[] = {
	TEST(no_vote_changes_a_final_decision),
	TEST(a_vote_decides_where_no_rule_did),
	TEST(the_default_decides_where_all_votes_pass),
	TEST(only_a_more_severe_vote_changes_the_answer_of_rules),
	TEST(a_warning_keeps_the_constraints_of_the_permission),
	TEST(the_most_severe_of_several_votes_counts),
	TEST(a_vote_that_is_no_action_denies),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
