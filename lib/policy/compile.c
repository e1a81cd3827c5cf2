/* SPDX-License-Identifier: MIT */

/*
 * Model → rows: sources, rules and conditions, in the order of the model
 *
 * Each condition that has one of the indexed keys gets one primary key, by which look-ups find it:
 * path before host before network before port, for the first is the most telling. What it has
 * besides is compared when it was found. A condition with none of them stands in a list of its
 * operations (or, as an exception, in front of its rule's others).
 */

#include "policy/compile.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/artefact-internal.h"
#include "policy/compile-internal.h"

#define PROTO_TCP 1u
#define PROTO_UDP 2u

static bool is_indexed(const struct condition *condition)
{
	for (int key = MATCH_PATH; key <= MATCH_PORT; key++)
		if (condition->lists[key].present)
			return true;
	return false;
}

static uint8_t primary_of(const struct condition *condition)
{
	for (unsigned key = MATCH_PATH; key <= MATCH_PORT; key++)
		if (condition->lists[key].present)
			return (uint8_t)key;
	return PRIMARY_NONE;
}

static struct artefact_condition *condition_at(const struct builder *builder, uint32_t row)
{
	return (struct artefact_condition *)builder->conditions.data + row;
}

/* caller, tag, state, mode: words that must be equal. */
static int add_words(struct builder *builder, const struct match_list *list,
		     struct artefact_span *ret)
{
	ret->first = (uint32_t)builder->list_words.n;
	ret->count = (uint32_t)list->n_values;
	for (size_t i = 0; i < list->n_values; i++) {
		const char *text = list->values[i].text;
		uint32_t word;
		int r = interner_add(&builder->words, text, strlen(text), &word);
		uint32_t *row = r == 0 ? rows_add(&builder->list_words, sizeof(*row), 1) : NULL;

		if (!row)
			return -ENOMEM;
		*row = word;
	}
	return 0;
}

static int read_protos(const struct builder *builder, const struct match_list *list, uint8_t *ret,
		       struct sbx_error *err)
{
	for (size_t i = 0; i < list->n_values; i++) {
		const char *text = list->values[i].text;

		if (strcmp(text, "tcp") != 0 && strcmp(text, "udp") != 0) {
			(void)sbx_error_what(err, -EINVAL, "'%.100s' is no protocol", text);
			sbx_error_why(err, "rules can be about tcp and udp");
			sbx_error_fix(err, "write tcp or udp");
			(void)builder_place(builder, list->values[i].place, err);
			return -EINVAL;
		}
		*ret |= (uint8_t)(text[0] == 't' ? PROTO_TCP : PROTO_UDP);
	}
	return 0;
}

static int add_values(struct builder *builder, const struct build_condition *made,
		      enum match_key key, const struct match_list *list, struct artefact_span *ret,
		      struct sbx_error *err)
{
	bool is_primary = condition_at(builder, made->row)->primary == key;
	int r = 0;

	ret->first = (uint32_t)builder->values.n;
	for (size_t i = 0; i < list->n_values && r == 0; i++)
		r = index_add(builder, made, key, &list->values[i], !is_primary, err);
	ret->count = (uint32_t)builder->values.n - ret->first;
	return r;
}

static int add_globs(struct builder *builder, const struct build_condition *made,
		     const struct match_list *list, struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; i < list->n_values && r == 0; i++)
		r = trie_add(builder, made, &list->values[i], err);
	return r;
}

static int add_list(struct builder *builder, const struct build_condition *made, enum match_key key,
		    const struct match_list *list, struct artefact_lists *lists,
		    struct sbx_error *err)
{
	if (key == MATCH_PATH)
		return add_globs(builder, made, list, err);
	if (key <= MATCH_PORT)
		return add_values(builder, made, key, list, &lists->values[key - MATCH_HOST], err);
	if (key == MATCH_PROTO)
		return read_protos(builder, list, &condition_at(builder, made->row)->protos, err);
	return add_words(builder, list, &lists->texts[key - MATCH_CALLER]);
}

static int add_lists(struct builder *builder, const struct build_condition *made,
		     const struct condition *condition, struct sbx_error *err)
{
	struct artefact_lists lists = { .texts = { { 0 } } }, *row;
	int r = 0;

	for (int key = 0; key < N_MATCH_KEYS && r == 0; key++)
		if (condition->lists[key].present)
			r = add_list(builder, made, (enum match_key)key, &condition->lists[key],
				     &lists, err);
	if (condition->lists[MATCH_PORT].present)
		builder->header.needs_port |= made->operations;
	if (r < 0 || keys_of_lists(condition_at(builder, made->row)) == 0)
		return r;
	condition_at(builder, made->row)->lists = (uint32_t)builder->lists.n;
	row = rows_add(&builder->lists, sizeof(*row), 1);
	if (!row)
		return -ENOMEM;
	*row = lists;
	return 0;
}

/* What a decision must know of the rule, so that it need not look at most rules. */
static uint8_t flags_of(const struct builder *builder, const struct rule *rule)
{
	const struct artefact_rule *row =
		(struct artefact_rule *)builder->rules.data + builder->rules.n - 1;
	const struct artefact_source *sources = builder->sources.data;
	unsigned flags = 0;

	if (sources[row->source].narrows)
		flags |= CONDITION_NARROWS;
	if (artefact_rule_is_bound(row))
		flags |= CONDITION_BOUND;
	if (rule->n_exceptions > 0)
		flags |= CONDITION_EXCEPTED;
	return (uint8_t)flags;
}

/* @ordinal: ARTEFACT_NONE for the match. */
static int add_condition(struct builder *builder, const struct rule *rule,
			 const struct condition *condition, uint32_t ordinal, struct sbx_error *err)
{
	struct artefact_condition *row = rows_add(&builder->conditions, sizeof(*row), 1);
	uint64_t operations = rule->match.operations;

	if (!row)
		return -ENOMEM;
	if (ordinal != ARTEFACT_NONE && condition->operations != 0)
		operations &= condition->operations;
	*row = (struct artefact_condition){
		.operations = operations,
		.rule = (uint32_t)builder->rules.n - 1,
		.primary = primary_of(condition),
		.ordinal = ordinal,
		.lists = ARTEFACT_NONE,
		.action = (uint8_t)rule->action,
		.flags = flags_of(builder, rule),
	};
	for (int key = 0; key < N_MATCH_KEYS; key++)
		row->keys |= (uint16_t)(condition->lists[key].present << key);

	struct build_condition made = {
		.row = (uint32_t)builder->conditions.n - 1,
		.operations = operations,
		.action = rule->action,
		.is_exception = ordinal != ARTEFACT_NONE,
	};

	return add_lists(builder, &made, condition, err);
}

/* Those without an indexed key, then the others. */
static int add_exceptions(struct builder *builder, const struct rule *rule, struct sbx_error *err)
{
	struct artefact_span span = { .first = (uint32_t)builder->conditions.n,
				      .count = (uint32_t)rule->n_exceptions };
	uint32_t n_plain = 0;
	int r = 0;

	for (int indexed = 0; indexed < 2; indexed++) {
		for (uint32_t i = 0; i < rule->n_exceptions && r == 0; i++) {
			if (is_indexed(&rule->exceptions[i]) != indexed)
				continue;
			r = add_condition(builder, rule, &rule->exceptions[i], i, err);
			n_plain += !indexed;
		}
	}

	struct artefact_rule *row =
		(struct artefact_rule *)builder->rules.data + builder->rules.n - 1;

	row->exceptions = span;
	row->n_plain_exceptions = n_plain;
	return r;
}

static int add_text(struct builder *builder, const char *text, uint32_t *ret)
{
	if (!text) {
		*ret = ARTEFACT_NONE;
		return 0;
	}
	return interner_add(&builder->texts, text, strlen(text), ret);
}

static int add_plain(struct builder *builder, const struct rule *rule, uint32_t condition)
{
	uint64_t left = rule->match.operations;

	for (; left && !is_indexed(&rule->match); left &= left - 1)
		if (builder_add_pair(&builder->plain, (uint32_t)__builtin_ctzll(left), condition) <
		    0)
			return -ENOMEM;
	return 0;
}

static int add_rule(struct builder *builder, const struct rule *rule, struct sbx_error *err)
{
	struct artefact_rule *row = rows_add(&builder->rules, sizeof(*row), 1);
	uint32_t condition = (uint32_t)builder->conditions.n;
	unsigned source = rule->place.source;

	if (!row)
		return -ENOMEM;
	*row = (struct artefact_rule){
		.source = source < builder->sources.n ? source : 0,
		.line = rule->place.at.line,
		.column = rule->place.at.column,
		.action = rule->action,
		.condition = condition,
		.require_token = rule->constraints.require_token,
		.max_file_size_bytes = rule->constraints.max_file_size_bytes,
	};
	if (add_text(builder, rule->name, &row->name) < 0 ||
	    add_text(builder, rule->reason, &row->reason) < 0 ||
	    add_text(builder, rule->constraints.require_sandbox, &row->require_sandbox) < 0 ||
	    add_text(builder, rule->constraints.sha256, &row->sha256) < 0)
		return -ENOMEM;

	int r = add_condition(builder, rule, &rule->match, ARTEFACT_NONE, err);

	if (r == 0)
		r = add_exceptions(builder, rule, err);
	return r < 0 ? r : add_plain(builder, rule, condition);
}

static int add_sources(struct builder *builder)
{
	static const struct policy_source nameless = { .name = "policy" };
	const struct policy *policy = builder->policy;
	size_t n = policy->n_sources > 0 ? policy->n_sources : 1;

	for (size_t i = 0; i < n; i++) {
		const struct policy_source *source =
			policy->n_sources > 0 ? &policy->sources[i] : &nameless;
		struct artefact_source *row = rows_add(&builder->sources, sizeof(*row), 1);

		if (!row || add_text(builder, source->name, &row->name) < 0)
			return -ENOMEM;
		row->narrows = source->narrows;
		memcpy(row->digest, source->digest, sizeof(row->digest));
	}
	return 0;
}

static int build(struct builder *builder, struct sbx_error *err)
{
	const struct policy *policy = builder->policy;
	int r = trie_init(builder);

	if (r == 0)
		r = add_sources(builder);
	for (size_t i = 0; i < policy->n_rules && r == 0; i++)
		r = add_rule(builder, &policy->rules[i], err);
	return r;
}

int policy_measure(const struct policy *policy, struct compile_cost *ret, struct sbx_error *err)
{
	_cleanup_builder_ struct builder builder = { .policy = policy };
	int r = build(&builder, err);

	if (r == 0)
		r = trie_measure(&builder, ret);
	if (r == -ENOMEM)
		return sbx_error_what(err, r, "cannot measure the policy");
	return r;
}

int policy_compile(const struct policy *policy, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err)
{
	_cleanup_builder_ struct builder builder = { .policy = policy };
	int r = build(&builder, err);

	if (r == 0)
		r = trie_check_bounds(&builder, err);
	if (r == 0)
		r = artefact_write(&builder, ret_block, ret_n_bytes, err);
	if (r == -ENOMEM)
		return sbx_error_what(err, r, "cannot compile the policy");
	return r;
}
