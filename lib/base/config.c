/* SPDX-License-Identifier: MIT */

/*
 * Configuration: one table of keys, and layers that are read from the weakest to the strongest
 *
 * Each layer overwrites the values of the previous one, so the order of the calls in config_load()
 * is the order of precedence. A value is checked when it is read, even if a stronger layer
 * overrides it: otherwise a mistake would appear only when the other file is removed.
 */

#include "base/config-internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "base/tree.h"

#define VARIABLE_PREFIX "SBX_"
#define NAME_SIZE 64

struct config {
	struct arena arena;	      /* values and places */
	struct config_value values[]; /* in the order of the table */
};

/* Prepends the place to the message. */
static int at_place(const char *place, int code, struct sbx_error *err)
{
	return error_retell(err, code, "%s: %s", place, err ? err->what : "");
}

static int store(struct config *config, const struct config_key *key, const char *value,
		 enum config_origin origin, const char *place, struct sbx_error *err)
{
	struct config_value stored = {
		.text = arena_copy(&config->arena, value, strlen(value)),
		.origin = origin,
		.place = arena_copy(&config->arena, place, strlen(place)),
	};

	if (!stored.text || !stored.place)
		return sbx_error_what(err, -ENOMEM, "no memory for the configuration");
	config->values[key - config_keys()] = stored;
	return 0;
}

static int no_word(const struct tree *tree, const struct tree_node *node,
		   const struct config_key *key, struct sbx_error *err)
{
	tree_wrong_type(tree, node, TREE_STRING, err);
	sbx_error_fix(err, "write '%s: %s', or remove the line", key->name, key->fallback);
	return -EINVAL;
}

static int load_node(struct config *config, const struct tree *tree, const struct tree_node *node,
		     enum config_origin origin, struct sbx_error *err)
{
	const struct config_key *key = config_find_key(node->key);
	struct tree_place at = key ? node->place : node->key_place;
	_cleanup_text_ struct text place = TEXT_INIT;
	int r;

	if (key && (node->type == TREE_NULL || node->type == TREE_LIST || node->type == TREE_MAP))
		return no_word(tree, node, key, err);
	r = config_check(node->key, node->text, err);
	if (r < 0) {
		text_addf(&place, "%s:%u:%u", tree_name(tree), at.line, at.column);
		return at_place(text_string(&place), r, err);
	}
	text_addf(&place, "%s:%u", tree_name(tree), at.line);
	return store(config, key, node->text, origin, text_string(&place), err);
}

static int load_file(struct config *config, const char *path, enum config_origin origin,
		     struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_free_ char *bytes = NULL;
	const struct tree_node *root;
	size_t n_bytes;
	int r = path ? config_read(path, origin, &bytes, &n_bytes, err) : 0;

	if (r < 0 || !bytes)
		return r;
	r = tree_read(path, bytes, n_bytes, &tree, err);
	if (r < 0)
		return r;
	root = tree_root(tree);
	if (root->type != TREE_MAP && root->type != TREE_NULL)
		return tree_wrong_type(tree, root, TREE_MAP, err);
	for (const struct tree_node *node = root->first; node; node = node->next) {
		r = load_node(config, tree, node, origin, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* "log_level" and "debug" from "SBX_LOG_LEVEL=debug"; NULL unless it begins with SBX_. */
static const char *split_variable(const char *entry, char ret_name[NAME_SIZE])
{
	const char *equals = strchr(entry, '=');
	size_t start = strlen(VARIABLE_PREFIX), len;

	if (!equals || strncmp(entry, VARIABLE_PREFIX, start) != 0)
		return NULL;
	len = (size_t)(equals - entry) - start;
	if (len >= NAME_SIZE)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		char c = entry[start + i];

		if (c >= 'a' && c <= 'z')
			return NULL;
		ret_name[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	ret_name[len] = '\0';
	return equals + 1;
}

static int load_variable(struct config *config, const char *entry, struct sbx_error *err)
{
	char name[NAME_SIZE], place[NAME_SIZE + sizeof(VARIABLE_PREFIX)];
	const struct config_key *key;
	const char *value = split_variable(entry, name);
	int r;

	if (!value)
		return 0;
	key = config_find_key(name);
	/* Other programs use the prefix SBX_, too, so unknown variables are ignored. */
	if (*value == '\0' || (!key && !config_is_security_variable(name)))
		return 0;
	(void)snprintf(place, sizeof(place), "%.*s", (int)(value - entry - 1), entry);
	r = config_check(name, value, err);
	if (r < 0) {
		if (!key)
			sbx_error_fix(err, "unset %s; it belongs in the policy file", place);
		return at_place(place, r, err);
	}
	/* The first of two entries counts, as for getenv(). */
	if (config->values[key - config_keys()].origin == CONFIG_FROM_ENVIRONMENT)
		return 0;
	return store(config, key, value, CONFIG_FROM_ENVIRONMENT, place, err);
}

static int load_environment(struct config *config, char *const *environment, struct sbx_error *err)
{
	for (char *const *entry = environment; entry && *entry; entry++) {
		int r = load_variable(config, *entry, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static struct config *config_new(void)
{
	const struct config_key *keys = config_keys();
	struct config *config;
	size_t n_keys = 0;

	while (keys[n_keys].name)
		n_keys++;
	config = calloc(1, sizeof(*config) + n_keys * sizeof(config->values[0]));
	for (size_t i = 0; config && i < n_keys; i++)
		config->values[i] =
			(struct config_value){ keys[i].fallback, CONFIG_FROM_DEFAULT, "built in" };
	return config;
}

/* Overrides log_level in every layer; the arguments' too, which is up to the caller. */
static int load_debug(struct config *config, char *const *environment, struct sbx_error *err)
{
	static const char name[] = CONFIG_DEBUG_VARIABLE "=";

	for (char *const *entry = environment; entry && *entry; entry++)
		if (strncmp(*entry, name, strlen(name)) == 0)
			return (*entry)[strlen(name)] == '\0'
				       ? 0
				       : store(config, config_find_key("log_level"), "debug",
					       CONFIG_FROM_ENVIRONMENT, CONFIG_DEBUG_VARIABLE, err);
	return 0;
}

int config_load(const struct config_sources *sources, struct config **ret, struct sbx_error *err)
{
	_cleanup_config_ struct config *config = config_new();
	const struct {
		const char *path;
		enum config_origin origin;
	} layers[] = {
		{ sources->system_path, CONFIG_FROM_SYSTEM },
		{ sources->user_path, CONFIG_FROM_USER },
		{ sources->project_path, CONFIG_FROM_PROJECT },
	};
	int r;

	if (!config)
		return sbx_error_what(err, -ENOMEM, "no memory for the configuration");
	for (size_t i = 0; i < N_ELEMENTS(layers); i++) {
		r = load_file(config, layers[i].path, layers[i].origin, err);
		if (r < 0)
			return r;
	}
	r = load_environment(config, sources->environment, err);
	if (r >= 0)
		r = load_debug(config, sources->environment, err);
	if (r < 0)
		return r;
	*ret = take_ptr(config);
	return 0;
}

int config_set(struct config *config, const char *name, const char *value, const char *place,
	       struct sbx_error *err)
{
	int r = config_check(name, value, err);

	if (r < 0)
		return r;
	return store(config, config_find_key(name), value, CONFIG_FROM_ARGUMENT, place, err);
}

struct config *config_free(struct config *config)
{
	if (!config)
		return NULL;
	arena_deinit(&config->arena);
	free(config);
	return NULL;
}

struct config_value config_get(const struct config *config, const char *name)
{
	const struct config_key *key = config_find_key(name);

	assert(key);
	return config->values[key - config_keys()];
}

static const char *const origin_names[] = {
	[CONFIG_FROM_DEFAULT] = "default",
	[CONFIG_FROM_SYSTEM] = "system",
	[CONFIG_FROM_USER] = "user",
	[CONFIG_FROM_PROJECT] = "project",
	[CONFIG_FROM_ENVIRONMENT] = "environment",
	[CONFIG_FROM_ARGUMENT] = "argument",
};

const char *config_origin_name(enum config_origin origin)
{
	return origin_names[origin];
}
