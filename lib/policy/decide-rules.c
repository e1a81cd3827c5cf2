/* SPDX-License-Identifier: MIT */

/*
 * The rules that apply, and their combined answer
 *
 * A look-up has marked conditions by their primary key; their other keys are compared here. Indexed
 * exceptions are found like matches, and stamp their rule; only those without an index are tried
 * rule by rule. Then the most severe action wins, after two kinds of permission are discarded:
 * those whose constraint does not hold, and those of a narrowing file that no other file permits.
 */

#include "policy/decide-internal.h"

#include <string.h>
#include <strings.h>

_Static_assert((int)UNSAID_MODE - (int)UNSAID_CALLER == (int)MATCH_MODE - (int)MATCH_CALLER &&
		       (int)UNSAID_TAG - (int)UNSAID_CALLER == (int)MATCH_TAG - (int)MATCH_CALLER &&
		       (int)UNSAID_STATE - (int)UNSAID_CALLER ==
			       (int)MATCH_STATE - (int)MATCH_CALLER,
	       "the facts of a condition have the order of its keys");

static bool is_marked(const struct policy_engine *engine, uint32_t condition)
{
	return condition_state(engine, condition) == MARK_INCLUDED;
}

static bool has_word(const struct policy_engine *engine, struct artefact_span span, uint32_t word)
{
	const uint32_t *words = engine->policy.texts + span.first;
	size_t low = 0, high = span.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (words[middle] < word)
			low = middle + 1;
		else
			high = middle;
	}
	return word != ARTEFACT_NONE && low < span.count && words[low] == word;
}

static bool has_tag(const struct policy_engine *engine, struct artefact_span span)
{
	for (uint32_t i = span.first; i < span.first + span.count; i++)
		if (engine->scratch.word_stamps[engine->policy.texts[i]] ==
		    engine->scratch.generation)
			return true;
	return false;
}

static bool is_below(const struct policy_engine *engine, const struct query *query, uint64_t word)
{
	if (query->has_host && word == engine->empty_word)
		return true;
	for (size_t i = 0; i < query->n_suffixes; i++)
		if (query->suffixes[i] == word)
			return true;
	return false;
}

/* A 'host' that is an address is compared with the request's host, not with an address of a name.
 */
static bool value_holds(const struct policy_engine *engine, const struct query *query,
			enum match_key key, const struct artefact_value *value)
{
	const struct query_address *address = &query->address;
	bool is_asked = key == MATCH_CIDR || query->is_literal;

	switch ((enum artefact_entry_kind)value->kind) {
	case ENTRY_HOST:
		return query->host != ARTEFACT_NONE && query->host == value->bits[0];
	case ENTRY_HOST_BELOW:
		return is_below(engine, query, value->bits[0]);
	case ENTRY_IPV4:
		return is_asked && address->has_ipv4 && artefact_prefix_holds(value, address->ipv4);
	case ENTRY_IPV6:
		return is_asked && address->has_ipv6 && artefact_prefix_holds(value, address->ipv6);
	case ENTRY_PORT:
		return query->request->has_port && query->request->port >= value->bits[0] &&
		       query->request->port <= value->bits[1];
	case ENTRY_EMPTY:
	case N_ENTRY_KINDS:
		break;
	}
	return false;
}

static bool any_value_holds(const struct policy_engine *engine, const struct query *query,
			    enum match_key key, struct artefact_span span)
{
	for (uint32_t i = span.first; i < span.first + span.count; i++)
		if (value_holds(engine, query, key, &engine->policy.values[i]))
			return true;
	return false;
}

static bool condition_key_holds(const struct policy_engine *engine, const struct query *query,
				uint32_t condition, enum match_key key)
{
	static const struct artefact_lists none;
	const struct artefact_condition *row = &engine->policy.conditions[condition];
	/* The check of the artefact refuses a condition that has such keys without lists. */
	const struct artefact_lists *lists =
		row->lists == ARTEFACT_NONE ? &none : &engine->policy.lists[row->lists];

	switch (key) {
	case MATCH_PATH:
	case MATCH_HOST:
	case MATCH_CIDR:
	case MATCH_PORT:
		if (row->primary == key)
			return is_marked(engine, condition);
		return key != MATCH_PATH &&
		       any_value_holds(engine, query, key, lists->values[key - MATCH_HOST]);
	case MATCH_PROTO:
		return row->protos & query->protos;
	case MATCH_CALLER:
		return has_word(engine, lists->texts[0], query->caller);
	case MATCH_TAG:
		return has_tag(engine, lists->texts[1]);
	case MATCH_STATE:
		return has_word(engine, lists->texts[2], query->state);
	case MATCH_MODE:
		return has_word(engine, lists->texts[3], query->mode);
	case N_MATCH_KEYS:
		break;
	}
	return false;
}

static bool condition_holds(const struct policy_engine *engine, const struct query *query,
			    uint32_t condition)
{
	const struct artefact_condition *row = &engine->policy.conditions[condition];
	uint32_t left = row->keys;

	if (!(row->operations & query->bit))
		return false;
	/* Most conditions have no key other than their primary one. */
	if (row->primary != PRIMARY_NONE) {
		if (!is_marked(engine, condition))
			return false;
		left &= ~(1u << row->primary);
	}
	for (; left; left &= left - 1)
		if (!condition_key_holds(engine, query, condition,
					 (enum match_key)__builtin_ctz(left)))
			return false;
	return true;
}

/* An empty list never holds, whatever the request states. */
static bool has_empty_list(const struct policy_engine *engine, const struct artefact_condition *row,
			   uint32_t keys)
{
	if ((keys & 1u << MATCH_CIDR) && row->primary != MATCH_CIDR &&
	    (row->lists == ARTEFACT_NONE ||
	     engine->policy.lists[row->lists].values[MATCH_CIDR - MATCH_HOST].count == 0))
		return true;
	keys &= ~(1u << MATCH_CIDR);
	if (keys && row->lists == ARTEFACT_NONE)
		return true;
	for (int key = MATCH_CALLER; key <= MATCH_MODE; key++)
		if ((keys & 1u << key) &&
		    engine->policy.lists[row->lists].texts[key - MATCH_CALLER].count == 0)
			return true;
	return false;
}

/* Would the condition hold if the request stated more? Then *@ret_facts are the facts it would have
 * to state: 0 if it holds already. */
static bool condition_could_hold(const struct policy_engine *engine, const struct query *query,
				 uint32_t condition, unsigned *ret_facts)
{
	const struct artefact_condition *row = &engine->policy.conditions[condition];
	uint32_t unsaid = row->keys & query->unsaid;

	if (!(row->operations & query->bit) || has_empty_list(engine, row, unsaid))
		return false;
	for (uint32_t left = row->keys & ~unsaid; left; left &= left - 1)
		if (!condition_key_holds(engine, query, condition,
					 (enum match_key)__builtin_ctz(left)))
			return false;
	*ret_facts = unsaid >> MATCH_CALLER | (unsaid >> MATCH_CIDR & 1) << UNSAID_ADDRESS;
	return true;
}

/* ---- the rules that apply ---- */

/* In the order in which broken constraints are reported. */
enum constraint_kind {
	CONSTRAINT_SANDBOX,
	CONSTRAINT_TOKEN,
	CONSTRAINT_SIZE,
	CONSTRAINT_SHA256,
	N_CONSTRAINTS,
};

static const char *const constraint_reasons[N_CONSTRAINTS] = {
	[CONSTRAINT_SANDBOX] = "a rule allows this, but require_sandbox does not hold",
	[CONSTRAINT_TOKEN] = "a rule allows this, but require_capability_token does not hold",
	[CONSTRAINT_SIZE] = "a rule allows this, but max_file_size does not hold",
	[CONSTRAINT_SHA256] = "a rule allows this, but sha256 does not hold",
};

/* Marks every condition whose primary key holds, and adds it to the candidates. */
static void look_up(struct policy_engine *engine, const struct query *query)
{
	int operation = __builtin_ctzll(query->bit);
	struct artefact_span plain = engine->policy.header->plain_of_operation[operation];

	if (query->path)
		lookup_path(engine, query);
	if (query->has_host || query->request->has_port)
		lookup_network(engine, query);
	for (uint32_t i = plain.first; i < plain.first + plain.count; i++)
		mark_condition(engine, engine->policy.plain[i], MARK_INCLUDED);
}

/* A name that is allowed may resolve to any address: this permission is not about special ones. */
static bool is_closed(const struct query *query, const struct artefact_condition *match)
{
	return query->address.special && policy_permits(match->action) &&
	       !(match->keys & 1u << MATCH_CIDR);
}

static enum policy_action default_of(const struct policy_engine *engine, const struct query *query)
{
	enum policy_action action = engine->policy.header->defaults[query->operation->kind];

	return query->address.special || action == POLICY_PASS ? POLICY_DENY : action;
}

static bool is_match(const struct artefact_condition *condition)
{
	return condition->ordinal == ARTEFACT_NONE;
}

static bool is_excepted(const struct policy_engine *engine, const struct query *query,
			const struct artefact_condition *match)
{
	const struct artefact_rule *rule = &engine->policy.rules[match->rule];

	if (!(match->flags & CONDITION_EXCEPTED))
		return false;
	if (engine->scratch.excepted[match->rule] == engine->scratch.generation)
		return true;
	for (uint32_t i = 0; i < rule->n_plain_exceptions; i++)
		if (condition_holds(engine, query, rule->exceptions.first + i))
			return true;
	return false;
}

static void find_exceptions(struct policy_engine *engine, const struct query *query)
{
	for (size_t i = 0; i < engine->scratch.n_candidates; i++) {
		const struct artefact_condition *condition =
			&engine->policy.conditions[engine->scratch.candidates[i]];

		if (!is_match(condition) &&
		    condition_holds(engine, query, engine->scratch.candidates[i]))
			engine->scratch.excepted[condition->rule] = engine->scratch.generation;
	}
}

struct tally {
	bool may_depend; /* a rule or an exception depends on an unstated fact */
	bool is_plain;	 /* no rule found has a constraint or is of a narrowing file */
	bool is_reached; /* a permission counts */
	unsigned broken;
	bool is_narrow;		    /* a narrowing file permits it */
	enum policy_action least;   /* without the narrowing files; POLICY_PASS if there is none */
	enum policy_action verdict; /* POLICY_PASS: no rule that counts applies */
};

static unsigned keys_of_plain_exceptions(const struct policy_engine *engine,
					 const struct artefact_condition *match)
{
	const struct artefact_rule *rule = &engine->policy.rules[match->rule];
	unsigned keys = 0;

	for (uint32_t i = 0; i < rule->n_plain_exceptions; i++)
		keys |= engine->policy.conditions[rule->exceptions.first + i].keys;
	return keys;
}

/* Fills engine->scratch.found with the matches of the rules that apply. */
static void find_rules(struct policy_engine *engine, const struct query *query, struct tally *tally)
{
	unsigned flags = 0, keys = 0;

	find_exceptions(engine, query);
	for (size_t i = 0; i < engine->scratch.n_candidates; i++) {
		const struct artefact_condition *condition =
			&engine->policy.conditions[engine->scratch.candidates[i]];

		keys |= condition->keys;
		if (!is_match(condition) || is_closed(query, condition) ||
		    !condition_holds(engine, query, engine->scratch.candidates[i]) ||
		    is_excepted(engine, query, condition))
			continue;
		if (condition->flags & CONDITION_EXCEPTED)
			keys |= keys_of_plain_exceptions(engine, condition);
		engine->scratch.found[engine->scratch.n_found++] = engine->scratch.candidates[i];
		flags |= condition->flags;
		tally->is_reached |= policy_permits(condition->action);
		if (condition->action > tally->verdict)
			tally->verdict = condition->action;
	}
	tally->is_plain = !(flags & (CONDITION_BOUND | CONDITION_NARROWS));
	tally->may_depend = keys & query->unsaid;
}

/* 2 for "L2"; 0 for anything but a level. */
static unsigned level_of(const char *sandbox)
{
	return sandbox[0] == 'L' && sandbox[1] >= '1' && sandbox[1] <= '9' && sandbox[2] == '\0'
		       ? (unsigned)(sandbox[1] - '0')
		       : 0;
}

/* A deeper level satisfies a requirement for a shallower one. */
static bool is_in_sandbox(const char *wanted, const char *given)
{
	if (!given)
		return false;
	return strcmp(wanted, given) == 0 ||
	       (level_of(wanted) > 0 && level_of(given) >= level_of(wanted));
}

static const char *sandbox_of(const struct policy_engine *engine, const struct artefact_rule *rule)
{
	return rule->require_sandbox == ARTEFACT_NONE
		       ? NULL
		       : engine->policy.bytes + rule->require_sandbox;
}

static const char *sha256_of(const struct policy_engine *engine, const struct artefact_rule *rule)
{
	return rule->sha256 == ARTEFACT_NONE ? NULL : engine->policy.bytes + rule->sha256;
}

static bool sha256_holds(const char *wanted, const char *given)
{
	return !wanted || (given && strcasecmp(wanted, given) == 0);
}

static bool size_holds(const struct query *query, uint64_t max)
{
	if (query->request->has_size)
		return query->request->size_bytes <= max;
	/* A write of unknown size may be of any size. */
	return max == UINT64_MAX || strcmp(query->operation->name, "fs.write") != 0;
}

/* The constraints of a permitting rule that do not hold: bits of enum constraint_kind. */
static unsigned find_broken(const struct policy_engine *engine, const struct query *query,
			    const struct artefact_rule *rule)
{
	const char *sandbox = sandbox_of(engine, rule);
	unsigned broken = 0;

	if (sandbox && !is_in_sandbox(sandbox, query->request->sandbox))
		broken |= 1u << CONSTRAINT_SANDBOX;
	if (rule->require_token && !query->request->has_token)
		broken |= 1u << CONSTRAINT_TOKEN;
	if (!size_holds(query, rule->max_file_size_bytes))
		broken |= 1u << CONSTRAINT_SIZE;
	if (!sha256_holds(sha256_of(engine, rule), query->request->sha256))
		broken |= 1u << CONSTRAINT_SHA256;
	return broken;
}

/* The match has copies of the fields that most decisions need: read the rule only if it has a
 * constraint. */
static unsigned broken_constraints(const struct policy_engine *engine, const struct query *query,
				   const struct artefact_condition *match)
{
	return match->flags & CONDITION_BOUND
		       ? find_broken(engine, query, &engine->policy.rules[match->rule])
		       : 0;
}

/* May a narrowing file say @action where the others say @least? A permission keeps its constraints
 * also where they warn. */
static bool may_add(enum policy_action least, enum policy_action action)
{
	return (policy_permits(action) ? POLICY_WARN : action) >= least;
}

static bool counts(const struct policy_engine *engine, const struct query *query,
		   const struct artefact_condition *match, const struct tally *tally)
{
	if (tally->is_plain)
		return true;
	if ((match->flags & CONDITION_NARROWS) && !may_add(tally->least, match->action))
		return false;
	return !policy_permits(match->action) || broken_constraints(engine, query, match) == 0;
}

/* Determines tally->least, and what is broken. */
static void weigh_others(const struct policy_engine *engine, const struct query *query,
			 struct tally *tally)
{
	unsigned broken_of_others = 0;

	for (size_t i = 0; i < engine->scratch.n_found; i++) {
		const struct artefact_condition *match =
			&engine->policy.conditions[engine->scratch.found[i]];
		bool narrows = match->flags & CONDITION_NARROWS;
		unsigned broken = policy_permits(match->action)
					  ? broken_constraints(engine, query, match)
					  : 0;

		tally->broken |= broken;
		broken_of_others |= narrows ? 0 : broken;
		if (broken == 0 && narrows)
			tally->is_narrow |= policy_permits(match->action);
		else if (broken == 0 && match->action > tally->least)
			tally->least = match->action;
	}
	if (tally->least == POLICY_PASS)
		tally->least = broken_of_others ? POLICY_DENY : default_of(engine, query);
}

/* Determines which rules count, and the verdict without the others. */
static void weigh(const struct policy_engine *engine, const struct query *query,
		  struct tally *tally)
{
	weigh_others(engine, query, tally);
	tally->verdict = POLICY_PASS;
	tally->is_reached = false;
	for (size_t i = 0; i < engine->scratch.n_found; i++) {
		const struct artefact_condition *match =
			&engine->policy.conditions[engine->scratch.found[i]];

		if (!counts(engine, query, match, tally))
			continue;
		tally->is_reached |= policy_permits(match->action);
		if (match->action > tally->verdict)
			tally->verdict = match->action;
	}
}

static const char *stricter_sandbox(const char *a, const char *b)
{
	if (!a || !b)
		return a ? a : b;
	if (level_of(a) != level_of(b))
		return level_of(a) > level_of(b) ? a : b;
	return strcmp(a, b) >= 0 ? a : b;
}

/* No program matches the digests of two rules, so either one explains the refusal: take the
 * smaller. */
static const char *first_text(const char *a, const char *b)
{
	if (!a || !b)
		return a ? a : b;
	return strcmp(a, b) <= 0 ? a : b;
}

static void add_constraints(const struct policy_engine *engine,
			    const struct artefact_condition *match, struct constraints *all)
{
	const struct artefact_rule *rule = &engine->policy.rules[match->rule];

	if (!(match->flags & CONDITION_BOUND))
		return;
	all->require_sandbox = stricter_sandbox(all->require_sandbox, sandbox_of(engine, rule));
	all->require_token |= rule->require_token != 0;
	if (rule->max_file_size_bytes < all->max_file_size_bytes)
		all->max_file_size_bytes = rule->max_file_size_bytes;
	all->sha256 = first_text(all->sha256, sha256_of(engine, rule));
}

/*
 * TLS_ANY only if all permissions that count say so, as the strictest one holds; and one of them
 * must be of a file that may widen, since a narrowing file does not lift a demand.
 */
static enum tls_demand tls_of(const struct policy_engine *engine, const struct query *query,
			      const struct tally *tally)
{
	enum tls_demand tls = TLS_SNI;

	if (tally->is_plain)
		return TLS_SNI;
	for (size_t i = 0; i < engine->scratch.n_found; i++) {
		const struct artefact_condition *match =
			&engine->policy.conditions[engine->scratch.found[i]];

		if (!policy_permits(match->action) || !counts(engine, query, match, tally))
			continue;
		if (engine->policy.rules[match->rule].tls != TLS_ANY)
			return TLS_SNI;
		if (!(match->flags & CONDITION_NARROWS))
			tls = TLS_ANY;
	}
	return tls;
}

/* One step of heap sort: sinks the number at @root to its place. */
static void sink(uint32_t *numbers, size_t root, size_t n)
{
	for (size_t child; (child = 2 * root + 1) < n; root = child) {
		uint32_t number = numbers[root];

		child += child + 1 < n && numbers[child + 1] > numbers[child];
		if (number >= numbers[child])
			return;
		numbers[root] = numbers[child];
		numbers[child] = number;
	}
}

/* Sorts in place: qsort() may allocate, and a decision must not. */
static void sort_ascending(uint32_t *numbers, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sink(numbers, i, n);
	while (n > 1) {
		uint32_t greatest = numbers[0];

		numbers[0] = numbers[--n];
		numbers[n] = greatest;
		sink(numbers, 0, n);
	}
}

/* Is the rule one of those that determine the answer? */
static bool is_cause(const struct policy_engine *engine, const struct query *query,
		     const struct artefact_condition *match, const struct tally *tally,
		     enum policy_cause cause)
{
	if (cause == CAUSE_DEFAULT)
		return false;
	if (cause == CAUSE_CONSTRAINT)
		return policy_permits(match->action) &&
		       broken_constraints(engine, query, match) != 0;
	return match->action == tally->verdict && counts(engine, query, match, tally);
}

/* Reduces engine->scratch.found to the rules that determine the answer, ascending, and combines the
 * constraints. */
static void keep_causes(struct policy_engine *engine, const struct query *query,
			const struct tally *tally, struct policy_decision *ret)
{
	bool is_permitted = policy_permits(ret->verdict);
	size_t n = 0;

	if (is_permitted)
		ret->constraints.tls = tls_of(engine, query, tally);
	for (size_t i = 0; i < engine->scratch.n_found; i++) {
		const struct artefact_condition *match =
			&engine->policy.conditions[engine->scratch.found[i]];
		bool is_one = is_cause(engine, query, match, tally, ret->cause);

		if ((is_permitted && policy_permits(match->action) &&
		     counts(engine, query, match, tally)) ||
		    (ret->cause == CAUSE_CONSTRAINT && is_one))
			add_constraints(engine, match, &ret->constraints);
		if (is_one)
			engine->scratch.found[n++] = match->rule;
	}
	sort_ascending(engine->scratch.found, n);
	ret->rules = engine->scratch.found;
	ret->n_rules = n;
}

static const char *reason_of_default(enum policy_action action, const struct tally *tally)
{
	if (action != POLICY_DENY && tally->verdict != POLICY_PASS)
		return "the policy's default applies, which a file that may not widen the others "
		       "cannot lift";
	if (action != POLICY_DENY)
		return "no rule is about this; the policy's default applies";
	return tally->is_narrow ? "only a file that may not widen the others allows this"
				: "no rule explicitly allowed this operation";
}

static void decide_by_default(const struct policy_engine *engine, const struct query *query,
			      const struct tally *tally, struct policy_decision *ret)
{
	ret->verdict = default_of(engine, query);
	ret->reason = reason_of_default(ret->verdict, tally);
}

/* ---- facts on which the answer depends ---- */

/* The weight of a rule if it applies: it overrides every rule of lower worth. */
struct stake {
	unsigned worth; /* STAKE_BROKEN, or 2 * enum policy_action */
	unsigned facts; /* whether it applies depends on these; 0: it applies */
};

/* A permission with a broken constraint overrides a default that allows. */
#define STAKE_BROKEN 1u

/* Finds indexed exceptions that would hold if the request stated more. */
static void find_doubts(struct policy_engine *engine, const struct query *query)
{
	for (size_t i = 0; i < engine->scratch.n_candidates; i++) {
		const struct artefact_condition *condition =
			&engine->policy.conditions[engine->scratch.candidates[i]];
		struct doubt *doubt = &engine->scratch.doubts[condition->rule];
		unsigned facts;

		if (is_match(condition) ||
		    !condition_could_hold(engine, query, engine->scratch.candidates[i], &facts))
			continue;
		if (doubt->generation != engine->scratch.generation)
			*doubt = (struct doubt){ .generation = engine->scratch.generation };
		doubt->facts |= facts;
	}
}

static unsigned doubts_about(const struct policy_engine *engine, const struct query *query,
			     const struct artefact_condition *match)
{
	const struct artefact_rule *rule = &engine->policy.rules[match->rule];
	const struct doubt *doubt = &engine->scratch.doubts[match->rule];
	unsigned facts = doubt->generation == engine->scratch.generation ? doubt->facts : 0, more;

	for (uint32_t i = 0; i < rule->n_plain_exceptions; i++)
		if (condition_could_hold(engine, query, rule->exceptions.first + i, &more))
			facts |= more;
	return facts;
}

/* The constraints that depend on facts which the request does not state. */
static unsigned unsaid_constraints(const struct policy_request *request)
{
	return (unsigned)!request->sandbox << CONSTRAINT_SANDBOX |
	       (unsigned)!request->has_token << CONSTRAINT_TOKEN |
	       (unsigned)!request->has_size << CONSTRAINT_SIZE |
	       (unsigned)!request->sha256 << CONSTRAINT_SHA256;
}

static unsigned facts_of_constraints(unsigned constraints)
{
	static const enum policy_unsaid facts[N_CONSTRAINTS] = {
		[CONSTRAINT_SANDBOX] = UNSAID_LEVEL,
		[CONSTRAINT_TOKEN] = UNSAID_TOKEN,
		[CONSTRAINT_SIZE] = UNSAID_SIZE,
		[CONSTRAINT_SHA256] = UNSAID_DIGEST,
	};
	unsigned set = 0;

	for (int i = 0; i < N_CONSTRAINTS; i++)
		if (constraints & 1u << i)
			set |= 1u << facts[i];
	return set;
}

/* False if the rule cannot apply, whatever else the request states. @least: the least severe
 * answer of the files that may widen. */
static bool find_stake(const struct policy_engine *engine, const struct query *query,
		       uint32_t candidate, enum policy_action least, struct stake *ret)
{
	const struct artefact_condition *match = &engine->policy.conditions[candidate];
	bool is_added = !(match->flags & CONDITION_NARROWS) || may_add(least, match->action);
	unsigned broken, unsaid;

	if (!is_match(match) || is_closed(query, match) ||
	    !condition_could_hold(engine, query, candidate, &ret->facts) ||
	    is_excepted(engine, query, match))
		return false;
	ret->facts |= doubts_about(engine, query, match);
	ret->worth = 2 * match->action;
	if (!policy_permits(match->action))
		return is_added;
	broken = broken_constraints(engine, query, match);
	unsaid = broken & unsaid_constraints(query->request);
	if (broken == unsaid)
		ret->facts |= facts_of_constraints(unsaid);
	if (!is_added && !broken)
		return false;
	if (broken != unsaid || !is_added)
		ret->worth = STAKE_BROKEN;
	return true;
}

/* The least severe answer that the files that may widen give, if the request states more. */
static enum policy_action find_least(const struct policy_engine *engine, const struct query *query)
{
	enum policy_action least = default_of(engine, query);
	struct stake stake;

	for (size_t i = 0; i < engine->scratch.n_candidates; i++) {
		const struct artefact_condition *match =
			&engine->policy.conditions[engine->scratch.candidates[i]];

		if (!(match->flags & CONDITION_NARROWS) && match->action < least &&
		    find_stake(engine, query, engine->scratch.candidates[i], least, &stake) &&
		    stake.worth > STAKE_BROKEN)
			least = match->action;
	}
	return least;
}

/* Adds @new to the decision, which keeps the first rules in ascending order. */
static void add_dependence(struct policy_engine *engine, struct policy_dependence new,
			   struct policy_decision *decision)
{
	struct policy_dependence *rows = engine->dependences;
	size_t n = decision->n_dependences, at = n;

	decision->facts |= new.facts;
	while (at > 0 && rows[at - 1].rule > new.rule)
		at--;
	if (at == POLICY_DEPENDENCES_MAX)
		return;
	n -= n == POLICY_DEPENDENCES_MAX;
	memmove(&rows[at + 1], &rows[at], (n - at) * sizeof(*rows));
	rows[at] = new;
	decision->dependences = rows;
	decision->n_dependences = n + 1;
}

/* The rules that apply, whatever facts the request may add. */
struct certain {
	unsigned most;	 /* the greatest worth of them */
	bool is_reached; /* one of them permits */
};

static struct certain find_certain(const struct policy_engine *engine, const struct query *query,
				   enum policy_action least)
{
	struct certain certain = { .most = 0 };
	struct stake stake;
	unsigned narrow = 0;

	for (size_t i = 0; i < engine->scratch.n_candidates; i++) {
		const struct artefact_condition *match =
			&engine->policy.conditions[engine->scratch.candidates[i]];
		bool narrows = match->flags & CONDITION_NARROWS;
		unsigned *most = narrows ? &narrow : &certain.most;

		if (!find_stake(engine, query, engine->scratch.candidates[i], least, &stake) ||
		    stake.facts != 0)
			continue;
		certain.is_reached |=
			!narrows && policy_permits(match->action) && stake.worth > STAKE_BROKEN;
		if (stake.worth > *most)
			*most = stake.worth;
	}
	/* Whether a narrowing file's rule counts depends on the others, unless it denies. */
	if ((certain.most > STAKE_BROKEN || narrow == 2 * POLICY_DENY) && narrow > certain.most)
		certain.most = narrow;
	return certain;
}

/* Adds every rule that may apply and that no applying rule overrides. */
static void find_dependences(struct policy_engine *engine, const struct query *query,
			     struct policy_decision *ret)
{
	enum policy_action least;
	struct certain certain;
	struct stake stake;

	find_doubts(engine, query);
	least = find_least(engine, query);
	certain = find_certain(engine, query, least);
	/* A special address is denied without a permission, whatever wants a review. */
	bool is_opening =
		query->address.special && !certain.is_reached && certain.most < 2 * POLICY_DENY;

	for (size_t i = 0; i < engine->scratch.n_candidates; i++) {
		const struct artefact_condition *match =
			&engine->policy.conditions[engine->scratch.candidates[i]];

		if (!find_stake(engine, query, engine->scratch.candidates[i], least, &stake) ||
		    stake.facts == 0)
			continue;
		if (stake.worth > certain.most || (is_opening && policy_permits(match->action)))
			add_dependence(engine,
				       (struct policy_dependence){ match->rule, stake.facts }, ret);
	}
}

static void find_verdict(struct policy_engine *engine, const struct query *query,
			 const struct tally *tally, struct policy_decision *ret)
{
	if (query->address.special && !tally->is_reached && tally->verdict != POLICY_DENY) {
		ret->verdict = POLICY_DENY;
		ret->cause = CAUSE_BUILTIN;
		ret->builtin = SPECIAL_RULE_NAME;
		ret->reason = query->address.special;
		return;
	}
	if (tally->verdict != POLICY_PASS && tally->verdict >= tally->least) {
		ret->verdict = tally->verdict;
		ret->cause = CAUSE_RULES;
	} else if (tally->verdict == POLICY_PASS && tally->broken) {
		/* Even if the default allows: the constraint was written on purpose. */
		ret->verdict = POLICY_DENY;
		ret->cause = CAUSE_CONSTRAINT;
		ret->reason = constraint_reasons[__builtin_ctz(tally->broken)];
	} else {
		decide_by_default(engine, query, tally, ret);
	}
	keep_causes(engine, query, tally, ret);
}

void rules_judge(struct policy_engine *engine, const struct query *query,
		 struct policy_decision *ret)
{
	struct tally tally = { .verdict = POLICY_PASS };
	bool lacks_address = query->unsaid >> MATCH_CIDR & 1;

	look_up(engine, query);
	find_rules(engine, query, &tally);
	*ret = (struct policy_decision){ .constraints.max_file_size_bytes = UINT64_MAX };
	if (!tally.is_plain)
		weigh(engine, query, &tally);
	find_verdict(engine, query, &tally, ret);
	/* The conditions of the index that the address would find: none of them holds without it.
	 */
	if (lacks_address && (engine->policy.header->needs_address & query->bit)) {
		lookup_unsaid_address(engine);
		tally.may_depend = true;
	}
	if (tally.may_depend || tally.broken)
		find_dependences(engine, query, ret);
	if (lacks_address && query->is_proxied && ret->verdict != POLICY_DENY) {
		ret->facts |= 1u << UNSAID_ADDRESS;
		ret->is_of_ordinary_address = true;
	}
}

/*
 * policy_explain(): every rule that nearly matched a request, and what prevented it
 *
 * It uses the same look-ups and conditions as a decision, but for all rules, so its time grows with
 * the policy.
 */

/* The first key that does not hold, or N_MATCH_KEYS. */
static enum match_key first_failing(const struct policy_engine *engine, const struct query *query,
				    uint32_t condition)
{
	for (uint32_t left = engine->policy.conditions[condition].keys; left; left &= left - 1) {
		enum match_key key = (enum match_key)__builtin_ctz(left);

		if (!condition_key_holds(engine, query, condition, key))
			return key;
	}
	return N_MATCH_KEYS;
}

/* The number, in the order of the file, of the first exception that holds, or NONE. */
static uint32_t find_exception(const struct policy_engine *engine, const struct query *query,
			       const struct artefact_rule *rule)
{
	uint32_t first = ARTEFACT_NONE;

	for (uint32_t i = 0; i < rule->exceptions.count; i++) {
		uint32_t condition = rule->exceptions.first + i;

		if (engine->policy.conditions[condition].ordinal < first &&
		    condition_holds(engine, query, condition))
			first = engine->policy.conditions[condition].ordinal;
	}
	return first;
}

/* False if neither the operation nor an indexed key matched. */
static bool explain_rule(const struct policy_engine *engine, const struct query *query,
			 uint32_t row, struct policy_explanation *ret)
{
	const struct artefact_rule *rule = &engine->policy.rules[row];
	uint32_t state = condition_state(engine, rule->condition);
	bool is_about = engine->policy.conditions[rule->condition].operations & query->bit;
	enum match_key key = first_failing(engine, query, rule->condition);

	*ret = (struct policy_explanation){ .rule = row, .near = NEAR_APPLIES };
	if (!is_about) {
		ret->near = NEAR_OPERATION;
		return engine->policy.conditions[rule->condition].primary != PRIMARY_NONE &&
		       state == MARK_INCLUDED;
	}
	if (key != N_MATCH_KEYS) {
		ret->near = state == (MARK_INCLUDED | MARK_EXCLUDED) ? NEAR_EXCLUDED : NEAR_KEY;
		ret->key = key;
		return true;
	}
	if (is_closed(query, &engine->policy.conditions[rule->condition])) {
		ret->near = NEAR_KEY;
		ret->key = MATCH_CIDR;
		return true;
	}
	ret->exception = find_exception(engine, query, rule);
	if (ret->exception != ARTEFACT_NONE)
		ret->near = NEAR_EXCEPTED;
	else
		ret->exception = 0;
	return true;
}

size_t policy_explain(struct policy_engine *engine, const struct policy_request *request,
		      struct policy_explanation *rows, size_t max)
{
	size_t n_rules = artefact_n_rows(&engine->artefact, SECTION_RULES), n = 0;
	struct policy_explanation row;
	struct query query;

	engine_begin(engine);
	if (query_read(engine, request, &query))
		return 0;
	look_up(engine, &query);
	for (size_t i = 0; i < n_rules; i++) {
		if (!explain_rule(engine, &query, (uint32_t)i, &row))
			continue;
		if (n < max)
			rows[n] = row;
		n++;
	}
	return n;
}
