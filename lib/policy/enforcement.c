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

#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/compose.h"
#include "policy/glob.h"
#include "policy/unseen.h"

static bool can_hold_for_network(const struct condition *condition)
{
	return !condition->lists[MATCH_PATH].present && !condition_has_empty_list(condition);
}

static enum unmet_constraint find_unmet(const struct policy *policy, const struct rule *rule)
{
	return constraints_unmet(&rule->constraints, policy_sandbox_level(policy));
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
	enum match_key key = condition_unseen_key(&rule->match);
	enum unmet_constraint unmet = find_unmet(policy, rule);
	bool allows = rule->action != POLICY_DENY;
	/* A digest the broker will compare. */
	const char *constraint = unmet == UNMET_DIGEST ? NULL : unmet_constraint_name(unmet);

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
		enum match_key key = condition_unseen_key(exception);
		const struct match_value *pattern;

		if (own == 0 || !condition_can_hold_for_files(exception))
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
	bool is_out_of_reach = find_unmet(policy, rule) != UNMET_NONE;
	bool is_allowed_anyway = ((operations & operation_set("fs.*")) &&
				  policy->defaults[CLASS_FS] == POLICY_ALLOW) ||
				 ((operations & operation_set("exec")) &&
				  policy->defaults[CLASS_EXEC] == POLICY_ALLOW);

	if (rule->action != POLICY_ALLOW || !is_out_of_reach || !is_allowed_anyway)
		return NULL;
	return find_pattern(&rule->match, operations, false);
}

/* A path below the link to the process that reads it; none that the rule excludes. */
static const struct match_value *find_reader(const struct condition *condition)
{
	const struct match_list *list = &condition->lists[MATCH_PATH];

	for (size_t i = 0; i < list->n_values; i++)
		if (path_is_of_reader(list->values[i].text))
			return &list->values[i];
	return NULL;
}

/* What neither a mount nor Landlock can do, for what the exceptions leave of the rule. */
static void refuse_unheld(const struct rule *rule, uint64_t operations,
			  struct rule_enforcement *ret)
{
	const struct match_value *pattern = find_pattern(&rule->match, operations, false);
	const struct match_value *reader = find_reader(&rule->match);

	if (pattern)
		refuse_pattern(ret, pattern);
	else if (rule->action == POLICY_DENY && reader)
		set_problem(ret, ENFORCEMENT_REFUSED, PROBLEM_READER, reader->text, reader->place);
	else if (rule->action == POLICY_DENY && operations == operation_set("fs.exists"))
		set_problem(ret, ENFORCEMENT_REFUSED, PROBLEM_NAME, NULL, rule->place);
}

struct rule_enforcement rule_file_enforcement(const struct policy *policy, const struct rule *rule)
{
	uint64_t operations = rule->match.operations & compose_file_operations();
	struct rule_enforcement ret = begin(rule);
	const struct match_value *pattern;

	if (rule->action == POLICY_PASS || operations == 0 ||
	    !condition_can_hold_for_files(&rule->match))
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
	if (operations && ret.state != ENFORCEMENT_REFUSED)
		refuse_unheld(rule, operations, &ret);
	ret.leaves_name = rule->action == POLICY_DENY && operations & operation_set("fs.exists");
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
	       condition_unseen_key(&rule->match) == N_MATCH_KEYS &&
	       (find_unmet(policy, rule) == UNMET_NONE || find_unmet(policy, rule) == UNMET_DIGEST);
}

/* Everything on the loopback is open, and nothing else can be reached. */
static struct rule_enforcement loopback_enforcement(const struct policy *policy,
						    const struct rule *rule)
{
	struct rule_enforcement ret = begin(rule);

	ret.layers = ENFORCED_BY_NETNS;
	if (rule->action != POLICY_ALLOW && net_loopback_meets(&rule->match)) {
		ret.layers = ENFORCED_BY_PROXY;
		set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_LOOPBACK, NULL, rule->place);
		return ret;
	}
	if (rule->action != POLICY_DENY && !narrow_unseen(policy, rule, &ret) &&
	    !net_loopback_contains(&rule->match))
		narrow(&ret, PROBLEM_BEYOND_LOOPBACK, NULL, rule->place);
	return ret;
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
	if (mode == NET_LOOPBACK)
		return loopback_enforcement(policy, rule);
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
	bool is_for_tools =
		rule->match.operations & ~(compose_file_operations() | operation_set("net.*"));
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

	if (choice->mode == NET_NONE || choice->mode == NET_LOOPBACK || choice->mode == NET_HOST)
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

/* ---- settings ---- */

static struct rule_enforcement refuse_setting(const struct setting *setting,
					      enum enforcement_problem problem)
{
	struct rule_enforcement ret = { .subject = setting->path };

	set_problem(&ret, ENFORCEMENT_REFUSED, problem, setting->text, setting->place);
	return ret;
}

struct rule_enforcement hostname_enforcement(const struct policy *policy)
{
	const struct setting *setting = policy_get_setting(policy, "hostname");

	if (setting && strlen(setting->text) > HOST_NAME_MAX)
		return refuse_setting(setting, PROBLEM_HOSTNAME);
	return (struct rule_enforcement){ .state = ENFORCEMENT_HELD };
}

static bool is_item(const struct setting *setting, const char *list)
{
	size_t len = strlen(list);

	return strncmp(setting->path, list, len) == 0 && setting->path[len] == '[';
}

struct rule_enforcement ports_enforcement(const struct policy *policy)
{
	bool is_connected[UINT16_MAX + 1] = { false };
	size_t n = 0;

	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];

		if (!is_item(setting, "net.loopback.connect"))
			continue;
		n += !is_connected[setting->number & UINT16_MAX];
		is_connected[setting->number & UINT16_MAX] = true;
		if (n > LOOPBACK_PORTS_MAX)
			return refuse_setting(setting, PROBLEM_PORTS);
	}
	for (size_t i = 0; i < policy->n_settings; i++)
		if (is_item(&policy->settings[i], "net.loopback.bind") &&
		    is_connected[policy->settings[i].number & UINT16_MAX])
			return refuse_setting(&policy->settings[i], PROBLEM_PORT_TWICE);
	return (struct rule_enforcement){ .state = ENFORCEMENT_HELD };
}
