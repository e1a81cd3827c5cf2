/* SPDX-License-Identifier: MIT */

/*
 * What can hold a rule
 *
 * The kernel knows paths and what is below them, and answers yes or no. A rule that asks for
 * anything else is taken the narrow way where that gives the command less: an allow that also wants
 * a caller or a token grants nothing, a deny that wants one always holds. Patterns, 'warn' and
 * 'require_review' need the broker, which opens files in the supervisor, and hosts need sbx-proxy;
 * a policy that needs one of them is refused until they exist.
 */

#include "policy/enforcement.h"

#include <string.h>

#include "base/cleanup.h"
#include "policy/glob.h"

static const enum match_key unseen_keys[] = { MATCH_CALLER, MATCH_TAG, MATCH_STATE, MATCH_MODE };
static const enum match_key network_keys[] = { MATCH_HOST, MATCH_CIDR, MATCH_PORT, MATCH_PROTO };

static uint64_t file_operations(void)
{
	return operation_set("fs.*") | operation_set("exec");
}

/* ---- conditions ---- */

static bool has_empty_list(const struct condition *condition)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (condition->lists[key].present && condition->lists[key].n_values == 0)
			return true;
	return false;
}

/* A file has no host, so such a condition never holds for one. */
static bool can_hold_for_files(const struct condition *condition)
{
	for (size_t i = 0; i < N_ELEMENTS(network_keys); i++)
		if (condition->lists[network_keys[i]].present)
			return false;
	return !has_empty_list(condition);
}

static bool can_hold_for_network(const struct condition *condition)
{
	return !condition->lists[MATCH_PATH].present && !has_empty_list(condition);
}

static enum match_key find_unseen_key(const struct condition *condition)
{
	for (size_t i = 0; i < N_ELEMENTS(unseen_keys); i++)
		if (condition->lists[unseen_keys[i]].present)
			return unseen_keys[i];
	return N_MATCH_KEYS;
}

static bool is_nested(const struct policy *policy)
{
	const struct setting *nested = policy_get_setting(policy, "isolation.nested");

	return nested && nested->number;
}

/* What an allow wants besides, and the kernel does not know; or NULL. */
static const char *find_unseen_constraint(const struct policy *policy, const struct rule *rule)
{
	const struct constraints *constraints = &rule->constraints;

	if (constraints->require_token)
		return "capability token";
	/* What builds sandboxes itself is the outer level. */
	if (constraints->require_sandbox && strcmp(constraints->require_sandbox, "L2") == 0 &&
	    is_nested(policy))
		return "inner sandbox";
	return NULL;
}

bool value_is_path(const struct match_value *value, uint64_t operations)
{
	struct glob glob;

	if (glob_parse(value->text, value->literal, &glob, NULL) < 0)
		return false;
	/* A bare name means any directory: with a glob below the project, for exec anywhere. */
	if (glob.bare && (!value->literal || (operations & operation_set("exec"))))
		return false;
	for (size_t i = 0; i < glob.n_components; i++)
		if (glob.components[i].kind != GLOB_LITERAL)
			return false;
	return true;
}

/* The value that is no path. What an exception excludes with '!' is not excepted, which marks of
 * paths cannot say. */
static const struct match_value *find_pattern(const struct condition *condition,
					      uint64_t operations, bool is_exception)
{
	const struct match_list *list = &condition->lists[MATCH_PATH];

	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];

		if (!value_is_path(value, operations) ||
		    (is_exception && !value->literal && value->text[0] == '!'))
			return value;
	}
	return NULL;
}

/* ---- rules ---- */

static struct rule_enforcement begin(const struct rule *rule)
{
	return (struct rule_enforcement){ .subject = rule->name,
					  .is_rule = true,
					  .place = rule->place };
}

static void set_problem(struct rule_enforcement *ret, enum enforcement_state state,
			enum enforcement_problem problem, const char *detail,
			struct policy_place place)
{
	ret->state = state;
	ret->problem = problem;
	ret->detail = detail;
	ret->place = place;
}

static void narrow(struct rule_enforcement *ret, enum enforcement_problem problem,
		   const char *detail, struct policy_place place)
{
	if (problem == PROBLEM_UNSEEN)
		ret->layers |= ENFORCED_BY_SERVICE;
	if (ret->state == ENFORCEMENT_HELD)
		set_problem(ret, ENFORCEMENT_NARROWED, problem, detail, place);
}

static void refuse_pattern(struct rule_enforcement *ret, const struct match_value *pattern)
{
	ret->layers = (ret->layers & ~(unsigned)ENFORCED_BY_VIEW) | ENFORCED_BY_BROKER;
	set_problem(ret, ENFORCEMENT_REFUSED, PROBLEM_PATTERN, pattern->text, pattern->place);
}

/* Notes what the kernel does not know of the rule. True: an allow, which grants nothing then. */
static bool narrow_unseen(const struct policy *policy, const struct rule *rule,
			  struct rule_enforcement *ret)
{
	enum match_key key = find_unseen_key(&rule->match);
	const char *constraint = find_unseen_constraint(policy, rule);
	bool allows = rule->action != POLICY_DENY;

	if (key != N_MATCH_KEYS)
		narrow(ret, PROBLEM_UNSEEN, match_key_name(key), rule->match.lists[key].place);
	else if (allows && constraint)
		narrow(ret, PROBLEM_UNSEEN, constraint, rule->place);
	return allows && (key != N_MATCH_KEYS || constraint);
}

/*
 * What the exceptions leave of @operations, everywhere. What the kernel does not know is taken as
 * there for an allow and as not there for a deny.
 */
static uint64_t judge_exceptions(const struct rule *rule, uint64_t operations,
				 struct rule_enforcement *ret)
{
	uint64_t left = operations;

	for (size_t i = 0; i < rule->n_exceptions && ret->state != ENFORCEMENT_REFUSED; i++) {
		const struct condition *exception = &rule->exceptions[i];
		uint64_t own =
			exception->operations ? operations & exception->operations : operations;
		enum match_key key = find_unseen_key(exception);
		const struct match_value *pattern;

		if (own == 0 || !can_hold_for_files(exception))
			continue;
		if (key != N_MATCH_KEYS)
			narrow(ret, PROBLEM_UNSEEN, match_key_name(key), exception->place);
		if (key != N_MATCH_KEYS && rule->action == POLICY_DENY)
			continue;
		if (!exception->lists[MATCH_PATH].present)
			left &= ~own;
		pattern = find_pattern(exception, own, true);
		if (pattern)
			refuse_pattern(ret, pattern);
	}
	return left;
}

/* A permission that no command gets takes from a default that allows: it is as a denial there. */
static const struct match_value *find_denying_pattern(const struct policy *policy,
						      const struct rule *rule, uint64_t operations)
{
	bool is_out_of_reach = rule->constraints.sha256 || find_unseen_constraint(policy, rule);
	bool is_allowed_anyway = ((operations & operation_set("fs.*")) &&
				  policy->defaults[CLASS_FS] == POLICY_ALLOW) ||
				 ((operations & operation_set("exec")) &&
				  policy->defaults[CLASS_EXEC] == POLICY_ALLOW);

	if (rule->action != POLICY_ALLOW || !is_out_of_reach || !is_allowed_anyway)
		return NULL;
	return find_pattern(&rule->match, operations, false);
}

struct rule_enforcement rule_file_enforcement(const struct policy *policy, const struct rule *rule)
{
	uint64_t operations = rule->match.operations & file_operations();
	struct rule_enforcement ret = begin(rule);
	const struct match_value *pattern;

	if (rule->action == POLICY_PASS || operations == 0 || !can_hold_for_files(&rule->match))
		return ret;
	if (rule->action == POLICY_WARN || rule->action == POLICY_REVIEW) {
		ret.layers = ENFORCED_BY_BROKER;
		set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_ACTION,
			    policy_action_name(rule->action), rule->place);
		return ret;
	}
	/* What a file that only narrows allows counts where others allow it, too. */
	if (rule->action == POLICY_ALLOW && policy->sources[rule->place.source].narrows)
		return ret;
	pattern = find_denying_pattern(policy, rule, operations);
	if (pattern) {
		refuse_pattern(&ret, pattern);
		return ret;
	}
	if (narrow_unseen(policy, rule, &ret))
		return ret;
	if (rule->action == POLICY_ALLOW && rule->constraints.sha256) {
		ret.layers = ENFORCED_BY_BROKER;
		narrow(&ret, PROBLEM_DIGEST, NULL, rule->place);
		return ret;
	}
	ret.layers |= ENFORCED_BY_VIEW;
	operations = judge_exceptions(rule, operations, &ret);
	pattern = operations ? find_pattern(&rule->match, operations, false) : NULL;
	if (pattern && ret.state != ENFORCEMENT_REFUSED)
		refuse_pattern(&ret, pattern);
	return ret;
}

static bool is_about_network(const struct rule *rule)
{
	return rule->action != POLICY_PASS && (rule->match.operations & operation_set("net.*")) &&
	       can_hold_for_network(&rule->match);
}

static bool allows_everything(const struct rule *rule)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (rule->match.lists[key].present)
			return false;
	return rule->action == POLICY_ALLOW && rule->n_exceptions == 0;
}

bool rule_grants_network(const struct policy *policy, const struct rule *rule)
{
	return is_about_network(rule) && rule->action != POLICY_DENY &&
	       !policy->sources[rule->place.source].narrows &&
	       find_unseen_key(&rule->match) == N_MATCH_KEYS &&
	       !find_unseen_constraint(policy, rule);
}

struct rule_enforcement rule_net_enforcement(const struct policy *policy, const struct rule *rule,
					     enum net_mode mode)
{
	struct rule_enforcement ret = begin(rule);

	if (!is_about_network(rule))
		return ret;
	if (mode == NET_HOST) {
		ret.layers = ENFORCED_BY_NETNS;
		if (!allows_everything(rule)) {
			ret.layers = ENFORCED_BY_PROXY;
			set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_HOST_NETWORK, NULL,
				    rule->place);
		}
		return ret;
	}
	if (mode == NET_NONE) {
		ret.layers = ENFORCED_BY_NETNS;
		/* Without a network every denial holds, whatever else it asks for. */
		if (rule->action != POLICY_DENY && !narrow_unseen(policy, rule, &ret))
			narrow(&ret, PROBLEM_NO_NETWORK, NULL, rule->place);
		return ret;
	}
	if (narrow_unseen(policy, rule, &ret))
		return ret;
	ret.layers |= ENFORCED_BY_PROXY;
	set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_IMPLIED_PROXY, NULL, rule->place);
	return ret;
}

struct rule_enforcement rule_enforcement(const struct policy *policy, const struct rule *rule)
{
	struct rule_enforcement files = rule_file_enforcement(policy, rule);
	struct rule_enforcement network =
		rule_net_enforcement(policy, rule, policy_net_mode(policy));
	unsigned layers = files.layers | network.layers;
	bool is_for_tools = rule->match.operations & ~(file_operations() | operation_set("net.*"));
	struct rule_enforcement ret = network.state > files.state ? network : files;

	if (is_for_tools && rule->action != POLICY_PASS)
		layers |= ENFORCED_BY_SERVICE;
	ret.layers = layers;
	return ret;
}

/* ---- what is no rule ---- */

/* Where a default stands is not kept. */
static const struct policy_place whole_file = { .source = 0, .at = { 1, 1 } };

static struct rule_enforcement begin_default(enum operation_class class)
{
	static const char *const paths[] = {
		[CLASS_FS] = "defaults.fs",
		[CLASS_NET] = "defaults.net",
		[CLASS_EXEC] = "defaults.exec",
		[CLASS_TOOL] = "defaults.tool",
	};

	return (struct rule_enforcement){ .subject = paths[class] };
}

struct rule_enforcement default_enforcement(const struct policy *policy, enum operation_class class)
{
	static const unsigned layers[] = {
		[CLASS_FS] = ENFORCED_BY_VIEW,
		[CLASS_NET] = ENFORCED_BY_NETNS,
		[CLASS_EXEC] = ENFORCED_BY_VIEW,
		[CLASS_TOOL] = ENFORCED_BY_SERVICE,
	};
	struct rule_enforcement ret = begin_default(class);
	enum policy_action action = policy->defaults[class];

	ret.layers = layers[class];
	if (ret.layers != ENFORCED_BY_VIEW || (action != POLICY_WARN && action != POLICY_REVIEW))
		return ret;
	ret.layers = ENFORCED_BY_BROKER;
	set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_ACTION, policy_action_name(action),
		    whole_file);
	return ret;
}

struct rule_enforcement mode_enforcement(const struct policy *policy,
					 const struct net_choice *choice)
{
	const struct setting *setting = choice->setting;
	struct rule_enforcement ret = { .layers = ENFORCED_BY_NETNS };

	if (choice->mode == NET_NONE || choice->mode == NET_HOST)
		return ret;
	if (choice->rule)
		return rule_net_enforcement(policy, choice->rule, choice->mode);
	ret = begin_default(CLASS_NET);
	ret.layers = ENFORCED_BY_PROXY;
	if (!setting) {
		set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_IMPLIED_PROXY, NULL, whole_file);
		return ret;
	}
	ret.subject = setting->path;
	set_problem(&ret, ENFORCEMENT_REFUSED,
		    choice->mode == NET_PROXY ? PROBLEM_PROXY : PROBLEM_NET_MODE, setting->text,
		    setting->place);
	return ret;
}
