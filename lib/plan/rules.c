/* SPDX-License-Identifier: MIT */

/*
 * Policy rules → marks
 *
 * A rule is not interpreted here; its paths become places, about which the evaluator is asked. The
 * kernel cannot tell callers, states and tokens apart: an allow that wants one grants nothing and a
 * deny that wants one always holds, which notices say. Warnings and reviews need the broker, which
 * opens files on behalf of the command; they are refused.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/enforcement.h"
#include "policy/operation.h"
#include "policy/unseen.h"

/* What of the condition the kernel does not know, or NULL. */
static const char *find_unseen(const struct condition *condition)
{
	enum match_key key = condition_unseen_key(condition);

	return key == N_MATCH_KEYS ? NULL : match_key_name(key);
}

static const char *find_unmet(const struct planner *planner, const struct rule *rule)
{
	const char *level = policy_sandbox_level(planner->policy);

	return unmet_constraint_name(constraints_unmet(&rule->constraints, level));
}

static void note_unseen(struct planner *planner, const struct step_origin *origin,
			enum policy_action action, const char *unseen)
{
	if (!planner->plan)
		return;
	if (action == POLICY_ALLOW)
		planner_note(planner, false,
			     planner_format(planner, "%s grants nothing here", origin_text(origin)),
			     planner_format(planner, "the kernel does not know a request's %s",
					    unseen));
	else
		planner_note(planner, false,
			     planner_format(planner, "%s always applies here", origin_text(origin)),
			     planner_format(planner, "the kernel does not know a request's %s",
					    unseen));
}

static int mark_exception(struct planner *planner, const struct rule *rule,
			  const struct condition *exception, unsigned rights,
			  struct step_origin origin)
{
	const char *unseen = find_unseen(exception);

	if (exception->operations)
		rights &= rights_of(exception->operations);
	if (rights == 0 || !condition_can_hold_for_files(exception))
		return 0;
	if (unseen)
		note_unseen(planner, &origin, rule->action, unseen);
	if (!exception->lists[MATCH_PATH].present)
		return 0;
	return mark_values(planner, exception, MARK_EXCEPT, rights, origin);
}

/* The kernel bounds files by process, not by folder; so the smallest bound is everybody's. */
static void bound_files(struct planner *planner, const struct rule *rule, unsigned rights,
			const struct step_origin *origin)
{
	uint64_t size = rule->constraints.max_file_size_bytes;

	if (!(rights & RIGHT_WRITE) || size == UINT64_MAX)
		return;
	if (size < planner->file_size_max) {
		planner->file_size_max = size;
		planner->file_size_origin = *origin;
	}
	if (planner->plan)
		planner_note(planner, false,
			     planner_format(planner,
					    "the file size limit of %s applies to all files",
					    origin_text(origin)),
			     "the kernel limits the file size per process, not per directory");
}

static int mark_rule(struct planner *planner, const struct rule *rule)
{
	unsigned rights = rights_of(rule->match.operations);
	enum mark_kind kind = rule->action == POLICY_DENY ? MARK_DENY : MARK_ALLOW;
	struct step_origin origin = origin_of_rule(planner, rule);
	const char *unseen = find_unseen(&rule->match);

	if (!unseen && kind == MARK_ALLOW)
		unseen = find_unmet(planner, rule);
	if (unseen)
		note_unseen(planner, &origin, rule->action, unseen);
	if (kind == MARK_ALLOW && (rights & RIGHT_EXEC))
		planner->has_exec_rules = true;
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		int r = mark_exception(planner, rule, &rule->exceptions[i], rights, origin);

		if (r < 0)
			return r;
	}
	/* A place all the same: what is denied there is said of it by name. */
	if (unseen && kind == MARK_ALLOW)
		return mark_values(planner, &rule->match, MARK_EXCEPT, 0, origin);
	if (kind == MARK_ALLOW)
		bound_files(planner, rule, rights, &origin);
	return mark_values(planner, &rule->match, kind, rights, origin);
}

/* The answers where no rule has one: the same as a rule about everything. */
static int mark_defaults(struct planner *planner)
{
	static const struct {
		enum operation_class class;
		unsigned rights;
	} defaults[] = {
		{ CLASS_FS, RIGHTS_FILES },
		{ CLASS_EXEC, RIGHT_EXEC },
	};

	for (size_t i = 0; i < N_ELEMENTS(defaults); i++) {
		enum policy_action action = planner->policy->defaults[defaults[i].class];
		const char *name = operation_class_name(defaults[i].class);
		struct step_origin origin = { .kind = ORIGIN_RULE };
		const struct rule_enforcement enforcement =
			default_enforcement(planner->policy, defaults[i].class);

		if (enforcement.state == ENFORCEMENT_REFUSED)
			return enforcement_refuse(planner->policy, &enforcement, planner->err);
		if (action != POLICY_ALLOW)
			continue;
		origin.text = planner_format(planner, "%s 'defaults.%s'",
					     planner->policy->sources[0].name, name);
		mark_everything(planner, defaults[i].rights, MARK_RULED, origin);
	}
	return 0;
}

/* A policy replaces the built-in view, which somebody who adds one may not expect. */
static void warn_of_no_rules(struct planner *planner)
{
	const struct policy *policy = planner->policy;

	if (policy->n_rules > 0 || policy->defaults[CLASS_FS] == POLICY_ALLOW ||
	    planner->request->n_paths > 0)
		return;
	planner_add_notice(
		planner,
		(struct plan_notice){
			.what = planner_format(planner,
					       "the policy '%s' grants no files: it has no rules",
					       policy->sources[0].name),
			.why = "with a policy the command sees only what its rules allow",
			.fix = "add rules, see sbx-policy(5), or leave it out",
		});
}

int mark_rules(struct planner *planner)
{
	const struct policy *policy = planner->policy;
	int r;

	if (!policy)
		return 0;
	warn_of_no_rules(planner);
	r = mark_defaults(planner);
	for (size_t i = 0; i < policy->n_rules && r == 0; i++) {
		const struct rule *rule = &policy->rules[i];
		struct rule_enforcement enforcement;

		if (rule->action == POLICY_PASS || rights_of(rule->match.operations) == 0 ||
		    !condition_can_hold_for_files(&rule->match))
			continue;
		enforcement = rule_file_enforcement(policy, rule);
		if (enforcement.state == ENFORCEMENT_REFUSED)
			return enforcement_refuse(policy, &enforcement, planner->err);
		/* What a file that only narrows allows counts where others allow it, too. */
		if (rule->action == POLICY_ALLOW && policy->sources[rule->place.source].narrows)
			continue;
		r = mark_rule(planner, rule);
	}
	return r;
}
