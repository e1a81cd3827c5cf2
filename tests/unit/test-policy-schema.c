/* SPDX-License-Identifier: MIT */
#include <sbx/error.h>

#include "base/json.h"
#include "base/text.h"
#include "base/tree.h"
#include "policy-rig.h"
#include "policy-seeds.h"
#include "policy/keys.h"
#include "policy/model.h"
#include "test.h"

static struct tree *read_schema(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct tree *tree = NULL;
	struct sbx_error err = { .code = 0 };

	policy_add_schema(&text);
	expect_eq(text_status(&text), 0);
	rig_must(json_validate(text.data, text.len, NULL, NULL), &err);
	rig_must(tree_read("schema", text.data, text.len, &tree, &err), &err);
	return tree;
}

static const struct tree_node *get(const struct tree_node *map, const char *key)
{
	const struct tree_node *child = map && map->type == TREE_MAP ? map->first : NULL;

	while (child && strcmp(child->key, key) != 0)
		child = child->next;
	return child;
}

/* The schema of @step inside @schema: a property, the items of a list, or any property ("*"). */
static const struct tree_node *inside(const struct tree_node *schema, const char *step)
{
	const struct tree_node *found = NULL, *any = get(schema, "anyOf");

	if (strcmp(step, "[]") == 0)
		found = get(schema, "items");
	else if (strcmp(step, "*") == 0)
		found = get(schema, "additionalProperties");
	else
		found = get(get(schema, "properties"), step);
	for (const struct tree_node *one = any ? any->first : NULL; one && !found; one = one->next)
		found = inside(one, step);
	return found;
}

/* The schema at a path of the table. */
static const struct tree_node *find(const struct tree *tree, const char *path)
{
	const struct tree_node *schema = tree_root(tree);

	while (*path && schema) {
		size_t len = *path == '[' ? 2 : strcspn(path, ".[");
		char step[64];

		(void)snprintf(step, sizeof(step), "%.*s", (int)len, path);
		schema = inside(schema, step);
		path += len;
		path += *path == '.';
	}
	return schema;
}

static void every_key_of_the_table_is_in_it_with_its_help(void)
{
	_cleanup_tree_ struct tree *tree = read_schema();

	for (const struct policy_key *key = policy_keys(); key->path; key++) {
		const struct tree_node *schema = find(tree, key->path);

		expect(schema && get(schema, "description"));
		if (schema)
			expect_str(get(schema, "description")->text, key->help);
		else
			printf("# no schema for %s\n", key->path);
	}
}

static void required_keys_are_required(void)
{
	_cleanup_tree_ struct tree *tree = read_schema();
	const struct tree_node *required = get(find(tree, "capabilities[]"), "required");

	expect(required && required->n_children == 3);
	expect_str(required->first->text, "name");
	expect(!get(tree_root(tree), "required"));
}

static void names_its_version_of_json_schema(void)
{
	_cleanup_tree_ struct tree *tree = read_schema();

	expect_str(get(tree_root(tree), "$schema")->text,
		   "https://json-schema.org/draft/2020-12/schema");
}

static void choices_are_enumerated(void)
{
	_cleanup_tree_ struct tree *tree = read_schema();
	const struct tree_node *any = get(find(tree, "capabilities[].action"), "anyOf");
	const struct tree_node *words = any ? get(any->first, "enum") : NULL;

	expect(words && words->n_children == 5);
	if (words)
		expect_str(words->first->text, "allow");
}

static bool fits(const struct tree_node *schema, const struct tree_node *value);

static const char *const type_names[] = {
	[TREE_NULL] = "null",	  [TREE_BOOL] = "boolean", [TREE_NUMBER] = "number",
	[TREE_STRING] = "string", [TREE_LIST] = "array",   [TREE_MAP] = "object",
};

static bool fits_type(const struct tree_node *type, const struct tree_node *value)
{
	return !type || strcmp(type->text, type_names[value->type]) == 0 ||
	       (strcmp(type->text, "integer") == 0 && value->type == TREE_NUMBER);
}

static bool fits_members(const struct tree_node *schema, const struct tree_node *value)
{
	const struct tree_node *required = get(schema, "required");
	const struct tree_node *more = get(schema, "additionalProperties");

	for (const struct tree_node *name = required ? required->first : NULL; name;
	     name = name->next)
		if (!get(value, name->text))
			return false;
	for (const struct tree_node *child = value->first; child; child = child->next) {
		const struct tree_node *known = get(get(schema, "properties"), child->key);

		if (!known && (!more || more->type != TREE_MAP))
			return false;
		if (!fits(known ? known : more, child))
			return false;
	}
	return true;
}

static bool fits_any(const struct tree_node *list, const struct tree_node *value)
{
	for (const struct tree_node *one = list->first; one; one = one->next)
		if (fits(one, value))
			return true;
	return false;
}

static bool is_one_of(const struct tree_node *list, const struct tree_node *value)
{
	for (const struct tree_node *one = list->first; one; one = one->next)
		if (one->type == value->type && strcmp(one->text, value->text) == 0)
			return true;
	return false;
}

/* The part of JSON Schema about types and places. */
static bool fits(const struct tree_node *schema, const struct tree_node *value)
{
	const struct tree_node *items = get(schema, "items");
	const struct tree_node *any = get(schema, "anyOf");
	const struct tree_node *words = get(schema, "enum");

	if (schema->type == TREE_BOOL)
		return strcmp(schema->text, "true") == 0;
	if (!fits_type(get(schema, "type"), value) || (any && !fits_any(any, value)) ||
	    (words && !is_one_of(words, value)))
		return false;
	if (value->type == TREE_MAP && get(schema, "additionalProperties"))
		return fits_members(schema, value);
	for (const struct tree_node *item = value->first; items && item; item = item->next)
		if (!fits(items, item))
			return false;
	return true;
}

static bool text_fits(const char *text)
{
	_cleanup_tree_ struct tree *tree = read_schema(), *value = NULL;
	struct sbx_error err = { .code = 0 };

	rig_must(tree_read("p.yaml", text, strlen(text), &value, &err), &err);
	return fits(tree_root(tree), tree_root(value));
}

static void the_seeds_policies_fit(void)
{
	expect(text_fits(seed_buntime) && text_fits(seed_fluffy));
	expect(text_fits(seed_manifest) && text_fits(seed_manifest_short));
	expect(text_fits(seed_rest));
}

static void a_key_in_the_wrong_place_does_not_fit(void)
{
	expect(!text_fits("x: 1\n"));
	expect(!text_fits("limits: {memroy: 1}\n"));
	expect(!text_fits("capabilities: {}\n"));
	expect(!text_fits("capabilities: [{name: a, match: {op: exec}}]\n"));
	expect(!text_fits("capabilities: [{name: a, match: {op: exec}, action: maybe}]\n"));
	expect(!text_fits("network_whitelist: {g: a.b}\n"));
	expect(!text_fits("plugins: {landlock: 1}\n"));
}

static const struct test tests[] = {
	TEST(every_key_of_the_table_is_in_it_with_its_help),
	TEST(required_keys_are_required),
	TEST(names_its_version_of_json_schema),
	TEST(choices_are_enumerated),
	TEST(the_seeds_policies_fit),
	TEST(a_key_in_the_wrong_place_does_not_fit),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
