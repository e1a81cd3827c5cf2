/* SPDX-License-Identifier: MIT */

/*
 * The walk: the tree of the file beside the table of keys
 *
 * Every value meets its row. A row says what may stand there; a setting is kept; and a few rows
 * have a handler, which comes last, when everything inside has been looked at.
 */

#include "policy/load-internal.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"

static void walk(struct loader *loader, const struct load_key *key, const struct tree_node *node);

static const char *child_name(const void *list, size_t i)
{
	const struct policy_key *child = policy_key_next(list, NULL);

	while (child && i-- > 0)
		child = policy_key_next(list, child);
	return child ? policy_key_name(child) : NULL;
}

/* Where else in the table a key of that name stands, or NULL. */
static const struct policy_key *find_elsewhere(const char *name)
{
	for (const struct policy_key *row = policy_keys(); row->path; row++)
		if (strcmp(policy_key_name(row), name) == 0)
			return row;
	return NULL;
}

static void refuse_key(struct loader *loader, const struct policy_key *parent,
		       const struct tree_node *node)
{
	struct suggest_words words = { .word = child_name, .list = parent };
	const struct policy_key *elsewhere = find_elsewhere(node->key);
	const char *meant = suggest(node->key, words), *name;
	_cleanup_text_ struct text list = TEXT_INIT;

	for (size_t i = 0; (name = child_name(parent, i)); i++)
		text_addf(&list, "%s%s", i > 0 ? ", " : "", name);
	load_mistake(loader, node->key_place, "unknown key '%s'", node->key);
	sbx_error_why(&loader->mistake, "the keys %s%s are: %s", parent ? "of " : "at the top",
		      parent ? parent->path : "", text_string(&list));
	if (meant)
		sbx_error_fix(&loader->mistake, "did you mean '%s'?", meant);
	else if (elsewhere)
		sbx_error_fix(&loader->mistake, "'%s' stands at %s", node->key, elsewhere->path);
	else
		sbx_error_fix(&loader->mistake, "remove it");
}

/* Names that the user chooses become part of a setting's path, so they have no '.' and no '['. */
static bool check_free_name(struct loader *loader, const struct tree_node *node)
{
	const char *at = node->key;

	while (isalnum((unsigned char)*at) || *at == '_' || *at == '-')
		at++;
	if (*at == '\0')
		return true;
	load_mistake(loader, node->key_place, "not a name: '%s'", node->key);
	sbx_error_why(&loader->mistake, "it may have letters, digits, '_' and '-'");
	sbx_error_fix(&loader->mistake, "choose another name");
	return false;
}

static void check_required(struct loader *loader, const struct load_key *map,
			   const struct tree_node *node)
{
	const struct load_key *key = NULL;

	while (map->needs_keys && (key = load_next_key(loader, map, key))) {
		if (!(key->row->flags & KEY_REQUIRED) || tree_get(loader->tree, node, key->name))
			continue;
		load_mistake(loader, node->place, "'%s' is missing", key->name);
		sbx_error_why(&loader->mistake, "%s needs it: %s", map->row->help, key->row->help);
		sbx_error_fix(&loader->mistake, "add '%s:' here", key->name);
	}
}

static void walk_map(struct loader *loader, const struct load_key *map,
		     const struct tree_node *node)
{
	size_t len = loader->path.len;

	for (const struct tree_node *child = node->first; child; child = child->next) {
		const struct load_key *key =
			child->key[0] == '[' ? NULL : load_find_key(loader, map, child->key);

		if (!key) {
			refuse_key(loader, map->row, child);
			continue;
		}
		if (key->name[0] == '*' && !check_free_name(loader, child))
			continue;
		if (len > 0)
			text_add_char(&loader->path, '.');
		text_add(&loader->path, child->key);
		walk(loader, key, child);
		text_truncate(&loader->path, len);
	}
	check_required(loader, map, node);
}

/* "[12]"; there may be a hundred thousand of them, and printf is slow. */
static void add_item_number(struct text *path, size_t number)
{
	char digits[24];
	size_t at = sizeof(digits);

	digits[--at] = ']';
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	digits[--at] = '[';
	text_add_bytes(path, digits + at, sizeof(digits) - at);
}

static void walk_list(struct loader *loader, const struct load_key *list,
		      const struct tree_node *node)
{
	const struct load_key *key = load_find_key(loader, list, "[]");
	size_t len = loader->path.len, i = 0;

	if (key->makes_rule &&
	    !load_reserve_rows(loader, &loader->rules, sizeof(struct rule), node->n_children))
		return;
	for (const struct tree_node *child = node->first; child; child = child->next) {
		add_item_number(&loader->path, i++);
		walk(loader, key, child);
		text_truncate(&loader->path, len);
	}
}

/* A manifest's framework reads an empty property as its default, as if it were absent. */
static bool is_default(const struct policy_key *row, const struct tree_node *node)
{
	return (row->flags & KEY_QUOTED) && node->type == TREE_STRING && node->text_len == 0;
}

static void walk(struct loader *loader, const struct load_key *key, const struct tree_node *node)
{
	const struct policy_key *row = key->row;
	bool is_open = row->type == KEY_MAP || row->type == KEY_LIST || row->type == KEY_GROUPS;
	size_t n_mistakes = loader->n_mistakes;
	uint64_t number = 0;

	if (row->type == KEY_ANYTHING || (loader->only_first && n_mistakes > 0) ||
	    is_default(row, node))
		return;
	if (is_open && !load_check_shape(loader, row, node))
		return;
	if (!is_open)
		load_check_value(loader, row, node, &number);
	if ((row->flags & KEY_SETTING) && loader->n_mistakes == n_mistakes)
		load_add_setting(loader, node, is_open ? node->n_children : number);
	if (is_open && node->type == TREE_MAP)
		walk_map(loader, key, node);
	else if (is_open)
		walk_list(loader, key, node);
	if (key->handler)
		key->handler(loader, node);
}

void load_walk(struct loader *loader, const struct tree_node *root)
{
	if (root->type == TREE_NULL)
		return;
	if (root->type != TREE_MAP) {
		load_mistake(loader, root->place, "a policy must be a map");
		sbx_error_why(&loader->mistake, "this is %s", tree_type_name(root->type));
		sbx_error_fix(&loader->mistake, "begin with keys: capabilities, defaults, limits");
		return;
	}
	walk_map(loader, &loader->keys[LOAD_KEY_TOP], root);
}
