/* SPDX-License-Identifier: MIT */

/*
 * Conditions
 *
 * The keys of a condition are columns of a table: which list of the model they fill, and whether
 * their texts are literal. Two keys for one list in one condition are a mistake: "all keys must
 * hold", and a list says "any".
 */

#include "policy/load-internal.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/network.h"

static const struct column {
	const char *name;
	enum match_key key;
	bool literal;
} columns[] = {
	{ "path_glob", MATCH_PATH, false }, { "path", MATCH_PATH, true },
	{ "host", MATCH_HOST, false },	    { "cidr", MATCH_CIDR, false },
	{ "ports", MATCH_PORT, false },	    { "proto", MATCH_PROTO, false },
	{ "caller", MATCH_CALLER, false },  { "caller_tag", MATCH_TAG, false },
	{ "state", MATCH_STATE, false },    { "state_machine_state", MATCH_STATE, false },
	{ "mode", MATCH_MODE, false },
};

/* The rights that the kernel tells apart, as operations. */
static const struct permission {
	const char *name;
	const char *operations[2];
} permissions[] = {
	{ "read_file", { "fs.read", "fs.exists" } },
	{ "write_file", { "fs.write" } },
	{ "execute", { "exec" } },
	{ "read_dir", { "fs.list" } },
	{ "write_dir", { "fs.write" } },
	{ "remove_dir", { "fs.write" } },
	{ "remove_file", { "fs.write" } },
	{ "make_char", { "fs.write" } },
	{ "make_dir", { "fs.write" } },
	{ "make_reg", { "fs.write" } },
	{ "make_sock", { "fs.write" } },
	{ "make_fifo", { "fs.write" } },
	{ "make_block", { "fs.write" } },
	{ "make_sym", { "fs.write" } },
};

static uint64_t permission_set(const char *name)
{
	uint64_t set = 0;

	for (size_t i = 0; i < N_ELEMENTS(permissions); i++)
		if (strcmp(permissions[i].name, name) == 0)
			for (size_t k = 0; k < 2 && permissions[i].operations[k]; k++)
				set |= operation_set(permissions[i].operations[k]);
	return set;
}

uint64_t load_all_file_operations(void)
{
	return permission_set("read_file") | permission_set("write_file") |
	       permission_set("read_dir");
}

static const struct {
	const char *name;
	uint64_t (*set)(const char *name);
} operation_keys[] = {
	{ "syscall", operation_set },
	{ "operation", operation_set },
	{ "op", operation_set },
	{ "perms", permission_set },
};

/* The items of a list, or the one value itself. */
static const struct tree_node *first_of(const struct tree_node *node)
{
	return node->type == TREE_LIST ? node->first : node;
}

static const struct tree_node *next_of(const struct tree_node *node, const struct tree_node *item)
{
	return node->type == TREE_LIST ? item->next : NULL;
}

static void add_operations(struct loader *loader, const struct tree_node *node, size_t kind,
			   struct condition *ret)
{
	const struct tree_node *item = first_of(node);
	uint64_t set = 0;

	if (ret->operations != 0) {
		load_mistake(loader, node->key_place, "'%s' is a second key for operations",
			     node->key);
		sbx_error_why(&loader->mistake, "syscall, operation, op and perms say the same");
		sbx_error_fix(&loader->mistake, "keep one of them");
		return;
	}
	if (!item) {
		load_mistake(loader, node->place, "'%s' is an empty list", node->key);
		sbx_error_why(&loader->mistake, "the condition would be about no operation");
		sbx_error_fix(&loader->mistake, "write the operations, or remove the rule");
		return;
	}
	for (; item; item = next_of(node, item))
		set |= operation_keys[kind].set(item->text);
	ret->operations = set;
}

static size_t count_values(const struct tree_node *node, bool ports)
{
	size_t n = 0;

	for (const struct tree_node *item = first_of(node); item; item = next_of(node, item)) {
		n++;
		for (const char *at = item->text; ports && (at = strchr(at, ',')); at++)
			n++;
	}
	return n;
}

/* Hosts are compared without regard to case; so they are kept in one. */
static const char *copy_value(struct loader *loader, enum match_key key, const char *text,
			      size_t len)
{
	char *copy = arena_copy(&loader->policy->arena, text, len);

	loader->no_memory |= !copy;
	for (char *at = copy; key == MATCH_HOST && at && *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return copy;
}

static struct match_value *add_ports(struct loader *loader, const struct tree_node *item,
				     struct match_value *value)
{
	const char *at = item->text, *port;
	size_t len;

	while (network_next_port(&at, &port, &len)) {
		value->text = copy_value(loader, MATCH_PORT, port, len);
		value++->place.at = item->place;
	}
	return value;
}

void load_list(struct loader *loader, const struct tree_node *node, enum match_key key,
	       bool literal, struct condition *ret)
{
	struct match_list *list = &ret->lists[key];
	size_t n = count_values(node, key == MATCH_PORT);
	struct match_value *values, *value;

	if (list->present) {
		load_mistake(loader, node->key_place, "'%s' is a second key for the same",
			     node->key);
		sbx_error_why(&loader->mistake, "line %u has one, and only one list can count",
			      list->place.at.line);
		sbx_error_fix(&loader->mistake, "put all values under one of the two");
		return;
	}
	value = values = load_alloc(loader, n * sizeof(*values));
	if (!values)
		return;
	for (const struct tree_node *item = first_of(node); item; item = next_of(node, item)) {
		if (key == MATCH_PORT) {
			value = add_ports(loader, item, value);
			continue;
		}
		value->text = copy_value(loader, key, item->text, item->text_len);
		value->literal = literal;
		value++->place.at = item->place;
	}
	*list = (struct match_list){
		.present = true, .values = values, .n_values = n, .place.at = node->key_place
	};
}

void load_condition(struct loader *loader, const struct tree_node *map, struct condition *ret)
{
	ret->place.at = map->place;
	for (const struct tree_node *node = map->first; node; node = node->next) {
		for (size_t i = 0; i < N_ELEMENTS(operation_keys); i++)
			if (strcmp(node->key, operation_keys[i].name) == 0)
				add_operations(loader, node, i, ret);
		for (size_t i = 0; i < N_ELEMENTS(columns); i++)
			if (strcmp(node->key, columns[i].name) == 0)
				load_list(loader, node, columns[i].key, columns[i].literal, ret);
	}
}

void load_set_value(struct loader *loader, struct condition *condition, enum match_key key,
		    const char *text, bool literal, struct tree_place place)
{
	struct match_value *value = load_alloc(loader, sizeof(*value));

	if (!value)
		return;
	value->text = copy_value(loader, key, text, strlen(text));
	value->literal = literal;
	value->place.at = place;
	condition->lists[key] = (struct match_list){
		.present = true, .values = value, .n_values = 1, .place.at = place
	};
}
