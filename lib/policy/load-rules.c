/* SPDX-License-Identifier: MIT */

/*
 * capabilities: rules with a name; and extensions, which are asked like rules
 */

#include "policy/load-internal.h"

#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "base/units.h"

const struct tree_node *load_get(const struct loader *loader, const struct tree_node *map,
				 const char *key, enum tree_type type)
{
	const struct tree_node *node = map ? tree_get(loader->tree, map, key) : NULL;

	return node && node->type == type ? node : NULL;
}

const struct tree_node *load_get_string(const struct loader *loader, const struct tree_node *map,
					const char *key)
{
	return load_get(loader, map, key, TREE_STRING);
}

enum policy_action load_action(const struct loader *loader, const struct tree_node *map)
{
	const struct tree_node *node = load_get_string(loader, map, "action");
	enum policy_action action = POLICY_DENY;

	if (node)
		(void)policy_action_find(node->text, &action);
	return action;
}

struct rule *load_add_rule(struct loader *loader, const char *name, struct tree_place place)
{
	struct rule *rule = load_add_row(loader, &loader->rules, sizeof(*rule));

	if (!rule)
		return NULL;
	rule->name = load_copy(loader, name);
	rule->action = POLICY_DENY;
	rule->match.place.at = place;
	rule->constraints.max_file_size_bytes = UINT64_MAX;
	rule->place.at = place;
	return rule;
}

static void load_exceptions(struct loader *loader, const struct tree_node *list, struct rule *rule)
{
	struct condition *exceptions;
	size_t n = 0;

	if (!list || list->n_children == 0)
		return;
	exceptions = load_alloc(loader, list->n_children * sizeof(*exceptions));
	if (!exceptions)
		return;
	for (const struct tree_node *item = list->first; item; item = item->next) {
		if (item->type != TREE_MAP)
			continue;
		load_condition(loader, item, &exceptions[n++]);
		if (item->n_children > 0)
			continue;
		load_mistake(loader, item->place, "an exception without conditions");
		sbx_error_why(&loader->mistake, "it would take the rule back for every request");
		sbx_error_fix(&loader->mistake, "write what it excepts, or remove the rule");
	}
	rule->exceptions = exceptions;
	rule->n_exceptions = n;
}

static const char *load_digest(struct loader *loader, const struct tree_node *node)
{
	char *copy = arena_copy(&loader->policy->arena, node->text, node->text_len);

	loader->no_memory |= !copy;
	for (char *at = copy; at && *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return copy;
}

void load_constraints(struct loader *loader, const struct tree_node *map, struct rule *rule)
{
	struct constraints *constraints = &rule->constraints;
	const struct tree_node *level = load_get_string(loader, map, "require_sandbox");
	const struct tree_node *token =
		load_get(loader, map, "require_capability_token", TREE_BOOL);
	const struct tree_node *size = map ? tree_get(loader->tree, map, "max_file_size") : NULL;
	const struct tree_node *sha256 = load_get_string(loader, map, "sha256");
	uint64_t bytes;

	if (level)
		constraints->require_sandbox = load_copy(loader, level->text);
	constraints->require_token = token && strcmp(token->text, "true") == 0;
	if (size && units_parse_size(size->text, &bytes, NULL) >= 0)
		constraints->max_file_size_bytes = bytes;
	if (sha256)
		constraints->sha256 = load_digest(loader, sha256);
}

static size_t add_examples(struct loader *loader, const struct tree_node *node, bool matches,
			   struct example *examples)
{
	const struct tree_node *item = node && node->type == TREE_LIST ? node->first : node;
	size_t n = 0;

	for (; item; item = item == node ? NULL : item->next) {
		if (item->type != TREE_STRING)
			continue;
		examples[n].text = load_copy(loader, item->text);
		examples[n].matches = matches;
		examples[n++].place.at = item->place;
	}
	return n;
}

static void load_examples(struct loader *loader, const struct tree_node *map, struct rule *rule)
{
	const struct tree_node *match = map ? tree_get(loader->tree, map, "match") : NULL;
	const struct tree_node *not_match = map ? tree_get(loader->tree, map, "not_match") : NULL;
	size_t n_max =
		(match ? match->n_children + 1 : 0) + (not_match ? not_match->n_children + 1 : 0);
	struct example *examples;

	if (n_max == 0)
		return;
	examples = load_alloc(loader, n_max * sizeof(*examples));
	if (!examples)
		return;
	rule->examples = examples;
	rule->n_examples = add_examples(loader, match, true, examples);
	rule->n_examples += add_examples(loader, not_match, false, examples + rule->n_examples);
}

void load_capability(struct loader *loader, const struct tree_node *node)
{
	const struct tree_node *name = load_get_string(loader, node, "name");
	const struct tree_node *match = load_get(loader, node, "match", TREE_MAP);
	const struct tree_node *reason = load_get_string(loader, node, "reason");
	struct rule *rule = load_add_rule(loader, name ? name->text : "", node->place);

	if (!rule)
		return;
	rule->action = load_action(loader, node);
	if (match)
		load_condition(loader, match, &rule->match);
	if (match && rule->match.operations == 0 && !tree_get(loader->tree, match, "syscall") &&
	    !tree_get(loader->tree, match, "operation") && !tree_get(loader->tree, match, "op") &&
	    !tree_get(loader->tree, match, "perms")) {
		load_mistake(loader, match->place, "'match' names no operation");
		sbx_error_why(&loader->mistake, "a rule is about operations; none is assumed");
		sbx_error_fix(&loader->mistake,
			      "add 'syscall: fs.write' to it, or 'syscall: \"*\"'");
	}
	load_exceptions(loader, load_get(loader, node, "except", TREE_LIST), rule);
	load_constraints(loader, load_get(loader, node, "constraints", TREE_MAP), rule);
	if (reason)
		rule->reason = load_copy(loader, reason->text);
	load_examples(loader, load_get(loader, node, "examples", TREE_MAP), rule);
}

static void check_command(struct loader *loader, const struct tree_node *command)
{
	const struct tree_node *first = command->first;

	if (first && (first->type != TREE_STRING || path_is_normal(first->text)))
		return;
	load_mistake(loader, first ? first->place : command->place,
		     "an extension needs the absolute path of its program");
	if (first)
		sbx_error_why(&loader->mistake, "'%s' would be looked for in some folder",
			      first->text);
	else
		sbx_error_why(&loader->mistake, "the list is empty");
	sbx_error_fix(&loader->mistake, "write [/usr/lib/sbx/rules, ARGUMENT]");
}

void load_extension(struct loader *loader, const struct tree_node *node)
{
	const struct tree_node *name = load_get_string(loader, node, "name");
	const struct tree_node *command = load_get(loader, node, "command", TREE_LIST);
	struct extension_program *program =
		load_add_row(loader, &loader->extensions, sizeof(*program));
	const char **argv;
	size_t n = 0;

	if (!program || !name || !command)
		return;
	check_command(loader, command);
	argv = load_alloc(loader, (command->n_children + 1) * sizeof(*argv));
	if (!argv)
		return;
	for (const struct tree_node *word = command->first; word; word = word->next)
		argv[n++] = load_copy(loader, word->text);
	program->name = load_copy(loader, name->text);
	program->argv = argv;
	program->place.at = node->place;
}
