/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Policies for tests, built without a file
 *
 *     struct built built = build_new();
 *     struct rule *rule = build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/ ** path=!src/x");
 *     build_except(&built, rule, NULL, "tag=trusted");
 *     build_engine(&built);
 *
 * (without the blank in the glob). Words are KEY=VALUE; a key given twice is a list of two, "path="
 * an empty list, "literal=" a path that is not read as a glob. Rules are named r0, r1 and so on;
 * the returned pointer is valid until the next rule.
 */

#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/artefact.h"
#include "policy/compile.h"
#include "policy/decide.h"
#include "policy/model.h"

struct built {
	struct policy *policy;
	void *block;
	size_t n_bytes;
	struct artefact artefact;
	struct policy_engine *engine;
};

static void build_must(int condition)
{
	if (!condition)
		abort();
}

__attribute__((__unused__)) static struct built build_new(void)
{
	struct built built = { .policy = calloc(1, sizeof(struct policy)) };

	build_must(built.policy != NULL);
	built.policy->sources = arena_alloc(&built.policy->arena, 2 * sizeof(struct policy_source));
	build_must(built.policy->sources != NULL);
	built.policy->n_sources = 2;
	built.policy->sources[0].name = "p.yaml";
	built.policy->sources[1].name = "project.yaml";
	built.policy->sources[1].narrows = true;
	for (int i = 0; i < N_CLASSES; i++)
		built.policy->defaults[i] = POLICY_DENY;
	memset(built.policy->digest, 0xd1, sizeof(built.policy->digest));
	return built;
}

static void build_forget(struct built *built)
{
	built->engine = policy_engine_free(built->engine);
	free(built->block);
	built->block = NULL;
}

__attribute__((__unused__)) static void build_free(struct built *built)
{
	build_forget(built);
	arena_deinit(&built->policy->arena);
	free(built->policy);
}
#define _cleanup_built_ _cleanup_(build_free)

/* An array of @n + 1 rows with a copy of the @n rows of @old. */
static void *build_grow(struct built *built, const void *old, size_t row_size, size_t n)
{
	void *grown = n && (n & (n - 1)) ? (void *)(uintptr_t)old : NULL;

	if (!grown) {
		grown = arena_alloc(&built->policy->arena, row_size * (n ? n * 2 : 1));
		if (!grown)
			abort();
		if (n > 0 && old)
			memcpy(grown, old, row_size * n);
	}
	memset((char *)grown + row_size * n, 0, row_size);
	return grown;
}

static enum match_key build_key(const char *word, bool *literal)
{
	static const char *const names[N_MATCH_KEYS] = {
		"path=", "host=", "cidr=", "port=", "proto=", "caller=", "tag=", "state=", "mode="
	};
	int key = 0;

	*literal = strncmp(word, "literal=", 8) == 0;
	if (*literal)
		return MATCH_PATH;
	while (key < N_MATCH_KEYS && strncmp(word, names[key], strlen(names[key])) != 0)
		key++;
	build_must(key < N_MATCH_KEYS);
	return (enum match_key)key;
}

static void build_word(struct built *built, struct condition *condition, const char *word, size_t n)
{
	bool literal;
	struct match_list *list = &condition->lists[build_key(word, &literal)];
	const char *value = strchr(word, '=') + 1;
	size_t len = n - (size_t)(value - word);

	list->present = true;
	if (len == 0)
		return;

	struct match_value *values =
		build_grow(built, list->values, sizeof(*values), list->n_values);

	values[list->n_values++] = (struct match_value){
		.text = arena_copy(&built->policy->arena, value, len),
		.place.at = { .line = (unsigned)built->policy->n_rules, .column = 5 },
		.literal = literal,
	};
	list->values = values;
}

/* @operations: one name or pattern, or several between blanks; NULL: none. */
static struct condition build_condition(struct built *built, const char *operations,
					const char *words)
{
	struct condition condition = { .operations = 0 };
	char name[64];

	for (const char *at = operations; at && *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		build_must(n < sizeof(name));
		memcpy(name, at, n);
		name[n] = '\0';
		build_must(operation_set(name) != 0);
		condition.operations |= operation_set(name);
		at += n;
	}
	for (const char *at = words; at && *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		build_word(built, &condition, at, n);
		at += n;
	}
	return condition;
}

__attribute__((__unused__)) static struct rule *build_rule(struct built *built,
							   enum policy_action action,
							   const char *operations,
							   const char *words)
{
	struct policy *policy = built->policy;
	char name[32];

	policy->rules = build_grow(built, policy->rules, sizeof(*policy->rules), policy->n_rules);

	struct rule *rule = &policy->rules[policy->n_rules];

	(void)snprintf(name, sizeof(name), "r%zu", policy->n_rules);
	policy->n_rules++;
	*rule = (struct rule){
		.name = arena_copy(&policy->arena, name, strlen(name)),
		.action = action,
		.match = build_condition(built, operations, words),
		.constraints.max_file_size_bytes = UINT64_MAX,
		.place.at = { .line = (unsigned)policy->n_rules, .column = 1 },
	};
	return rule;
}

__attribute__((__unused__)) static void build_except(struct built *built, struct rule *rule,
						     const char *operations, const char *words)
{
	struct condition *all =
		build_grow(built, rule->exceptions, sizeof(*all), rule->n_exceptions);

	all[rule->n_exceptions++] = build_condition(built, operations, words);
	rule->exceptions = all;
}

/* Compiles, checks and opens an engine; frees the previous one. */
__attribute__((__unused__)) static int build_try(struct built *built, struct sbx_error *err)
{
	build_forget(built);

	int r = policy_compile(built->policy, &built->block, &built->n_bytes, err);

	if (r < 0)
		return r;
	r = artefact_open(built->block, built->n_bytes, &built->artefact, err);
	return r < 0 ? r : policy_engine_new(&built->artefact, &built->engine);
}

__attribute__((__unused__)) static void build_engine(struct built *built)
{
	struct sbx_error err = { 0 };

	if (build_try(built, &err) < 0) {
		printf("# %s: %s\n", err.what, err.why);
		abort();
	}
}
