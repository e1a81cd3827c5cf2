/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdint.h>

#include <sbx/error.h>

#include "policy/artefact-internal.h"
#include "policy/compile.h"
#include "policy-build.h"
#include "test.h"

static size_t n_rows(const struct built *built, enum artefact_section section)
{
	return artefact_n_rows(&built->artefact, section);
}

static void an_empty_policy_compiles(void)
{
	_cleanup_built_ struct built built = build_new();

	build_engine(&built);
	expect_eq(n_rows(&built, SECTION_RULES), 0);
	expect_eq(n_rows(&built, SECTION_NODES), 2);
	expect_eq(n_rows(&built, SECTION_SOURCES), 2);
	expect(memcmp(built.artefact.header->policy_digest, built.policy->digest, 32) == 0);
}

static void add_some_rules(struct built *built)
{
	struct rule *rule = build_rule(built, POLICY_ALLOW, "fs.*",
				       "path=src/** path=!src/*.key path=/etc/[a-f]* tag=a tag=b");

	rule->reason = "because";
	build_except(built, rule, NULL, "path=src/x/**");
	build_except(built, rule, "fs.read", "caller=me");
	rule = build_rule(built, POLICY_DENY, "net.*",
			  "host=a.example cidr=10.0.0.0/8 port=80 port=1000-2000 proto=udp");
	build_rule(built, POLICY_DENY, "net.connect", "cidr=::1 port=80");
	build_rule(built, POLICY_WARN, "test.run", "caller=me");
}

static void the_same_model_gives_the_same_bytes(void)
{
	_cleanup_built_ struct built first = build_new(), second = build_new();

	add_some_rules(&first);
	add_some_rules(&second);
	build_engine(&first);
	build_engine(&second);
	expect_eq(first.n_bytes, second.n_bytes);
	expect(first.n_bytes == second.n_bytes &&
	       memcmp(first.block, second.block, first.n_bytes) == 0);
}

static void keeps_the_names_and_places_of_rules(void)
{
	_cleanup_built_ struct built built = build_new();

	add_some_rules(&built);
	build_engine(&built);

	const struct artefact_rule *rules = artefact_rows(&built.artefact, SECTION_RULES);
	const struct artefact_source *sources = artefact_rows(&built.artefact, SECTION_SOURCES);

	expect_eq(n_rows(&built, SECTION_RULES), 4);
	expect_str(artefact_text(&built.artefact, rules[0].name), "r0");
	expect_str(artefact_text(&built.artefact, rules[0].reason), "because");
	expect_eq(rules[1].reason, ARTEFACT_NONE);
	expect_eq(rules[3].line, 4);
	expect_eq(rules[0].exceptions.count, 2);
	expect_eq(rules[0].n_plain_exceptions, 1);
	expect_str(artefact_text(&built.artefact, sources[1].name), "project.yaml");
	expect(sources[1].narrows && !sources[0].narrows);
}

static void globs_that_begin_alike_share_their_nodes(void)
{
	_cleanup_built_ struct built built = build_new();

	build_rule(&built, POLICY_ALLOW, "fs.read", "path=/a/b/*.c path=/a/b/*.h path=/a/b");
	build_rule(&built, POLICY_ALLOW, "fs.read", "path=/a/b/*.c path=/a/*/d");
	build_engine(&built);
	/* Two roots, a, b, two patterns, "*", d: each child table has room for one. */
	expect_eq(n_rows(&built, SECTION_NODES), 8);
	/* For a, b and the first pattern, in which two globs end. */
	expect_eq(n_rows(&built, SECTION_FORKS), 3);
	expect_eq(n_rows(&built, SECTION_PATTERNS), 2);
}

/* A range of ports is at most thirty bit prefixes. */
static void ranges_become_few_prefixes(void)
{
	_cleanup_built_ struct built built = build_new();
	const struct artefact_entry *entries;
	size_t n = 0;

	build_rule(&built, POLICY_ALLOW, "net.connect", "port=1-65534");
	build_engine(&built);
	entries = artefact_rows(&built.artefact, SECTION_INDEX);
	for (size_t i = 0; i < n_rows(&built, SECTION_INDEX); i++)
		n += entries[i].key.kind == ENTRY_PORT;
	expect_eq(n, 30);
}

/* An attacker may write the policy: no words may make hash lookups long. */
static void keeps_every_word_close_to_its_place(void)
{
	_cleanup_built_ struct built built = build_new();
	char word[64];

	for (int i = 0; i < 5000; i++) {
		(void)snprintf(word, sizeof(word), "caller=w%d tag=v%d", i * 7919, i % 97);
		build_rule(&built, POLICY_ALLOW, "fs.read", word);
	}
	build_engine(&built);

	const struct artefact_word *words = artefact_rows(&built.artefact, SECTION_WORDS);
	size_t n = n_rows(&built, SECTION_WORDS), n_used = 0;

	for (size_t i = 0; i < n; i++) {
		if (words[i].text == ARTEFACT_NONE)
			continue;
		n_used++;

		uint64_t hash =
			hash_bytes(built.artefact.header->seeds[TABLE_WORDS],
				   artefact_text(&built.artefact, words[i].text), words[i].len);

		expect(((i - hash) & (n - 1)) < ARTEFACT_PROBES_MAX);
	}
	expect_eq(n_used, 5000 + 97);
}

/* The number of children of @row; each must be found by a lookup. */
static size_t count_children(const struct artefact *artefact, uint32_t row)
{
	const struct artefact_node *nodes = artefact_rows(artefact, SECTION_NODES);
	const struct artefact_node *node = &nodes[row];
	size_t n = 0;

	for (uint32_t i = 0; node->words && i < 1u << node->table_bits; i++) {
		const struct artefact_node *child = &nodes[node->children + i];

		if (child->key == 0)
			continue;
		n++;

		uint64_t hash = hash_bytes(artefact->header->seeds[TABLE_NODES],
					   artefact_text(artefact, child->text), child->len);

		expect(node->words & node_bit(hash));
		expect(i == node_place(hash, node->table_bits) ||
		       i == node_other_place(hash, node->table_bits));
	}
	return n;
}

static void puts_every_child_into_one_of_two_places(void)
{
	_cleanup_built_ struct built built = build_new();
	size_t n_children = 0, most = 0;
	char word[80];

	for (int i = 0; i < 20000; i++) {
		(void)snprintf(word, sizeof(word), "path=/w%d%s/v%d/u%d", i % 5003,
			       i % 3 ? "" : "-and-more-than-sixteen-bytes", i % 7, i % 31);
		build_rule(&built, POLICY_ALLOW, "fs.read", word);
	}
	build_engine(&built);
	for (uint32_t i = 0; i < n_rows(&built, SECTION_NODES); i++) {
		size_t n = count_children(&built.artefact, i);

		n_children += n;
		most = n > most ? n : most;
	}
	expect_eq(most, 2 * 5003);
	expect_eq(n_children, 2 * 5003 + 2 * 20000);
	/* The tables may not waste space, because every start maps them. */
	expect(n_rows(&built, SECTION_NODES) < 3 * n_children);
}

/* With these last 8 of 16 bytes the hash with seed 0 is 0 for any first 8 bytes. */
static void components_made_to_collide_are_told_apart(void)
{
	static const char tail[] = "\x15\x7c\x4a\x7f\xb9\x79\x37\x9e";
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "fs.read" };
	struct policy_decision decision;
	char word[64];

	expect_eq(hash_bytes(0, "abcdefgh\x15\x7c\x4a\x7f\xb9\x79\x37\x9e", 16), 0);
	for (int i = 0; i < 40; i++) {
		(void)snprintf(word, sizeof(word), "path=/d/abcde%03d%s", i, tail);
		build_rule(&built, POLICY_ALLOW, "fs.read", word);
	}
	build_engine(&built);
	expect(built.artefact.header->seeds[TABLE_NODES] > 0);
	expect_eq(count_children(&built.artefact, 0), 1);
	request.path = word + 5;
	for (int i = 0; i < 80; i++) {
		(void)snprintf(word, sizeof(word), "path=/d/abcde%03d%s", i, tail);
		policy_decide(built.engine, &request, &decision);
		expect_eq(decision.verdict, i < 40 ? POLICY_ALLOW : POLICY_DENY);
	}
}

/* The error, or NULL if it compiles. */
static const struct sbx_error *refusal_of(struct built *built)
{
	static struct sbx_error err;
	int r = build_try(built, &err);

	if (r == 0)
		return NULL;
	expect(err.code == r && r < 0 && err.what[0] && err.fix[0]);
	expect(built->block == NULL);
	return &err;
}

static void expect_refused(const char *operation, const char *words, const char *what)
{
	_cleanup_built_ struct built built = build_new();

	build_rule(&built, POLICY_DENY, "fs.read", "path=/fine");
	build_rule(&built, POLICY_DENY, operation, words);

	const struct sbx_error *err = refusal_of(&built);

	if (err && strncmp(err->what, "p.yaml:2:5: ", 12) == 0 && strstr(err->what, what))
		return;
	printf("# %s: expected '%s', got '%s'\n", words, what, err ? err->what : "nothing");
	test_failures++;
}

static void refuses_wrong_values_with_their_place(void)
{
	expect_refused("fs.read", "path=/a[", "'/a['");
	expect_refused("fs.read", "path=/ok path=a/../b", "'a/../b'");
	expect_refused("net.connect", "host=a..b", "'a..b'");
	expect_refused("net.connect", "host=a.*.b", "'a.*.b'");
	expect_refused("net.connect", "cidr=10.0.0.1/8", "'10.0.0.1/8'");
	expect_refused("net.connect", "cidr=10.1/16", "'10.1/16'");
	expect_refused("net.connect", "cidr=::/129", "'::/129'");
	expect_refused("net.connect", "host=a.example cidr=1.2.3", "'1.2.3'");
	expect_refused("net.connect", "port=65536", "'65536'");
	expect_refused("net.connect", "port=9-8", "'9-8'");
	expect_refused("net.connect", "port=080", "'080'");
	expect_refused("net.connect", "proto=sctp", "'sctp'");
}

/* Does a policy with one exec rule of these words compile? */
static bool compiles(enum policy_action action, const char *operation, const char *match,
		     const char *except)
{
	_cleanup_built_ struct built built = build_new();
	struct rule *rule = build_rule(&built, action, operation, match);

	if (except)
		build_except(&built, rule, NULL, except);

	const struct sbx_error *err = refusal_of(&built);

	expect(!err || strstr(err->what, "which program"));
	return err == NULL;
}

static void a_name_never_gives_the_right_to_execute(void)
{
	expect(!compiles(POLICY_ALLOW, "exec", "path=git", NULL));
	expect(!compiles(POLICY_WARN, "exec", "path=git", NULL));
	expect(!compiles(POLICY_ALLOW, "exec", "literal=git", NULL));
	expect(!compiles(POLICY_ALLOW, "exec", "path=python*", NULL));
	expect(!compiles(POLICY_ALLOW, "*", "path=*", NULL));
	expect(!compiles(POLICY_ALLOW, "exec", "path=/usr/bin/a path=git", NULL));
	expect(!compiles(POLICY_DENY, "exec", "path=/** path=!git", NULL));
	expect(!compiles(POLICY_DENY, "exec", "path=/**", "path=git"));
	expect(!compiles(POLICY_REVIEW, "exec", "", "path=git"));
	expect(!compiles(POLICY_ALLOW, "exec", "path=/bin/**", "path=/bin/** path=!git"));
}

static void a_name_may_take_the_right_to_execute_away(void)
{
	expect(compiles(POLICY_DENY, "exec", "path=git", NULL));
	expect(compiles(POLICY_REVIEW, "exec", "path=git", NULL));
	expect(compiles(POLICY_PASS, "exec", "path=git", NULL));
	expect(compiles(POLICY_ALLOW, "exec", "path=/bin/** path=!git", NULL));
	expect(compiles(POLICY_ALLOW, "exec", "path=/bin/**", "path=git"));
	expect(compiles(POLICY_ALLOW, "exec", "path=/usr/bin/git", NULL));
	expect(compiles(POLICY_ALLOW, "exec", "path=./tool", NULL));
	expect(compiles(POLICY_ALLOW, "fs.read", "path=git", NULL));
}

/* @n globs of eight "**" each that share no node. */
static void add_floats(struct built *built, int n)
{
	char word[128];

	for (int i = 0; i < n; i++) {
		(void)snprintf(word, sizeof(word),
			       "path=/**/a%d/**/b/**/c/**/d/**/e/**/f/**/g/**/h", i);
		build_rule(built, POLICY_DENY, "fs.read", word);
	}
}

static void refuses_too_many_live_floats_and_names_a_glob(void)
{
	_cleanup_built_ struct built fits = build_new(), exceeds = build_new();
	/* All of them share the node of the first "**". */
	int n = (COMPILE_LIVE_FLOATS_MAX - 1) / 7;

	add_floats(&fits, n);
	expect(refusal_of(&fits) == NULL);
	add_floats(&exceeds, n + 1);

	const struct sbx_error *err = refusal_of(&exceeds);

	expect(err && err->code == -E2BIG);
	expect(err && strstr(err->what, "p.yaml:") && strstr(err->what, "/**/a"));
	expect(err && strstr(err->why, "256"));
}

/* A path is in only one of several sibling directories. */
static void floats_in_different_directories_are_not_live_together(void)
{
	_cleanup_built_ struct built built = build_new();
	char word[64];

	for (int i = 0; i < 3000; i++) {
		(void)snprintf(word, sizeof(word), "path=/d%d/**/x/**/y", i);
		build_rule(&built, POLICY_DENY, "fs.read", word);
	}
	expect(refusal_of(&built) == NULL);
}

static void floats_behind_patterns_are_live_together(void)
{
	_cleanup_built_ struct built built = build_new();
	char word[64];

	for (int i = 0; i <= COMPILE_LIVE_FLOATS_MAX; i++) {
		(void)snprintf(word, sizeof(word), "path=/*%d/**/x", i);
		build_rule(&built, POLICY_DENY, "fs.read", word);
	}

	const struct sbx_error *err = refusal_of(&built);

	expect(err && strstr(err->what, "/**/x"));
}

static void refuses_too_many_patterns_for_one_directory(void)
{
	_cleanup_built_ struct built suffixes = build_new(), patterns = build_new();
	char word[64];

	for (int i = 0; i < 8000; i++) {
		(void)snprintf(word, sizeof(word), "path=/d/*.%d", i);
		build_rule(&suffixes, POLICY_DENY, "fs.read", word);
		(void)snprintf(word, sizeof(word), "path=/d/x*.%d", i);
		build_rule(&patterns, POLICY_DENY, "fs.read", word);
	}
	expect(refusal_of(&suffixes) == NULL);

	const struct sbx_error *err = refusal_of(&patterns);

	expect(err && err->code == -E2BIG && strstr(err->what, "/d/x*."));
}

/* Literal names below "**" can match at every component, but at each depth only one of them. */
static void many_names_below_a_float_are_cheap(void)
{
	_cleanup_built_ struct built built = build_new();
	char word[64];

	for (int i = 0; i < 20000; i++) {
		(void)snprintf(word, sizeof(word), "path=/**/n%d/m%d.c", i, i % 7);
		build_rule(&built, POLICY_DENY, "fs.read", word);
	}
	expect(refusal_of(&built) == NULL);
}

static const struct test tests[] = {
	TEST(an_empty_policy_compiles),
	TEST(the_same_model_gives_the_same_bytes),
	TEST(keeps_the_names_and_places_of_rules),
	TEST(globs_that_begin_alike_share_their_nodes),
	TEST(ranges_become_few_prefixes),
	TEST(keeps_every_word_close_to_its_place),
	TEST(puts_every_child_into_one_of_two_places),
	TEST(components_made_to_collide_are_told_apart),
	TEST(refuses_wrong_values_with_their_place),
	TEST(a_name_never_gives_the_right_to_execute),
	TEST(a_name_may_take_the_right_to_execute_away),
	TEST(refuses_too_many_live_floats_and_names_a_glob),
	TEST(floats_in_different_directories_are_not_live_together),
	TEST(floats_behind_patterns_are_live_together),
	TEST(refuses_too_many_patterns_for_one_directory),
	TEST(many_names_below_a_float_are_cheap),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
