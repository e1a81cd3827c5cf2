/* SPDX-License-Identifier: MIT */

/*
 * The cost bounds of policy/compile.h, against the number of live nodes for random paths in random
 * tries
 */

#include <stdint.h>

#include "policy/artefact-internal.h"
#include "policy/compile.h"
#include "policy/glob.h"
#include "policy-build.h"
#include "test.h"

#define LIVE_MAX 4096

static uint64_t random_state = 3;

static uint32_t random_below(uint32_t n)
{
	uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

/* A naive walk that stores every live node, including those of "**". */
struct walk {
	const struct artefact *artefact;
	const struct artefact_node *nodes;
	uint32_t live[LIVE_MAX];
	bool is_float[LIVE_MAX];
	size_t n;
};

/* An empty fork for most nodes. */
static const struct artefact_fork *fork_of(const struct walk *walk, uint32_t node)
{
	static const struct artefact_fork none = { .star = ARTEFACT_NONE,
						   .floating = ARTEFACT_NONE,
						   .pattern = ARTEFACT_NONE };
	const struct artefact_fork *forks = artefact_rows(walk->artefact, SECTION_FORKS);

	return walk->nodes[node].kind & NODE_FORK ? &forks[walk->nodes[node].ends] : &none;
}

static void live_on(struct walk *walk, uint32_t node, bool is_float)
{
	uint32_t floating = fork_of(walk, node)->floating;

	for (size_t i = 0; i < walk->n; i++)
		if (walk->live[i] == node)
			return;
	build_must(walk->n < LIVE_MAX);
	walk->live[walk->n] = node;
	walk->is_float[walk->n++] = is_float;
	if (floating != ARTEFACT_NONE)
		live_on(walk, floating, true);
}

static size_t count_floats(const struct walk *walk)
{
	size_t n = 0;

	for (size_t i = 0; i < walk->n; i++)
		n += walk->is_float[i];
	return n;
}

/* Counts steps as compile.h does. */
static size_t count_steps(const struct walk *walk)
{
	const struct artefact_pattern *patterns = artefact_rows(walk->artefact, SECTION_PATTERNS);
	size_t n = walk->n;

	for (size_t i = 0; i < walk->n; i++)
		for (uint32_t k = fork_of(walk, walk->live[i])->pattern; k != ARTEFACT_NONE;
		     k = patterns[k].next)
			n += patterns[k].suffix ? 1 : patterns[k].len + 1;
	return n;
}

static void step(const struct walk *from, const char *name, size_t len, struct walk *to)
{
	const struct artefact_pattern *patterns = artefact_rows(from->artefact, SECTION_PATTERNS);

	to->artefact = from->artefact;
	to->nodes = from->nodes;
	to->n = 0;
	for (size_t i = 0; i < from->n; i++) {
		const struct artefact_node *node = &from->nodes[from->live[i]];
		const struct artefact_fork *fork = fork_of(from, from->live[i]);

		if (from->is_float[i])
			live_on(to, from->live[i], true);
		if (fork->star != ARTEFACT_NONE)
			live_on(to, fork->star, false);
		for (uint32_t k = fork->pattern; k != ARTEFACT_NONE; k = patterns[k].next)
			if (glob_pattern_matches(artefact_text(from->artefact, patterns[k].text),
						 patterns[k].len, name, len))
				live_on(to, patterns[k].to, false);
		for (uint32_t k = 0; node->words && k < 1u << node->table_bits; k++) {
			const struct artefact_node *child = &from->nodes[node->children + k];

			if (child->key != 0 && child->len == len &&
			    memcmp(artefact_text(from->artefact, child->text), name, len) == 0)
				live_on(to, node->children + k, false);
		}
	}
}

static void expect_within(const struct walk *walk, const struct compile_cost *cost, size_t *worst)
{
	size_t n_floats = count_floats(walk), n_steps = count_steps(walk);

	expect(n_floats <= cost->n_floats);
	expect(n_steps <= cost->n_steps);
	*worst = n_steps > *worst ? n_steps : *worst;
}

/* Walks a random path of a few names, so that many nodes are live. */
static void walk_randomly(const struct artefact *artefact, const struct compile_cost *cost,
			  size_t *worst)
{
	static const char *const names[] = { "a", "b", "ab", "ba", "c" };
	static struct walk walks[2];
	struct walk *now = &walks[0], *after = &walks[1];

	now->artefact = artefact;
	now->nodes = artefact_rows(artefact, SECTION_NODES);
	now->n = 0;
	live_on(now, 0, false);
	live_on(now, 1, false);
	for (int i = 0; i < 30; i++) {
		const char *name = names[random_below(5)];
		struct walk *before = now;

		expect_within(now, cost, worst);
		step(now, name, strlen(name), after);
		now = after;
		after = before;
	}
}

static void add_random_globs(struct built *built, uint32_t n)
{
	static const char *const components[] = { "a", "b",  "a",  "ab", "c", "**",
						  "*", "a*", "*b", "?",	 "**" };
	char word[256];

	for (uint32_t i = 0; i < n; i++) {
		size_t len = (size_t)snprintf(word, sizeof(word), "path=/");

		for (uint32_t k = 1 + random_below(6); k > 0; k--)
			len += (size_t)snprintf(word + len, sizeof(word) - len, "%s%s",
						components[random_below(11)], k > 1 ? "/" : "");
		build_rule(built, POLICY_DENY, "fs.read", word);
	}
}

static void no_path_costs_more_than_the_bound(void)
{
	int n = test_is_slow() ? 2000 : 100;

	for (int i = 0; i < n; i++) {
		_cleanup_built_ struct built built = build_new();
		struct compile_cost cost = { 0, 0 };
		size_t worst = 0;

		add_random_globs(&built, 1 + random_below(20));
		expect_eq(policy_measure(built.policy, &cost, NULL), 0);
		expect(cost.n_steps >= 2);
		build_engine(&built);
		for (int k = 0; k < 10; k++)
			walk_randomly(&built.artefact, &cost, &worst);
		expect(worst >= 2);
	}
}

static struct compile_cost cost_of(const char *const *globs)
{
	_cleanup_built_ struct built built = build_new();
	struct compile_cost cost = { 0, 0 };
	char word[256];

	for (; *globs; globs++) {
		(void)snprintf(word, sizeof(word), "path=%s", *globs);
		build_rule(&built, POLICY_DENY, "fs.read", word);
	}
	expect_eq(policy_measure(built.policy, &cost, NULL), 0);
	return cost;
}

/* A bound that is far too high would refuse ordinary policies. */
static void the_bound_is_exact_where_that_is_easy(void)
{
	static const struct {
		const char *globs[4];
		uint64_t n_floats;
		uint64_t n_steps; /* one of them is for the project's root */
	} cases[] = {
		{ { NULL }, 0, 2 },
		{ { "/a/b/c", "/a/d", NULL }, 0, 2 },
		{ { "/a", "/*", NULL }, 0, 3 },
		{ { "/a/**/b", "/c/**/d", NULL }, 1, 4 },
		{ { "/**/a", "/**/b", "/**/c" }, 1, 4 },
		{ { "/**/a/b", "/**/b/c", NULL }, 1, 5 },
		{ { "/**/a/**/b", NULL }, 2, 6 },
		{ { "/a/*.c", "/a/*.h", NULL }, 0, 4 },
		{ { "/a/x*.c", NULL }, 0, 7 },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct compile_cost cost = cost_of(cases[i].globs);

		expect_eq(cost.n_floats, cases[i].n_floats);
		expect_eq(cost.n_steps, cases[i].n_steps);
	}
}

static const struct test tests[] = {
	TEST(no_path_costs_more_than_the_bound),
	TEST(the_bound_is_exact_where_that_is_easy),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
