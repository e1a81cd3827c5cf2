/* SPDX-License-Identifier: MIT */

/*
 * The parts of a rule in a form in which only meaning counts
 *
 * The order of values in a list, and of exceptions in a rule, has no meaning, so they are sorted
 * before they are compared.
 */

#include "policy/compare-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "policy/model.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Takes over the @n texts. */
static void add_sorted(struct text *out, char **texts, size_t n)
{
	bool is_whole = true;

	for (size_t i = 0; i < n; i++)
		is_whole = is_whole && texts[i];
	if (is_whole && n > 0)
		qsort(texts, n, sizeof(*texts), by_text);
	for (size_t i = 0; i < n; i++) {
		if (is_whole && (i == 0 || strcmp(texts[i], texts[i - 1]) != 0))
			text_addf(out, "%s%s", i > 0 ? ", " : "", texts[i]);
	}
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	if (!is_whole)
		out->failed = true;
}

static char *value_text(const struct match_value *value)
{
	struct text text = TEXT_INIT;
	struct json_writer json;

	json_write(&json, &text);
	json_add_string(&json, value->text);
	if (value->literal)
		text_add(&text, " (literal)");
	return text_take(&text);
}

static void add_values(struct text *out, const struct match_list *list)
{
	_cleanup_free_ char **texts = calloc(list->n_values + 1, sizeof(*texts));

	if (!texts) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < list->n_values; i++)
		texts[i] = value_text(&list->values[i]);
	add_sorted(out, texts, list->n_values);
}

static void add_operations(struct text *out, uint64_t operations)
{
	const char *separator = "";

	for (int row = 0; operation_at(row); row++) {
		if (!(operations >> row & 1))
			continue;
		text_addf(out, "%s%s", separator, operation_at(row)->name);
		separator = ", ";
	}
}

static void add_condition(struct text *out, const struct condition *condition)
{
	text_add(out, "{ syscall: [");
	add_operations(out, condition->operations);
	text_add(out, "]");
	for (int key = 0; key < N_MATCH_KEYS; key++) {
		if (!condition->lists[key].present)
			continue;
		text_addf(out, ", %s: [", match_key_name((enum match_key)key));
		add_values(out, &condition->lists[key]);
		text_add(out, "]");
	}
	text_add(out, " }");
}

static void add_match(struct text *out, const struct rule *rule)
{
	add_condition(out, &rule->match);
}

static void add_except(struct text *out, const struct rule *rule)
{
	_cleanup_free_ char **texts = calloc(rule->n_exceptions + 1, sizeof(*texts));

	if (!texts) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		struct text text = TEXT_INIT;

		add_condition(&text, &rule->exceptions[i]);
		texts[i] = text_take(&text);
	}
	text_add(out, "[");
	add_sorted(out, texts, rule->n_exceptions);
	text_add(out, "]");
}

static void add_action(struct text *out, const struct rule *rule)
{
	text_add(out, policy_action_name(rule->action));
}

static void add_constraints(struct text *out, const struct rule *rule)
{
	const struct constraints *constraints = &rule->constraints;

	text_add(out, "{");
	if (constraints->require_sandbox)
		text_addf(out, " require_sandbox: %s", constraints->require_sandbox);
	if (constraints->require_token)
		text_add(out, " require_capability_token: true");
	if (constraints->max_file_size_bytes != UINT64_MAX)
		text_addf(out, " max_file_size: %llu",
			  (unsigned long long)constraints->max_file_size_bytes);
	if (constraints->sha256)
		text_addf(out, " sha256: %s", constraints->sha256);
	text_add(out, " }");
}

static void add_reason(struct text *out, const struct rule *rule)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_string(&json, rule->reason ? rule->reason : "");
}

static const struct rule_part parts[] = {
	{ "action", add_action },	    { "match", add_match },   { "except", add_except },
	{ "constraints", add_constraints }, { "reason", add_reason }, { .name = NULL },
};

const struct rule_part *rule_parts(void)
{
	return parts;
}
