/* SPDX-License-Identifier: MIT */

/*
 * What differs between two policies, rule by rule
 *
 * Rules are joined by name: both lists are sorted and walked together. A rule that stands elsewhere
 * but means the same is named as moved and is no difference, because order has no meaning.
 */

#include "policy/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/compare-internal.h"
#include "policy/decision-internal.h"
#include "policy/model.h"

struct comparison {
	const struct policy *before;
	const struct policy *after;
	struct text *out;
	bool as_json;
	size_t n_differences;
	/* For each rule of before, its row in after, or SIZE_MAX. */
	size_t *partners;
};

/* One line; texts that do not apply are NULL. */
struct change {
	const char *sign; /* "+", "-", "~", "=" */
	const char *verb; /* "added" */
	const char *kind; /* "rule", "setting", "default", "extension" */
	const char *name;
	const char *file;
	unsigned line;
	const char *part; /* of a rule */
	const char *before;
	const char *after;
};

static void add_member(struct json_writer *json, const char *name, const char *value)
{
	if (value)
		json_member_string(json, name, value);
}

static void add_change_json(struct text *out, const struct change *change)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	json_member_string(&json, "change", change->verb);
	json_member_string(&json, "kind", change->kind);
	json_member_string(&json, "name", change->name);
	if (change->file) {
		json_member_string(&json, "file", change->file);
		json_member_u64(&json, "line", change->line);
	}
	add_member(&json, "part", change->part);
	add_member(&json, "before", change->before);
	add_member(&json, "after", change->after);
	json_end_object(&json);
	text_add_char(out, '\n');
}

/* "~ rule 'x' (new.yaml:3): action: allow -> deny" */
static void add_change_text(struct text *out, const struct change *change)
{
	text_addf(out, "%s %s '", change->sign, change->kind);
	decision_add_visible(out, change->name);
	text_add_char(out, '\'');
	if (change->file) {
		text_add(out, " (");
		decision_add_visible(out, change->file);
		text_addf(out, ":%u)", change->line);
	}
	text_addf(out, " %s", change->verb);
	if (change->part)
		text_addf(out, ": %s", change->part);
	if (change->before) {
		text_add(out, ": ");
		decision_add_visible(out, change->before);
	}
	if (change->after) {
		text_add(out, change->before ? " -> " : ": ");
		decision_add_visible(out, change->after);
	}
	text_add_char(out, '\n');
}

static void add_change(struct comparison *comparison, const struct change *change)
{
	if (comparison->as_json)
		add_change_json(comparison->out, change);
	else
		add_change_text(comparison->out, change);
	if (strcmp(change->sign, "=") != 0)
		comparison->n_differences++;
}

static struct change change_of(const struct policy *policy, const struct rule *rule)
{
	return (struct change){
		.kind = "rule",
		.name = rule->name,
		.file = policy->n_sources > 0 ? policy->sources[rule->place.source].name : NULL,
		.line = rule->place.at.line,
	};
}

static void add_rule(struct comparison *comparison, const struct rule *rule, bool is_added)
{
	const struct policy *policy = is_added ? comparison->after : comparison->before;
	_cleanup_text_ struct text match = TEXT_INIT;
	struct change change = change_of(policy, rule);

	text_addf(&match, "%s ", policy_action_name(rule->action));
	rule_parts()[1].add(&match, rule);
	change.sign = is_added ? "+" : "-";
	change.verb = is_added ? "added" : "removed";
	if (is_added)
		change.after = text_string(&match);
	else
		change.before = text_string(&match);
	add_change(comparison, &change);
}

static void compare_rules(struct comparison *comparison, const struct rule *before,
			  const struct rule *after)
{
	_cleanup_text_ struct text was = TEXT_INIT, is = TEXT_INIT;

	for (const struct rule_part *part = rule_parts(); part->name; part++) {
		struct change change = change_of(comparison->after, after);

		text_reset(&was);
		text_reset(&is);
		part->add(&was, before);
		part->add(&is, after);
		if (text_status(&was) < 0 || text_status(&is) < 0)
			comparison->out->failed = true;
		if (strcmp(text_string(&was), text_string(&is)) == 0)
			continue;
		change.sign = "~";
		change.verb = "changed";
		change.part = part->name;
		change.before = text_string(&was);
		change.after = text_string(&is);
		add_change(comparison, &change);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct rule *one = *(const struct rule *const *)a;
	const struct rule *other = *(const struct rule *const *)b;
	int order = strcmp(one->name, other->name);

	/* Equal names (two files may have chosen the same) stay in the order of the files. */
	return order != 0 ? order : (one > other) - (one < other);
}

static const struct rule **sorted(const struct policy *policy)
{
	const struct rule **rules = calloc(policy->n_rules + 1, sizeof(const struct rule *));

	if (!rules)
		return NULL;
	for (size_t i = 0; i < policy->n_rules; i++)
		rules[i] = &policy->rules[i];
	if (policy->n_rules > 0)
		qsort(rules, policy->n_rules, sizeof(const struct rule *), by_name);
	return rules;
}

/* Fills the partners of the rules of before, and @is_new for the rules of after. */
static int join(struct comparison *comparison, bool *is_new)
{
	_cleanup_free_ const struct rule **olds = sorted(comparison->before);
	_cleanup_free_ const struct rule **news = sorted(comparison->after);
	const struct rule **old = olds, **new = news;

	if (!olds || !news)
		return -1;
	while (*old || *new) {
		int order = !*old ? 1 : !*new ? -1 : strcmp((*old)->name, (*new)->name);

		if (order < 0)
			comparison->partners[*old++ - comparison->before->rules] = SIZE_MAX;
		else if (order > 0)
			is_new[*new ++-comparison->after->rules] = true;
		else
			comparison->partners[*old++ - comparison->before->rules] =
				(size_t)(*new ++-comparison->after->rules);
	}
	return 0;
}

static void report_moved(struct comparison *comparison, const struct rule *rule)
{
	struct change change = change_of(comparison->after, rule);

	change.sign = "=";
	change.verb = "moved";
	add_change(comparison, &change);
}

static void compare_all_rules(struct comparison *comparison)
{
	const struct policy *before = comparison->before, *after = comparison->after;
	_cleanup_free_ size_t *partners = calloc(before->n_rules + 1, sizeof(*partners));
	_cleanup_free_ bool *is_new = calloc(after->n_rules + 1, sizeof(*is_new));
	size_t furthest = 0;

	comparison->partners = partners;
	if (!partners || !is_new || join(comparison, is_new) < 0) {
		comparison->out->failed = true;
		return;
	}
	for (size_t i = 0; i < before->n_rules; i++) {
		if (partners[i] == SIZE_MAX) {
			add_rule(comparison, &before->rules[i], false);
			continue;
		}
		if (partners[i] < furthest)
			report_moved(comparison, &after->rules[partners[i]]);
		else
			furthest = partners[i];
		compare_rules(comparison, &before->rules[i], &after->rules[partners[i]]);
	}
	for (size_t i = 0; i < after->n_rules; i++)
		if (is_new[i])
			add_rule(comparison, &after->rules[i], true);
}

/* Something with a name and a text on each side; NULL: not there. */
static void compare_texts(struct comparison *comparison, const char *kind, const char *name,
			  const char *before, const char *after)
{
	struct change change = {
		.sign = !before	 ? "+"
			: !after ? "-"
				 : "~",
		.verb = !before	 ? "added"
			: !after ? "removed"
				 : "changed",
		.kind = kind,
		.name = name,
		.before = before,
		.after = after,
	};

	add_change(comparison, &change);
}

static void compare_defaults(struct comparison *comparison)
{
	for (int i = 0; i < N_CLASSES; i++) {
		enum policy_action was = comparison->before->defaults[i];
		enum policy_action is = comparison->after->defaults[i];

		if (was != is)
			compare_texts(comparison, "default",
				      operation_class_name((enum operation_class)i),
				      policy_action_name(was), policy_action_name(is));
	}
}

/* "1GiB" and "1024MiB" are the same. */
static bool is_same_setting(const struct setting *one, const struct setting *other)
{
	return one->number == other->number &&
	       (one->number != 0 || strcmp(one->text, other->text) == 0);
}

static void compare_settings(struct comparison *comparison)
{
	const struct setting *was = comparison->before->settings;
	const struct setting *is = comparison->after->settings;
	size_t n_was = comparison->before->n_settings, n_is = comparison->after->n_settings;

	while (n_was > 0 || n_is > 0) {
		int order = n_was == 0	? 1
			    : n_is == 0 ? -1
					: policy_compare_paths(was->path, is->path);

		if (order != 0 || !is_same_setting(was, is))
			compare_texts(comparison, "setting", order <= 0 ? was->path : is->path,
				      order <= 0 ? was->text : NULL, order >= 0 ? is->text : NULL);
		was += order <= 0;
		n_was -= order <= 0;
		is += order >= 0;
		n_is -= order >= 0;
	}
}

static char *words_of(const struct policy *policy, const char *name)
{
	struct text text = TEXT_INIT;

	for (size_t i = 0; i < policy->n_extensions; i++) {
		if (strcmp(policy->extensions[i].name, name) != 0)
			continue;
		for (const char *const *word = policy->extensions[i].argv; *word; word++)
			text_addf(&text, "%s%s", text.len > 0 ? " " : "", *word);
		return text_take(&text);
	}
	return NULL;
}

static void compare_extensions(struct comparison *comparison, const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_extensions; i++) {
		const char *name = policy->extensions[i].name;
		_cleanup_free_ char *was = words_of(comparison->before, name);
		_cleanup_free_ char *is = words_of(comparison->after, name);

		if (policy == comparison->after && was)
			continue; /* seen from the other side */
		if (!was || !is || strcmp(was, is) != 0)
			compare_texts(comparison, "extension", name, was, is);
	}
}

size_t policy_compare(const struct policy *before, const struct policy *after, struct text *out,
		      int as_json)
{
	struct comparison comparison = {
		.before = before, .after = after, .out = out, .as_json = as_json
	};

	compare_all_rules(&comparison);
	compare_defaults(&comparison);
	compare_settings(&comparison);
	compare_extensions(&comparison, before);
	compare_extensions(&comparison, after);
	return comparison.n_differences;
}
