/* SPDX-License-Identifier: MIT */

/*
 * The table of keys as a tree, for the walk
 *
 * The table is written for people: a path a row. The walk asks for children, names and handlers at
 * every value of the text, so what follows from the paths is found out once for a text, in one pass
 * over the table.
 */

#include "policy/load-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *path;
	load_handler_fn *run;
	bool makes_rule;
} handlers[] = {
	{ "version", load_version, false },
	{ "capabilities[]", load_capability, true },
	{ "network_whitelist", load_whitelist, false },
	{ "defaults", load_defaults, false },
	{ "fs.rules[]", load_fs_rule, true },
	{ "net.rules[]", load_net_rule, true },
	{ "exec.rules[]", load_exec_rule, true },
	{ "extensions[]", load_extension, false },
	{ "sandbox", load_manifest, false },
	{ "security.sandbox", load_manifest, false },
};

static bool is_in(const char *path, const char *map)
{
	size_t len = strlen(map);

	return strncmp(path, map, len) == 0 && (path[len] == '.' || path[len] == '[');
}

static void find_handler(const char *path, struct load_key *key)
{
	for (size_t i = 0; i < N_ELEMENTS(handlers); i++)
		if (strcmp(handlers[i].path, path) == 0) {
			key->handler = handlers[i].run;
			key->makes_rule = handlers[i].makes_rule;
		}
}

/* A map stands before what is in it: so it is the row before, or one of those around that. */
static uint16_t find_map(const struct load_key *keys, uint16_t at)
{
	uint16_t map = (uint16_t)(at - 1);

	while (map != LOAD_KEY_TOP && !is_in(keys[at].row->path, keys[map].row->path))
		map = keys[map].map;
	return map;
}

bool load_read_keys(struct loader *loader)
{
	const struct policy_key *table = policy_keys();
	uint16_t n = 1;

	while (table[n - 1].path)
		n++;
	loader->keys = calloc(n, sizeof(*loader->keys));
	if (!loader->keys)
		return false;
	for (uint16_t at = 1; at < n; at++) {
		struct load_key *key = &loader->keys[at];

		key->row = &table[at - 1];
		key->name = policy_key_name(key->row);
		key->map = find_map(loader->keys, at);
		find_handler(key->row->path, key);
		loader->keys[key->map].needs_keys |= (key->row->flags & KEY_REQUIRED) != 0;
	}
	while (--n > 0) {
		loader->keys[n].next = loader->keys[loader->keys[n].map].first;
		loader->keys[loader->keys[n].map].first = n;
	}
	return true;
}

const struct load_key *load_find_key(const struct loader *loader, const struct load_key *map,
				     const char *name)
{
	const struct load_key *key = load_next_key(loader, map, NULL);

	while (key && strcmp(key->name, name) != 0 && (strcmp(key->name, "*") != 0 || *name == '['))
		key = load_next_key(loader, map, key);
	return key;
}

const struct load_key *load_next_key(const struct loader *loader, const struct load_key *map,
				     const struct load_key *last)
{
	uint16_t at = last ? last->next : map->first;

	return at ? &loader->keys[at] : NULL;
}
