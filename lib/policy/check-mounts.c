/* SPDX-License-Identifier: MIT */

/*
 * Mounts that no sandbox can have: what their entry says, and what the rules deny
 *
 * A denial goes before a mount, so what a rule of the policy denies at the target is refused by the
 * planner on every host. The same evaluator is asked, about the same composition in the worst case;
 * only the project is made up, so that no rule about an absolute path is taken for one about it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/check-internal.h"
#include "policy/compile.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/operation.h"
#include "policy/unseen.h"

#define NO_PROJECT "/\x01"

struct judge {
	struct arena arena;
	const struct policy *composed;
	void *block;
	struct artefact artefact;
	struct policy_engine *engine;
};

static void judge_close(struct judge *judge)
{
	judge->engine = policy_engine_free(judge->engine);
	free(judge->block);
	arena_deinit(&judge->arena);
}

#define _cleanup_judge_ _cleanup_(judge_close)

static int judge_open(const struct policy *policy, struct judge *judge)
{
	const struct composition with = {
		.project = NO_PROJECT,
		.is_worst_case = true,
		.level = policy_sandbox_level(policy),
	};
	struct composer composer;
	size_t n_bytes = 0;
	int r;

	compose_begin(&composer, policy, &with, &judge->arena);
	r = compose_finish(&composer, &judge->composed);
	if (r == 0)
		r = policy_compile(judge->composed, &judge->block, &n_bytes, NULL);
	if (r == 0)
		r = artefact_open(judge->block, n_bytes, &judge->artefact, NULL);
	return r < 0 ? r : policy_engine_new(&judge->artefact, &judge->engine);
}

/* The rule of the policy that denies one of @operations at @path, or NULL. */
static const struct rule *find_denial(const struct judge *judge, size_t n_rules, const char *path,
				      uint64_t operations)
{
	for (uint64_t left = operations; left; left &= left - 1) {
		const struct policy_request request = {
			.operation = operation_at(__builtin_ctzll(left))->name,
			.path = path,
			.project_root = NO_PROJECT,
			.sandbox = policy_sandbox_level(judge->composed),
			.has_size = true,
		};
		struct policy_decision decision;

		policy_decide(judge->engine, &request, &decision);
		if (decision.verdict == POLICY_DENY && decision.cause == CAUSE_RULES &&
		    decision.rules[0] < n_rules)
			return &judge->composed->rules[decision.rules[0]];
	}
	return NULL;
}

static const char *place_of(const char *setting, struct arena *arena)
{
	char *path;

	if (setting[0] == '/')
		return setting;
	while (strncmp(setting, "./", 2) == 0)
		setting += 2;
	if (setting[0] == '\0' || strcmp(setting, ".") == 0)
		return NO_PROJECT;
	path = arena_alloc(arena, sizeof(NO_PROJECT) + strlen(setting) + 1);
	if (path)
		(void)stpcpy(stpcpy(path, NO_PROJECT "/"), setting);
	return path;
}

static void warn_of(struct checker *checker, const struct policy_mount *mount, const char *why,
		    const char *fix)
{
	check_warn(checker, CHECK_MOUNT, mount->target->place, "no sandbox can mount at '%s'",
		   mount->target->text);
	sbx_error_why(&checker->warning.error, "%s", why);
	sbx_error_fix(&checker->warning.error, "%s", fix);
	checker->warning.is_refused = true;
}

static int check_denied(struct checker *checker, const struct policy_mount *mount,
			struct judge *judge)
{
	const char *path = place_of(mount->target->text, &judge->arena);
	const struct rule *rule;

	if (!path)
		return -ENOMEM;
	rule = find_denial(judge, checker->policy->n_rules, path, mount_operations(mount->mode));
	if (!rule)
		return 0;
	warn_of(checker, mount, "", "leave it out, or take it out of what denies it");
	sbx_error_why(&checker->warning.error,
		      "rule '%s' (%s:%u) denies it, and a denial goes before everything",
		      rule->name, checker->policy->sources[rule->place.source].name,
		      rule->place.at.line);
	return 0;
}

int check_mounts(struct checker *checker)
{
	_cleanup_judge_ struct judge judge = { .arena = ARENA_INIT };
	struct policy_mount mount;
	int r = 0;

	for (size_t i = 0; r == 0 && policy_get_mount(checker->policy, i, &mount); i++) {
		const char *fix = "", *why = mount_refusal(checker->policy, i, &fix);
		/* One that may be missing is left out where it is. */
		bool may_be_missing = mount.is_optional && mount.mode != MOUNT_TMPFS;

		if (why) {
			warn_of(checker, &mount, why, fix);
			continue;
		}
		if (mount.mode == MOUNT_MASK || may_be_missing)
			continue;
		if (!judge.engine)
			r = judge_open(checker->policy, &judge);
		if (r == 0)
			r = check_denied(checker, &mount, &judge);
	}
	return r;
}
