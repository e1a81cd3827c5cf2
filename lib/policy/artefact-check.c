/* SPDX-License-Identifier: MIT */

/*
 * Every number that the evaluator follows, checked before it follows any
 *
 * Beyond "inside its section" two things must hold, or its scratch memory could overflow and its
 * work explode: each node is led to by at most one other row and the two roots by none, so the
 * nodes that are live at one time are distinct; and the spans of one section, added up, are no
 * longer than the section, so walking all of them is linear.
 */

#include "policy/artefact-check.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "policy/artefact-internal.h"
#include "policy/model.h"

struct check {
	const struct artefact *artefact;
	size_t n[N_SECTIONS];
	uint64_t spanned[N_SECTIONS]; /* what all spans of the section add up to */
	uint8_t *seen_node;
	uint8_t *seen_fork;
	uint8_t *seen_pattern;
	const char *problem;
};

/* All checks are calls of this: the first that fails is what is reported. */
static void must(struct check *check, bool condition, const char *problem)
{
	if (!condition && !check->problem)
		check->problem = problem;
}

static void check_span(struct check *check, enum artefact_section section,
		       struct artefact_span span)
{
	check->spanned[section] += span.count;
	must(check, (uint64_t)span.first + span.count <= check->n[section],
	     "a span reaches over the end of its section");
	must(check, check->spanned[section] <= check->n[section], "two spans share their rows");
}

static void check_text(struct check *check, uint32_t text)
{
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);

	must(check, text < check->n[SECTION_BYTES] && (text == 0 || bytes[text - 1] == '\0'),
	     "a text does not begin where one begins");
}

static void check_optional_text(struct check *check, uint32_t text)
{
	if (text != ARTEFACT_NONE)
		check_text(check, text);
}

/* With its length, which ends at a NUL. */
static void check_counted_text(struct check *check, uint32_t text, uint32_t len)
{
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);
	uint64_t end = (uint64_t)text + len;

	check_text(check, text);
	must(check, end < check->n[SECTION_BYTES] && bytes[end] == '\0',
	     "a text is not as long as it says");
}

static void check_header(struct check *check)
{
	const struct artefact_header *header = check->artefact->header;
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);
	size_t n_bytes = check->n[SECTION_BYTES];

	must(check, n_bytes > 0 && bytes[n_bytes - 1] == '\0', "the last text has no end");
	must(check, check->n[SECTION_NODES] >= 2, "the two roots are missing");
	for (int i = 0; i < N_CLASSES; i++)
		must(check, header->defaults[i] <= POLICY_DENY, "a default is no action");
	must(check,
	     header->prefix_lengths[LENGTHS_IPV4] >> 33 == 0 &&
		     header->prefix_lengths[LENGTHS_IPV6 + 2] >> 1 == 0 &&
		     header->prefix_lengths[LENGTHS_PORT] >> 17 == 0,
	     "a prefix is longer than what it is a prefix of");
	for (int i = 0; i < OPERATIONS_MAX; i++)
		check_span(check, SECTION_PLAIN, header->plain_of_operation[i]);
}

static void check_rule(struct check *check, const struct artefact_rule *rule)
{
	check_text(check, rule->name);
	check_optional_text(check, rule->reason);
	check_optional_text(check, rule->require_sandbox);
	check_optional_text(check, rule->sha256);
	must(check, rule->source < check->n[SECTION_SOURCES], "a rule is of no source");
	must(check, rule->action <= POLICY_DENY, "a rule has no action");
	must(check, rule->condition < check->n[SECTION_CONDITIONS], "a rule has no match");
	check_span(check, SECTION_CONDITIONS, rule->exceptions);
	must(check, rule->n_plain_exceptions <= rule->exceptions.count,
	     "a rule has fewer exceptions than it says");
}

/* What a condition repeats of its rule is what a decision believes. */
static void check_repeated(struct check *check, const struct artefact_condition *condition)
{
	const struct artefact_source *sources = artefact_rows(check->artefact, SECTION_SOURCES);
	const struct artefact_rule *rules = artefact_rows(check->artefact, SECTION_RULES);
	unsigned flags = 0;

	must(check, condition->rule < check->n[SECTION_RULES], "a condition is of no rule");
	if (check->problem)
		return;

	const struct artefact_rule *rule = &rules[condition->rule];

	flags |= sources[rule->source].narrows ? CONDITION_NARROWS : 0;
	flags |= artefact_rule_is_bound(rule) ? CONDITION_BOUND : 0;
	flags |= rule->exceptions.count > 0 ? CONDITION_EXCEPTED : 0;
	must(check, condition->action == rule->action && condition->flags == flags,
	     "a condition says something else than its rule");
}

static void check_condition(struct check *check, const struct artefact_condition *condition)
{
	check_repeated(check, condition);
	must(check, condition->keys >> N_MATCH_KEYS == 0, "a condition has an unknown key");
	must(check,
	     condition->primary == PRIMARY_NONE || (condition->primary <= MATCH_PORT &&
						    condition->keys >> condition->primary & 1),
	     "a condition is found by a key that it does not have");
	must(check,
	     condition->lists < check->n[SECTION_LISTS] ||
		     (condition->lists == ARTEFACT_NONE &&
		      (check->problem || keys_of_lists(condition) == 0)),
	     "a condition's lists are missing");
	/* Nothing but the walk over paths can judge one. */
	must(check, !(condition->keys >> MATCH_PATH & 1) || condition->primary == MATCH_PATH,
	     "a condition about a path is not found by it");
}

static void check_lists(struct check *check, const struct artefact_lists *lists)
{
	for (size_t i = 0; i < N_ELEMENTS(lists->texts); i++)
		check_span(check, SECTION_TEXTS, lists->texts[i]);
	for (size_t i = 0; i < N_ELEMENTS(lists->values); i++)
		check_span(check, SECTION_VALUES, lists->values[i]);
}

static void check_rules(struct check *check)
{
	const struct artefact_source *sources = artefact_rows(check->artefact, SECTION_SOURCES);
	const struct artefact_rule *rules = artefact_rows(check->artefact, SECTION_RULES);
	const struct artefact_condition *conditions =
		artefact_rows(check->artefact, SECTION_CONDITIONS);
	const struct artefact_lists *lists = artefact_rows(check->artefact, SECTION_LISTS);

	for (size_t i = 0; i < check->n[SECTION_LISTS]; i++)
		check_lists(check, &lists[i]);
	for (size_t i = 0; i < check->n[SECTION_SOURCES]; i++)
		check_text(check, sources[i].name);
	for (size_t i = 0; i < check->n[SECTION_RULES]; i++)
		check_rule(check, &rules[i]);
	for (size_t i = 0; i < check->n[SECTION_CONDITIONS]; i++)
		check_condition(check, &conditions[i]);
}

/* Rows that are nothing but the number of a row elsewhere. */
static void check_numbers(struct check *check, enum artefact_section section, unsigned shift,
			  enum artefact_section of)
{
	const uint32_t *numbers = artefact_rows(check->artefact, section);

	for (size_t i = 0; i < check->n[section]; i++)
		must(check, numbers[i] >> shift < check->n[of],
		     "a number leads out of its section");
}

static void lead_to_node(struct check *check, uint32_t node)
{
	if (node >= check->n[SECTION_NODES]) {
		must(check, false, "a row leads to a node that does not exist");
		return;
	}
	must(check, !check->seen_node[node], "two rows lead to the same node, or one to a root");
	check->seen_node[node] = 1;
}

static void lead_to_optional_node(struct check *check, uint32_t node)
{
	if (node != ARTEFACT_NONE)
		lead_to_node(check, node);
}

/* To every row of a node's table, the empty ones, too. Stops at the first that is not its own, so
 * that all tables together take no longer than the section is. */
static void lead_to_table(struct check *check, const struct artefact_node *node)
{
	must(check, node->table_bits < 32, "a node's table is too large");
	for (uint64_t i = 0; !check->problem && i < UINT64_C(1) << node->table_bits; i++)
		lead_to_node(check, (uint32_t)(node->children + i));
}

static void lead_to_pattern(struct check *check, uint32_t pattern)
{
	if (pattern == ARTEFACT_NONE)
		return;
	if (pattern >= check->n[SECTION_PATTERNS]) {
		must(check, false, "a row leads to a pattern that does not exist");
		return;
	}
	must(check, !check->seen_pattern[pattern], "two rows lead to the same pattern");
	check->seen_pattern[pattern] = 1;
}

static void lead_to_fork(struct check *check, uint32_t fork)
{
	if (fork >= check->n[SECTION_FORKS]) {
		must(check, false, "a node leads to a fork that does not exist");
		return;
	}
	must(check, !check->seen_fork[fork], "two nodes lead to the same fork");
	check->seen_fork[fork] = 1;
}

static void check_node(struct check *check, const struct artefact_node *node)
{
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);

	if (node->words != 0)
		lead_to_table(check, node);
	if (node->kind & NODE_FORK)
		lead_to_fork(check, node->ends);
	else if (node->kind)
		must(check, node->ends >> 2 < check->n[SECTION_CONDITIONS],
		     "a node's posting is of no condition");
	must(check,
	     node->kind <= (NODE_HERE | NODE_BELOW) || (node->kind & ~NODE_WILD) == NODE_FORK,
	     "a node is of no kind");
	if (node->key == 0) { /* no text: its length must not let it be compared with one */
		must(check, node->len == 0, "a node has a length and no key");
		return;
	}
	check_counted_text(check, node->text, node->len);
	if (check->problem)
		return;

	const char *text = bytes + node->text;
	uint64_t hash = hash_bytes(check->artefact->header->seeds[TABLE_NODES], text, node->len);

	must(check, node->key == node_key(hash, hash_head(text, node->len), node->len),
	     "a node has another key than its text");
}

static void check_nodes(struct check *check)
{
	const struct artefact_node *nodes = artefact_rows(check->artefact, SECTION_NODES);
	const struct artefact_fork *forks = artefact_rows(check->artefact, SECTION_FORKS);
	const struct artefact_pattern *patterns = artefact_rows(check->artefact, SECTION_PATTERNS);

	check->seen_node[0] = check->seen_node[1] = 1;
	for (size_t i = 0; i < check->n[SECTION_NODES]; i++)
		check_node(check, &nodes[i]);
	for (size_t i = 0; i < check->n[SECTION_FORKS]; i++) {
		lead_to_optional_node(check, forks[i].star);
		lead_to_optional_node(check, forks[i].floating);
		lead_to_pattern(check, forks[i].pattern);
		check_span(check, SECTION_POSTINGS, forks[i].here);
		check_span(check, SECTION_POSTINGS, forks[i].below);
	}
	for (size_t i = 0; i < check->n[SECTION_PATTERNS]; i++) {
		check_counted_text(check, patterns[i].text, patterns[i].len);
		must(check, !patterns[i].suffix || patterns[i].len > 0, "a pattern is empty");
		must(check, patterns[i].next > i, "a chain of patterns does not end");
		lead_to_pattern(check, patterns[i].next);
		lead_to_node(check, patterns[i].to);
	}
}

static void check_table(struct check *check, enum artefact_section section, size_t n_used)
{
	size_t n = check->n[section];

	must(check, n > 0 && (n & (n - 1)) == 0, "a hash table's size is no power of two");
	must(check, n_used < n, "a hash table has no empty slot");
}

static void check_words(struct check *check)
{
	const struct artefact_word *words = artefact_rows(check->artefact, SECTION_WORDS);
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);
	size_t n_words = 0;

	for (size_t i = 0; i < check->n[SECTION_WORDS]; i++) {
		if (words[i].text == ARTEFACT_NONE)
			continue;
		check_counted_text(check, words[i].text, words[i].len);
		must(check,
		     check->problem ||
			     words[i].head == hash_head(bytes + words[i].text, words[i].len),
		     "a word does not begin as its text does");
		n_words++;
	}
	check_table(check, SECTION_WORDS, n_words);
}

static void check_value(struct check *check, const struct artefact_value *value)
{
	static const uint32_t longest[N_ENTRY_KINDS] = {
		[ENTRY_IPV4] = 32,
		[ENTRY_IPV6] = 128,
		[ENTRY_PORT] = 16,
	};

	if (value->kind >= N_ENTRY_KINDS) {
		must(check, false, "a value is of no kind");
		return;
	}
	must(check, value->length <= longest[value->kind], "a prefix is too long");
	if (value->kind == ENTRY_HOST || value->kind == ENTRY_HOST_BELOW)
		must(check, value->bits[0] < check->n[SECTION_WORDS], "a host has no word");
}

static void check_values(struct check *check)
{
	const struct artefact_entry *entries = artefact_rows(check->artefact, SECTION_INDEX);
	const struct artefact_value *values = artefact_rows(check->artefact, SECTION_VALUES);
	size_t n_used = 0;

	for (size_t i = 0; i < check->n[SECTION_VALUES]; i++)
		check_value(check, &values[i]);
	for (size_t i = 0; i < check->n[SECTION_INDEX]; i++) {
		if (entries[i].key.kind == ENTRY_EMPTY)
			continue;
		check_value(check, &entries[i].key);
		check_span(check, SECTION_POSTINGS, entries[i].postings);
		n_used++;
	}
	check_table(check, SECTION_INDEX, n_used);
}

int artefact_check(const struct artefact *artefact, const char **problem)
{
	struct check check = { .artefact = artefact };

	for (int i = 0; i < N_SECTIONS; i++)
		check.n[i] = artefact_n_rows(artefact, (enum artefact_section)i);

	_cleanup_free_ uint8_t *nodes = calloc(check.n[SECTION_NODES] + 2, 1);
	_cleanup_free_ uint8_t *forks = calloc(check.n[SECTION_FORKS] + 1, 1);
	_cleanup_free_ uint8_t *patterns = calloc(check.n[SECTION_PATTERNS] + 1, 1);

	if (!nodes || !forks || !patterns)
		return -ENOMEM;
	check.seen_node = nodes;
	check.seen_fork = forks;
	check.seen_pattern = patterns;
	check_header(&check);
	check_rules(&check);
	check_numbers(&check, SECTION_TEXTS, 0, SECTION_WORDS);
	check_numbers(&check, SECTION_POSTINGS, 2, SECTION_CONDITIONS);
	check_numbers(&check, SECTION_PLAIN, 0, SECTION_CONDITIONS);
	check_nodes(&check);
	check_words(&check);
	check_values(&check);
	if (check.problem)
		*problem = check.problem;
	return 0;
}
