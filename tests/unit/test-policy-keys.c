/* SPDX-License-Identifier: MIT */
#include "policy/keys.h"

#include "test.h"

static void every_row_is_found_by_its_own_path(void)
{
	size_t n = 0;

	for (const struct policy_key *key = policy_keys(); key->path; key++, n++)
		if (!strchr(key->path, '*'))
			expect(policy_key_find(key->path) == key);
	expect(n > 100);
}

static void finds_a_row_by_a_path_as_it_is_in_a_file(void)
{
	const struct {
		const char *path, *row;
	} cases[] = {
		{ "capabilities[3].match", "capabilities[].match" },
		{ "capabilities[0].except[12].path_glob", "capabilities[].except[].path_glob" },
		{ "scheduler.per_template.code-executor", "scheduler.per_template.*" },
		{ "env.set.PATH", "env.set.*" },
		{ "network_whitelist[1]", "network_whitelist[]" },
		{ "network_whitelist.ai[1]", "network_whitelist.*[]" },
		{ "mounts[2].source", "mounts[].source" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct policy_key *key = policy_key_find(cases[i].path);

		expect(key != NULL);
		if (key)
			expect_str(key->path, cases[i].row);
	}
}

static void finds_no_row_for_what_is_not_a_key(void)
{
	static const char *const paths[] = {
		"",
		"limit",
		"limits.",
		"limits.memory.x",
		"limitsxmemory",
		"env.set.",
		"env.set.a.b",
		"capabilities.match",
		"capabilities[x].match",
		"capabilities[0]match",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		expect(policy_key_find(paths[i]) == NULL);
}

/* The row whose child @key is; it must be a map, a list or groups. */
static const struct policy_key *parent_of(const struct policy_key *key)
{
	size_t len = strlen(key->path) - strlen(policy_key_name(key));
	char path[128];

	if (len > 0 && key->path[len - 1] == '.')
		len--;
	(void)snprintf(path, sizeof(path), "%.*s", (int)len, key->path);
	for (const struct policy_key *row = policy_keys(); row->path; row++)
		if (strcmp(row->path, path) == 0)
			return row;
	return NULL;
}

static void every_row_stands_behind_the_map_it_is_in(void)
{
	for (const struct policy_key *key = policy_keys(); key->path; key++) {
		const struct policy_key *parent = parent_of(key);

		if (!strpbrk(key->path, ".["))
			continue;
		expect(parent != NULL && parent < key);
		if (!parent)
			continue;
		expect(policy_key_child(parent, policy_key_name(key)) == key);
		expect(parent->type == KEY_MAP || parent->type == KEY_LIST ||
		       parent->type == KEY_GROUPS);
		for (const struct policy_key *row = parent; row <= key; row++)
			expect(strncmp(row->path, parent->path, strlen(parent->path)) == 0);
	}
}

static void every_list_has_a_row_for_its_items(void)
{
	for (const struct policy_key *key = policy_keys(); key->path; key++)
		if (key->type == KEY_LIST || key->type == KEY_GROUPS)
			expect(policy_key_child(key, "[]") != NULL);
}

static void steps_through_exactly_the_rows_inside(void)
{
	const struct policy_key *row = NULL, *map = policy_key_find("limits");
	size_t n = 0;

	while ((row = policy_key_next(map, row))) {
		expect(strncmp(row->path, "limits.", 7) == 0);
		n++;
	}
	expect_eq(n, 10);
	for (n = 0; (row = policy_key_next(NULL, row));) {
		expect(!strpbrk(row->path, ".["));
		n++;
	}
	expect(n > 20);
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
	expect(policy_key_child(policy_key_find("env.set"), "[]") == NULL);
	expect(policy_key_child(NULL, "") == NULL);
}

static const struct test tests[] = {
	TEST(every_row_is_found_by_its_own_path),
	TEST(finds_a_row_by_a_path_as_it_is_in_a_file),
	TEST(finds_no_row_for_what_is_not_a_key),
	TEST(every_row_stands_behind_the_map_it_is_in),
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
