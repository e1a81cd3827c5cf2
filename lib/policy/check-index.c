/* SPDX-License-Identifier: MIT */

/*
 * Which rules could cover a rule?
 *
 * Looking at every pair takes seconds at 10,000 rules. A rule that covers another one by its path
 * has a value that names a folder around the other one's path, or the same path; so rules stand in
 * a sorted table under the fixed beginnings of their globs, and only the folders of one path are
 * looked up. Hosts go the same way from their other end. Rules with neither are few and are always
 * looked at.
 */

#include "policy/check-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct check_entry {
	enum match_key key; /* MATCH_PATH, MATCH_HOST; N_MATCH_KEYS: neither */
	const char *text;
	size_t len;
	const struct rule *rule;
};

static bool excludes(const struct match_value *value)
{
	return !value->literal && value->text[0] == '!';
}

/* Whole components in which nothing is a pattern: "src" of "src/x*". */
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

int check_index_make(const struct policy *policy, struct check_index *ret)
{
	struct check_index index = { .n_entries = 0 };
	size_t n = policy->n_rules;

	for (size_t i = 0; i < policy->n_rules; i++)
		n += policy->rules[i].match.lists[MATCH_PATH].n_values +
		     policy->rules[i].match.lists[MATCH_HOST].n_values;
	index.entries = calloc(n + 1, sizeof(*index.entries));
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

void check_index_deinit(struct check_index *index)
{
	free(index->entries);
	*index = (struct check_index){ .n_entries = 0 };
}

/* The first of @best and the fitting rules under one entry, in the order of the policy. */
static const struct rule *look_up(const struct check_index *index, const struct check_entry *wanted,
				  const struct rule *rule, check_fits_fn *fits,
				  const struct rule *best)
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
					check_fits_fn *fits, const struct rule *best)
{
	const struct match_list *list = &rule->match.lists[MATCH_PATH];
	const struct match_value *value = list->values;
	struct check_entry entry;

	while (value < list->values + list->n_values && excludes(value))
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
					check_fits_fn *fits, const struct rule *best)
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

const struct rule *check_index_find(const struct check_index *index, const struct rule *rule,
				    check_fits_fn *fits)
{
	const struct check_entry neither = { .key = N_MATCH_KEYS, .text = "" };
	const struct rule *best = look_up(index, &neither, rule, fits, NULL);

	if (rule->match.lists[MATCH_PATH].n_values > 0)
		best = look_up_paths(index, rule, fits, best);
	if (rule->match.lists[MATCH_HOST].n_values > 0)
		best = look_up_hosts(index, rule, fits, best);
	return best;
}
