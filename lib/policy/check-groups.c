/* SPDX-License-Identifier: MIT */

/*
 * Groups of network_whitelist that name no host
 *
 * Such a group leaves no rule behind, so it is looked for in the text.
 */

#include "policy/check-internal.h"

#include "base/tree.h"

static void check_group(struct checker *checker, unsigned source, const struct tree_node *group)
{
	const struct policy_place place = { .source = source, .at = group->place };

	if (group->type != TREE_LIST || group->first)
		return;
	check_warn(checker, CHECK_EMPTY_LIST, place, "the group '%s' is empty", group->key);
	sbx_error_why(&checker->warning.error, "it allows to reach no host");
	sbx_error_fix(&checker->warning.error, "name a host in it, or remove it");
}

void check_groups(struct checker *checker)
{
	const struct policy *policy = checker->policy;

	for (unsigned i = 0; i < policy->n_sources; i++) {
		const struct policy_source *source = &policy->sources[i];
		_cleanup_tree_ struct tree *tree = NULL;
		const struct tree_node *groups;

		if (!source->bytes ||
		    tree_read(source->name, source->bytes, source->n_bytes, &tree, NULL) < 0 ||
		    tree_root(tree)->type != TREE_MAP)
			continue;
		groups = tree_get(tree, tree_root(tree), "network_whitelist");
		if (!groups || groups->type != TREE_MAP)
			continue;
		for (const struct tree_node *group = groups->first; group; group = group->next)
			check_group(checker, i, group);
	}
}
