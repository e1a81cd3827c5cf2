/* SPDX-License-Identifier: MIT */
#include "policy/keys.h"

#include "test.h"

/* The row of which @key is a child; it must be a map, a list or groups. */
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

static void every_row_follows_its_map(void)
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
	const struct policy_key *row = NULL, *map = policy_key_child(NULL, "limits");
	size_t n = 0;

	while ((row = policy_key_next(map, row))) {
		expect(strncmp(row->path, "limits.", 7) == 0);
		n++;
	}
	expect(n > 5);
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
	expect(policy_key_child(policy_key_child(policy_key_child(NULL, "env"), "set"), "[]") ==
	       NULL);
	expect(policy_key_child(NULL, "") == NULL);
}

static const struct test tests[] = {
	TEST(every_row_follows_its_map),
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
