/* SPDX-License-Identifier: MIT */

/*
 * When does one condition hold wherever another one does?
 *
 * Key by key: what the outer one does not ask for always holds; what it asks for must be asked for
 * by the inner one, too, with values that are all inside the outer one's. This is sound and far
 * from complete: whatever it does not understand, it does not claim.
 */

#include "policy/check-internal.h"

#include <string.h>

#include "policy/glob.h"
#include "policy/network.h"

static bool same_text(const struct match_value *a, const struct match_value *b)
{
	return a->literal == b->literal && strcmp(a->text, b->text) == 0;
}

static bool is_fixed(const struct glob *glob)
{
	for (size_t i = 0; i < glob->n_components; i++)
		if (glob->components[i].kind != GLOB_LITERAL)
			return false;
	return !glob->excludes && !glob->bare;
}

static bool begins_with(const struct glob *inner, const struct glob *outer)
{
	if (inner->absolute != outer->absolute || inner->n_components < outer->n_components)
		return false;
	for (size_t i = 0; i < outer->n_components; i++) {
		const struct glob_component *a = &inner->components[i], *b = &outer->components[i];

		if (a->kind != GLOB_LITERAL || a->len != b->len ||
		    memcmp(a->text, b->text, a->len) != 0)
			return false;
	}
	return true;
}

bool check_path_covers(const struct match_value *outer, const struct match_value *inner)
{
	struct glob whole, part;
	bool maybe_folder = true;

	if (same_text(outer, inner))
		return outer->text[0] != '!' || outer->literal;
	if (glob_parse(outer->text, outer->literal, &whole, NULL) < 0 ||
	    glob_parse(inner->text, inner->literal, &part, NULL) < 0)
		return false;
	if (!is_fixed(&whole) || part.excludes || part.bare || !begins_with(&part, &whole))
		return false;

	/* May the inner one match the outer one's folder itself, or something below it? */
	for (size_t i = whole.n_components; i < part.n_components; i++)
		maybe_folder &= part.components[i].kind == GLOB_FLOAT;
	maybe_folder &= !part.subtree || part.itself;

	bool maybe_below = part.n_components > whole.n_components || part.subtree;

	return (!maybe_folder || whole.itself || !whole.subtree) && (!maybe_below || whole.subtree);
}

static bool host_covers(const struct match_value *outer, const struct match_value *inner)
{
	size_t len = strlen(inner->text), tail;

	if (same_text(outer, inner))
		return true;
	if (strncmp(outer->text, "*.", 2) != 0)
		return false;
	tail = strlen(outer->text + 1);
	return len > tail && strcmp(inner->text + len - tail, outer->text + 1) == 0;
}

static bool cidr_covers(const struct match_value *outer, const struct match_value *inner)
{
	struct network whole, part;

	return network_parse(outer->text, &whole, NULL) >= 0 &&
	       network_parse(inner->text, &part, NULL) >= 0 && network_contains(&whole, &part);
}

static bool port_covers(const struct match_value *outer, const struct match_value *inner)
{
	struct port_range whole, part;

	return network_parse_ports(outer->text, strlen(outer->text), &whole, NULL) >= 0 &&
	       network_parse_ports(inner->text, strlen(inner->text), &part, NULL) >= 0 &&
	       whole.from <= part.from && whole.to >= part.to;
}

typedef bool value_covers_fn(const struct match_value *outer, const struct match_value *inner);

static value_covers_fn *const value_covers[N_MATCH_KEYS] = {
	[MATCH_PATH] = check_path_covers, [MATCH_HOST] = host_covers, [MATCH_CIDR] = cidr_covers,
	[MATCH_PORT] = port_covers,	  [MATCH_PROTO] = same_text,  [MATCH_CALLER] = same_text,
	[MATCH_TAG] = same_text,	  [MATCH_STATE] = same_text,  [MATCH_MODE] = same_text,
};

static bool excludes(const struct match_value *value)
{
	return !value->literal && value->text[0] == '!';
}

static bool same_list(const struct match_list *a, const struct match_list *b)
{
	if (a->n_values != b->n_values)
		return false;
	for (size_t i = 0; i < a->n_values; i++)
		if (!same_text(&a->values[i], &b->values[i]))
			return false;
	return true;
}

static bool list_covers(enum match_key key, const struct match_list *outer,
			const struct match_list *inner)
{
	if (same_list(outer, inner))
		return true;
	for (size_t i = 0; i < outer->n_values; i++)
		if (key == MATCH_PATH && excludes(&outer->values[i]))
			return false;
	for (size_t i = 0; i < inner->n_values; i++) {
		bool found = key == MATCH_PATH && excludes(&inner->values[i]);

		for (size_t k = 0; k < outer->n_values && !found; k++)
			found = value_covers[key](&outer->values[k], &inner->values[i]);
		if (!found)
			return false;
	}
	return true;
}

bool check_covers(const struct condition *outer, const struct condition *inner)
{
	for (int key = 0; key < N_MATCH_KEYS; key++) {
		const struct match_list *whole = &outer->lists[key], *part = &inner->lists[key];

		if (!whole->present)
			continue;
		if (!part->present || !list_covers((enum match_key)key, whole, part))
			return false;
	}
	return true;
}
