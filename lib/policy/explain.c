/* SPDX-License-Identifier: MIT */

/*
 * Every rule that was near a request, and what kept it from applying
 *
 * The same look-ups and the same conditions as a decision, but over all rules and to the end. It
 * may take time that grows with the policy.
 */

#include "policy/decide-internal.h"
#include "policy/decide-rules.h"

/* The first key that does not hold, or N_MATCH_KEYS. */
static enum match_key first_failing(const struct policy_engine *engine, const struct query *query,
				    uint32_t condition)
{
	for (uint32_t left = engine->conditions[condition].keys; left; left &= left - 1) {
		enum match_key key = (enum match_key)__builtin_ctz(left);

		if (!condition_key_holds(engine, query, condition, key))
			return key;
	}
	return N_MATCH_KEYS;
}

/* The number, as written, of the first exception that holds; NONE. */
static uint32_t find_exception(const struct policy_engine *engine, const struct query *query,
			       const struct artefact_rule *rule)
{
	uint32_t first = ARTEFACT_NONE;

	for (uint32_t i = 0; i < rule->exceptions.count; i++) {
		uint32_t condition = rule->exceptions.first + i;

		if (engine->conditions[condition].ordinal < first &&
		    condition_holds(engine, query, condition))
			first = engine->conditions[condition].ordinal;
	}
	return first;
}

/* False where the rule was not near at all. */
static bool explain_rule(const struct policy_engine *engine, const struct query *query,
			 uint32_t row, struct policy_explanation *ret)
{
	const struct artefact_rule *rule = &engine->rules[row];
	uint32_t state = condition_state(engine, rule->condition);
	bool is_about = engine->conditions[rule->condition].operations & query->bit;
	enum match_key key = first_failing(engine, query, rule->condition);

	*ret = (struct policy_explanation){ .rule = row, .near = NEAR_APPLIES };
	if (!is_about) {
		ret->near = NEAR_OPERATION;
		return engine->conditions[rule->condition].primary != PRIMARY_NONE &&
		       state == MARK_INCLUDED;
	}
	if (key != N_MATCH_KEYS) {
		ret->near = state == (MARK_INCLUDED | MARK_EXCLUDED) ? NEAR_EXCLUDED : NEAR_KEY;
		ret->key = key;
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
	rules_look_up(engine, &query);
	for (size_t i = 0; i < n_rules; i++) {
		if (!explain_rule(engine, &query, (uint32_t)i, &row))
			continue;
		if (n < max)
			rows[n] = row;
		n++;
	}
	return n;
}
