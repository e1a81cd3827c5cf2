/* SPDX-License-Identifier: MIT */
#pragma once

/* Compares two policies: names, actions, conditions, constraints, settings and views, but not
 * places */

#include "policy/model.h"
#include "policy/view.h"
#include "test.h"

static inline bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static inline bool same_condition(const struct condition *a, const struct condition *b)
{
	if (a->operations != b->operations)
		return false;
	for (int key = 0; key < N_MATCH_KEYS; key++) {
		const struct match_list *one = &a->lists[key], *other = &b->lists[key];

		if (one->present != other->present || one->n_values != other->n_values)
			return false;
		for (size_t i = 0; i < one->n_values; i++)
			if (!same_text(one->values[i].text, other->values[i].text) ||
			    one->values[i].literal != other->values[i].literal)
				return false;
	}
	return true;
}

static inline bool same_constraints(const struct constraints *a, const struct constraints *b)
{
	return same_text(a->require_sandbox, b->require_sandbox) &&
	       same_text(a->sha256, b->sha256) && a->require_token == b->require_token &&
	       a->max_file_size_bytes == b->max_file_size_bytes && a->tls == b->tls;
}

static inline bool same_rule(const struct rule *a, const struct rule *b)
{
	if (!same_text(a->name, b->name) || a->action != b->action ||
	    !same_condition(&a->match, &b->match) || a->n_exceptions != b->n_exceptions ||
	    !same_constraints(&a->constraints, &b->constraints) ||
	    !same_text(a->reason, b->reason) || a->n_examples != b->n_examples)
		return false;
	for (size_t i = 0; i < a->n_exceptions; i++)
		if (!same_condition(&a->exceptions[i], &b->exceptions[i]))
			return false;
	for (size_t i = 0; i < a->n_examples; i++)
		if (!same_text(a->examples[i].text, b->examples[i].text) ||
		    a->examples[i].matches != b->examples[i].matches)
			return false;
	return true;
}

static inline bool same_setting(const struct setting *a, const struct setting *b)
{
	return same_text(a->path, b->path) && a->type == b->type && same_text(a->text, b->text) &&
	       a->number == b->number;
}

static inline bool same_extension(const struct extension_program *a,
				  const struct extension_program *b)
{
	for (size_t i = 0;; i++) {
		if (!same_text(a->argv[i], b->argv[i]))
			return false;
		if (!a->argv[i])
			return same_text(a->name, b->name);
	}
}

static inline void expect_same(const struct policy *a, const struct policy *b)
{
	expect_str(view_name(a), view_name(b));
	expect(memcmp(a->defaults, b->defaults, sizeof(a->defaults)) == 0);
	expect_eq(a->n_rules, b->n_rules);
	for (size_t i = 0; i < a->n_rules && i < b->n_rules; i++)
		expect(same_rule(&a->rules[i], &b->rules[i]));
	expect_eq(a->n_settings, b->n_settings);
	for (size_t i = 0; i < a->n_settings && i < b->n_settings; i++)
		expect(same_setting(&a->settings[i], &b->settings[i]));
	expect_eq(a->n_extensions, b->n_extensions);
	for (size_t i = 0; i < a->n_extensions && i < b->n_extensions; i++)
		expect(same_extension(&a->extensions[i], &b->extensions[i]));
}
