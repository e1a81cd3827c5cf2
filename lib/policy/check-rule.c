/* SPDX-License-Identifier: MIT */

/*
 * What shows in one rule alone
 */

#include "policy/check-internal.h"

/* What an operation's argument must be for a key to hold. */
static const struct {
	enum match_key key;
	enum operation_argument argument;
} arguments[] = {
	{ MATCH_PATH, ARGUMENT_PATH },	{ MATCH_HOST, ARGUMENT_HOST },
	{ MATCH_CIDR, ARGUMENT_HOST },	{ MATCH_PORT, ARGUMENT_HOST },
	{ MATCH_PROTO, ARGUMENT_HOST },
};

/* The first key of @condition that cannot hold for @operation, or N_MATCH_KEYS. */
static enum match_key find_misfit(const struct condition *condition,
				  const struct operation *operation)
{
	for (size_t i = 0; i < N_ELEMENTS(arguments); i++)
		if (condition->lists[arguments[i].key].present &&
		    operation->argument != arguments[i].argument)
			return arguments[i].key;
	return N_MATCH_KEYS;
}

struct fit {
	unsigned n_fitting;
	enum match_key misfit; /* of the first operation that does not fit */
	const char *operation; /* which that is, or NULL */
};

static struct fit fit_of(const struct condition *condition, uint64_t operations)
{
	struct fit fit = { .n_fitting = 0 };

	for (int row = 0; row < OPERATIONS_MAX; row++) {
		const struct operation *operation =
			operations >> row & 1 ? operation_at(row) : NULL;
		enum match_key misfit;

		if (!operation)
			continue;
		misfit = find_misfit(condition, operation);
		fit.n_fitting += misfit == N_MATCH_KEYS;
		if (misfit == N_MATCH_KEYS || fit.operation)
			continue;
		fit.misfit = misfit;
		fit.operation = operation->name;
	}
	return fit;
}

static void check_arguments(struct checker *checker, const struct rule *rule)
{
	struct fit fit = fit_of(&rule->match, rule->match.operations);

	if (!fit.operation)
		return;
	check_warn(checker, fit.n_fitting > 0 ? CHECK_PARTLY_NEVER : CHECK_NEVER,
		   rule->match.lists[fit.misfit].place, "rule '%s' can never apply to '%s'",
		   rule->name, fit.operation);
	sbx_error_why(&checker->warning.error, "'%s' has no argument for '%s'", fit.operation,
		      match_key_name(fit.misfit));
	sbx_error_fix(&checker->warning.error, "remove '%s', or the operation",
		      match_key_name(fit.misfit));
}

static bool excludes(const struct match_value *value)
{
	return !value->literal && value->text[0] == '!';
}

static void check_only_excluding(struct checker *checker, const struct match_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n_values; i++)
		n += excludes(&list->values[i]);
	if (n == 0 || n < list->n_values)
		return;
	check_warn(checker, CHECK_NEVER, list->place, "every glob of 'path_glob' begins with '!'");
	sbx_error_why(&checker->warning.error,
		      "such a glob only takes out what another one takes in");
	sbx_error_fix(&checker->warning.error, "add a glob for what is meant, such as \"**\"");
}

/* Is it taken out again by a glob that begins with '!'? */
static bool is_taken_out(const struct match_list *list, const struct match_value *value)
{
	for (size_t i = 0; i < list->n_values; i++) {
		struct match_value other = list->values[i];

		if (!excludes(&other))
			continue;
		other.text++;
		if (check_path_covers(&other, value))
			return true;
	}
	return false;
}

static void check_taken_out(struct checker *checker, const struct match_list *list)
{
	size_t n = 0, n_left = 0;

	for (size_t i = 0; i < list->n_values; i++) {
		if (excludes(&list->values[i]))
			continue;
		n++;
		n_left += !is_taken_out(list, &list->values[i]);
	}
	if (n == 0 || n_left > 0)
		return;
	check_warn(checker, CHECK_NEVER, list->place,
		   "every glob of 'path_glob' is taken out by one with '!'");
	sbx_error_why(&checker->warning.error, "there is no request left to which it could apply");
	sbx_error_fix(&checker->warning.error,
		      "narrow the globs that begin with '!', or remove the rule");
}

static void check_lists(struct checker *checker, const struct condition *condition)
{
	for (int key = 0; key < N_MATCH_KEYS; key++) {
		const struct match_list *list = &condition->lists[key];

		if (!list->present || list->n_values > 0)
			continue;
		check_warn(checker, CHECK_EMPTY_LIST, list->place, "the list of '%s' is empty",
			   match_key_name((enum match_key)key));
		sbx_error_why(&checker->warning.error,
			      "a list matches if one of its values does; this one never does");
		sbx_error_fix(&checker->warning.error, "add a value, or remove the key if "
						       "anything is meant");
	}
	if (condition->lists[MATCH_HOST].present && condition->lists[MATCH_CIDR].present) {
		check_warn(checker, CHECK_NEVER, condition->place,
			   "'host' and 'cidr' in one condition");
		sbx_error_why(&checker->warning.error,
			      "a request names a host or an address, and both keys would have to "
			      "hold");
		sbx_error_fix(&checker->warning.error, "make two rules of it");
	}
	check_only_excluding(checker, &condition->lists[MATCH_PATH]);
	check_taken_out(checker, &condition->lists[MATCH_PATH]);
}

static void check_exceptions(struct checker *checker, const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		const struct condition *exception = &rule->exceptions[i];
		uint64_t operations =
			exception->operations ? exception->operations : rule->match.operations;
		bool all = (rule->match.operations & ~operations) == 0;

		check_lists(checker, exception);
		if (fit_of(exception, rule->match.operations & operations).n_fitting == 0) {
			check_warn(checker, CHECK_PARTLY_NEVER, exception->place,
				   "exception %zu of rule '%s' can never apply", i + 1, rule->name);
			sbx_error_why(&checker->warning.error,
				      "it is about operations or arguments that the rule's match "
				      "has not");
			sbx_error_fix(&checker->warning.error, "remove it, or widen the match");
		} else if (all && check_covers(exception, &rule->match)) {
			check_warn(checker, CHECK_ALWAYS_EXCEPTED, exception->place,
				   "rule '%s' never applies: exception %zu always does", rule->name,
				   i + 1);
			sbx_error_why(&checker->warning.error,
				      "if the match applies, the exception does, too");
			sbx_error_fix(&checker->warning.error, "narrow the exception");
		}
	}
}

static bool is_everywhere(const struct match_value *value)
{
	static const struct match_value everything = { .text = "/", .literal = true };

	return check_path_covers(value, &everything);
}

static void check_everything(struct checker *checker, const struct rule *rule)
{
	const struct match_list *paths = &rule->match.lists[MATCH_PATH];
	bool found = !paths->present;

	if ((rule->action != POLICY_ALLOW && rule->action != POLICY_WARN) ||
	    !(rule->match.operations & operation_set("fs.write")))
		return;
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (key != MATCH_PATH && rule->match.lists[key].present)
			return;
	for (size_t i = 0; i < paths->n_values; i++) {
		if (excludes(&paths->values[i]))
			return;
		found |= is_everywhere(&paths->values[i]);
	}
	if (!found)
		return;
	check_warn(checker, CHECK_EVERYTHING, rule->place, "rule '%s' allows to write everywhere",
		   rule->name);
	sbx_error_why(&checker->warning.error, "nothing in its match narrows 'fs.write'");
	sbx_error_fix(&checker->warning.error, "name the folders that are meant to be written");
}

static void check_action(struct checker *checker, const struct rule *rule)
{
	const struct constraints *constraints = &rule->constraints;
	bool constrained = constraints->require_sandbox || constraints->require_token ||
			   constraints->sha256 || constraints->max_file_size_bytes != UINT64_MAX;

	if (rule->action == POLICY_PASS) {
		check_warn(checker, CHECK_PASS, rule->place, "rule '%s' changes no answer",
			   rule->name);
		sbx_error_why(&checker->warning.error, "'pass' means that a rule says nothing");
		sbx_error_fix(&checker->warning.error, "remove it, or write another action");
	}
	if (!constrained || rule->action == POLICY_ALLOW || rule->action == POLICY_WARN)
		return;
	check_warn(checker, CHECK_CONSTRAINTS, rule->place,
		   "the constraints of rule '%s' have no effect", rule->name);
	sbx_error_why(&checker->warning.error,
		      "they limit what a rule allows, and this one is "
		      "'%s'",
		      policy_action_name(rule->action));
	sbx_error_fix(&checker->warning.error, "move them to the rule that allows");
}

void check_rule(struct checker *checker, const struct rule *rule)
{
	check_lists(checker, &rule->match);
	check_arguments(checker, rule);
	check_exceptions(checker, rule);
	check_action(checker, rule);
	check_everything(checker, rule);
}
