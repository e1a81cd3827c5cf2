/* SPDX-License-Identifier: MIT */

/*
 * Access to the block: its rows, its texts, and artefact_open(), which checks every number that the
 * evaluator follows
 *
 * Besides indices being inside their section, two things must hold, or a hostile block could
 * overflow the evaluator's scratch memory and multiply its work: at most one row leads to a node,
 * and none to the two roots, so the nodes live at one time are distinct; and the spans of one
 * section add up to no more than its length, so walking all of them is linear.
 */

#include "policy/artefact.h"

#include <errno.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "policy/artefact-internal.h"
#include "policy/model.h"

_Static_assert(sizeof(struct artefact_header) % 8 == 0, "sections are aligned to 8");
_Static_assert(64 % sizeof(struct artefact_node) == 0, "no node lies across two cache lines");
_Static_assert(64 % sizeof(struct artefact_condition) == 0, "and no condition");

static const size_t row_sizes[N_SECTIONS] = {
	[SECTION_BYTES] = 1,
	[SECTION_SOURCES] = sizeof(struct artefact_source),
	[SECTION_RULES] = sizeof(struct artefact_rule),
	[SECTION_CONDITIONS] = sizeof(struct artefact_condition),
	[SECTION_LISTS] = sizeof(struct artefact_lists),
	[SECTION_TEXTS] = sizeof(uint32_t),
	[SECTION_VALUES] = sizeof(struct artefact_value),
	[SECTION_POSTINGS] = sizeof(uint32_t),
	[SECTION_NODES] = sizeof(struct artefact_node),
	[SECTION_FORKS] = sizeof(struct artefact_fork),
	[SECTION_PATTERNS] = sizeof(struct artefact_pattern),
	[SECTION_WORDS] = sizeof(struct artefact_word),
	[SECTION_INDEX] = sizeof(struct artefact_entry),
	[SECTION_PLAIN] = sizeof(uint32_t),
	[SECTION_ADDRESSED] = sizeof(uint32_t),
};

const void *artefact_rows(const struct artefact *artefact, enum artefact_section section)
{
	return artefact->block + artefact->header->sections[section].first;
}

size_t artefact_n_rows(const struct artefact *artefact, enum artefact_section section)
{
	return artefact->header->sections[section].count;
}

size_t artefact_row_size(enum artefact_section section)
{
	return row_sizes[section];
}

const char *artefact_text(const struct artefact *artefact, uint32_t text)
{
	return (const char *)artefact_rows(artefact, SECTION_BYTES) + text;
}

const struct artefact_rule *artefact_rule_at(const struct artefact *artefact, uint32_t row)
{
	return (const struct artefact_rule *)artefact_rows(artefact, SECTION_RULES) + row;
}

const char *artefact_file_of(const struct artefact *artefact, const struct artefact_rule *rule)
{
	const struct artefact_source *sources = artefact_rows(artefact, SECTION_SOURCES);

	return artefact_text(artefact, sources[rule->source].name);
}

void artefact_address_bits(const uint8_t *bytes, size_t n_bytes, uint64_t ret[2])
{
	ret[0] = ret[1] = 0;
	for (size_t i = 0; i < n_bytes; i++)
		ret[i / 8] |= (uint64_t)bytes[i] << (56 - i % 8 * 8);
}

bool artefact_prefix_holds(const struct artefact_value *prefix, const uint64_t bits[2])
{
	uint32_t high = prefix->length < 64 ? prefix->length : 64, low = prefix->length - high;

	return (high == 0 || (bits[0] ^ prefix->bits[0]) >> (64 - high) == 0) &&
	       (low == 0 || (bits[1] ^ prefix->bits[1]) >> (64 - low) == 0);
}

struct check {
	const struct artefact *artefact;
	size_t n[N_SECTIONS];
	uint64_t spanned[N_SECTIONS]; /* total length of all spans in the section */
	uint8_t *seen[N_SECTIONS];    /* of nodes, forks and patterns: rows that another leads to */
	const char *problem;
};

/* Records a failed check; only the first one is reported. */
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
	     "a span exceeds its section");
	must(check, check->spanned[section] <= check->n[section], "two spans overlap");
}

static void check_text(struct check *check, uint32_t text)
{
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);

	must(check, text < check->n[SECTION_BYTES] && (text == 0 || bytes[text - 1] == '\0'),
	     "an offset does not point to the start of a string");
}

static void check_optional_text(struct check *check, uint32_t text)
{
	if (text != ARTEFACT_NONE)
		check_text(check, text);
}

/* Checks a text that has a length and a NUL after it. */
static void check_counted_text(struct check *check, uint32_t text, uint32_t len)
{
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);
	uint64_t end = (uint64_t)text + len;

	check_text(check, text);
	must(check, end < check->n[SECTION_BYTES] && bytes[end] == '\0',
	     "a string does not have its recorded length");
}

static void check_header(struct check *check)
{
	const struct artefact_header *header = check->artefact->header;
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);
	size_t n_bytes = check->n[SECTION_BYTES];

	must(check, n_bytes > 0 && bytes[n_bytes - 1] == '\0', "the last string is not terminated");
	must(check, check->n[SECTION_NODES] >= 2, "the two roots are missing");
	for (int i = 0; i < N_CLASSES; i++)
		must(check, header->defaults[i] <= POLICY_DENY, "a default is not an action");
	must(check, header->special_needs_cidr <= 1 && header->reserved == 0,
	     "the protection of special addresses is neither on nor off");
	must(check,
	     header->prefix_lengths[LENGTHS_IPV4] >> 33 == 0 &&
		     header->prefix_lengths[LENGTHS_IPV6 + 2] >> 1 == 0 &&
		     header->prefix_lengths[LENGTHS_PORT] >> 17 == 0,
	     "a prefix is longer than an address or a port");
	for (int i = 0; i < OPERATIONS_MAX; i++)
		check_span(check, SECTION_PLAIN, header->plain_of_operation[i]);
}

static void check_rule(struct check *check, const struct artefact_rule *rule)
{
	check_text(check, rule->name);
	check_optional_text(check, rule->reason);
	check_optional_text(check, rule->require_sandbox);
	check_optional_text(check, rule->sha256);
	must(check, rule->source < check->n[SECTION_SOURCES], "a rule has no source");
	must(check, rule->action <= POLICY_DENY, "a rule has no action");
	must(check, rule->kind < N_RULE_KINDS, "a rule is of an unknown kind");
	must(check, rule->tls <= TLS_ANY, "a rule demands something unknown of TLS");
	must(check, rule->condition < check->n[SECTION_CONDITIONS], "a rule has no match");
	check_span(check, SECTION_CONDITIONS, rule->exceptions);
	must(check, rule->n_plain_exceptions <= rule->exceptions.count,
	     "a rule has fewer exceptions than recorded");
}

/* A condition repeats fields of its rule, and a decision reads only the copy: compare them. */
static void check_repeated(struct check *check, const struct artefact_condition *condition)
{
	const struct artefact_source *sources = artefact_rows(check->artefact, SECTION_SOURCES);
	const struct artefact_rule *rules = artefact_rows(check->artefact, SECTION_RULES);

	must(check, condition->rule < check->n[SECTION_RULES], "a condition belongs to no rule");
	if (check->problem)
		return;

	const struct artefact_rule *rule = &rules[condition->rule];

	must(check,
	     condition->action == rule->action &&
		     condition->flags == artefact_flags_of(sources, rule),
	     "a condition contradicts its rule");
}

static void check_condition(struct check *check, const struct artefact_condition *condition)
{
	check_repeated(check, condition);
	must(check, condition->keys >> N_MATCH_KEYS == 0, "a condition has an unknown key");
	must(check,
	     condition->primary == PRIMARY_NONE || (condition->primary <= MATCH_PORT &&
						    condition->keys >> condition->primary & 1),
	     "a condition is indexed by a key that it does not have");
	must(check,
	     condition->lists < check->n[SECTION_LISTS] ||
		     (condition->lists == ARTEFACT_NONE &&
		      (check->problem || keys_of_lists(condition) == 0)),
	     "a condition's lists are missing");
	/* Paths are only compared during the walk over the trie. */
	must(check, !(condition->keys >> MATCH_PATH & 1) || condition->primary == MATCH_PATH,
	     "a condition with a path is not indexed by it");
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

/* Checks rows that are row numbers of another section. */
static void check_numbers(struct check *check, enum artefact_section section, unsigned shift,
			  enum artefact_section of)
{
	const uint32_t *numbers = artefact_rows(check->artefact, section);

	for (size_t i = 0; i < check->n[section]; i++)
		must(check, numbers[i] >> shift < check->n[of], "an index exceeds its section");
}

/* A decision enters each of them among its candidates, once. */
static void check_addressed(struct check *check)
{
	const struct artefact_condition *conditions =
		artefact_rows(check->artefact, SECTION_CONDITIONS);
	const uint32_t *rows = artefact_rows(check->artefact, SECTION_ADDRESSED);

	check_numbers(check, SECTION_ADDRESSED, 0, SECTION_CONDITIONS);
	for (size_t i = 0; !check->problem && i < check->n[SECTION_ADDRESSED]; i++) {
		must(check, i == 0 || rows[i - 1] < rows[i],
		     "the conditions about addresses do not ascend");
		must(check, conditions[rows[i]].primary == MATCH_CIDR,
		     "a condition about addresses is not indexed by them");
	}
}

/* Notes that a row leads to @row of the section; only one may. */
static void lead_to(struct check *check, enum artefact_section section, uint32_t row,
		    const char *missing, const char *twice)
{
	uint8_t *seen = check->seen[section];

	if (row >= check->n[section]) {
		must(check, false, missing);
		return;
	}
	must(check, !seen[row], twice);
	seen[row] = 1;
}

static void lead_to_node(struct check *check, uint32_t node)
{
	lead_to(check, SECTION_NODES, node, "a row refers to a node that does not exist",
		"two rows refer to the same node, or one to a root");
}

static void lead_to_optional_node(struct check *check, uint32_t node)
{
	if (node != ARTEFACT_NONE)
		lead_to_node(check, node);
}

/* A node leads to every row of its table, even to empty ones. Stops at the first row that another
 * table has already claimed, so that checking all tables is linear in the length of the section. */
static void lead_to_table(struct check *check, const struct artefact_node *node)
{
	must(check, node->table_bits < 32, "a node's table is too large");
	for (uint64_t i = 0; !check->problem && i < UINT64_C(1) << node->table_bits; i++)
		lead_to_node(check, (uint32_t)(node->children + i));
}

static void lead_to_pattern(struct check *check, uint32_t pattern)
{
	if (pattern != ARTEFACT_NONE)
		lead_to(check, SECTION_PATTERNS, pattern,
			"a row refers to a pattern that does not exist",
			"two rows refer to the same pattern");
}

static void check_node(struct check *check, const struct artefact_node *node)
{
	const char *bytes = artefact_rows(check->artefact, SECTION_BYTES);

	if (node->words != 0)
		lead_to_table(check, node);
	if (node->kind & NODE_FORK)
		lead_to(check, SECTION_FORKS, node->ends,
			"a node refers to a fork that does not exist",
			"two nodes refer to the same fork");
	else if (node->kind)
		must(check, node->ends >> 2 < check->n[SECTION_CONDITIONS],
		     "a node's posting refers to no condition");
	must(check,
	     node->kind <= (NODE_HERE | NODE_BELOW) || (node->kind & ~NODE_WILD) == NODE_FORK,
	     "a node has an unknown kind");
	if (node->key == 0) { /* an empty slot: with a length, a look-up would read its text */
		must(check, node->len == 0, "a node has a length and no key");
		return;
	}
	check_counted_text(check, node->text, node->len);
	if (check->problem)
		return;

	const char *text = bytes + node->text;
	uint64_t hash = hash_bytes(check->artefact->header->seeds[TABLE_NODES], text, node->len);

	must(check, node->key == node_key(hash, hash_head(text, node->len), node->len),
	     "a node's key differs from its text");
}

static void check_nodes(struct check *check)
{
	const struct artefact_node *nodes = artefact_rows(check->artefact, SECTION_NODES);
	const struct artefact_fork *forks = artefact_rows(check->artefact, SECTION_FORKS);
	const struct artefact_pattern *patterns = artefact_rows(check->artefact, SECTION_PATTERNS);

	check->seen[SECTION_NODES][0] = check->seen[SECTION_NODES][1] = 1;
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

	must(check, n > 0 && (n & (n - 1)) == 0, "the size of a hash table is not a power of two");
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
		     "a label's prefix differs from its text");
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
		must(check, false, "a value has an unknown kind");
		return;
	}
	must(check, value->length <= longest[value->kind], "a prefix is too long");
	if (value->kind == ENTRY_HOST || value->kind == ENTRY_HOST_BELOW)
		must(check, value->bits[0] < check->n[SECTION_WORDS], "a host has no label");
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

/* 0, with *@problem set if the rows are malformed (else unchanged), or -ENOMEM. The header must
 * have been checked. */
static int check_all(const struct artefact *artefact, const char **problem)
{
	struct check check = { .artefact = artefact };

	for (int i = 0; i < N_SECTIONS; i++)
		check.n[i] = artefact_n_rows(artefact, (enum artefact_section)i);

	_cleanup_free_ uint8_t *nodes = calloc(check.n[SECTION_NODES] + 2, 1);
	_cleanup_free_ uint8_t *forks = calloc(check.n[SECTION_FORKS] + 1, 1);
	_cleanup_free_ uint8_t *patterns = calloc(check.n[SECTION_PATTERNS] + 1, 1);

	if (!nodes || !forks || !patterns)
		return -ENOMEM;
	check.seen[SECTION_NODES] = nodes;
	check.seen[SECTION_FORKS] = forks;
	check.seen[SECTION_PATTERNS] = patterns;
	check_header(&check);
	check_rules(&check);
	check_numbers(&check, SECTION_TEXTS, 0, SECTION_WORDS);
	check_numbers(&check, SECTION_POSTINGS, 2, SECTION_CONDITIONS);
	check_numbers(&check, SECTION_PLAIN, 0, SECTION_CONDITIONS);
	check_addressed(&check);
	check_nodes(&check);
	check_words(&check);
	check_values(&check);
	if (check.problem)
		*problem = check.problem;
	return 0;
}

void artefact_add_checksum(void *block, size_t n_bytes)
{
	struct artefact_header *header = block;

	digest_of((const uint8_t *)block + CHECKSUM_END, n_bytes - CHECKSUM_END, header->checksum);
}

/* NULL, or the problem of the header. */
static const char *judge_header(const struct artefact_header *header, size_t n_bytes)
{
	uint8_t checksum[DIGEST_SIZE];

	if (header->magic != ARTEFACT_MAGIC)
		return "it does not begin with the magic number of a compiled policy for this byte order";
	if (header->version != ARTEFACT_VERSION)
		return "its format version differs from the one that this program writes";
	if (header->n_bytes != n_bytes)
		return "its length differs from the one in its header";
	digest_of((const uint8_t *)header + CHECKSUM_END, n_bytes - CHECKSUM_END, checksum);
	if (memcmp(checksum, header->checksum, sizeof(checksum)) != 0)
		return "its checksum does not match its content";
	for (int i = 0; i < N_SECTIONS; i++) {
		uint64_t first = header->sections[i].first, count = header->sections[i].count;

		if (first % 8 != 0 || first < sizeof(*header) ||
		    first + count * row_sizes[i] > n_bytes)
			return "a section exceeds it";
	}
	return NULL;
}

bool artefact_has_magic(const void *bytes, size_t n_bytes)
{
	static const uint64_t magic = ARTEFACT_MAGIC;

	return n_bytes >= sizeof(magic) && memcmp(bytes, &magic, sizeof(magic)) == 0;
}

int artefact_open(const void *block, size_t n_bytes, struct artefact *ret, struct sbx_error *err)
{
	const struct artefact artefact = { .block = block, .header = block };
	const char *problem = NULL;
	int r = 0;

	if (n_bytes < sizeof(struct artefact_header) || n_bytes > UINT32_MAX)
		problem = "it is too short, or too long, for a compiled policy";
	else if ((uintptr_t)block % 8 != 0)
		problem = "its address in memory is not aligned to 8";
	else
		problem = judge_header(block, n_bytes);
	if (!problem)
		r = check_all(&artefact, &problem);
	if (r < 0)
		return sbx_error_what(err, r, "cannot check the compiled policy");
	if (!problem) {
		*ret = artefact;
		return 0;
	}
	return error_fill(err, -EBADMSG, problem, "compile the policy again: sbx-policy compile",
			  "this is not a valid compiled policy");
}
