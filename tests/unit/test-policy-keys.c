/* SPDX-License-Identifier: MIT */
#include "policy/keys.h"

#include "base/cleanup.h"
#include "test.h"

/* Is @path "MAP.NAME", "MAP[]" or, at the top level, "NAME"? */
static bool is_path_of(const struct policy_key_node *map, const struct policy_key_node *node)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s%s%s", map->row ? map->row->path : "",
		       map->row && node->name[0] != '[' ? "." : "", node->name);
	return strcmp(path, node->row->path) == 0;
}

static void every_row_is_in_its_map(void)
{
	_cleanup_free_ struct policy_key_node *tree = policy_key_tree();
	const struct policy_key *row = policy_keys();

	for (const struct policy_key_node *node = tree + 1; node->row; node++) {
		const struct policy_key_node *map = &tree[node->map];

		expect(node->row == row++);
		expect(map < node && is_path_of(map, node));
		expect(policy_key_child(tree, map, node->name) == node);
		expect(map == tree || map->row->type == KEY_MAP || map->row->type == KEY_LIST ||
		       map->row->type == KEY_GROUPS);
	}
	expect(!row->path);
}

static void every_list_has_a_row_for_its_items(void)
{
	_cleanup_free_ struct policy_key_node *tree = policy_key_tree();

	for (const struct policy_key_node *node = tree + 1; node->row; node++)
		if (node->row->type == KEY_LIST || node->row->type == KEY_GROUPS)
			expect(policy_key_child(tree, node, "[]") != NULL);
}

static void steps_through_exactly_the_rows_inside(void)
{
	_cleanup_free_ struct policy_key_node *tree = policy_key_tree();
	size_t n = 0;

	for (const struct policy_key_node *map = tree; map == tree || map->row; map++)
		for (const struct policy_key_node *node = NULL;
		     (node = policy_key_next(tree, map, node)); n++)
			expect(is_path_of(map, node));
	for (const struct policy_key *row = policy_keys(); row->path; row++)
		n--;
	expect_eq(n, 0);
}

static void only_choices_have_choices(void)
{
	for (const struct policy_key *key = policy_keys(); key->path; key++) {
		bool wanted = key->type == KEY_CHOICE || key->type == KEY_CHOICES;

		expect_eq(key->choices != NULL, wanted);
	}
}

static void every_row_has_one_line_of_help(void)
{
	for (const struct policy_key *key = policy_keys(); key->path; key++) {
		size_t len = strlen(key->help);

		expect(len > 0 && len < 80 && !strchr(key->help, '\n'));
		expect(key->help[len - 1] != '.');
	}
}

static void a_key_called_like_a_list_item_is_no_key(void)
{
	_cleanup_free_ struct policy_key_node *tree = policy_key_tree();
	const struct policy_key_node *env = policy_key_child(tree, tree, "env");

	expect(policy_key_child(tree, policy_key_child(tree, env, "set"), "[]") == NULL);
	expect(policy_key_child(tree, tree, "") == NULL);
}

static const struct test tests[] = {
	TEST(every_row_is_in_its_map),
	TEST(every_list_has_a_row_for_its_items),
	TEST(steps_through_exactly_the_rows_inside),
	TEST(only_choices_have_choices),
	TEST(every_row_has_one_line_of_help),
	TEST(a_key_called_like_a_list_item_is_no_key),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
