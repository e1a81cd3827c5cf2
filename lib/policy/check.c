/* SPDX-License-Identifier: MIT */

/*
 * Warnings: their codes, the checks of a single rule, and the order of all checks
 *
 * The check warns only about certain mistakes: after a false warning, readers ignore the next one.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "base/tree.h"
#include "policy/check-internal.h"
#include "policy/enforcement.h"
#include "policy/view.h"

static void report_warning(struct checker *checker)
{
	if (checker->has_warning)
		checker->report(&checker->warning, checker->userdata);
	checker->has_warning = false;
}

void check_warn(struct checker *checker, enum check_kind kind, struct policy_place place,
		const char *why, const char *fix, const char *format, ...)
{
	const char *name = checker->policy->sources[place.source].name;
	char text[SBX_ERROR_TEXT_SIZE];
	va_list args;

	report_warning(checker);
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	checker->warning = (struct policy_warning){ .place = place };
	(void)snprintf(checker->warning.code, sizeof(checker->warning.code), "W%02d", (int)kind);
	(void)error_fill(&checker->warning.error, 0, why, fix, "%s:%u:%u: %s", name, place.at.line,
			 place.at.column, text);
	checker->warning.error.level = SBX_LEVEL_WARN;
	checker->has_warning = true;
	checker->n_warnings++;
}

/* The first key of @condition that cannot match @operation, or N_MATCH_KEYS. */
static enum match_key find_misfit(const struct condition *condition,
				  const struct operation *operation)
{
	for (int key = MATCH_PATH; key <= MATCH_PROTO; key++)
		if (condition->lists[key].present &&
		    operation->argument != (key == MATCH_PATH ? ARGUMENT_PATH : ARGUMENT_HOST))
			return (enum match_key)key;
	return N_MATCH_KEYS;
}

struct fit {
	unsigned n_fitting;
	enum match_key misfit; /* of the first operation that does not fit */
	const char *operation; /* that operation's name, or NULL */
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
		   rule->match.lists[fit.misfit].place, NULL, NULL,
		   "rule '%s' can never apply to '%s'", rule->name, fit.operation);
	sbx_error_why(&checker->warning.error, "'%s' has no argument for '%s'", fit.operation,
		      match_key_name(fit.misfit));
	sbx_error_fix(&checker->warning.error, "remove '%s', or the operation",
		      match_key_name(fit.misfit));
}

/* Warns if no path is left that the list of a match, or of an exception, matches. */
static void check_excluded(struct checker *checker, const struct match_list *list,
			   bool is_of_exception)
{
	enum check_kind kind = is_of_exception ? CHECK_PARTLY_NEVER : CHECK_NEVER;
	size_t n = 0, n_left = 0;

	for (size_t i = 0; i < list->n_values; i++) {
		if (match_value_excludes(&list->values[i]))
			continue;
		n++;
		n_left += !check_has_value(list, true, &list->values[i]);
	}
	if (n_left > 0 || list->n_values == 0)
		return;
	if (n > 0) {
		check_warn(checker, kind, list->place,
			   is_of_exception ? "no request is left that it could except"
					   : "no request is left to which the rule could apply",
			   is_of_exception
				   ? "narrow the globs that begin with '!', or remove the exception"
				   : "narrow the globs that begin with '!', or remove the rule",
			   "every glob of 'path_glob' is excluded by one with '!'");
		return;
	}
	check_warn(checker, kind, list->place,
		   "such a glob only excludes paths that another one includes",
		   "add a glob for the paths to include, such as \"**\"",
		   "every glob of 'path_glob' begins with '!'");
}

static void check_lists(struct checker *checker, const struct condition *condition,
			bool is_of_exception)
{
	for (int key = 0; key < N_MATCH_KEYS; key++) {
		const struct match_list *list = &condition->lists[key];

		if (!list->present || list->n_values > 0)
			continue;
		check_warn(checker, CHECK_EMPTY_LIST, list->place,
			   "a list matches if one of its values does; this one never does",
			   "add a value, or remove the key if anything is meant",
			   "the list of '%s' is empty", match_key_name((enum match_key)key));
	}
	check_excluded(checker, &condition->lists[MATCH_PATH], is_of_exception);
}

static void check_exceptions(struct checker *checker, const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		const struct condition *exception = &rule->exceptions[i];
		uint64_t operations =
			exception->operations ? exception->operations : rule->match.operations;
		bool all = (rule->match.operations & ~operations) == 0;

		check_lists(checker, exception, true);
		if (fit_of(exception, rule->match.operations & operations).n_fitting == 0) {
			check_warn(
				checker, CHECK_PARTLY_NEVER, exception->place,
				"it is about operations or arguments that the rule's match does not have",
				"remove it, or widen the match",
				"exception %zu of rule '%s' can never apply", i + 1, rule->name);
		} else if (all && check_covers(exception, &rule->match)) {
			check_warn(checker, CHECK_ALWAYS_EXCEPTED, exception->place,
				   "if the match applies, the exception does, too",
				   "narrow the exception",
				   "rule '%s' never applies: exception %zu always does", rule->name,
				   i + 1);
		}
	}
}

static void check_everything(struct checker *checker, const struct rule *rule)
{
	static const struct match_value everything = { .text = "/", .literal = true };
	const struct match_list *paths = &rule->match.lists[MATCH_PATH];
	bool found = !paths->present;

	if (!policy_permits(rule->action) || !(rule->match.operations & operation_set("fs.write")))
		return;
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (key != MATCH_PATH && rule->match.lists[key].present)
			return;
	for (size_t i = 0; i < paths->n_values; i++) {
		if (match_value_excludes(&paths->values[i]))
			return;
		found |= check_path_covers(&paths->values[i], &everything);
	}
	if (!found)
		return;
	check_warn(checker, CHECK_EVERYTHING, rule->place,
		   "nothing in its match narrows 'fs.write'",
		   "name the directories that may be written",
		   "rule '%s' allows writing everywhere", rule->name);
}

static void check_action(struct checker *checker, const struct rule *rule)
{
	const struct constraints *constraints = &rule->constraints;
	bool constrained = constraints->require_sandbox || constraints->require_token ||
			   constraints->sha256 || constraints->max_file_size_bytes != UINT64_MAX ||
			   constraints->tls != TLS_SNI;

	if (rule->action == POLICY_PASS) {
		check_warn(checker, CHECK_PASS, rule->place,
			   "'pass' means that a rule does not decide",
			   "remove it, or write another action", "rule '%s' has no effect",
			   rule->name);
	}
	if (!constrained || policy_permits(rule->action))
		return;
	check_warn(checker, CHECK_CONSTRAINTS, rule->place, NULL,
		   "move them to the rule that allows",
		   "the constraints of rule '%s' have no effect", rule->name);
	sbx_error_why(&checker->warning.error,
		      "they limit what a rule allows, and this one is '%s'",
		      policy_action_name(rule->action));
}

static void check_tls(struct checker *checker, const struct rule *rule)
{
	if (rule->constraints.tls == TLS_SNI ||
	    (rule->match.operations & operation_set("net.connect")))
		return;
	check_warn(
		checker, CHECK_CONSTRAINTS, rule->place,
		"it is about connections through sbx-proxy, and the rule is not about 'net.connect'",
		"move it to a rule about 'net.connect'", "'tls' of rule '%s' has no effect",
		rule->name);
}

/* Does a sandbox let files be written by this rule? */
static bool grants_writing(const struct policy *policy, const struct rule *rule)
{
	struct rule_enforcement enforcement = rule_file_enforcement(policy, rule);

	return rule->action == POLICY_ALLOW &&
	       (rule->match.operations & operation_set("fs.write")) &&
	       enforcement.state == ENFORCEMENT_HELD && (enforcement.layers & ENFORCED_BY_VIEW);
}

/* What else may be written, and larger than by @rule? *@ret_is_least: no rule has a lower bound. */
static const char *find_larger(const struct policy *policy, const struct rule *rule,
			       bool *ret_is_least)
{
	uint64_t most = rule->constraints.max_file_size_bytes;
	const char *larger = policy->defaults[CLASS_FS] == POLICY_ALLOW ? "defaults.fs" : NULL;

	*ret_is_least = true;
	for (size_t i = policy->n_rules; i-- > 0;) {
		const struct rule *other = &policy->rules[i];
		uint64_t bound = other->constraints.max_file_size_bytes;

		if (!grants_writing(policy, other))
			continue;
		if (bound > most)
			larger = other->name;
		if (bound < most)
			*ret_is_least = false;
	}
	return larger;
}

static void check_file_size(struct checker *checker, const struct rule *rule)
{
	const char *larger;
	bool is_least;

	if (rule->constraints.max_file_size_bytes == UINT64_MAX ||
	    !grants_writing(checker->policy, rule))
		return;
	larger = find_larger(checker->policy, rule, &is_least);
	if (!larger || !is_least)
		return;
	check_warn(checker, CHECK_FILE_SIZE, rule->place,
		   "the kernel limits the file size per process, not per directory, so a sandbox "
		   "has the lowest bound for all files",
		   "give all rules that allow fs.write the same 'max_file_size', or leave it out",
		   "'max_file_size' of rule '%s' also bounds what '%s' allows to write", rule->name,
		   larger);
}

static void check_rule(struct checker *checker, const struct rule *rule)
{
	check_lists(checker, &rule->match, false);
	check_arguments(checker, rule);
	check_exceptions(checker, rule);
	check_action(checker, rule);
	check_tls(checker, rule);
	check_file_size(checker, rule);
	check_everything(checker, rule);
}

/* Is the text @names, or one of the list? */
static bool has_name(const struct tree_node *names, const char *name)
{
	const struct tree_node *item = names && names->type == TREE_LIST ? names->first : names;

	for (; item; item = item == names ? NULL : item->next)
		if (item->text && strcmp(item->text, name) == 0)
			return true;
	return false;
}

/* A network_whitelist group without hosts, or without a net.allowed_hosts that names it, makes no
 * rule, so it is looked for in the text. */
static void check_group(struct checker *checker, unsigned source, const struct tree_node *group,
			const struct tree_node *allowed)
{
	const struct policy_place place = { .source = source, .at = group->place };

	if (!has_name(allowed, group->key)) {
		check_warn(checker, CHECK_PASS, place, "'net.allowed_hosts' does not name it", NULL,
			   "the group '%s' grants nothing", group->key);
		sbx_error_fix(&checker->warning.error, "write 'net: {allowed_hosts: %s}'",
			      group->key);
	}
	if (group->type != TREE_LIST || group->first)
		return;
	check_warn(checker, CHECK_EMPTY_LIST, place, "it allows no host",
		   "name a host in it, or remove it", "the group '%s' is empty", group->key);
}

static void check_groups(struct checker *checker)
{
	const struct policy *policy = checker->policy;

	for (unsigned i = 0; i < policy->n_sources; i++) {
		const struct policy_source *source = &policy->sources[i];
		_cleanup_tree_ struct tree *tree = NULL;
		const struct tree_node *groups, *net, *allowed;

		if (!source->bytes ||
		    tree_read(source->name, source->bytes, source->n_bytes, &tree, NULL) < 0 ||
		    tree_root(tree)->type != TREE_MAP)
			continue;
		groups = tree_get(tree, tree_root(tree), "network_whitelist");
		if (!groups || groups->type != TREE_MAP)
			continue;
		net = tree_get(tree, tree_root(tree), "net");
		allowed =
			net && net->type == TREE_MAP ? tree_get(tree, net, "allowed_hosts") : NULL;
		for (const struct tree_node *group = groups->first; group; group = group->next)
			check_group(checker, i, group, allowed);
	}
}

/* Rules and settings that no layer enforces as written, as enforcement.c finds them. */
static const enum check_kind kind_of_problem[N_PROBLEMS] = {
	[PROBLEM_ACTION] = CHECK_BROKER,	 [PROBLEM_PATTERN] = CHECK_BROKER,
	[PROBLEM_DIGEST] = CHECK_BROKER,	 [PROBLEM_UNSEEN] = CHECK_SERVICE,
	[PROBLEM_NO_NETWORK] = CHECK_DENIED,	 [PROBLEM_HOST_NETWORK] = CHECK_HOST_NETWORK,
	[PROBLEM_LOOPBACK] = CHECK_HOST_NETWORK, [PROBLEM_BEYOND_LOOPBACK] = CHECK_DENIED,
	[PROBLEM_NET_MODE] = CHECK_NETWORK,	 [PROBLEM_UDP] = CHECK_NETWORK,
	[PROBLEM_BIND] = CHECK_NETWORK,		 [PROBLEM_REVIEW] = CHECK_NETWORK,
	[PROBLEM_READER] = CHECK_PATH,		 [PROBLEM_NAME] = CHECK_PATH,
	[PROBLEM_HOSTNAME] = CHECK_SETTING,	 [PROBLEM_PORTS] = CHECK_SETTING,
	[PROBLEM_PORT_TWICE] = CHECK_SETTING,	 [PROBLEM_PROXY_PORT] = CHECK_SETTING,
};

static void warn_unless_held(struct checker *checker, enum check_kind kind,
			     const struct rule_enforcement *enforcement)
{
	_cleanup_text_ struct text what = TEXT_INIT;

	if (enforcement->state == ENFORCEMENT_HELD)
		return;
	enforcement_add_what(&what, enforcement);
	check_warn(checker, kind, enforcement->place, enforcement_why(enforcement),
		   enforcement_fix(enforcement), "%s", text_string(&what));
	checker->warning.is_refused = enforcement->state == ENFORCEMENT_REFUSED;
}

static void check_enforcement(struct checker *checker, const struct rule *rule)
{
	struct rule_enforcement enforcement = rule_file_enforcement(checker->policy, rule);
	struct rule_enforcement network =
		rule_net_enforcement(checker->policy, rule, checker->net_mode);

	/* If the rule is narrowed for files and refused for the network, report the refusal. */
	if (network.state > enforcement.state)
		enforcement = network;
	warn_unless_held(checker, kind_of_problem[enforcement.problem], &enforcement);
}

/* The implicit view shows programs, but only rules let them be executed. */
static void check_view(struct checker *checker)
{
	const struct policy *policy = checker->policy;
	const struct policy_place place = { .at = { 1, 1 } };

	if (policy->view == VIEW_NONE || policy->defaults[CLASS_EXEC] != POLICY_DENY)
		return;
	/* A manifest describes one program, and cannot name others. */
	if (policy->dialect == DIALECT_MANIFEST && policy->n_rules > 0)
		return;
	for (size_t i = 0; i < policy->n_rules; i++)
		if (policy->rules[i].action != POLICY_DENY &&
		    policy->rules[i].action != POLICY_PASS &&
		    (policy->rules[i].match.operations & operation_set("exec")))
			return;
	check_warn(checker, CHECK_NO_FILES, place,
		   "the implicit view shows files, and executes only what a rule allows",
		   "add a rule that allows exec of programs, see sbx-policy(5)",
		   "no program can be executed but the command itself: %s",
		   policy->n_rules == 0 ? "the policy has no rules" : "no rule allows exec");
}

/* Without readable files no program can be executed. */
static void check_files(struct checker *checker)
{
	const struct policy_place place = { .at = { 1, 1 } };

	if (!policy_shows_no_files(checker->policy)) {
		check_view(checker);
		return;
	}
	check_warn(checker, CHECK_NO_FILES, place,
		   "with a policy the command sees only what its rules allow",
		   "add rules, see sbx-policy(5)", "the policy grants no files: it has no rules");
}

static void check_defaults(struct checker *checker)
{
	for (int i = 0; i < N_CLASSES; i++) {
		struct rule_enforcement enforcement =
			default_enforcement(checker->policy, (enum operation_class)i);

		warn_unless_held(checker, CHECK_DEFAULT, &enforcement);
	}
}

/* Warns of the first setting below @section. */
static void check_section(struct checker *checker, enum check_kind kind, const char *section,
			  const char *why, const char *fix)
{
	const struct policy *policy = checker->policy;

	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];

		if (!setting_below(setting, section))
			continue;
		check_warn(checker, kind, setting->place, why, fix, "'%s' limits nothing",
			   setting->path);
		return;
	}
}

static void check_settings(struct checker *checker)
{
	struct net_choice choice = policy_net_choice(checker->policy, NULL);
	struct rule_enforcement enforcement = mode_enforcement(checker->policy, &choice);

	warn_unless_held(checker, kind_of_problem[enforcement.problem], &enforcement);
	enforcement = hostname_enforcement(checker->policy);
	warn_unless_held(checker, kind_of_problem[enforcement.problem], &enforcement);
	/* A command in the host's network namespace has no separate loopback. */
	enforcement = ports_enforcement(checker->policy, checker->net_mode, PROXY_PORT);
	if (checker->net_mode != NET_HOST)
		warn_unless_held(checker, kind_of_problem[enforcement.problem], &enforcement);
	/* No program of this version reads them. */
	check_section(checker, CHECK_SCHEDULER, "scheduler.",
		      "it is for sbx-sched, which this version does not have",
		      "leave it out, or let the caller count its sandboxes");
	if (!net_mode_has_proxy(checker->net_mode))
		check_section(checker, CHECK_NET_LIMIT, "net.limits.",
			      "sbx-proxy keeps it, and the network of this policy has no proxy",
			      "leave it out, or write 'net: {mode: proxy}'");
}

int policy_check(const struct policy *policy,
		 void (*report)(const struct policy_warning *warning, void *userdata),
		 void *userdata)
{
	_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
	struct checker checker = { .policy = policy,
				   .net_mode = policy_net_mode(policy),
				   .report = report,
				   .userdata = userdata };
	int r;

	if (check_index_make(policy, &arena, &checker.index) < 0 ||
	    check_readers_make(policy, &arena, &checker.readers) < 0)
		return -ENOMEM;
	check_files(&checker);
	check_defaults(&checker);
	check_settings(&checker);
	r = check_judged(&checker);
	if (r < 0)
		return r;
	check_groups(&checker);
	for (size_t i = 0; i < policy->n_rules; i++) {
		check_rule(&checker, &policy->rules[i]);
		check_paths(&checker, &policy->rules[i]);
		check_enforcement(&checker, &policy->rules[i]);
		check_programs(&checker, &policy->rules[i]);
		check_neighbours(&checker, &policy->rules[i]);
	}
	report_warning(&checker);
	return checker.n_warnings;
}
