/* SPDX-License-Identifier: MIT */

/*
 * The decision: the request's own soundness, then the built-in rules, then a token or the rules,
 * then the votes of extensions
 */

#include "policy/decide.h"

#include "policy/builtin.h"
#include "policy/decide-internal.h"
#include "policy/decide-rules.h"

static const struct constraints no_constraints = { .max_file_size_bytes = UINT64_MAX };

static void decide_alone(enum policy_action verdict, enum policy_cause cause, const char *reason,
			 struct policy_decision *ret)
{
	*ret = (struct policy_decision){
		.verdict = verdict,
		.cause = cause,
		.reason = reason,
		.constraints = no_constraints,
	};
}

static void decide_by_builtin(const struct builtin_rule *builtin,
			      const struct policy_request *request, struct policy_decision *ret)
{
	decide_alone(builtin->action, CAUSE_BUILTIN, builtin->reason, ret);
	ret->builtin = builtin->name;
	if (builtin->unless_modes && !request->mode)
		ret->facts = 1u << UNSAID_MODE;
}

/* What may change the answer of the rules may change one that was put before it. */
static void keep_dependences(const struct policy_decision *rules, struct policy_decision *ret)
{
	ret->facts |= rules->facts;
	ret->dependences = rules->dependences;
	ret->n_dependences = rules->n_dependences;
}

static bool allows_by_rule(const struct policy_decision *decision)
{
	return decision->cause == CAUSE_RULES &&
	       (decision->verdict == POLICY_ALLOW || decision->verdict == POLICY_WARN);
}

/* A rule that denies outweighs a built-in review, and rules that want a review, too, stay named. */
static void add_builtin(const struct builtin_rule *builtin, const struct policy_request *request,
			struct policy_decision *ret)
{
	struct policy_decision rules = *ret;

	if (ret->verdict == POLICY_DENY && ret->cause == CAUSE_RULES)
		return;
	if (builtin->is_default && allows_by_rule(ret))
		return;
	decide_by_builtin(builtin, request, ret);
	keep_dependences(&rules, ret);
	if (rules.verdict == builtin->action && rules.cause == CAUSE_RULES) {
		ret->rules = rules.rules;
		ret->n_rules = rules.n_rules;
	}
}

void policy_decide(struct policy_engine *engine, const struct policy_request *request,
		   struct policy_decision *ret)
{
	struct query query;

	engine_begin(engine);

	const char *problem = query_read(engine, request, &query);

	if (problem) {
		decide_alone(POLICY_DENY, CAUSE_BAD_REQUEST, problem, ret);
		return;
	}

	const struct builtin_rule *builtin = NULL;

	if (engine->builtin_operations & query.bit)
		builtin = builtin_judge(engine->builtins, request, query.bit, engine->guarded);

	if (builtin && (builtin->action == POLICY_DENY || request->has_token)) {
		decide_by_builtin(builtin, request, ret);
		return;
	}
	if (request->has_token) {
		decide_alone(POLICY_ALLOW, CAUSE_TOKEN, "a valid token was given", ret);
		return;
	}
	rules_judge(engine, &query, ret);
	if (builtin)
		add_builtin(builtin, request, ret);
}

/* A denial by somebody who had the right to it is final, and a token goes past extensions. Where no
 * rule has spoken they may still allow. */
bool policy_wants_votes(const struct policy_decision *decision)
{
	if (decision->cause == CAUSE_TOKEN || decision->cause == CAUSE_BAD_REQUEST)
		return false;
	return decision->verdict != POLICY_DENY || decision->cause == CAUSE_DEFAULT ||
	       decision->cause == CAUSE_CONSTRAINT;
}

/* What a vote has to exceed: a default is what holds where nobody says anything. */
static enum policy_action standing(const struct policy_decision *decision)
{
	return decision->cause == CAUSE_DEFAULT || decision->cause == CAUSE_CONSTRAINT
		       ? POLICY_PASS
		       : decision->verdict;
}

static enum policy_action action_of(const struct policy_vote *vote)
{
	return (unsigned)vote->action <= POLICY_DENY ? vote->action : POLICY_DENY;
}

void policy_add_votes(struct policy_decision *decision, const struct policy_vote *votes,
		      size_t n_votes)
{
	const struct policy_vote *most = NULL;

	if (!policy_wants_votes(decision))
		return;
	for (size_t i = 0; i < n_votes; i++)
		if (action_of(&votes[i]) > (most ? action_of(most) : standing(decision)))
			most = &votes[i];
	if (!most)
		return;

	struct policy_decision rules = *decision;
	bool was_permitted = decision->verdict == POLICY_ALLOW || decision->verdict == POLICY_WARN;

	decide_alone(action_of(most), CAUSE_EXTENSION, most->reason, decision);
	decision->extension = most->extension;
	if (decision->verdict != POLICY_DENY)
		keep_dependences(&rules, decision);
	/* A warning does not lift what the permission was bound to. */
	if (decision->verdict == POLICY_WARN && was_permitted)
		decision->constraints = rules.constraints;
}
