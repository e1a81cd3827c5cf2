/* SPDX-License-Identifier: MIT */

/*
 * The canonical text of a policy
 *
 * Whatever dialect it was written in, it is printed as capabilities and settings, always in the
 * same order, so that two policies that say the same look the same.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "policy/layers.h"
#include "policy/model.h"
#include "policy/print-internal.h"

/* In the order of the man page. The path has two: literal or not. */
static const char *const condition_keys[N_MATCH_KEYS] = {
	[MATCH_PATH] = "path_glob", [MATCH_HOST] = "host",   [MATCH_CIDR] = "cidr",
	[MATCH_PORT] = "ports",	    [MATCH_PROTO] = "proto", [MATCH_CALLER] = "caller",
	[MATCH_TAG] = "caller_tag", [MATCH_STATE] = "state", [MATCH_MODE] = "mode",
};

static void print_operations(struct printer *printer, uint64_t operations)
{
	print_values(printer, "syscall");
	if (operations == operation_set("*"))
		print_string(printer, NULL, "*");
	for (int row = 0; operations != operation_set("*") && operation_at(row); row++)
		if (operations >> row & 1)
			print_word(printer, NULL, operation_at(row)->name);
	print_values_end(printer);
}

static void print_match_list(struct printer *printer, enum match_key key,
			     const struct match_list *list)
{
	bool literal = list->n_values > 0 && list->values[0].literal;

	if (!list->present)
		return;
	print_values(printer, literal ? "path" : condition_keys[key]);
	for (size_t i = 0; i < list->n_values; i++)
		print_string(printer, NULL, list->values[i].text);
	print_values_end(printer);
}

static void print_condition(struct printer *printer, const char *key,
			    const struct condition *condition)
{
	print_map(printer, key);
	if (condition->operations != 0)
		print_operations(printer, condition->operations);
	for (int list = 0; list < N_MATCH_KEYS; list++)
		print_match_list(printer, (enum match_key)list, &condition->lists[list]);
	print_map_end(printer);
}

static void print_size(struct printer *printer, const char *key, uint64_t bytes)
{
	_cleanup_text_ struct text size = TEXT_INIT;

	units_add_size(&size, bytes);
	printer->out->failed |= size.failed;
	print_string(printer, key, text_string(&size));
}

static void print_constraints(struct printer *printer, const struct constraints *constraints)
{
	bool has_size = constraints->max_file_size_bytes != UINT64_MAX;

	if (!constraints->require_sandbox && !constraints->require_token && !has_size &&
	    !constraints->sha256)
		return;
	print_map(printer, "constraints");
	if (constraints->require_sandbox)
		print_word(printer, "require_sandbox", constraints->require_sandbox);
	if (constraints->require_token)
		print_plain(printer, "require_capability_token", "true");
	if (has_size)
		print_size(printer, "max_file_size", constraints->max_file_size_bytes);
	if (constraints->sha256)
		print_string(printer, "sha256", constraints->sha256);
	print_map_end(printer);
}

static void print_examples(struct printer *printer, const struct rule *rule)
{
	static const char *const keys[] = { "match", "not_match" };

	if (rule->n_examples == 0)
		return;
	print_map(printer, "examples");
	for (int side = 0; side < 2; side++) {
		size_t n = 0;

		for (size_t i = 0; i < rule->n_examples; i++)
			n += rule->examples[i].matches == (side == 0);
		if (n == 0)
			continue;
		print_values(printer, keys[side]);
		for (size_t i = 0; i < rule->n_examples; i++)
			if (rule->examples[i].matches == (side == 0))
				print_string(printer, NULL, rule->examples[i].text);
		print_values_end(printer);
	}
	print_map_end(printer);
}

/* Files of a layered policy may use a name again; in one file it needs a number. */
static void print_name(struct printer *printer, const struct policy *policy, size_t i)
{
	_cleanup_text_ struct text name = TEXT_INIT;
	unsigned n_before = 0;

	for (size_t k = 0; policy->n_sources > 1 && k < i; k++)
		n_before += strcmp(policy->rules[k].name, policy->rules[i].name) == 0;
	text_add(&name, policy->rules[i].name);
	if (n_before > 0)
		text_addf(&name, " (%u)", n_before + 1);
	printer->out->failed |= name.failed;
	print_string(printer, "name", text_string(&name));
}

static void print_rule(struct printer *printer, const struct policy *policy, size_t i)
{
	const struct rule *rule = &policy->rules[i];

	print_map(printer, NULL);
	print_name(printer, policy, i);
	print_condition(printer, "match", &rule->match);
	print_word(printer, "action", policy_action_name(rule->action));
	if (rule->n_exceptions > 0) {
		print_list(printer, "except");
		for (size_t k = 0; k < rule->n_exceptions; k++)
			print_condition(printer, NULL, &rule->exceptions[k]);
		print_list_end(printer);
	}
	print_constraints(printer, &rule->constraints);
	if (rule->reason)
		print_string(printer, "reason", rule->reason);
	print_examples(printer, rule);
	print_map_end(printer);
}

static void print_extensions(struct printer *printer, const struct policy *policy)
{
	if (policy->n_extensions == 0)
		return;
	print_list(printer, "extensions");
	for (size_t i = 0; i < policy->n_extensions; i++) {
		print_map(printer, NULL);
		print_string(printer, "name", policy->extensions[i].name);
		print_values(printer, "command");
		for (const char *const *word = policy->extensions[i].argv; *word; word++)
			print_string(printer, NULL, *word);
		print_values_end(printer);
		print_map_end(printer);
	}
	print_list_end(printer);
}

/* One file cannot say "allow this only if another file does". */
const struct rule *policy_find_unprintable(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (policy->sources[rule->place.source].narrows &&
		    (rule->action == POLICY_ALLOW || rule->action == POLICY_WARN))
			return rule;
	}
	return NULL;
}

static int print_policy(struct printer *printer, const struct policy *policy)
{
	if (policy_find_unprintable(policy))
		return -EOPNOTSUPP;
	print_map(printer, NULL);
	print_plain(printer, "version", "1");
	print_map(printer, "defaults");
	for (int class = 0; class < N_CLASSES; class ++)
		print_word(printer, operation_class_name((enum operation_class) class),
			   policy_action_name(policy->defaults[class]));
	print_map_end(printer);
	if (policy->n_rules > 0) {
		print_list(printer, "capabilities");
		for (size_t i = 0; i < policy->n_rules; i++)
			print_rule(printer, policy, i);
		print_list_end(printer);
	}
	print_extensions(printer, policy);
	print_settings(printer, policy);
	print_map_end(printer);
	return text_status(printer->out);
}

int policy_print(const struct policy *policy, struct text *out)
{
	struct printer printer = { .out = out };

	return print_policy(&printer, policy);
}

int policy_print_json(const struct policy *policy, struct text *out)
{
	struct printer printer = { .out = out, .json = true };
	int r;

	json_write(&printer.writer, out);
	r = print_policy(&printer, policy);
	if (r < 0)
		return r;
	text_add_char(out, '\n');
	return text_status(out);
}
