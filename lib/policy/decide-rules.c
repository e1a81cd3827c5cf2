/* SPDX-License-Identifier: MIT */

/*
 * The rules that apply, and what they say together
 *
 * Exceptions that have an index are found like matches, and stamp their rule; only those without
 * one are tried rule by rule. Then the most severe action wins, after two kinds of permission have
 * been taken out: those whose constraint does not hold, and those of a file that may only narrow
 * where no other file permits.
 */

#include "policy/decide-rules.h"

#include <string.h>
#include <strings.h>

#include "policy/decide-internal.h"

static const char no_rule[] = "no rule explicitly allowed this operation";

/* What does not hold, in the order in which it is told. */
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

void rules_look_up(struct policy_engine *engine, const struct query *query)
{
	int operation = __builtin_ctzll(query->bit);
	struct artefact_span plain = engine->header->plain_of_operation[operation];

	if (query->path)
		lookup_path(engine, query);
	if (query->has_host || query->request->has_port)
		lookup_network(engine, query);
	for (uint32_t i = plain.first; i < plain.first + plain.count; i++)
		mark_condition(engine, engine->plain[i], MARK_INCLUDED);
}

static bool is_match(const struct artefact_condition *condition)
{
	return condition->ordinal == ARTEFACT_NONE;
}

static bool is_excepted(const struct policy_engine *engine, const struct query *query,
			const struct artefact_condition *match)
{
	const struct artefact_rule *rule = &engine->rules[match->rule];

	if (!(match->flags & CONDITION_EXCEPTED))
		return false;
	if (engine->excepted[match->rule] == engine->generation)
		return true;
	for (uint32_t i = 0; i < rule->n_plain_exceptions; i++)
		if (condition_holds(engine, query, rule->exceptions.first + i))
			return true;
	return false;
}

static void find_exceptions(struct policy_engine *engine, const struct query *query)
{
	for (size_t i = 0; i < engine->n_candidates; i++) {
		const struct artefact_condition *condition =
			&engine->conditions[engine->candidates[i]];

		if (!is_match(condition) && condition_holds(engine, query, engine->candidates[i]))
			engine->excepted[condition->rule] = engine->generation;
	}
}

struct tally {
	bool may_depend; /* a rule or an exception asks for what the request does not say */
	bool is_plain;	 /* no rule found has a constraint or is of a file that narrows */
	bool is_granted; /* a file that may widen, or the default, permits it */
	unsigned broken;
	bool is_narrow;		    /* only files that may not widen permit it */
	enum policy_action verdict; /* POLICY_PASS: nobody said anything that counts */
};

static unsigned keys_of_plain_exceptions(const struct policy_engine *engine,
					 const struct artefact_condition *match)
{
	const struct artefact_rule *rule = &engine->rules[match->rule];
	unsigned keys = 0;

	for (uint32_t i = 0; i < rule->n_plain_exceptions; i++)
		keys |= engine->conditions[rule->exceptions.first + i].keys;
	return keys;
}

/* Fills engine->found with the matches of the rules that apply. */
static void find_rules(struct policy_engine *engine, const struct query *query, struct tally *tally)
{
	unsigned flags = 0, keys = 0;

	find_exceptions(engine, query);
	for (size_t i = 0; i < engine->n_candidates; i++) {
		const struct artefact_condition *condition =
			&engine->conditions[engine->candidates[i]];

		keys |= condition->keys;
		if (!is_match(condition) ||
		    !condition_holds(engine, query, engine->candidates[i]) ||
		    is_excepted(engine, query, condition))
			continue;
		if (condition->flags & CONDITION_EXCEPTED)
			keys |= keys_of_plain_exceptions(engine, condition);
		engine->found[engine->n_found++] = engine->candidates[i];
		flags |= condition->flags;
		if (condition->action > tally->verdict)
			tally->verdict = condition->action;
	}
	tally->is_plain = !(flags & (CONDITION_BOUND | CONDITION_NARROWS));
	tally->may_depend = keys & query->unsaid;
}

/* "L2" is 2; 0 for anything else. */
static unsigned level_of(const char *sandbox)
{
	return sandbox[0] == 'L' && sandbox[1] >= '1' && sandbox[1] <= '9' && sandbox[2] == '\0'
		       ? (unsigned)(sandbox[1] - '0')
		       : 0;
}

/* A deeper level has everything that the one above it has. */
static bool is_in_sandbox(const char *wanted, const char *given)
{
	if (!given)
		return false;
	return strcmp(wanted, given) == 0 ||
	       (level_of(wanted) > 0 && level_of(given) >= level_of(wanted));
}

static const char *sandbox_of(const struct policy_engine *engine, const struct artefact_rule *rule)
{
	return rule->require_sandbox == ARTEFACT_NONE ? NULL
						      : engine->bytes + rule->require_sandbox;
}

static const char *sha256_of(const struct policy_engine *engine, const struct artefact_rule *rule)
{
	return rule->sha256 == ARTEFACT_NONE ? NULL : engine->bytes + rule->sha256;
}

static bool sha256_holds(const char *wanted, const char *given)
{
	return !wanted || (given && strcasecmp(wanted, given) == 0);
}

static bool size_holds(const struct query *query, uint64_t max)
{
	if (query->request->has_size)
		return query->request->size_bytes <= max;
	/* Nobody knows how much will be written. */
	return max == UINT64_MAX || strcmp(query->operation->name, "fs.write") != 0;
}

/* Which constraints of a permitting rule do not hold: bits of enum constraint_kind. */
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

/* From here on a rule is its match, which repeats what is needed of most rules. */
static unsigned broken_constraints(const struct policy_engine *engine, const struct query *query,
				   const struct artefact_condition *match)
{
	return match->flags & CONDITION_BOUND
		       ? find_broken(engine, query, &engine->rules[match->rule])
		       : 0;
}

static bool permits(const struct artefact_condition *match)
{
	return match->action == POLICY_ALLOW || match->action == POLICY_WARN;
}

static bool counts(const struct policy_engine *engine, const struct query *query,
		   const struct artefact_condition *match, const struct tally *tally)
{
	if (tally->is_plain || !permits(match))
		return true;
	return broken_constraints(engine, query, match) == 0 &&
	       (tally->is_granted || !(match->flags & CONDITION_NARROWS));
}

/* Where some rules have to be weighed: which permissions count, and the verdict without others. */
static void weigh(const struct policy_engine *engine, const struct query *query,
		  struct tally *tally)
{
	enum policy_action fallback = engine->header->defaults[query->operation->class];

	tally->is_granted = fallback == POLICY_ALLOW || fallback == POLICY_WARN;
	for (size_t i = 0; i < engine->n_found; i++) {
		const struct artefact_condition *match = &engine->conditions[engine->found[i]];
		unsigned broken = permits(match) ? broken_constraints(engine, query, match) : 0;

		tally->broken |= broken;
		if (permits(match) && broken == 0) {
			bool narrows = match->flags & CONDITION_NARROWS;

			tally->is_granted |= !narrows;
			tally->is_narrow |= narrows;
		}
	}
	tally->verdict = POLICY_PASS;
	for (size_t i = 0; i < engine->n_found; i++) {
		const struct artefact_condition *match = &engine->conditions[engine->found[i]];

		if (match->action > tally->verdict && counts(engine, query, match, tally))
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

/* Two rules that allow can want two programs only where neither holds; any one will do. */
static const char *first_text(const char *a, const char *b)
{
	if (!a || !b)
		return a ? a : b;
	return strcmp(a, b) <= 0 ? a : b;
}

static void add_constraints(const struct policy_engine *engine,
			    const struct artefact_condition *match, struct constraints *all)
{
	const struct artefact_rule *rule = &engine->rules[match->rule];

	if (!(match->flags & CONDITION_BOUND))
		return;
	all->require_sandbox = stricter_sandbox(all->require_sandbox, sandbox_of(engine, rule));
	all->require_token |= rule->require_token != 0;
	if (rule->max_file_size_bytes < all->max_file_size_bytes)
		all->max_file_size_bytes = rule->max_file_size_bytes;
	all->sha256 = first_text(all->sha256, sha256_of(engine, rule));
}

/* One step of a heap sort: lets the number at @root sink to its place. */
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

/* In place and without allocating, which qsort() does not promise. */
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

/* Does the rule belong to the answer? */
static bool is_cause(const struct policy_engine *engine, const struct query *query,
		     const struct artefact_condition *match, const struct tally *tally,
		     enum policy_cause cause)
{
	if (cause == CAUSE_CONSTRAINT)
		return permits(match) && broken_constraints(engine, query, match) != 0;
	return match->action == tally->verdict && counts(engine, query, match, tally);
}

/* Turns engine->found into the rules that made the answer, ascending, and adds up the constraints.
 */
static void keep_causes(struct policy_engine *engine, const struct query *query,
			const struct tally *tally, struct policy_decision *ret)
{
	bool is_permitted = ret->verdict == POLICY_ALLOW || ret->verdict == POLICY_WARN;
	size_t n = 0;

	for (size_t i = 0; i < engine->n_found; i++) {
		const struct artefact_condition *match = &engine->conditions[engine->found[i]];
		bool is_one = is_cause(engine, query, match, tally, ret->cause);

		if ((is_permitted && permits(match) && counts(engine, query, match, tally)) ||
		    (ret->cause == CAUSE_CONSTRAINT && is_one))
			add_constraints(engine, match, &ret->constraints);
		if (is_one)
			engine->found[n++] = match->rule;
	}
	sort_ascending(engine->found, n);
	ret->rules = engine->found;
	ret->n_rules = n;
}

static void decide_by_default(const struct policy_engine *engine, const struct query *query,
			      const struct tally *tally, struct policy_decision *ret)
{
	ret->verdict = engine->header->defaults[query->operation->class];
	if (ret->verdict == POLICY_PASS)
		ret->verdict = POLICY_DENY;
	ret->reason = ret->verdict != POLICY_DENY
			      ? "no rule is about this; the policy's default applies"
		      : tally->is_narrow ? "only a file that may not widen the others allows this"
					 : no_rule;
}

static enum constraint_kind first_broken(unsigned broken)
{
	return (enum constraint_kind)__builtin_ctz(broken);
}

/* ---- what the answer depends on ---- */

/* What a rule would be worth if it applied: it outweighs everything that is worth less. */
struct stake {
	unsigned worth; /* STAKE_BROKEN, or 2 * enum policy_action */
	unsigned facts; /* on which it depends whether it applies; 0: it does */
};

/* A permission whose constraint does not hold takes from a default that allows. */
#define STAKE_BROKEN 1u

/* Exceptions that an index found and that would hold if more were said. */
static void find_doubts(struct policy_engine *engine, const struct query *query)
{
	for (size_t i = 0; i < engine->n_candidates; i++) {
		const struct artefact_condition *condition =
			&engine->conditions[engine->candidates[i]];
		struct doubt *doubt = &engine->doubts[condition->rule];
		unsigned facts;

		if (is_match(condition) ||
		    !condition_could_hold(engine, query, engine->candidates[i], &facts))
			continue;
		if (doubt->generation != engine->generation)
			*doubt = (struct doubt){ .generation = engine->generation };
		doubt->facts |= facts;
	}
}

static unsigned doubts_about(const struct policy_engine *engine, const struct query *query,
			     const struct artefact_condition *match)
{
	const struct artefact_rule *rule = &engine->rules[match->rule];
	const struct doubt *doubt = &engine->doubts[match->rule];
	unsigned facts = doubt->generation == engine->generation ? doubt->facts : 0, more;

	for (uint32_t i = 0; i < rule->n_plain_exceptions; i++)
		if (condition_could_hold(engine, query, rule->exceptions.first + i, &more))
			facts |= more;
	return facts;
}

/* The constraints that may hold, once the request says what they are about. */
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

/* False where the rule does not apply, whatever the request may say besides. @is_granted: a file
 * that may widen permits it. */
static bool find_stake(const struct policy_engine *engine, const struct query *query,
		       uint32_t candidate, bool is_granted, struct stake *ret)
{
	const struct artefact_condition *match = &engine->conditions[candidate];
	unsigned broken, unsaid;

	if (!is_match(match) || !condition_could_hold(engine, query, candidate, &ret->facts) ||
	    is_excepted(engine, query, match))
		return false;
	ret->facts |= doubts_about(engine, query, match);
	ret->worth = 2 * match->action;
	if (!permits(match))
		return true;
	broken = broken_constraints(engine, query, match);
	unsaid = broken & unsaid_constraints(query->request);
	if (broken == unsaid)
		ret->facts |= facts_of_constraints(unsaid);
	if ((match->flags & CONDITION_NARROWS) && !is_granted && !broken)
		return false;
	if (broken != unsaid || ((match->flags & CONDITION_NARROWS) && !is_granted))
		ret->worth = STAKE_BROKEN;
	return true;
}

/* Does a file that may widen, or the default, permit it: for certain, or perhaps? */
static void find_grants(const struct policy_engine *engine, const struct query *query,
			bool *ret_is_granted, bool *ret_may_be_granted)
{
	enum policy_action fallback = engine->header->defaults[query->operation->class];
	struct stake stake;

	*ret_is_granted = *ret_may_be_granted = fallback == POLICY_ALLOW || fallback == POLICY_WARN;
	for (size_t i = 0; i < engine->n_candidates; i++) {
		const struct artefact_condition *match = &engine->conditions[engine->candidates[i]];

		if (!permits(match) || (match->flags & CONDITION_NARROWS) ||
		    !find_stake(engine, query, engine->candidates[i], true, &stake) ||
		    stake.worth == STAKE_BROKEN)
			continue;
		*ret_is_granted |= stake.facts == 0;
		*ret_may_be_granted = true;
	}
}

/* Keeps the first rules, ascending. */
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

/* A rule that may apply changes nothing where one that does apply outweighs it. */
static void find_dependences(struct policy_engine *engine, const struct query *query,
			     struct policy_decision *ret)
{
	bool is_granted, may_be_granted;
	unsigned most = 0;
	struct stake stake;

	find_doubts(engine, query);
	find_grants(engine, query, &is_granted, &may_be_granted);
	for (size_t i = 0; i < engine->n_candidates; i++)
		if (find_stake(engine, query, engine->candidates[i], is_granted, &stake) &&
		    stake.facts == 0 && stake.worth > most)
			most = stake.worth;
	for (size_t i = 0; i < engine->n_candidates; i++) {
		const struct artefact_condition *match = &engine->conditions[engine->candidates[i]];

		if (find_stake(engine, query, engine->candidates[i], may_be_granted, &stake) &&
		    stake.facts != 0 && stake.worth > most)
			add_dependence(engine,
				       (struct policy_dependence){ match->rule, stake.facts }, ret);
	}
}

static void find_verdict(struct policy_engine *engine, const struct query *query,
			 const struct tally *tally, struct policy_decision *ret)
{
	if (tally->verdict != POLICY_PASS) {
		ret->verdict = tally->verdict;
		ret->cause = CAUSE_RULES;
	} else if (tally->broken) {
		/* Also where the default is to allow: somebody asked for the constraint. */
		ret->verdict = POLICY_DENY;
		ret->cause = CAUSE_CONSTRAINT;
		ret->reason = constraint_reasons[first_broken(tally->broken)];
	} else {
		decide_by_default(engine, query, tally, ret);
		return;
	}
	keep_causes(engine, query, tally, ret);
}

void rules_judge(struct policy_engine *engine, const struct query *query,
		 struct policy_decision *ret)
{
	struct tally tally = { .verdict = POLICY_PASS };

	rules_look_up(engine, query);
	find_rules(engine, query, &tally);
	*ret = (struct policy_decision){ .constraints.max_file_size_bytes = UINT64_MAX };
	if (!tally.is_plain)
		weigh(engine, query, &tally);
	find_verdict(engine, query, &tally, ret);
	if (tally.may_depend || tally.broken)
		find_dependences(engine, query, ret);
}
