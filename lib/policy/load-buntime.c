/* SPDX-License-Identifier: MIT */

/*
 * fs.rules, net.rules and exec.rules
 *
 * Such a rule has its conditions beside its action and no name, so it is called by its place:
 * "fs.rules[0]". The section says which operations it is about.
 */

#include "policy/load-internal.h"

static struct rule *load_rule(struct loader *loader, const struct tree_node *node,
			      uint64_t operations)
{
	struct rule *rule = load_add_rule(loader, text_string(&loader->path), node->place);

	if (!rule)
		return NULL;
	rule->action = load_action(loader, node);
	load_condition(loader, node, &rule->match);
	if (rule->match.operations == 0)
		rule->match.operations = operations;
	return rule;
}

void load_fs_rule(struct loader *loader, const struct tree_node *node)
{
	(void)load_rule(loader, node, load_all_file_operations());
}

void load_net_rule(struct loader *loader, const struct tree_node *node)
{
	(void)load_rule(loader, node, operation_set("net.connect"));
}

void load_exec_rule(struct loader *loader, const struct tree_node *node)
{
	struct rule *rule = load_rule(loader, node, operation_set("exec"));

	if (rule)
		load_constraints(loader, node, rule);
}
