/* SPDX-License-Identifier: MIT */

/*
 * Rules made useless by another rule: an allow that a denial always overrides, a repeated rule
 *
 * A condition covers another one if it holds for every request for which the other one holds. The
 * check compares key by key: a key that the outer condition lacks always holds; a key that it has
 * must also be in the inner condition, with values that all lie inside the outer one's values. The
 * answer "no" may be wrong (two globs neither of which is a fixed path are not compared), "yes"
 * never is.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/check-internal.h"
#include "policy/glob.h"
#include "policy/network.h"

static bool same_text(const struct match_value *a, const struct match_value *b)
{
	return a->literal == b->literal && strcmp(a->text, b->text) == 0;
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
	bool maybe_itself = true;

	if (same_text(outer, inner))
		return outer->text[0] != '!' || outer->literal;
	if (glob_parse(outer->text, outer->literal, &whole, NULL) < 0 ||
	    glob_parse(inner->text, inner->literal, &part, NULL) < 0)
		return false;
	if (!glob_is_literal(&whole) || whole.excludes || whole.bare || part.excludes ||
	    part.bare || !begins_with(&part, &whole))
		return false;

	/* May the inner glob match the outer glob's directory itself, rather than something below
	 * it? */
	for (size_t i = whole.n_components; i < part.n_components; i++)
		maybe_itself &= part.components[i].kind == GLOB_FLOAT;
	maybe_itself &= !part.subtree || part.itself;

	bool maybe_below = part.n_components > whole.n_components || part.subtree;

	return (!maybe_itself || whole.itself || !whole.subtree) && (!maybe_below || whole.subtree);
}

bool check_has_value(const struct match_list *list, bool excluding,
		     const struct match_value *wanted)
{
	for (size_t i = 0; i < list->n_values; i++) {
		struct match_value other = list->values[i];

		if (match_value_excludes(&other) != excluding)
			continue;
		other.text += excluding;
		if (check_path_covers(&other, wanted))
			return true;
	}
	return false;
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
		if (key == MATCH_PATH && match_value_excludes(&outer->values[i]))
			return false;
	for (size_t i = 0; i < inner->n_values; i++) {
		bool found = key == MATCH_PATH && match_value_excludes(&inner->values[i]);

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

/*
 * The index: comparing all pairs takes seconds for 10,000 rules
 *
 * A rule that covers another one by its path has a value that names the same path or a directory
 * above it. So a sorted table contains rules by the literal beginnings of their globs, and for a
 * given rule only the directories of one of its paths are looked up. Hosts are looked up by their
 * labels, the last one first. Rules with neither a path nor a host are few and are always compared.
 */

struct check_entry {
	enum match_key key; /* MATCH_PATH, MATCH_HOST; N_MATCH_KEYS: neither */
	const char *text;
	size_t len;
	const struct rule *rule;
};

/* The leading components without wildcards: "src" for "src/x*". */
static struct check_entry path_entry(const struct match_value *value)
{
	const char *text = value->text;
	size_t len;

	if (strncmp(text, "./", 2) == 0)
		text += 2;
	len = value->literal ? strlen(text) : strcspn(text, "*?[\\");
	if (text[len] != '\0')
		while (len > 0 && text[len - 1] != '/')
			len--;
	while (len > 0 && text[len - 1] == '/')
		len--;
	return (struct check_entry){ .key = MATCH_PATH, .text = text, .len = len };
}

static struct check_entry host_entry(const struct match_value *value)
{
	const char *text = value->text + (strncmp(value->text, "*.", 2) == 0 ? 2 : 0);

	return (struct check_entry){ .key = MATCH_HOST, .text = text, .len = strlen(text) };
}

static int compare(const void *a, const void *b)
{
	const struct check_entry *one = a, *other = b;
	size_t len = one->len < other->len ? one->len : other->len;
	int order;

	if (one->key != other->key)
		return one->key < other->key ? -1 : 1;
	order = memcmp(one->text, other->text, len);
	if (order != 0 || one->len != other->len)
		return order != 0 ? order : one->len < other->len ? -1 : 1;
	return 0;
}

static void add_values(struct check_index *index, const struct rule *rule, enum match_key key)
{
	const struct match_list *list = &rule->match.lists[key];

	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];
		struct check_entry entry =
			key == MATCH_PATH ? path_entry(value) : host_entry(value);

		entry.rule = rule;
		index->entries[index->n_entries++] = entry;
	}
}

int check_index_make(const struct policy *policy, struct arena *arena, struct check_index *ret)
{
	struct check_index index = { .n_entries = 0 };
	size_t n = policy->n_rules;

	for (size_t i = 0; i < policy->n_rules; i++)
		n += policy->rules[i].match.lists[MATCH_PATH].n_values +
		     policy->rules[i].match.lists[MATCH_HOST].n_values;
	index.entries = arena_alloc(arena, n * sizeof(*index.entries));
	if (!index.entries)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->match.lists[MATCH_PATH].present)
			add_values(&index, rule, MATCH_PATH);
		else if (rule->match.lists[MATCH_HOST].present)
			add_values(&index, rule, MATCH_HOST);
		else
			index.entries[index.n_entries++] = (struct check_entry){
				.key = N_MATCH_KEYS, .text = "", .rule = rule
			};
	}
	if (index.n_entries > 1)
		qsort(index.entries, index.n_entries, sizeof(*index.entries), compare);
	*ret = index;
	return 0;
}

typedef bool fits_fn(const struct rule *rule, const struct rule *other);

/* The first, in the order of the policy, of @best and the fitting rules under one entry. */
static const struct rule *look_up(const struct check_index *index, const struct check_entry *wanted,
				  const struct rule *rule, fits_fn *fits, const struct rule *best)
{
	size_t low = 0, high = index->n_entries;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&index->entries[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < index->n_entries && compare(&index->entries[low], wanted) == 0; low++) {
		const struct rule *other = index->entries[low].rule;

		if (other != rule && (!best || other < best) && fits(rule, other))
			best = other;
	}
	return best;
}

static const struct rule *look_up_paths(const struct check_index *index, const struct rule *rule,
					fits_fn *fits, const struct rule *best)
{
	const struct match_list *list = &rule->match.lists[MATCH_PATH];
	const struct match_value *value = list->values;
	struct check_entry entry;

	while (value < list->values + list->n_values && match_value_excludes(value))
		value++;
	if (value == list->values + list->n_values)
		return best;
	entry = path_entry(value);
	for (size_t len = entry.len;; len--) {
		entry.len = len;
		if (len == 0 || entry.text[len] == '\0' || entry.text[len] == '/')
			best = look_up(index, &entry, rule, fits, best);
		if (len == 0)
			return best;
	}
}

static const struct rule *look_up_hosts(const struct check_index *index, const struct rule *rule,
					fits_fn *fits, const struct rule *best)
{
	struct check_entry entry = host_entry(&rule->match.lists[MATCH_HOST].values[0]);

	for (;;) {
		const char *dot;

		best = look_up(index, &entry, rule, fits, best);
		dot = strchr(entry.text, '.');
		if (!dot)
			return best;
		entry.text = dot + 1;
		entry.len = strlen(entry.text);
	}
}

/* The first rule of the policy, other than @rule, for which @fits holds. */
static const struct rule *find_fitting(const struct check_index *index, const struct rule *rule,
				       fits_fn *fits)
{
	const struct check_entry neither = { .key = N_MATCH_KEYS, .text = "" };
	const struct rule *best = look_up(index, &neither, rule, fits, NULL);

	if (rule->match.lists[MATCH_PATH].n_values > 0)
		best = look_up_paths(index, rule, fits, best);
	if (rule->match.lists[MATCH_HOST].n_values > 0)
		best = look_up_hosts(index, rule, fits, best);
	return best;
}

static const char *source_of(const struct checker *checker, const struct rule *rule)
{
	return checker->policy->sources[rule->place.source].name;
}

static bool same_string(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Does @inner contribute nothing to an answer beyond @outer? */
static bool adds_nothing(const struct rule *inner, const struct rule *outer)
{
	const struct constraints *a = &inner->constraints, *b = &outer->constraints;

	return inner->action == outer->action &&
	       (!inner->reason || same_string(inner->reason, outer->reason)) &&
	       same_string(a->require_sandbox, b->require_sandbox) &&
	       same_string(a->sha256, b->sha256) && a->require_token == b->require_token &&
	       a->max_file_size_bytes == b->max_file_size_bytes && a->tls == b->tls;
}

/* Special addresses (network.h) are allowed only by a rule with 'cidr', where sbx-proxy connects.
 */
static bool opens_special(const struct rule *rule)
{
	return policy_permits(rule->action) && rule->match.lists[MATCH_CIDR].present &&
	       (rule->match.operations & operation_set("net.connect"));
}

static bool is_under(const struct rule *inner, const struct rule *outer)
{
	return (inner->match.operations & ~outer->match.operations) == 0 &&
	       outer->n_exceptions == 0 && check_covers(&outer->match, &inner->match);
}

/*
 * Of two equivalent rules only the later one is superfluous. Files of a layered policy may repeat
 * each other, because each must be sufficient without the others.
 */
static bool is_shadowed(const struct rule *rule, const struct rule *other)
{
	if (rule->action == POLICY_PASS || rule->place.source != other->place.source ||
	    (opens_special(rule) && !opens_special(other)) || !adds_nothing(rule, other) ||
	    !is_under(rule, other))
		return false;
	return other < rule || rule->n_exceptions > 0 || !adds_nothing(other, rule) ||
	       !is_under(other, rule);
}

static bool is_denied(const struct rule *rule, const struct rule *other)
{
	return other->action == POLICY_DENY && is_under(rule, other);
}

const struct rule *check_find_denial(const struct check_index *index, const struct rule *rule)
{
	return find_fitting(index, rule, is_denied);
}

void check_neighbours(struct checker *checker, const struct rule *rule)
{
	bool allows = policy_permits(rule->action);
	const struct rule *other = allows ? check_find_denial(&checker->index, rule) : NULL;

	if (other) {
		check_warn(checker, CHECK_DENIED, rule->place, NULL, NULL,
			   "rule '%s' allows nothing", rule->name);
		sbx_error_why(&checker->warning.error,
			      "'%s' at %s:%u denies all of it, and deny wins", other->name,
			      source_of(checker, other), other->place.at.line);
		sbx_error_fix(&checker->warning.error,
			      "narrow '%s', give it an exception, or remove '%s'", other->name,
			      rule->name);
		return;
	}
	other = find_fitting(&checker->index, rule, is_shadowed);
	if (!other)
		return;
	check_warn(checker, CHECK_SHADOWED, rule->place, NULL, "remove it",
		   "rule '%s' is superfluous", rule->name);
	sbx_error_why(&checker->warning.error, "'%s' at %s:%u says the same, or more", other->name,
		      source_of(checker, other), other->place.at.line);
}
