/* SPDX-License-Identifier: MIT */
#include "policy/model.h"

#include <stdlib.h>

#include "test.h"

static void every_action_has_a_name_that_finds_it(void)
{
	for (int i = POLICY_PASS; i <= POLICY_DENY; i++) {
		enum policy_action action = POLICY_PASS;

		expect(policy_action_find(policy_action_name((enum policy_action)i), &action));
		expect_eq(action, i);
	}
	expect_str(policy_action_name(POLICY_REVIEW), "require_review");
}

static void an_unknown_action_is_not_found(void)
{
	enum policy_action action = POLICY_WARN;

	expect(!policy_action_find("Allow", &action) && !policy_action_find("", &action));
	expect_eq(action, POLICY_WARN);
}

/* In the order of the enum. */
static const char *const paths[] = {
	"a",	  "a[0]", "a[1]",  "a[1].b", "a[2]", "a[10]", "a[10].b", "a[10].c",
	"a[100]", "a.b",  "a.c.d", "a-b",    "a_b",  "ab",    "b",
};

static void paths_are_sorted_by_their_steps(void)
{
	size_t n = sizeof(paths) / sizeof(paths[0]);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			int order = policy_compare_paths(paths[i], paths[k]);

			expect_eq(order < 0, i < k);
			expect_eq(order > 0, i > k);
		}
}

static void finds_every_setting_and_no_other(void)
{
	_cleanup_policy_ struct policy *policy = calloc(1, sizeof(*policy));
	size_t n = sizeof(paths) / sizeof(paths[0]);

	if (!policy)
		abort();
	policy->settings = arena_alloc(&policy->arena, n * sizeof(*policy->settings));
	for (; policy->n_settings < n; policy->n_settings++)
		policy->settings[policy->n_settings].path = paths[policy->n_settings];
	for (size_t i = 0; i < n; i++)
		expect(policy_get_setting(policy, paths[i]) == &policy->settings[i]);
	expect(!policy_get_setting(policy, "") && !policy_get_setting(policy, "a[1"));
	expect(!policy_get_setting(policy, "a[3]") && !policy_get_setting(policy, "c"));
	expect(policy_get_item(policy, "a", 10) == policy_get_setting(policy, "a[10]"));
	expect(!policy_get_item(policy, "a", 3));
}

static void without_a_policy_nothing_is_set(void)
{
	expect(!policy_get_setting(NULL, "a") && !policy_get_item(NULL, "a", 0));
	expect(!policy_get_text(NULL, "a"));
	expect_eq(policy_get_number(NULL, "a"), 0);
}

static void the_digest_is_over_length_and_bytes_of_every_source(void)
{
	struct policy_source sources[2] = { { .bytes = "ab", .n_bytes = 2 },
					    { .bytes = "", .n_bytes = 0, .narrows = true } };
	struct policy policy = { .sources = sources, .n_sources = 2 };
	uint8_t got[32], want[32];

	digest_of("\2\0\0\0\0\0\0\0ab\0\0\0\0\0\0\0\x80", 18, want);
	expect_eq(policy_make_digest(&policy, got), 0);
	expect(memcmp(got, want, sizeof(got)) == 0);
}

static void the_same_bytes_cut_otherwise_have_another_digest(void)
{
	struct policy_source one[2] = { { .bytes = "ab", .n_bytes = 2 },
					{ .bytes = "c", .n_bytes = 1 } };
	struct policy_source other[2] = { { .bytes = "a", .n_bytes = 1 },
					  { .bytes = "bc", .n_bytes = 2 } };
	struct policy policy = { .sources = one, .n_sources = 2 };
	uint8_t a[32], b[32];

	expect_eq(policy_make_digest(&policy, a), 0);
	policy.sources = other;
	expect_eq(policy_make_digest(&policy, b), 0);
	expect(memcmp(a, b, sizeof(a)) != 0);
	other[1].narrows = true;
	expect_eq(policy_make_digest(&policy, a), 0);
	expect(memcmp(a, b, sizeof(a)) != 0);
}

static void nothing_can_be_freed(void)
{
	expect(policy_free(NULL) == NULL);
}

static const struct test tests[] = {
	TEST(every_action_has_a_name_that_finds_it),
	TEST(an_unknown_action_is_not_found),
	TEST(paths_are_sorted_by_their_steps),
	TEST(finds_every_setting_and_no_other),
	TEST(without_a_policy_nothing_is_set),
	TEST(the_digest_is_over_length_and_bytes_of_every_source),
	TEST(the_same_bytes_cut_otherwise_have_another_digest),
	TEST(nothing_can_be_freed),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
