/* SPDX-License-Identifier: MIT */

/*
 * Is a file of tests one? Every test must say what it asks and what it expects, before any is run.
 */

#include "policy.h"

#include <string.h>

#include <sbx/error.h>

#include "base/tree.h"

static int wrong_value(const struct tree *tree, const struct tree_node *test, const char *key,
		       struct sbx_error *err)
{
	static const char *const hints[][2] = {
		{ "name", "name: writes_source" },
		{ "request", "request: fs.write src/a.c" },
		{ "expect", "expect: allow, warn, require_review or deny" },
		{ "rules", "rules: [NAME, ...]" },
		{ "policy", "policy: FILE, beside this file" },
		{ "project", "project: /srv/p" },
		{ "tests", "tests: followed by a list" },
	};
	int r = tree_error(tree, test->place, err, "'%s' is missing or of another kind", key);

	sbx_error_why(err, "without it the test means nothing");
	for (size_t i = 0; i < N_ELEMENTS(hints); i++)
		if (strcmp(hints[i][0], key) == 0)
			sbx_error_fix(err, "write %s", hints[i][1]);
	return r;
}

static bool is_string(const struct tree *tree, const struct tree_node *map, const char *key)
{
	const struct tree_node *node = tree_get(tree, map, key);

	return node && node->type == TREE_STRING;
}

static int check_test(const struct tree *tree, const struct tree_node *test, struct sbx_error *err)
{
	static const char *const known[] = { "name", "request", "expect", "rules", NULL };
	const struct tree_node *request, *rules;
	enum policy_action action = POLICY_PASS;
	int r;

	if (test->type != TREE_MAP)
		return tree_wrong_type(tree, test, TREE_MAP, err);
	r = tree_check_keys(tree, test, known, err);
	if (r < 0)
		return r;
	request = tree_get(tree, test, "request");
	rules = tree_get(tree, test, "rules");
	if (!is_string(tree, test, "name"))
		return wrong_value(tree, test, "name", err);
	if (!request || (request->type != TREE_STRING && request->type != TREE_MAP))
		return wrong_value(tree, test, "request", err);
	if (!is_string(tree, test, "expect") ||
	    !policy_action_find(tree_get(tree, test, "expect")->text, &action) ||
	    action == POLICY_PASS)
		return wrong_value(tree, test, "expect", err);
	for (const struct tree_node *item = rules ? rules->first : NULL; item; item = item->next)
		if (item->type != TREE_STRING)
			return wrong_value(tree, test, "rules", err);
	return rules && rules->type != TREE_LIST ? wrong_value(tree, test, "rules", err) : 0;
}

int test_file_check(const struct tree *tree, struct sbx_error *err)
{
	static const char *const known[] = { "policy", "project", "tests", NULL };
	const struct tree_node *root = tree_root(tree), *tests = tree_get(tree, root, "tests");
	int r = tree_check_keys(tree, root, known, err);

	if (r < 0)
		return r;
	if (!is_string(tree, root, "policy"))
		return wrong_value(tree, root, "policy", err);
	if (tree_get(tree, root, "project") && !is_string(tree, root, "project"))
		return wrong_value(tree, root, "project", err);
	if (tests->type != TREE_LIST)
		return wrong_value(tree, root, "tests", err);
	for (const struct tree_node *test = tests->first; test; test = test->next) {
		r = check_test(tree, test, err);
		if (r < 0)
			return r;
	}
	return 0;
}
