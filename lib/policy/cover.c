/* SPDX-License-Identifier: MIT */

/*
 * A path that is mounted over another ("mounts" with a source, --bind) is a grant. Because the
 * rules around it are about the files that it hides, it is also a denial of all operations that the
 * grant does not name. The denial excepts the grants below it, which have their own rules.
 */

#include "policy/compose.h"

#include <string.h>

#include "base/path.h"
#include "policy/glob.h"
#include "policy/view.h"

void cover_add(struct composer *composer, struct cover cover)
{
	struct cover *row = arena_add_row(composer->arena, &composer->covers, sizeof(*row));

	composer->no_memory |= !row;
	if (row)
		*row = cover;
}

static const struct cover *cover_at(const struct composer *composer, size_t i)
{
	const struct cover *covers = composer->covers.rows;

	return i < composer->covers.n_rows ? &covers[i] : NULL;
}

static bool is_below(const char *path, const char *directory)
{
	return path_is_at_or_below(path, directory) && strcmp(path, directory) != 0;
}

/* Are the rules around the path about files of a tmpfs? */
static bool is_in_private(const struct composer *composer, const char *path)
{
	const char *home = composer->with.home, *real = path;
	const struct cover *cover;

	if (composer->with.resolve)
		real = composer->with.resolve(composer->with.context, path);
	if (home && path_is_at_or_below(real, home))
		return true;
	for (size_t i = 0; (cover = cover_at(composer, i)); i++)
		if (cover->is_tmpfs && (is_below(path, cover->path) || is_below(real, cover->path)))
			return true;
	return view_is_in_private(path);
}

static const char *path_of(const struct rule *rule)
{
	return rule->match.lists[MATCH_PATH].values[0].text;
}

/* Does a mount of other files, or a tmpfs, lie below the directory and at or above the path? */
static bool is_covered_between(const struct composer *composer, const char *directory,
			       const char *path)
{
	const char *home = composer->with.home;
	const struct cover *cover;

	if (home && is_below(home, directory) && path_is_at_or_below(path, home))
		return true;
	for (size_t i = 0; (cover = cover_at(composer, i)); i++) {
		const char *at = path_of(&composer->policy.rules[cover->number]);

		if ((cover->is_tmpfs || !cover->is_of_host) && is_below(at, directory) &&
		    path_is_at_or_below(path, at))
			return true;
	}
	return false;
}

/* Does the cover show the host's files of a directory in which @path is one of them? */
static bool shows_around(const struct composer *composer, const struct cover *cover,
			 const char *path)
{
	const char *directory = path_of(&composer->policy.rules[cover->number]);

	return cover->is_of_host && !cover->is_tmpfs && is_below(path, directory) &&
	       is_in_private(composer, cover->path) &&
	       !is_covered_between(composer, directory, path);
}

/* The operations granted by the cover and, if it shows the host's own files, by other covers of its
 * path. */
static uint64_t granted_at(const struct composer *composer, const struct cover *cover)
{
	const struct rule *rules = composer->policy.rules;
	const char *path = path_of(&rules[cover->number]);
	uint64_t operations = rules[cover->number].match.operations;
	const struct cover *other;

	for (size_t i = 0; cover->is_of_host && (other = cover_at(composer, i)); i++)
		if (strcmp(path_of(&rules[other->number]), path) == 0 ||
		    (cover->adds && shows_around(composer, other, path)))
			operations |= rules[other->number].match.operations;
	return operations;
}

static bool is_in(const char *path, const struct rule *rule, bool itself)
{
	const struct match_list *list = &rule->match.lists[MATCH_PATH];

	for (size_t i = 0; i < list->n_values; i++)
		if (is_below(path, list->values[i].text) ||
		    (itself && strcmp(path, list->values[i].text) == 0))
			return true;
	return false;
}

/* The next grant from rule @at on that is below a path of @rule, or with @itself one of its paths;
 * NULL after the last. */
static const struct rule *next_grant(const struct composer *composer, size_t *at,
				     const struct rule *rule, bool itself)
{
	for (; *at < composer->policy.n_rules; (*at)++) {
		const struct rule *other = &composer->policy.rules[*at];

		if (other->action == POLICY_ALLOW && other->match.lists[MATCH_PATH].n_values > 0 &&
		    is_in(path_of(other), rule, itself))
			return &composer->policy.rules[(*at)++];
	}
	return NULL;
}

/* Adds @rule as a denial with exceptions for the grants below its paths; with @itself also for
 * those of its paths. */
static void deny_but_grants(struct composer *composer, struct rule *rule, bool itself)
{
	const struct rule *grant;
	struct condition *exceptions;
	size_t n = 0;

	for (size_t at = composer->n_original; next_grant(composer, &at, rule, itself);)
		n++;
	exceptions = composer_take(composer, n * sizeof(*exceptions));
	rule->action = POLICY_DENY;
	rule->exceptions = exceptions;
	rule->n_exceptions = 0;
	for (size_t at = composer->n_original;
	     exceptions && (grant = next_grant(composer, &at, rule, itself));)
		exceptions[rule->n_exceptions++] =
			(struct condition){ .operations = grant->match.operations,
					    .lists[MATCH_PATH] = grant->match.lists[MATCH_PATH],
					    .place = grant->place };
	(void)composer_add_rule(composer, rule);
}

/* The paths that the grant excludes from these operations; 0: from all operations. */
static struct match_list list_excepted(struct composer *composer, const struct rule *grant,
				       uint64_t operations)
{
	struct match_list list = { .present = true, .place = grant->place };
	struct match_value *values;

	for (size_t i = 0; i < grant->n_exceptions; i++)
		list.n_values += grant->exceptions[i].lists[MATCH_PATH].n_values;
	values = composer_take(composer, list.n_values * sizeof(*values));
	list.values = values;
	list.n_values = 0;
	for (size_t i = 0; values && i < grant->n_exceptions; i++) {
		const struct match_list *one = &grant->exceptions[i].lists[MATCH_PATH];

		if (grant->exceptions[i].operations != operations || one->n_values == 0)
			continue;
		memcpy(values + list.n_values, one->values, one->n_values * sizeof(*values));
		list.n_values += one->n_values;
	}
	return list;
}

/* Denies the paths that a grant excludes: the rules around it, which are about other files, might
 * allow them. */
static void deny_excepted(struct composer *composer, size_t number)
{
	const struct rule grant = composer->policy.rules[number];
	struct rule rule = grant;

	for (int i = 0; i < 2 && grant.n_exceptions > 0; i++) {
		uint64_t operations = i == 0 ? 0 : operation_set("fs.write");

		rule.match.lists[MATCH_PATH] = list_excepted(composer, &grant, operations);
		rule.match.operations = operations ? operations : view_file_operations();
		if (rule.match.lists[MATCH_PATH].n_values > 0)
			deny_but_grants(composer, &rule, true);
	}
}

/* At the cover's path only its own grants apply, and those below it. */
static void deny_around(struct composer *composer, const struct cover *cover)
{
	struct rule rule = composer->policy.rules[cover->number];

	rule.match.operations = operation_set("fs.*") & ~granted_at(composer, cover);
	if (rule.match.operations)
		deny_but_grants(composer, &rule, false);
	deny_excepted(composer, cover->number);
}

/* The values of a policy's rule that name paths below the grant's. */
static struct match_list list_below(struct composer *composer, const struct rule *rule,
				    const struct rule *grant)
{
	const struct match_list *all = &rule->match.lists[MATCH_PATH];
	struct match_value *values = composer_take(composer, all->n_values * sizeof(*values));
	const char *project = composer->with.project ? composer->with.project : ".";
	struct match_list list = { .present = true, .values = values, .place = all->place };

	for (size_t i = 0; values && i < all->n_values; i++) {
		const char *path = NULL;
		struct glob glob;

		if (composer_parse_plain(&all->values[i], &glob) && !glob.excludes)
			path = composer_name_path(composer, &glob, project);
		if (path && is_in(path, grant, false))
			values[list.n_values++] = all->values[i];
	}
	return list;
}

/* If a policy's rule makes a path below a tmpfs readable, the host's file is mounted there. The
 * grant of the tmpfs is about its own files: exclude that file from writing and executing. */
static void except_shown(struct composer *composer, size_t number)
{
	const struct rule grant = composer->policy.rules[number];
	struct condition *all =
		composer_take(composer, (grant.n_exceptions + composer->n_original) * sizeof(*all));
	size_t n = grant.n_exceptions;

	if (!all)
		return;
	if (n > 0)
		memcpy(all, grant.exceptions, n * sizeof(*all));
	for (size_t i = 0; i < composer->n_original; i++) {
		const struct rule *rule = &composer->policy.rules[i];

		if (rule->action != POLICY_ALLOW || !(rule->match.operations & view_reads()))
			continue;
		all[n] = (struct condition){ .operations = grant.match.operations,
					     .place = grant.place };
		all[n].lists[MATCH_PATH] = list_below(composer, rule, &grant);
		n += all[n].lists[MATCH_PATH].n_values > 0;
	}
	((struct rule *)composer->rules.rows)[number].exceptions = all;
	((struct rule *)composer->rules.rows)[number].n_exceptions = n;
}

void covers_apply(struct composer *composer)
{
	const struct cover *cover;

	for (size_t i = 0; (cover = cover_at(composer, i)); i++)
		if (!cover->is_of_host || is_in_private(composer, cover->path))
			deny_around(composer, cover);
	for (size_t i = 0; (cover = cover_at(composer, i)); i++)
		if (cover->is_tmpfs)
			except_shown(composer, cover->number);
}
