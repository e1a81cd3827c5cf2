/* SPDX-License-Identifier: MIT */

/*
 * The layout against evaluating the chains: random ranges and rules, with values at and beside each
 * bound
 */

#include "filter/layout.h"

#include "filter-rig.h"
#include "test.h"

#define ARCHITECTURE 0xc00000b7u
#define CHAINS 64
#define RANGES 400
#define RULES (CHAINS * LAYOUT_CHAIN_MAX)

struct made {
	struct filter_rule rules[RULES];
	size_t n_rules;
	struct layout_chain chains[CHAINS];
	struct layout_range ranges[RANGES + 1];
	size_t n_ranges;
	struct sock_filter *code;
	size_t n;
};

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static uint32_t random_answer(uint64_t *state)
{
	static const uint32_t answers[] = { ALLOW, NO(EPERM), NO(ENOSYS), NO(EINVAL), ASK };

	return answers[next_random(state) % N_ELEMENTS(answers)];
}

/* Few different values, so that rules overlap and arguments match them. */
static struct filter_condition random_condition(uint64_t *state)
{
	static const uint32_t masks[] = { UINT32_MAX, UINT32_MAX, 0xf, 0x80000001u, 0x10 };
	static const uint32_t values[] = { 0, 1, 7, 8, 0x10, 0x80000000u, UINT32_MAX };
	uint32_t a = values[next_random(state) % N_ELEMENTS(values)];
	uint32_t b = next_random(state) % 2 ? a : values[next_random(state) % N_ELEMENTS(values)];

	return (struct filter_condition){ .argument = (uint8_t)(next_random(state) % 3),
					  .is_not = next_random(state) % 4 == 0,
					  .mask = masks[next_random(state) % N_ELEMENTS(masks)],
					  .from = a < b ? a : b,
					  .to = a < b ? b : a };
}

static void make_chain(struct made *m, struct layout_chain *chain, size_t n_rules, uint64_t *state)
{
	*chain = (struct layout_chain){ .n_rules = n_rules, .otherwise = random_answer(state) };
	for (size_t i = 0; i < n_rules; i++) {
		struct filter_rule *rule = &m->rules[m->n_rules++];
		size_t n_conditions = 1 + next_random(state) % FILTER_CONDITIONS_MAX;

		*rule = (struct filter_rule){ .set = "made", .answer = random_answer(state) };
		for (size_t k = 0; k < n_conditions; k++)
			rule->when[k] = random_condition(state);
		chain->rules[i] = rule;
	}
}

/* At most @most_rules rules in each chain; every other chain has none. */
static int make(struct made *m, size_t n_chains, size_t n_ranges, size_t most_rules, uint64_t seed)
{
	uint64_t state = seed;
	uint32_t first = 0;

	*m = (struct made){ .n_rules = 0 };
	for (size_t i = 0; i < n_chains; i++)
		make_chain(m, &m->chains[i],
			   i % 2 && most_rules ? 1 + next_random(&state) % most_rules : 0, &state);
	while (m->n_ranges < n_ranges) {
		const struct layout_chain *chain = &m->chains[next_random(&state) % n_chains];

		if (m->n_ranges > 0 && m->ranges[m->n_ranges - 1].chain == chain)
			continue;
		m->ranges[m->n_ranges++] = (struct layout_range){ first, chain };
		first += 1 + (next_random(&state) % 3 == 0 ? next_random(&state) % 40 : 0);
	}
	m->ranges[m->n_ranges].first = UINT32_MAX;
	return layout_build(ARCHITECTURE, m->ranges, m->n_ranges, &m->code, &m->n);
}

static uint32_t chains_say(const struct made *m, const struct seccomp_data *data)
{
	const struct layout_chain *chain;
	size_t i = m->n_ranges - 1;

	if (data->arch != ARCHITECTURE)
		return KILL;
	while (m->ranges[i].first > (uint32_t)data->nr)
		i--;
	chain = m->ranges[i].chain;
	for (size_t k = 0; k < chain->n_rules; k++)
		if (rule_holds(chain->rules[k], data))
			return chain->rules[k]->answer;
	return chain->otherwise;
}

static bool agrees_on(const struct made *m, uint32_t number, uint64_t *state)
{
	static const uint64_t values[] = { 0,		1,	     2,
					   6,		7,	     8,
					   9,		0x10,	     0x11,
					   0x7fffffff,	0x80000000u, 0x80000001u,
					   0xfffffffeu, UINT32_MAX,  0x100000000u,
					   UINT64_MAX };
	struct seccomp_data data = { .nr = (int)number, .arch = ARCHITECTURE };

	for (size_t i = 0; i < 3; i++)
		data.args[i] = values[next_random(state) % N_ELEMENTS(values)];
	return answer_of(m->code, m->n, &data) == chains_say(m, &data);
}

static void check(const struct made *m, unsigned tries)
{
	uint64_t state = 1;
	unsigned n_wrong = 0;
	uint32_t last = m->ranges[m->n_ranges - 1].first;

	for (uint32_t number = 0; number <= last + 3; number++)
		for (unsigned i = 0; i < tries; i++)
			n_wrong += !agrees_on(m, number, &state);
	for (unsigned i = 0; i < tries; i++)
		n_wrong += !agrees_on(m, 0x40000000u + next_random(&state), &state);
	expect_eq(n_wrong, 0);
}

static void answers_what_the_chains_say(void)
{
	struct made *m = calloc(1, sizeof(*m));
	uint64_t n_seeds = test_is_slow() ? 5000 : 150;

	for (uint64_t seed = 1; m && seed <= n_seeds; seed++) {
		uint64_t state = seed;
		size_t n_chains = 2 + next_random(&state) % 12;

		expect_eq(make(m, n_chains, 1 + next_random(&state) % 60, 4, seed), 0);
		check(m, 8);
		free(m->code);
	}
	free(m);
}

/* The offset of a conditional jump is at most 255. */
static void jumps_further_than_a_byte_says(void)
{
	struct made *m = calloc(1, sizeof(*m));

	for (uint64_t seed = 1; m && seed <= 20; seed++) {
		expect_eq(make(m, CHAINS, 120, LAYOUT_CHAIN_MAX, seed), 0);
		expect(m->n > 3 * 255);
		check(m, 20);
		free(m->code);
	}
	free(m);
}

static void one_range_needs_no_tree(void)
{
	struct made *m = calloc(1, sizeof(*m));

	expect_eq(make(m, 1, 1, 0, 7), 0);
	expect(m->n <= 5);
	check(m, 4);
	free(m->code);
	free(m);
}

static void another_architecture_is_killed_before_anything_is_looked_at(void)
{
	struct made *m = calloc(1, sizeof(*m));

	expect_eq(make(m, 8, 30, 3, 9), 0);
	for (int number = 0; number < 200; number++) {
		struct seccomp_data data = { .nr = number, .arch = ARCHITECTURE ^ 1 };
		struct walk w = { .code = m->code, .n = m->n, .data = &data };

		expect_eq(walk_run(&w), KILL);
		expect(!w.saw_argument);
	}
	free(m->code);
	free(m);
}

static void a_single_number_between_equals_costs_one_jump(void)
{
	const struct layout_chain yes = { .otherwise = ALLOW }, no = { .otherwise = NO(EPERM) };
	const struct layout_range ranges[] = {
		{ 0, &yes }, { 40, &no }, { 41, &yes }, { UINT32_MAX, NULL }
	};
	_cleanup_free_ struct sock_filter *code = NULL;
	size_t n = 0;

	expect_eq(layout_build(ARCHITECTURE, ranges, 3, &code, &n), 0);
	expect_eq(n, 7); /* load arch, compare, load nr, compare; three verdicts */
}

static void refuses_more_than_the_kernel_takes(void)
{
	struct made *m = calloc(1, sizeof(*m));
	struct sock_filter *code = NULL;
	size_t n = 0;
	uint64_t state = 3;

	expect_eq(make(m, 2, 2, 0, 1), 0);
	free(m->code);
	for (uint32_t i = 0; i < CHAINS; i++) {
		make_chain(m, &m->chains[i], i == 0 ? 0 : LAYOUT_CHAIN_MAX, &state);
		m->ranges[i] = (struct layout_range){ i, &m->chains[i] };
	}
	for (size_t i = 0; i < m->n_rules; i++)
		for (size_t k = 0; k < FILTER_CONDITIONS_MAX; k++)
			m->rules[i].when[k] = (struct filter_condition){
				.argument = (uint8_t)k, .mask = 0x7fffffff, .from = 5, .to = 9
			};
	m->ranges[CHAINS].first = UINT32_MAX;
	expect_eq(layout_build(ARCHITECTURE, m->ranges, CHAINS, &code, &n), -E2BIG);
	expect(!code);
	free(m);
}

static const struct test tests[] = {
	TEST(answers_what_the_chains_say),
	TEST(jumps_further_than_a_byte_says),
	TEST(one_range_needs_no_tree),
	TEST(another_architecture_is_killed_before_anything_is_looked_at),
	TEST(a_single_number_between_equals_costs_one_jump),
	TEST(refuses_more_than_the_kernel_takes),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
