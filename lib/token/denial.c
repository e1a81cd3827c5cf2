/* SPDX-License-Identifier: MIT */

/*
 * Checks each deny rule: may its match hold for some request in the scope, and does no exception
 * surely hold for all of them? The path globs and hosts of all conditions are compared with the
 * scope once, before the rules are checked.
 */

#include "token/denial.h"

#include <errno.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/model.h"
#include "token/denial-internal.h"
#include "token/token.h"

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
