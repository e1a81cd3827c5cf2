/* SPDX-License-Identifier: MIT */

/*
 * Text → model
 *
 * 1 The text becomes a tree (base/tree), which refuses what is not even YAML or JSON.
 * 2 The tree is walked beside the table of keys (load-walk.c); rules and settings pile up.
 * 3 What only shows when everything is there: names that two rules have, settings that are said
 *   twice, a dialect without its version.
 * 4 The rules' own examples are tried, with the same evaluator that will answer for the policy.
 */

#include "policy/load.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "policy/digest.h"
#include "policy/load-internal.h"

#define NEWEST_VERSION "1"

void load_version(struct loader *loader, const struct tree_node *node)
{
	if (node->type != TREE_NUMBER || strcmp(node->text, NEWEST_VERSION) == 0)
		return;
	load_mistake(loader, node->place, "unknown version '%s'", node->text);
	sbx_error_why(&loader->mistake, "this program reads version " NEWEST_VERSION);
	sbx_error_fix(&loader->mistake, "write 'version: " NEWEST_VERSION "'");
}

void load_defaults(struct loader *loader, const struct tree_node *node)
{
	for (int class = 0; class < N_CLASSES; class ++) {
		const char *name = operation_class_name((enum operation_class) class);
		const struct tree_node *action = load_get_string(loader, node, name);

		if (action)
			loader->policy->says_default[class] =
				policy_action_find(action->text, &loader->policy->defaults[class]);
	}
}

static const struct {
	const char *key;
	enum policy_dialect dialect;
} signs[] = {
	{ "capabilities", DIALECT_FLUFFY },  { "network_whitelist", DIALECT_FLUFFY },
	{ "scheduler", DIALECT_FLUFFY },     { "extensions", DIALECT_FLUFFY },
	{ "plugins", DIALECT_BUNTIME },	     { "defaults", DIALECT_BUNTIME },
	{ "fs", DIALECT_BUNTIME },	     { "exec", DIALECT_BUNTIME },
	{ "denySyscalls", DIALECT_BUNTIME }, { "antiEscape", DIALECT_BUNTIME },
	{ "sandbox", DIALECT_MANIFEST },     { "security", DIALECT_MANIFEST },
	{ "module", DIALECT_MANIFEST },
};

/* The one dialect whose keys are there; with keys of several, or of none, our own. */
static enum policy_dialect find_dialect(const struct loader *loader, const struct tree_node *root)
{
	const struct tree_node *net = load_get(loader, root, "net", TREE_MAP);
	unsigned found = 0;

	if (root->type != TREE_MAP)
		return DIALECT_SBX;
	for (size_t i = 0; i < N_ELEMENTS(signs); i++)
		if (tree_get(loader->tree, root, signs[i].key))
			found |= 1u << signs[i].dialect;
	if (net && tree_get(loader->tree, net, "rules"))
		found |= 1u << DIALECT_BUNTIME;
	for (int dialect = DIALECT_BUNTIME; dialect <= DIALECT_MANIFEST; dialect++)
		if (found == 1u << dialect)
			return (enum policy_dialect)dialect;
	return DIALECT_SBX;
}

static void check_version(struct loader *loader, const struct tree_node *root)
{
	if (loader->policy->dialect != DIALECT_BUNTIME || tree_get(loader->tree, root, "version"))
		return;
	load_mistake(loader, root->place, "'version' is missing");
	sbx_error_why(&loader->mistake, "a policy with plugins, defaults or fs, net and exec rules "
					"says which version of the format it is");
	sbx_error_fix(&loader->mistake, "add 'version: " NEWEST_VERSION "'");
}

struct named {
	const char *name;
	struct tree_place place;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	if (order != 0)
		return order;
	if (one->place.line != other->place.line)
		return one->place.line < other->place.line ? -1 : 1;
	return one->place.column < other->place.column ? -1 : 1;
}

/* Sorts @named. Empty names are a mistake already. */
static void check_names(struct loader *loader, struct named *named, size_t n, const char *noun)
{
	if (n > 1)
		qsort(named, n, sizeof(*named), compare_named);
	for (size_t i = 1; i < n; i++) {
		if (!named[i].name[0] || strcmp(named[i].name, named[i - 1].name) != 0)
			continue;
		load_mistake(loader, named[i].place, "a second %s with the name '%s'", noun,
			     named[i].name);
		sbx_error_why(&loader->mistake,
			      "line %u has one, and a decision that names it would not say which",
			      named[i - 1].place.line);
		sbx_error_fix(&loader->mistake, "give it a name of its own");
	}
}

static void check_all_names(struct loader *loader)
{
	const struct rule *rules = loader->rules.rows;
	const struct extension_program *programs = loader->extensions.rows;
	size_t n_rules = loader->rules.n_rows, n_programs = loader->extensions.n_rows;
	size_t n_max = n_rules > n_programs ? n_rules : n_programs;
	_cleanup_free_ struct named *named = calloc(n_max + 1, sizeof(*named));

	loader->no_memory |= !named;
	if (loader->no_memory)
		return;
	for (size_t i = 0; i < n_rules; i++)
		named[i] = (struct named){ rules[i].name, rules[i].place.at };
	check_names(loader, named, n_rules, "rule");
	for (size_t i = 0; i < n_programs; i++)
		named[i] = (struct named){ programs[i].name ? programs[i].name : "",
					   programs[i].place.at };
	check_names(loader, named, n_programs, "extension");
}

static void set_source(struct loader *loader, const char *name, const void *bytes, size_t n_bytes)
{
	struct policy *policy = loader->policy;
	struct policy_source *source = load_alloc(loader, sizeof(*source));

	if (!source)
		return;
	source->name = load_copy(loader, name);
	source->bytes = arena_copy(&policy->arena, bytes, n_bytes);
	source->n_bytes = n_bytes;
	digest_of(bytes, n_bytes, source->digest);
	policy->sources = source;
	policy->n_sources = 1;
	if (!source->bytes || policy_make_digest(policy, policy->digest) < 0)
		loader->no_memory = true;
}

static void finish(struct loader *loader)
{
	struct policy *policy = loader->policy;

	policy->rules = loader->rules.rows;
	policy->n_rules = loader->rules.n_rows;
	policy->settings = loader->settings.rows;
	policy->n_settings = loader->settings.n_rows;
	policy->extensions = loader->extensions.rows;
	policy->n_extensions = loader->extensions.n_rows;
	if (!loader->no_memory && loader->n_mistakes == 0)
		load_try_examples(loader);
}

/* Number of mistakes, or negative errno. *@ret is written where there were none. */
static int load(struct loader *loader, const char *name, const void *bytes, size_t n_bytes,
		struct policy **ret)
{
	_cleanup_policy_ struct policy *policy = calloc(1, sizeof(*policy));
	const struct tree_node *root = tree_root(loader->tree);

	if (!policy)
		return -ENOMEM;
	for (int class = 0; class < N_CLASSES; class ++)
		policy->defaults[class] = POLICY_DENY;
	loader->policy = policy;
	policy->dialect = find_dialect(loader, root);
	set_source(loader, name, bytes, n_bytes);
	check_version(loader, root);
	if (load_read_keys(loader))
		load_walk(loader, root);
	else
		loader->no_memory = true;
	if (text_status(&loader->path) < 0)
		loader->no_memory = true;
	if (!loader->no_memory)
		check_all_names(loader);
	if (!loader->no_memory)
		load_finish_settings(loader);
	if (!loader->no_memory)
		finish(loader);
	load_report_mistake(loader);
	if (loader->no_memory)
		return -ENOMEM;
	if (loader->n_mistakes == 0)
		*ret = take_ptr(policy);
	return loader->n_mistakes > INT_MAX ? INT_MAX : (int)loader->n_mistakes;
}

static void loader_deinit(struct loader *loader)
{
	text_deinit(&loader->path);
	free(loader->keys);
}

static void keep_first(const struct sbx_error *mistake, void *userdata)
{
	struct sbx_error *err = userdata;

	if (err && err->code == 0)
		*err = *mistake;
}

int policy_load(const char *name, const void *bytes, size_t n_bytes, struct policy **ret,
		struct sbx_error *err)
{
	_cleanup_(loader_deinit) struct loader loader = { .report = keep_first,
							  .userdata = err,
							  .only_first = true };
	_cleanup_tree_ struct tree *tree = NULL;
	struct policy *policy = NULL;
	int r = tree_read(name, bytes, n_bytes, &tree, err);

	if (r < 0)
		return r;
	loader.tree = tree;
	if (err)
		*err = (struct sbx_error){ .code = 0 };
	r = load(&loader, name, bytes, n_bytes, &policy);
	if (r < 0) {
		(void)sbx_error_what(err, r, "%s: cannot load it", name);
		return r;
	}
	if (r > 0)
		return -EINVAL;
	*ret = policy;
	return 0;
}

int policy_load_file(int dirfd, const char *path, struct policy **ret, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	const char *name;
	size_t n_bytes;
	int r = file_read_operand(dirfd, path, TREE_BYTES_MAX, &name, &bytes, &n_bytes, err);

	return r < 0 ? r : policy_load(name, bytes, n_bytes, ret, err);
}

int policy_load_all_mistakes(const char *name, const void *bytes, size_t n_bytes,
			     void (*report)(const struct sbx_error *err, void *userdata),
			     void *userdata)
{
	_cleanup_(loader_deinit) struct loader loader = { .report = report, .userdata = userdata };
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_tree_ struct tree *tree = NULL;
	struct sbx_error err = { .code = 0 };
	int r = tree_read(name, bytes, n_bytes, &tree, &err);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		report(&err, userdata);
		return 1;
	}
	loader.tree = tree;
	return load(&loader, name, bytes, n_bytes, &policy);
}
