/* SPDX-License-Identifier: MIT */

/* sbx-ctl ping: does the host have everything that a sandbox needs? Is this sandbox running? */

#include "ctl.h"

#include <errno.h>
#include <string.h>

#include "base/tree.h"

#include "tool.h"

static int ping_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	struct target target;
	int r = ctl_read_running(ctl, id, &target, err);

	if (r == 0)
		ctl_say(ctl, id, target.entry.is_paused ? "is paused" : "is running");
	return r;
}

static const char *text_of(const struct tree *tree, const struct tree_node *map, const char *key)
{
	const struct tree_node *node =
		map && map->type == TREE_MAP ? tree_get(tree, map, key) : NULL;

	return node ? node->text : NULL;
}

static int ping_host(struct ctl *ctl, struct sbx_error *err)
{
	static const char *const words[] = { "--check", "--json", NULL };
	_cleanup_tree_ struct tree *tree = NULL;
	const struct tree_node *full;
	const char *holds, *why, *fix;
	int r = spawn_ask(ctl, NULL, words, &tree, err);

	if (r < 0)
		return r;
	full = tree_get(tree, tree_root(tree), "full");
	holds = text_of(tree, full, "holds");
	why = text_of(tree, full, "why");
	fix = text_of(tree, full, "fix");
	if (!holds || strcmp(holds, "true") != 0)
		return error_fill(err, -ENOTSUP, why ? why : "something that they need is missing",
				  fix ? fix : "see 'sbx-spawn --check' for what to change",
				  "this host cannot build sandboxes with every layer");
	ctl_say(ctl, "sbx", "ready");
	return 0;
}

int ctl_verb_ping(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	int r;

	if (n_operands > 0)
		return ctl_each(context, n_operands, operands, ping_one, err);
	r = ctl_init(&ctl, context, err);
	if (r < 0)
		return r;
	r = ping_host(&ctl, err);
	return r == -ENOTSUP ? TOOL_NO : r;
}
