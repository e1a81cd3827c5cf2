/* SPDX-License-Identifier: MIT */

/* The compiled filter and the rules give the same verdict for each call */

#include "filter/compile.h"

#include "filter-rig.h"
#include "test.h"

#define NUMBERS 1100

struct compiled {
	struct sock_filter *code;
	size_t n;
};

static void compiled_deinit(struct compiled *c)
{
	free(c->code);
}
#define _cleanup_compiled_ _cleanup_(compiled_deinit)

/* Every bound in a rule, its neighbours, and the same values with another high half. */
static size_t interesting_values(uint64_t *values, size_t max)
{
	size_t n = 0;

	for (const struct filter_rule *rule = filter_rules; rule->set; rule++)
		for (size_t i = 0; i < FILTER_CONDITIONS_MAX; i++)
			for (uint64_t v = rule->when[i].from - 1ull;
			     rule->when[i].mask && v != rule->when[i].to + 2ull && n + 1 < max;
			     v++) {
				if (v > rule->when[i].from + 1ull && v + 1 < rule->when[i].to)
					continue;
				values[n++] = (uint32_t)v;
				values[n++] = v | 0x700000000u;
			}
	return n;
}

static bool has_condition(const char *name)
{
	for (const struct filter_rule *rule = filter_rules; name && rule->set; rule++)
		if (rule->when[0].mask && rule_names(rule, name))
			return true;
	return false;
}

static unsigned count_disagreements(const struct filter_profile_row *profile, unsigned variant,
				    int number, const char *name, const uint64_t *values,
				    size_t n_values)
{
	const struct sock_fprog *program = filter_find(profile->name, variant);
	size_t n_tries = !has_condition(name) ? 4 : test_is_slow() ? 20000 : 300;
	struct rules_of_call rules;
	unsigned n_wrong = 0;

	if (n_values == 0 || !program)
		return 1;
	find_rules(profile->bit, variant, name, &rules);
	for (size_t i = 0; i < n_tries; i++) {
		struct seccomp_data data = { .nr = number, .arch = seccomp_arch_native() };

		/* Coprime steps, so that all pairs of neighbours occur. */
		for (size_t a = 0; a < 4; a++)
			data.args[a] = values[(i * (a * a + a + 1) + i / n_values * a) % n_values];
		n_wrong += answer_of(program->filter, program->len, &data) !=
			   rules_say(&rules, name, &data);
	}
	if (n_wrong > 0)
		printf("# %s in variant %u of %s\n", name ? name : "?", variant, profile->name);
	return n_wrong;
}

static void every_call_is_answered_as_the_rules_say(void)
{
	static uint64_t values[4096];
	size_t n_values = interesting_values(values, N_ELEMENTS(values));
	unsigned n_wrong = 0;

	expect(n_values > 100);
	for (int number = 0; number < NUMBERS; number++) {
		_cleanup_free_ char *name =
			seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);

		for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
			for (const struct filter_profile_row *row = filter_profile_rows; row->name;
			     row++)
				n_wrong += count_disagreements(row, variant, number, name, values,
							       n_values);
	}
	expect_eq(n_wrong, 0);
}

/* Calls that older releases of libseccomp do not know; other unknown names are misspelt. */
static bool is_newer_than_some(const char *name)
{
	static const char *const newer[] = { "cachestat",     "fchmodat2",     "map_shadow_stack",
					     "futex_wake",    "futex_wait",    "futex_requeue",
					     "statmount",     "listmount",     "mseal",
					     "setxattrat",    "getxattrat",    "listxattrat",
					     "removexattrat", "open_tree_attr" };

	for (size_t i = 0; i < N_ELEMENTS(newer); i++)
		if (strcmp(name, newer[i]) == 0)
			return true;
	return false;
}

static void every_name_in_the_rules_is_a_system_call(void)
{
	for (const struct filter_rule *rule = filter_rules; rule->set; rule++) {
		_cleanup_free_ char *names = strdup(rule->calls);
		char *rest = names, *name;

		while (names && (name = strsep(&rest, " "))) {
			if (seccomp_syscall_resolve_name(name) == __NR_SCMP_ERROR &&
			    !is_newer_than_some(name)) {
				printf("# '%s' in '%s'\n", name, rule->calls);
				expect(!"a system call");
			}
		}
	}
}

static void no_rule_of_a_variant_comes_too_late(void)
{
	/* A rule after an unconditional rule for the same call would have no effect. */
	for (const struct filter_rule *rule = filter_rules; rule->set; rule++)
		for (const struct filter_rule *before = filter_rules; before != rule; before++)
			if (before->when[0].mask == 0 && before->with == 0 &&
			    before->without == 0 &&
			    (before->profiles & rule->profiles) == rule->profiles &&
			    rule_names(before, rule->calls)) {
				printf("# %s: '%s'\n", rule->set, rule->calls);
				expect(!"a rule that is reached");
			}
}

static void the_table_is_what_the_compiler_makes(void)
{
	for (const struct filter_profile_row *row = filter_profile_rows; row->name; row++)
		for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++) {
			_cleanup_compiled_ struct compiled c = { 0 };
			const struct sock_fprog *built_in = filter_find(row->name, variant);

			expect_eq(filter_compile(row->name, variant, &c.code, &c.n), 0);
			expect_eq(c.n, built_in->len);
			expect(memcmp(c.code, built_in->filter, c.n * sizeof(*c.code)) == 0);
		}
}

static void refuses_a_profile_that_does_not_exist(void)
{
	_cleanup_compiled_ struct compiled c = { 0 };

	expect_eq(filter_compile("permissive", 0, &c.code, &c.n), -ENOENT);
	expect_eq(filter_compile("", 0, &c.code, &c.n), -ENOENT);
	expect_eq(filter_compile("strict", FILTER_VARIANTS, &c.code, &c.n), -ENOENT);
	expect(!c.code);
}

static const struct test tests[] = {
	TEST(every_call_is_answered_as_the_rules_say),
	TEST(every_name_in_the_rules_is_a_system_call),
	TEST(no_rule_of_a_variant_comes_too_late),
	TEST(the_table_is_what_the_compiler_makes),
	TEST(refuses_a_profile_that_does_not_exist),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
