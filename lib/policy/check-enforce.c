/* SPDX-License-Identifier: MIT */

/*
 * Who can hold a rule
 *
 * The kernel knows paths and what is below them, and it answers yes or no. Patterns, notes and
 * questions take the broker, which opens files in the supervisor. Who calls, and in which state, is
 * known only to a tool that asks before it acts.
 */

#include "policy/check-internal.h"

#include <string.h>

#include "policy/glob.h"

static const enum match_key service_keys[] = { MATCH_CALLER, MATCH_TAG, MATCH_STATE, MATCH_MODE };

/* The key that needs somebody who asks, or N_MATCH_KEYS. */
static enum match_key find_service_key(const struct condition *condition)
{
	for (size_t i = 0; i < N_ELEMENTS(service_keys); i++)
		if (condition->lists[service_keys[i]].present)
			return service_keys[i];
	return N_MATCH_KEYS;
}

static bool check_service(struct checker *checker, const struct rule *rule)
{
	enum match_key key = find_service_key(&rule->match);
	struct policy_place place;

	for (size_t i = 0; i < rule->n_exceptions && key == N_MATCH_KEYS; i++)
		key = find_service_key(&rule->exceptions[i]);
	if (key == N_MATCH_KEYS)
		return false;
	place = rule->match.lists[key].present ? rule->match.lists[key].place : rule->place;
	check_warn(checker, CHECK_SERVICE, place, "rule '%s' needs a tool that asks", rule->name);
	sbx_error_why(&checker->warning.error, "nobody else knows the '%s' of a request",
		      match_key_name(key));
	sbx_error_fix(&checker->warning.error,
		      "keep it for tools that ask 'sbx-policy serve'; in a sandbox it is not held");
	return true;
}

/* Operations that the kernel decides on by paths. */
static uint64_t kernel_operations(void)
{
	return operation_set("fs.*") | operation_set("exec");
}

/* A path and what is below it is all that the kernel knows. */
static bool is_pattern(const struct match_value *value)
{
	struct glob glob;

	if (value->literal)
		return false;
	if (glob_parse(value->text, false, &glob, NULL) < 0 || glob.excludes || glob.bare)
		return true;
	for (size_t i = 0; i < glob.n_components; i++)
		if (glob.components[i].kind != GLOB_LITERAL)
			return true;
	return false;
}

static const struct match_value *find_pattern(const struct match_list *list)
{
	for (size_t i = 0; i < list->n_values; i++)
		if (is_pattern(&list->values[i]))
			return &list->values[i];
	return NULL;
}

static const struct match_value *find_any_pattern(const struct rule *rule)
{
	const struct match_value *found = find_pattern(&rule->match.lists[MATCH_PATH]);

	for (size_t i = 0; i < rule->n_exceptions && !found; i++)
		found = find_pattern(&rule->exceptions[i].lists[MATCH_PATH]);
	return found;
}

static void warn_broker(struct checker *checker, struct policy_place place, const char *name,
			const char *why, const char *fix)
{
	check_warn(checker, CHECK_BROKER, place, "rule '%s' needs the broker", name);
	sbx_error_why(&checker->warning.error, "%s", why);
	sbx_error_fix(&checker->warning.error, "%s", fix);
}

static void check_broker(struct checker *checker, const struct rule *rule)
{
	const struct match_value *pattern = find_any_pattern(rule);

	if (rule->action == POLICY_PASS || !(rule->match.operations & kernel_operations()))
		return;
	if (rule->action == POLICY_WARN || rule->action == POLICY_REVIEW)
		warn_broker(checker, rule->place, rule->name,
			    "the kernel allows or refuses; it neither notes nor asks",
			    "write 'allow' or 'deny' where no broker runs");
	else if (pattern)
		warn_broker(checker, pattern->place, rule->name,
			    "the kernel knows paths and what is below them, not patterns",
			    "write folders ('src/**') or 'path' where no broker runs");
	else if (rule->constraints.sha256)
		warn_broker(checker, rule->place, rule->name,
			    "the kernel does not compare digests of programs",
			    "name a folder that nobody can write where no broker runs");
}

void check_enforcement(struct checker *checker, const struct rule *rule)
{
	if (!check_service(checker, rule))
		check_broker(checker, rule);
}
