/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The judge of a plan: the verdict of eval with the options of the request added
 *
 * It follows the manual's description of the options, not the planner's code, and it asks for
 * several callers and modes: the sandbox cannot distinguish them.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan-cases.h"
#include "policy/artefact.h"
#include "policy/compile.h"
#include "policy/compose.h"
#include "policy/decide.h"

struct judge {
	struct arena arena;
	void *block;
	struct artefact artefact;
	struct policy_engine *engine;
	size_t n_named; /* the rules after these are denials around mounts */
};

static inline void judge_by(struct judge *judge, struct composer *composer)
{
	const struct policy *composed;
	size_t n_bytes;

	expect_eq(compose_finish(composer, &composed), 0);
	expect_eq(policy_compile(composed, &judge->block, &n_bytes, NULL), 0);
	expect_eq(artefact_open(judge->block, n_bytes, &judge->artefact, NULL), 0);
	expect_eq(policy_engine_new(&judge->artefact, &judge->engine), 0);
}

/* The credentials in @outside that exist, with links resolved; the manual calls them CREDENTIALS.
 */
static inline void add_excepts(struct planning *planning, const struct request_path *option,
			       struct composed_path *path)
{
	const char *outside = follow(planning, option->path);
	const struct credential *entries = NULL;
	struct composed_except *excepts;
	bool writes_home = false;
	size_t n = 0;

	expect_eq(credentials_below(&planning->credentials, outside, &planning->arena, &entries,
				    &n),
		  0);
	for (size_t i = 0; i < planning->credentials.n_places; i++)
		writes_home |= option->grant == GRANT_WRITE && !planning->homes[i].kinds &&
			       path_is_at_or_below(planning->homes[i].path, outside);
	excepts = arena_alloc(&planning->arena,
			      (n + planning->request.n_paths + 1) * sizeof(*excepts));
	path->excepts = excepts;
	for (size_t i = 0; i < n; i++) {
		const char *real = follow(planning, entries[i].path), *rest;
		bool is_startup = entries[i].kinds == CREDENTIAL_STARTUP;

		if (look_at_host(planning, real).kind == HOST_MISSING ||
		    !path_is_at_or_below(real, outside) || strcmp(real, outside) == 0 ||
		    (is_startup && !writes_home))
			continue;
		rest = real + strlen(outside) + 1;
		excepts[path->n_excepts++] = (struct composed_except){
			.path = option->target ? planner_join(
							 &(struct planner){
								 .memory.arena = &planning->arena },
							 option->target, rest)
					       : real,
			.operations = is_startup ? operation_set("fs.write") : 0,
		};
	}
}

static inline bool is_mount(const struct request_path *option)
{
	return option->target && strcmp(option->target, option->path) != 0;
}

/* What another option names for reading in a writable directory stays read-only. */
static inline void add_read_only(struct planning *planning, const struct request_path *option,
				 struct composed_path *path)
{
	struct composed_except *excepts = (struct composed_except *)path->excepts;
	const char *outside = follow(planning, option->path);

	for (size_t i = 0; i < planning->request.n_paths; i++) {
		const struct request_path *other = &planning->paths[i];
		const char *real = follow(planning, other->path);

		if (option->grant == GRANT_WRITE && other->grant == GRANT_READ &&
		    !is_mount(option) && !is_mount(other) &&
		    look_at_host(planning, real).kind != HOST_MISSING &&
		    path_is_at_or_below(real, outside) && strcmp(real, outside) != 0)
			excepts[path->n_excepts++] =
				(struct composed_except){ .path = real,
							  .operations = operation_set("fs.write") };
	}
}

/* Follows the manual's description of the options, not the planner's code. */
static inline void add_option(struct composer *composer, struct planning *planning,
			      const struct request_path *option)
{
	static const char *const operations[] = {
		[GRANT_READ] = "fs.read fs.list fs.exists exec",
		[GRANT_WRITE] = "fs.* exec",
		[GRANT_EXEC] = "fs.read fs.list fs.exists exec",
		[GRANT_DENY] = "fs.* exec",
		[GRANT_DENY_WRITE] = "fs.write",
		[GRANT_TMPFS] = "fs.* exec",
	};
	struct composed_path path = { .name = option->option,
				      .path = option->target ? option->target : option->path };
	char words[64], *next = words, *word;

	(void)snprintf(words, sizeof(words), "%s", operations[option->grant]);
	while ((word = strsep(&next, " ")))
		path.operations |= operation_set(word);
	if (option->grant <= GRANT_EXEC) {
		add_excepts(planning, option, &path);
		add_read_only(planning, option, &path);
	}
	if (option->grant == GRANT_DENY || option->grant == GRANT_DENY_WRITE)
		compose_add(composer, COMPOSE_DENY, &path);
	else if (is_mount(option))
		compose_add(composer, COMPOSE_COVER, &path);
	else
		compose_add(composer,
			    option->grant == GRANT_TMPFS  ? COMPOSE_TMPFS
			    : option->grant == GRANT_EXEC ? COMPOSE_ADD
							  : COMPOSE_SHOW,
			    &path);
}

/* Without a policy the home is private, unless an option shows it or a parent, or it contains the
 * working directory. */
static inline const char *private_home(struct planning *planning)
{
	const char *home = planning->environment[1] + strlen("HOME=");

	if (path_is_at_or_below(home, PROJECT))
		return NULL;
	for (size_t i = 0; i < planning->request.n_paths; i++) {
		const struct request_path *option = &planning->paths[i];
		const char *path = option->target ? option->target : option->path;

		if (option->grant != GRANT_DENY && option->grant != GRANT_DENY_WRITE &&
		    path_is_at_or_below(home, path))
			return NULL;
	}
	return planning->policy ? NULL : home;
}

static inline bool has_exec_option(const struct planning *planning)
{
	for (size_t i = 0; i < planning->request.n_paths; i++)
		if (planning->paths[i].grant == GRANT_EXEC)
			return true;
	return false;
}

static inline void judge_open(struct judge *judge, struct planning *planning)
{
	const struct request_path view = { .grant = GRANT_READ, .path = PROJECT };
	struct composition with = { .project = PROJECT,
				    .home = private_home(planning),
				    .is_limiting_exec = has_exec_option(planning),
				    .resolve = follow,
				    .context = planning };
	struct composed_path project = { .path = PROJECT };
	struct composer composer;

	*judge = (struct judge){ .arena = ARENA_INIT };
	add_excepts(planning, &view, &project);
	with.excepts = project.excepts;
	with.n_excepts = project.n_excepts;
	compose_begin(&composer, planning->policy, &with, &judge->arena);
	for (size_t i = 0; i < planning->request.n_paths; i++)
		add_option(&composer, planning, &planning->paths[i]);
	judge->n_named = composer.policy.n_rules;
	judge_by(judge, &composer);
}

/* As policy_compile_composed(): eval and the service do not know the options. */
static inline void eval_open(struct judge *eval, struct planning *planning)
{
	const struct composition with = { .resolve = follow, .context = planning };
	struct composer composer;

	*eval = (struct judge){ .arena = ARENA_INIT };
	compose_begin(&composer, planning->policy, &with, &eval->arena);
	judge_by(eval, &composer);
}

static inline void judge_close(struct judge *judge)
{
	judge->engine = policy_engine_free(judge->engine);
	free(judge->block);
	arena_deinit(&judge->arena);
}

struct facts {
	const char *caller;
	const char *mode;
	const char *state;
};

/* All kinds of callers: what the sandbox permits must be allowed for each. */
static const struct facts askers[] = {
	{ NULL, NULL, NULL },	 { "me", NULL, NULL },	     { "me", "debug", "a" },
	{ NULL, "debug", NULL }, { "other", "strict", "b" },
};

/* Denials around a mount are about names inside. */
static inline bool is_denied_outside(const struct judge *judge,
				     const struct policy_decision *decision)
{
	return decision->verdict == POLICY_DENY && decision->cause != CAUSE_DEFAULT &&
	       decision->cause != CAUSE_CONSTRAINT &&
	       (decision->cause != CAUSE_RULES || decision->rules[0] < judge->n_named);
}

/* Is it allowed under the name @path, and not denied under the name @source, if there is one? */
static inline bool is_allowed(const struct judge *judge, const struct planning *planning,
			      const char *operation, const char *path, const char *source)
{
	const struct setting *nested =
		planning->policy ? policy_get_setting(planning->policy, "isolation.nested") : NULL;
	bool is_nested = nested && nested->number;

	for (size_t i = 0; i < N_ELEMENTS(askers); i++) {
		struct policy_request request = {
			.operation = operation,
			.path = path,
			.project_root = PROJECT,
			.caller = askers[i].caller,
			.mode = askers[i].mode,
			.state = askers[i].state,
			.sandbox = is_nested ? "L1" : "L2",
			.has_size = true,
		};
		struct policy_decision decision;

		policy_decide(judge->engine, &request, &decision);
		if (decision.verdict != POLICY_ALLOW)
			return false;
		request.path = source;
		if (source)
			policy_decide(judge->engine, &request, &decision);
		if (source && is_denied_outside(judge, &decision))
			return false;
	}
	return true;
}
