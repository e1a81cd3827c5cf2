/* SPDX-License-Identifier: MIT */

/*
 * All keys of one condition against the request: the primary one by its mark, the others by
 * comparison
 */

#include "policy/decide-internal.h"

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
	const uint32_t *words = engine->texts + span.first;
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
		if (engine->word_stamps[engine->texts[i]] == engine->generation)
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

static bool has_prefix(const uint64_t bits[2], const struct artefact_value *prefix)
{
	uint32_t high = prefix->length < 64 ? prefix->length : 64, low = prefix->length - high;

	return (high == 0 || (bits[0] ^ prefix->bits[0]) >> (64 - high) == 0) &&
	       (low == 0 || (bits[1] ^ prefix->bits[1]) >> (64 - low) == 0);
}

static bool value_holds(const struct policy_engine *engine, const struct query *query,
			const struct artefact_value *value)
{
	switch ((enum artefact_entry_kind)value->kind) {
	case ENTRY_HOST:
		return query->host != ARTEFACT_NONE && query->host == value->bits[0];
	case ENTRY_HOST_BELOW:
		return is_below(engine, query, value->bits[0]);
	case ENTRY_IPV4:
		return query->has_ipv4 && has_prefix(query->ipv4, value);
	case ENTRY_IPV6:
		return query->has_ipv6 && has_prefix(query->ipv6, value);
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
			    struct artefact_span span)
{
	for (uint32_t i = span.first; i < span.first + span.count; i++)
		if (value_holds(engine, query, &engine->values[i]))
			return true;
	return false;
}

bool condition_key_holds(const struct policy_engine *engine, const struct query *query,
			 uint32_t condition, enum match_key key)
{
	static const struct artefact_lists none;
	const struct artefact_condition *row = &engine->conditions[condition];
	/* Keys that need lists have some; empty ones would hold for nothing. */
	const struct artefact_lists *lists =
		row->lists == ARTEFACT_NONE ? &none : &engine->lists[row->lists];

	switch (key) {
	case MATCH_PATH:
	case MATCH_HOST:
	case MATCH_CIDR:
	case MATCH_PORT:
		if (row->primary == key)
			return is_marked(engine, condition);
		return key != MATCH_PATH &&
		       any_value_holds(engine, query, lists->values[key - MATCH_HOST]);
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

bool condition_holds(const struct policy_engine *engine, const struct query *query,
		     uint32_t condition)
{
	const struct artefact_condition *row = &engine->conditions[condition];
	uint32_t left = row->keys;

	if (!(row->operations & query->bit))
		return false;
	/* Most have no other key than the one that found them. */
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

/* An empty list holds for nothing, whatever the request says. */
static bool has_empty_list(const struct policy_engine *engine, const struct artefact_condition *row,
			   uint32_t keys)
{
	if (keys && row->lists == ARTEFACT_NONE)
		return true;
	for (int key = MATCH_CALLER; key <= MATCH_MODE; key++)
		if ((keys & 1u << key) &&
		    engine->lists[row->lists].texts[key - MATCH_CALLER].count == 0)
			return true;
	return false;
}

bool condition_could_hold(const struct policy_engine *engine, const struct query *query,
			  uint32_t condition, unsigned *ret_facts)
{
	const struct artefact_condition *row = &engine->conditions[condition];
	uint32_t unsaid = row->keys & query->unsaid;

	if (!(row->operations & query->bit) || has_empty_list(engine, row, unsaid))
		return false;
	for (uint32_t left = row->keys & ~unsaid; left; left &= left - 1)
		if (!condition_key_holds(engine, query, condition,
					 (enum match_key)__builtin_ctz(left)))
			return false;
	*ret_facts = unsaid >> MATCH_CALLER;
	return true;
}
