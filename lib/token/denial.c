/* SPDX-License-Identifier: MIT */

/*
 * Could a deny rule apply to a request that a token allows?
 *
 * A request with a valid token is allowed without evaluating the policy. So a token must not be
 * issued, and must not survive a reload, if a rule denies a request in its scope. The later
 * requests are not known: a condition of a deny rule counts as true unless its path, host or port
 * excludes the whole scope, and an exception counts only if it covers the whole scope.
 *
 * Checks each deny rule: may its match hold for some request in the scope, and does no exception
 * surely hold for all of them? The path globs and hosts of all conditions are compared with the
 * scope once, before the rules are checked.
 */

#include "token/token.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "policy/artefact.h"
#include "policy/model.h"
#include "policy/network.h"
#include "token/scope.h"

/* Bits of denial.found: how the path globs of a condition relate to the paths of the scope. */
#define PATHS_MEET 1u	  /* a glob and the scope have, or may have, a path in common */
#define PATHS_COVER 2u	  /* one glob contains all paths of the scope */
#define PATHS_EXCLUDE 4u  /* a glob with '!' and the scope may have a path in common */
#define PATHS_TAKE_OUT 8u /* one glob with '!' contains all paths of the scope */

struct denial {
	const struct artefact *artefact;
	const struct scope *scope;
	const char *project_root; /* NULL: the terms name no project */
	uint64_t bit;		  /* of the operation in operation sets */
	bool is_exec;
	uint8_t *found; /* of each condition: PATHS_ bits and the VALUES_ bits below */
};

/* ---- path globs ---- */

/*
 * Compares the policy's path globs with the token's glob
 *
 * The compiled policy stores its globs as a trie over path components. One depth-first walk visits
 * the trie and carries the set of states that the automaton of the token's glob can be in. If the
 * set is empty, no path of the token is below that node. At a node where a policy glob ends, the
 * components from the root are that glob; scope_is_within() then decides whether it contains the
 * whole scope.
 */

struct way {
	struct denial *denial;
	const struct artefact_node *nodes;
	const struct artefact_fork *forks;
	const struct artefact_pattern *patterns;
	const uint32_t *postings;
	const char *bytes;
	struct scope taken; /* components from the root of the trie to the current node */
	bool failed;
};

/* States of the automaton of the token's glob, one byte each. */
struct states {
	bool at[SCOPE_STEPS_MAX + 1];
};

static bool is_any(const struct states *states, size_t n_steps)
{
	return memchr(states->at, 1, n_steps + 1) != NULL;
}

static bool push(struct way *way, enum glob_kind kind, const char *text, size_t len)
{
	struct scope *taken = &way->taken;

	if (taken->n_steps == SCOPE_STEPS_MAX) {
		way->failed = true;
		return false;
	}
	taken->steps[taken->n_steps++] =
		(struct glob_component){ .kind = kind, .text = text, .len = len };
	return true;
}

static void mark(struct way *way, uint32_t posting, bool covers)
{
	bool excludes = posting & POSTING_EXCLUDES;
	uint8_t *bits = &way->denial->found[posting >> 2];

	if ((posting & POSTING_ONLY_EXEC) && !way->denial->is_exec)
		return;
	*bits |= excludes ? PATHS_EXCLUDE : PATHS_MEET;
	if (covers)
		*bits |= excludes ? PATHS_TAKE_OUT : PATHS_COVER;
}

static bool covers(const struct way *way)
{
	return scope_is_within(way->denial->scope, &way->taken);
}

static void mark_all(struct way *way, struct artefact_span span, bool covers)
{
	for (uint32_t i = span.first; i < span.first + span.count; i++)
		mark(way, way->postings[i], covers);
}

static void mark_here(struct way *way, const struct artefact_node *node)
{
	if (node->kind & NODE_HERE)
		mark(way, node->ends, covers(way));
	if (node->kind & NODE_FORK)
		mark_all(way, way->forks[node->ends].here, covers(way));
}

/* Two stars below NODE need at least one more name. A glob that also matches NODE itself covers
 * more; in a fork this is not taken into account, so an exception can only seem to cover less than
 * it does. */
static void mark_below(struct way *way, const struct artefact_node *node)
{
	size_t n_taken = way->taken.n_steps;

	if (!push(way, GLOB_FLOAT, "**", 2))
		return;
	if ((node->kind & NODE_HERE) && (node->kind & NODE_BELOW))
		mark(way, node->ends, covers(way));
	if (push(way, GLOB_STAR, "*", 1)) {
		if (node->kind & NODE_BELOW)
			mark(way, node->ends, covers(way));
		if (node->kind & NODE_FORK)
			mark_all(way, way->forks[node->ends].below, covers(way));
	}
	way->taken.n_steps = n_taken;
}

static void descend(struct way *way, const struct artefact_node *node, const struct states *states);

static void follow(struct way *way, uint32_t node, const struct states *states, enum glob_kind kind,
		   const char *text, size_t len)
{
	size_t n_taken = way->taken.n_steps;
	struct states next = { .at = { false } };

	if (node == ARTEFACT_NONE || !push(way, kind, text, len))
		return;
	scope_may_step(way->denial->scope, states->at, &way->taken.steps[n_taken], next.at);
	if (is_any(&next, way->denial->scope->n_steps))
		descend(way, &way->nodes[node], &next);
	way->taken.n_steps = n_taken;
}

static void follow_wildcards(struct way *way, const struct artefact_fork *fork,
			     const struct states *states)
{
	follow(way, fork->star, states, GLOB_STAR, "*", 1);
	for (uint32_t i = fork->pattern; i != ARTEFACT_NONE; i = way->patterns[i].next)
		follow(way, way->patterns[i].to, states, GLOB_PATTERN,
		       way->bytes + way->patterns[i].text, way->patterns[i].len);
	follow(way, fork->floating, states, GLOB_FLOAT, "**", 2);
}

static void descend(struct way *way, const struct artefact_node *node, const struct states *states)
{
	if (states->at[way->denial->scope->n_steps])
		mark_here(way, node);
	if ((node->kind & (NODE_BELOW | NODE_FORK)) &&
	    scope_may_go_on(way->denial->scope, states->at))
		mark_below(way, node);
	if (node->kind & NODE_FORK)
		follow_wildcards(way, &way->forks[node->ends], states);
	for (uint32_t i = 0; node->words != 0 && i < 1u << node->table_bits; i++) {
		const struct artefact_node *child = &way->nodes[node->children + i];

		if (child->key != 0)
			follow(way, node->children + i, states, GLOB_LITERAL,
			       way->bytes + child->text, child->len);
	}
}

/* Globs that are relative to the project start at the node of the project's root. */
static void walk_project(struct way *way)
{
	struct states states = { .at = { false } }, next = states;

	scope_begin(way->denial->scope, states.at);
	for (const char *at = way->denial->project_root; *at;) {
		size_t len;

		at += *at == '/';
		len = strcspn(at, "/");
		if (len > 0 && !push(way, GLOB_LITERAL, at, len))
			return;
		if (len > 0) {
			scope_may_step(way->denial->scope, states.at,
				       &way->taken.steps[way->taken.n_steps - 1], next.at);
			states = next;
		}
		at += len;
	}
	if (is_any(&states, way->denial->scope->n_steps))
		descend(way, &way->nodes[1], &states);
	way->taken.n_steps = 0;
}

static int denial_walk_paths(struct denial *denial)
{
	_cleanup_free_ struct way *way = calloc(1, sizeof(*way));
	struct states states = { .at = { false } };

	if (!way)
		return -ENOMEM;
	way->denial = denial;
	way->nodes = artefact_rows(denial->artefact, SECTION_NODES);
	way->forks = artefact_rows(denial->artefact, SECTION_FORKS);
	way->patterns = artefact_rows(denial->artefact, SECTION_PATTERNS);
	way->postings = artefact_rows(denial->artefact, SECTION_POSTINGS);
	way->bytes = artefact_rows(denial->artefact, SECTION_BYTES);
	way->taken.argument = ARGUMENT_PATH;
	scope_begin(way->denial->scope, states.at);
	descend(way, &way->nodes[0], &states);
	if (denial->project_root)
		walk_project(way);
	/* A path through the trie had more than SCOPE_STEPS_MAX components; the compiler makes
	 * none. */
	return way->failed ? -EINVAL : 0;
}

/* ---- hosts, networks and ports ---- */

/*
 * Compares the hosts, networks and ports of the policy with those of the token
 *
 * A token for a host name matches no network rule: the address that the name resolves to is a
 * request of its own.
 */

static const char *word(const struct denial *denial, uint64_t row)
{
	const struct artefact_word *words = artefact_rows(denial->artefact, SECTION_WORDS);

	return artefact_text(denial->artefact, words[row].text);
}

static bool is_below(const char *name, const char *domain)
{
	size_t len = strlen(name), n_domain = strlen(domain);

	return len > n_domain && name[len - n_domain - 1] == '.' &&
	       strcasecmp(name + len - n_domain, domain) == 0;
}

/* "example.org." is the same host as "example.org". */
static size_t trim(const char *host, char ret[HOST_BYTES_MAX + 8])
{
	size_t len = strlen(host);

	memcpy(ret, host, len + 1);
	if (len > 1 && ret[len - 1] == '.')
		ret[--len] = '\0';
	return len;
}

static bool host_meets(const struct denial *denial, const struct artefact_value *value, bool all)
{
	bool is_wild = strncmp(denial->scope->host.host, "*.", 2) == 0;
	const char *name = word(denial, value->bits[0]);
	char text[HOST_BYTES_MAX + 8];
	const char *host = text;

	(void)trim(denial->scope->host.host, text);
	if (value->kind == ENTRY_HOST_BELOW && name[0] == '\0')
		return true;
	if (denial->scope->host.is_address)
		return false;
	if (!is_wild)
		return value->kind == ENTRY_HOST ? strcasecmp(host, name) == 0
						 : is_below(host, name);
	host += 2;
	if (value->kind == ENTRY_HOST)
		return !all && is_below(name, host);
	return strcasecmp(host, name) == 0 || is_below(host, name) ||
	       (!all && is_below(name, host));
}

/* An IPv4-mapped IPv6 address (::ffff:a.b.c.d) matches IPv4 and IPv6 networks. */
static bool address_meets(const struct denial *denial, const struct artefact_value *value)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const char *host = denial->scope->host.host;
	uint8_t bytes[16];
	uint64_t bits[2];
	bool is_ipv4 = inet_pton(AF_INET, host, bytes) == 1;

	if (!is_ipv4 && inet_pton(AF_INET6, host, bytes) != 1)
		return false;
	if (value->kind == ENTRY_IPV6 && !is_ipv4) {
		artefact_address_bits(bytes, 16, bits);
		return artefact_prefix_holds(value, bits);
	}
	if (!is_ipv4 && memcmp(bytes, mapped, sizeof(mapped)) != 0)
		return false;
	artefact_address_bits(is_ipv4 ? bytes : bytes + 12, 4, bits);
	return value->kind == ENTRY_IPV4 && artefact_prefix_holds(value, bits);
}

static bool port_meets(const struct denial *denial, const struct artefact_value *value, bool all)
{
	const char *text = denial->scope->host.port;
	uint64_t port = 0;

	if (text[0] == '\0')
		return !all;
	for (; *text; text++)
		port = port * 10 + (uint64_t)(*text - '0');
	return port >= value->bits[0] && port <= value->bits[1];
}

static bool meets(const struct denial *denial, const struct artefact_value *value, bool all)
{
	const struct scope *scope = denial->scope;

	/* The token does not limit the host: the request may name any, or none. */
	if (scope->argument != ARGUMENT_HOST || scope->is_everything)
		return !all;
	switch ((enum artefact_entry_kind)value->kind) {
	case ENTRY_HOST:
	case ENTRY_HOST_BELOW:
		return host_meets(denial, value, all);
	case ENTRY_IPV4:
	case ENTRY_IPV6:
		return address_meets(denial, value);
	case ENTRY_PORT:
		return port_meets(denial, value, all);
	case ENTRY_EMPTY:
	case N_ENTRY_KINDS:
		break;
	}
	return false;
}

static bool denial_value_meets(const struct denial *denial, const struct artefact_value *value)
{
	return meets(denial, value, false);
}

static bool denial_value_covers(const struct denial *denial, const struct artefact_value *value)
{
	return meets(denial, value, true);
}

/* ---- rules ---- */

#define PORT_BITS 16

/* Like the PATHS_ bits, for the values of the index of hosts, networks and ports. */
#define VALUES_MEET 16u
#define VALUES_COVER 32u

/* The index stores a port range as a bit prefix; lists store its first and last port. */
static struct artefact_value list_value(const struct artefact_value *key)
{
	struct artefact_value value = *key;
	unsigned n_free = PORT_BITS - key->length;

	if (key->kind != ENTRY_PORT)
		return value;
	value.bits[0] = key->bits[0] << n_free;
	value.bits[1] = value.bits[0] + (UINT64_C(1) << n_free) - 1;
	return value;
}

static void look_through_index(struct denial *denial)
{
	const struct artefact_entry *entries = artefact_rows(denial->artefact, SECTION_INDEX);
	const uint32_t *postings = artefact_rows(denial->artefact, SECTION_POSTINGS);
	size_t n = artefact_n_rows(denial->artefact, SECTION_INDEX);

	for (size_t i = 0; i < n; i++) {
		struct artefact_span span = entries[i].postings;
		struct artefact_value value = list_value(&entries[i].key);
		uint8_t bits = 0;

		if (value.kind == ENTRY_EMPTY)
			continue;
		bits |= denial_value_meets(denial, &value) ? VALUES_MEET : 0;
		bits |= denial_value_covers(denial, &value) ? VALUES_COVER : 0;
		for (uint32_t at = span.first; at < span.first + span.count; at++)
			denial->found[postings[at] >> 2] |= bits;
	}
}

/* ---- conditions ---- */

static const struct artefact_condition *condition_at(const struct denial *denial, uint32_t row)
{
	return (const struct artefact_condition *)artefact_rows(denial->artefact,
								SECTION_CONDITIONS) +
	       row;
}

static bool any_in_list(const struct denial *denial, const struct artefact_condition *condition,
			enum match_key key,
			bool (*is)(const struct denial *denial, const struct artefact_value *value))
{
	const struct artefact_lists *lists = artefact_rows(denial->artefact, SECTION_LISTS);
	const struct artefact_value *values = artefact_rows(denial->artefact, SECTION_VALUES);
	struct artefact_span span = { .count = 0 };

	if (condition->lists != ARTEFACT_NONE)
		span = lists[condition->lists].values[key - MATCH_HOST];
	for (uint32_t i = span.first; i < span.first + span.count; i++)
		if (is(denial, &values[i]))
			return true;
	return false;
}

static bool key_may_hold(const struct denial *denial, uint32_t row, enum match_key key)
{
	const struct artefact_condition *condition = condition_at(denial, row);
	uint8_t found = denial->found[row];

	switch (key) {
	case MATCH_PATH:
		return denial->scope->argument != ARGUMENT_PATH ||
		       ((found & PATHS_MEET) && !(found & PATHS_TAKE_OUT));
	case MATCH_HOST:
	case MATCH_CIDR:
	case MATCH_PORT:
		return condition->primary == key
			       ? (found & VALUES_MEET) != 0
			       : any_in_list(denial, condition, key, denial_value_meets);
	case MATCH_PROTO:
	case MATCH_CALLER:
	case MATCH_TAG:
	case MATCH_STATE:
	case MATCH_MODE:
	case N_MATCH_KEYS:
		break;
	}
	return true;
}

static bool key_surely_holds(const struct denial *denial, uint32_t row, enum match_key key)
{
	const struct artefact_condition *condition = condition_at(denial, row);
	uint8_t found = denial->found[row];

	if (key == MATCH_PATH)
		return denial->scope->argument == ARGUMENT_PATH && (found & PATHS_COVER) &&
		       !(found & PATHS_EXCLUDE);
	if (key != MATCH_HOST && key != MATCH_CIDR && key != MATCH_PORT)
		return false;
	return condition->primary == key ? (found & VALUES_COVER) != 0
					 : any_in_list(denial, condition, key, denial_value_covers);
}

static bool holds(const struct denial *denial, uint32_t row,
		  bool (*key_holds)(const struct denial *denial, uint32_t row, enum match_key key))
{
	const struct artefact_condition *condition = condition_at(denial, row);

	if (!(condition->operations & denial->bit))
		return false;
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if ((condition->keys >> key & 1) && !key_holds(denial, row, (enum match_key)key))
			return false;
	return true;
}

/* ---- rules ---- */

static bool denies(const struct denial *denial, const struct artefact_rule *rule)
{
	struct artefact_span exceptions = rule->exceptions;

	if (rule->action != POLICY_DENY || !holds(denial, rule->condition, key_may_hold))
		return false;
	for (uint32_t i = exceptions.first; i < exceptions.first + exceptions.count; i++)
		if (holds(denial, i, key_surely_holds))
			return false;
	return true;
}

static int find(struct denial *denial, uint32_t *ret_rule)
{
	const struct artefact_rule *rules = artefact_rows(denial->artefact, SECTION_RULES);
	size_t n = artefact_n_rows(denial->artefact, SECTION_RULES);
	int r = denial->scope->argument == ARGUMENT_PATH ? denial_walk_paths(denial) : 0;

	if (r < 0)
		return r;
	look_through_index(denial);
	for (size_t i = 0; i < n; i++) {
		if (!denies(denial, &rules[i]))
			continue;
		*ret_rule = (uint32_t)i;
		return 1;
	}
	return 0;
}

int denial_find(const struct artefact *artefact, const struct token_terms *terms,
		uint32_t *ret_rule)
{
	int row = terms->operation ? operation_find(terms->operation) : OPERATION_UNKNOWN;
	_cleanup_free_ struct scope *scope = calloc(1, sizeof(*scope));
	_cleanup_free_ uint8_t *found =
		calloc(artefact_n_rows(artefact, SECTION_CONDITIONS) + 1, sizeof(*found));
	struct denial denial = { .artefact = artefact, .scope = scope, .found = found };

	if (!scope || !found)
		return -ENOMEM;
	if (row == OPERATION_UNKNOWN || scope_parse(operation_at(row)->argument, terms->glob,
						    terms->project_root, scope, NULL) < 0)
		return -EINVAL;
	denial.bit = UINT64_C(1) << row;
	denial.is_exec = denial.bit == operation_set("exec");
	denial.project_root = terms->project_root;
	return find(&denial, ret_rule);
}
