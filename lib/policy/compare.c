/* SPDX-License-Identifier: MIT */

/*
 * The differences between two policies, rule by rule, and between their answers to recorded
 * requests
 *
 * Rules are joined by name: both lists are sorted and walked together. A rule that has only moved
 * is reported as moved and is not a difference, because order has no meaning. Two parts of a rule
 * mean the same exactly if their texts are equal: for that, the values of a list and the exceptions
 * of a rule are sorted.
 */

#include "policy/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "policy/model.h"
#include "policy/view.h"

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the @n texts sorted and without duplicates, and frees them. */
static void add_sorted(struct text *out, char **texts, size_t n)
{
	bool is_whole = true;

	for (size_t i = 0; i < n; i++)
		is_whole = is_whole && texts[i];
	if (is_whole && n > 0)
		qsort(texts, n, sizeof(*texts), compare_texts);
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

/* An exception without operations is about those of its rule. */
static void add_condition(struct text *out, const struct condition *condition)
{
	const char *before = "{ ";

	if (condition->operations != 0) {
		text_addf(out, "%ssyscall: [", before);
		operation_add_names(out, condition->operations);
		text_add(out, "]");
		before = ", ";
	}
	for (int key = 0; key < N_MATCH_KEYS; key++) {
		if (!condition->lists[key].present)
			continue;
		text_addf(out, "%s%s: [", before, match_key_name((enum match_key)key));
		add_values(out, &condition->lists[key]);
		text_add(out, "]");
		before = ", ";
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
	if (constraints->tls == TLS_ANY)
		text_add(out, " tls: any");
	text_add(out, " }");
}

static void add_reason(struct text *out, const struct rule *rule)
{
	struct json_writer json;

	json_write(&json, out);
	json_add_string(&json, rule->reason ? rule->reason : "");
}

static const struct rule_part {
	const char *name; /* NULL terminates the table */
	void (*add)(struct text *out, const struct rule *rule);
	const char *absent; /* the text of a rule without it; NULL: every rule has it */
} parts[] = {
	{ "action", add_action, NULL },	  { "match", add_match, NULL },
	{ "except", add_except, "[]" },	  { "constraints", add_constraints, "{ }" },
	{ "reason", add_reason, "\"\"" }, { .name = NULL },
};

struct comparison {
	const struct policy *before;
	const struct policy *after;
	struct text *out;
	bool as_json;
	size_t n_differences;
	/* For each rule of before, its index in after, or SIZE_MAX. */
	size_t *partners;
};

/* One line of output; unused texts are NULL. */
struct change {
	const char *sign; /* "+", "-", "~", "=" */
	const char *verb; /* "added" */
	const char *kind; /* "rule", "setting", "default", "extension" */
	const char *name;
	const char *file;
	unsigned line;
	const char *part; /* the part of a rule */
	const char *before;
	const char *after;
};

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
	json_member_if_set(&json, "part", change->part);
	json_member_if_set(&json, "before", change->before);
	json_member_if_set(&json, "after", change->after);
	json_end_object(&json);
	text_add_char(out, '\n');
}

/* "~ rule 'x' (new.yaml:3): action: allow -> deny" */
static void add_change_text(struct text *out, const struct change *change)
{
	text_addf(out, "%s %s '", change->sign, change->kind);
	text_add_visible_string(out, change->name);
	text_add_char(out, '\'');
	if (change->file) {
		text_add(out, " (");
		text_add_visible_string(out, change->file);
		text_addf(out, ":%u)", change->line);
	}
	text_addf(out, " %s", change->verb);
	if (change->part)
		text_addf(out, ": %s", change->part);
	if (change->before) {
		text_add(out, ": ");
		text_add_visible_string(out, change->before);
	}
	if (change->after) {
		text_add(out, change->before ? " -> " : ": ");
		text_add_visible_string(out, change->after);
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

/* deny { syscall: [fs.write] }, except: [{ caller: ["a"] }]. An exception, or a constraint, can
 * turn the meaning of the rest. */
static void add_rule(struct text *out, const struct rule *rule)
{
	_cleanup_text_ struct text part_text = TEXT_INIT;

	for (const struct rule_part *part = parts; part->name; part++) {
		text_reset(&part_text);
		part->add(&part_text, rule);
		out->failed |= text_status(&part_text) < 0;
		if (!part->absent)
			text_addf(out, "%s%s", part == parts ? "" : " ", text_string(&part_text));
		else if (strcmp(text_string(&part_text), part->absent) != 0)
			text_addf(out, ", %s: %s", part->name, text_string(&part_text));
	}
}

static void report_rule(struct comparison *comparison, const struct rule *rule, bool is_added)
{
	const struct policy *policy = is_added ? comparison->after : comparison->before;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct change change = change_of(policy, rule);

	add_rule(&text, rule);
	comparison->out->failed |= text_status(&text) < 0;
	change.sign = is_added ? "+" : "-";
	change.verb = is_added ? "added" : "removed";
	if (is_added)
		change.after = text_string(&text);
	else
		change.before = text_string(&text);
	add_change(comparison, &change);
}

static void compare_rules(struct comparison *comparison, const struct rule *before,
			  const struct rule *after)
{
	_cleanup_text_ struct text was = TEXT_INIT, is = TEXT_INIT;

	for (const struct rule_part *part = parts; part->name; part++) {
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

static int compare_names(const void *a, const void *b)
{
	const struct rule *one = *(const struct rule *const *)a;
	const struct rule *other = *(const struct rule *const *)b;
	int order = strcmp(one->name, other->name);

	/* Equal names (of different files) stay in the order of the files. */
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
		qsort(rules, policy->n_rules, sizeof(const struct rule *), compare_names);
	return rules;
}

/* Fills the partners of the old rules, and @is_new for the new ones. */
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
			report_rule(comparison, &before->rules[i], false);
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
			report_rule(comparison, &after->rules[i], true);
}

/* Reports a default, setting or extension by its text on each side; NULL: absent on that side. */
static void report_texts(struct comparison *comparison, const char *kind, const char *name,
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
			report_texts(comparison, "default",
				     operation_class_name((enum operation_class)i),
				     policy_action_name(was), policy_action_name(is));
	}
}

/* Compares the values: "1GiB" equals "1024MiB". */
static bool is_same_setting(const struct setting *one, const struct setting *other)
{
	return one->number == other->number &&
	       (one->number != 0 || strcmp(one->text, other->text) == 0);
}

#define VALUE_SIZE 32

/* A list's items are settings of their own. */
static const char *value_of(const struct setting *setting, char space[VALUE_SIZE])
{
	if (setting->type != TREE_LIST)
		return setting->text;
	if (setting->number == 0)
		return "[]";
	(void)snprintf(space, VALUE_SIZE, "%" PRIu64 " item%s", setting->number,
		       setting->number == 1 ? "" : "s");
	return space;
}

static void compare_settings(struct comparison *comparison)
{
	const struct setting *was = comparison->before->settings;
	const struct setting *is = comparison->after->settings;
	size_t n_was = comparison->before->n_settings, n_is = comparison->after->n_settings;

	while (n_was > 0 || n_is > 0) {
		char before[VALUE_SIZE], after[VALUE_SIZE];
		int order = n_was == 0	? 1
			    : n_is == 0 ? -1
					: policy_compare_paths(was->path, is->path);

		if (order != 0 || !is_same_setting(was, is))
			report_texts(comparison, "setting", order <= 0 ? was->path : is->path,
				     order <= 0 ? value_of(was, before) : NULL,
				     order >= 0 ? value_of(is, after) : NULL);
		was += order <= 0;
		n_was -= order <= 0;
		is += order >= 0;
		n_is -= order >= 0;
	}
}

/* The view comes from the dialect unless the policy says it. */
static void compare_views(struct comparison *comparison)
{
	const char *was = view_name(comparison->before), *is = view_name(comparison->after);

	if (strcmp(was, is) != 0)
		report_texts(comparison, "setting", "view", was, is);
}

/* As a shell takes them: one word with a blank is not two words. */
static char *words_of(const struct policy *policy, const char *name)
{
	struct text text = TEXT_INIT;

	for (size_t i = 0; i < policy->n_extensions; i++) {
		if (strcmp(policy->extensions[i].name, name) != 0)
			continue;
		for (const char *const *word = policy->extensions[i].argv; *word; word++) {
			text_add(&text, text.len > 0 ? " " : "");
			text_add_word_string(&text, *word);
		}
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
			continue; /* reported with the policy before */
		if (!was || !is || strcmp(was, is) != 0)
			report_texts(comparison, "extension", name, was, is);
	}
}

size_t policy_compare(const struct policy *before, const struct policy *after, struct text *out,
		      int as_json)
{
	struct comparison comparison = {
		.before = before, .after = after, .out = out, .as_json = as_json
	};

	compare_all_rules(&comparison);
	compare_views(&comparison);
	compare_defaults(&comparison);
	compare_settings(&comparison);
	compare_extensions(&comparison, before);
	compare_extensions(&comparison, after);
	return comparison.n_differences;
}

/* ---- recorded requests ---- */

static enum change_kind kind_of(enum policy_action before, enum policy_action after)
{
	if (policy_permits(before) == policy_permits(after))
		return CHANGE_OTHER;
	return policy_permits(before) ? CHANGE_BREAKING : CHANGE_WIDENS;
}

/* Has the log cut a secret out of the member @name? The scanner must be at the value of
 * "commitment". */
static bool is_cut(struct json_scanner scanner, const char *name)
{
	struct json_item item;
	bool is_there = false;

	if (json_next(&scanner, &item) <= 0 || item.kind != JSON_OBJECT_BEGIN)
		return false;
	while (json_next(&scanner, &item) > 0 && item.kind == JSON_NAME) {
		is_there |= json_equals(&item, name);
		if (json_next(&scanner, &item) <= 0 || json_skip(&scanner, &item) < 0)
			break;
	}
	return is_there;
}

/*
 * Finds the value of "input" in a recorded decision; otherwise takes the whole line. A line with
 * two of them is ambiguous about which one was judged: sbx-policy did not write it. A request from
 * which the log cut a secret is a different request.
 */
static int find_input(const char **bytes, size_t *n_bytes)
{
	struct json_scanner scanner;
	struct json_item item;
	const char *input = NULL;
	size_t n_input = 0;
	int r;

	json_scan(&scanner, *bytes, *n_bytes);
	r = json_next(&scanner, &item);
	if (r <= 0 || item.kind != JSON_OBJECT_BEGIN)
		return -1;
	while ((r = json_next(&scanner, &item)) > 0 && item.kind == JSON_NAME) {
		bool is_input = json_equals(&item, "input");

		if (json_equals(&item, "commitment") && is_cut(scanner, "input"))
			return -1;

		if (json_next(&scanner, &item) <= 0 || json_skip(&scanner, &item) < 0)
			return -1;
		if (!is_input)
			continue;
		if (input)
			return -1;
		input = *bytes + item.offset;
		n_input = scanner.at - item.offset;
	}
	if (r <= 0 || json_next(&scanner, &item) != 0)
		return -1;
	if (input) {
		*bytes = input;
		*n_bytes = n_input;
	}
	return 0;
}

void replay_line(struct replay *replay, const void *bytes, size_t n_bytes,
		 struct request_buffer *buffer, replay_fn *changed, void *userdata)
{
	struct policy_decision before, after;
	const char *input = bytes;
	enum change_kind kind;

	if (find_input(&input, &n_bytes) < 0 || request_parse(input, n_bytes, buffer, NULL) < 0) {
		replay->n_unreadable++;
		return;
	}
	policy_decide(replay->before, &buffer->request, &before);
	policy_decide(replay->after, &buffer->request, &after);
	replay->n_replayed++;
	replay->n_permitted += policy_permits(before.verdict);
	if (before.verdict == after.verdict)
		return;
	kind = kind_of(before.verdict, after.verdict);
	replay->n_changed++;
	replay->n_breaking += kind == CHANGE_BREAKING;
	replay->n_widening += kind == CHANGE_WIDENS;
	changed(buffer, &before, &after, kind, userdata);
}
