/* SPDX-License-Identifier: MIT */

/*
 * Several files as one policy
 *
 * Rules are simply all there: severity decides between them, so nothing that a later file says can
 * take a denial back. What has no severity, the settings, is compared value by value.
 */

#include "policy/layers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/merge-internal.h"

struct counts {
	size_t n_sources;
	size_t n_rules;
	size_t n_extensions;
};

static struct counts count(struct policy *const *policies, size_t n_policies)
{
	struct counts counts = { .n_sources = 0 };

	for (size_t i = 0; i < n_policies; i++) {
		counts.n_sources += policies[i]->n_sources;
		counts.n_rules += policies[i]->n_rules;
		counts.n_extensions += policies[i]->n_extensions;
	}
	return counts;
}

/* Room for everything; the numbers grow as it is filled. */
static struct policy *make_empty(const struct policy *first, struct counts counts)
{
	_cleanup_policy_ struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		return NULL;
	policy->dialect = first->dialect;
	policy->sources = arena_alloc(&policy->arena, counts.n_sources * sizeof(*policy->sources));
	policy->rules = arena_alloc(&policy->arena, counts.n_rules * sizeof(*policy->rules));
	policy->extensions =
		arena_alloc(&policy->arena, counts.n_extensions * sizeof(*policy->extensions));
	if (!policy->sources || !policy->rules || !policy->extensions)
		return NULL;
	return take_ptr(policy);
}

/* An extension is a program that is run and may vote to allow: a file that may only narrow has
 * none. */
static int check_extension(const struct policy *all, const struct policy *next,
			   const struct extension_program *program, bool narrows,
			   struct sbx_error *err)
{
	const struct policy_place *at = &program->place;
	const char *file = next->sources[at->source].name;

	if (narrows) {
		(void)sbx_error_what(err, -EACCES, "%s:%u:%u: extension '%s' in a project's file",
				     file, at->at.line, at->at.column, program->name);
		sbx_error_why(err, "it would be run, and asked, for whoever opens the project");
		sbx_error_fix(err, "name it in the user's own policy");
		return -EACCES;
	}
	for (size_t i = 0; i < all->n_extensions; i++) {
		const struct extension_program *other = &all->extensions[i];

		if (strcmp(other->name, program->name) != 0)
			continue;
		(void)sbx_error_what(err, -EEXIST, "%s:%u:%u: a second extension '%s'", file,
				     at->at.line, at->at.column, program->name);
		sbx_error_why(err, "%s:%u has one", all->sources[other->place.source].name,
			      other->place.at.line);
		sbx_error_fix(err, "give it a name of its own, or remove it");
		return -EEXIST;
	}
	return 0;
}

static int add_extensions(struct policy *all, const struct policy *next, struct copier *copier,
			  bool narrows, struct sbx_error *err)
{
	for (size_t i = 0; i < next->n_extensions; i++) {
		int r = check_extension(all, next, &next->extensions[i], narrows, err);

		if (r < 0)
			return r;
		copy_extension(copier, &next->extensions[i], &all->extensions[all->n_extensions]);
		if (copier->failed)
			return -ENOMEM;
		all->n_extensions++;
	}
	return 0;
}

/* A later file that is silent about a default means the one of the files before it. The first one
 * that is silent means to deny, and no later one can take that back. */
static void merge_defaults(struct policy *all, const struct policy *next)
{
	bool is_first = all->n_sources == 0;

	for (int class = 0; class < N_CLASSES; class ++) {
		if ((is_first || next->says_default[class]) &&
		    next->defaults[class] > all->defaults[class])
			all->defaults[class] = next->defaults[class];
		all->says_default[class] |= next->says_default[class];
	}
}

static int add(struct policy *all, const struct policy *next, bool narrows, struct sbx_error *err)
{
	struct copier copier = { .arena = &all->arena, .first_source = (unsigned)all->n_sources };
	int r;

	if (next->dialect != all->dialect)
		all->dialect = DIALECT_SBX;
	merge_defaults(all, next);
	for (size_t i = 0; i < next->n_rules; i++)
		copy_rule(&copier, &next->rules[i], &all->rules[all->n_rules++]);
	r = add_extensions(all, next, &copier, narrows, err);
	if (r >= 0)
		r = merge_settings(all, next, &copier, narrows, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < next->n_sources; i++) {
		struct policy_source *source = &all->sources[all->n_sources++];

		copy_source(&copier, &next->sources[i], source);
		source->narrows |= narrows;
	}
	return copier.failed ? -ENOMEM : 0;
}

int policy_merge(struct policy **policies, size_t n_policies, int last_narrows, struct policy **ret,
		 struct sbx_error *err)
{
	_cleanup_policy_ struct policy *all = NULL;
	int r = 0;

	assert(n_policies > 0);
	all = make_empty(policies[0], count(policies, n_policies));
	if (!all)
		r = -ENOMEM;
	for (size_t i = 0; i < n_policies && r >= 0; i++)
		r = add(all, policies[i], last_narrows && i == n_policies - 1, err);
	if (r >= 0)
		r = policy_make_digest(all, all->digest);
	for (size_t i = 0; i < n_policies; i++)
		policies[i] = policy_free(policies[i]);
	if (r == -ENOMEM)
		(void)sbx_error_what(err, r, "cannot merge the policies");
	if (r < 0)
		return r;
	*ret = take_ptr(all);
	return 0;
}
