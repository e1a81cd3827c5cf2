/* SPDX-License-Identifier: MIT */

/*
 * The first byte selects a key and one of its values, the rest is a configuration file to edit. A
 * successful edit reads back the value, keeps all other keys, and changes nothing when repeated. A
 * failed check is an abort.
 */

#include "base/config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/tree.h"

static void check(bool condition)
{
	if (!condition)
		abort();
}

static const struct config_key *choose(uint8_t byte, const char **ret_value)
{
	const struct config_key *keys = config_keys();
	size_t n_keys = 0, n_choices = 0;

	while (keys[n_keys].name)
		n_keys++;
	if (n_keys == 0)
		abort();
	keys += byte % n_keys;
	while (keys->choices && keys->choices[n_choices])
		n_choices++;
	*ret_value = n_choices > 0 ? keys->choices[byte / n_keys % n_choices] : keys->fallback;
	return keys;
}

static int load(const char *bytes, size_t n_bytes, char *const *environment, struct config **ret,
		struct sbx_error *err)
{
	_cleanup_close_ int fd = memfd_create("config", MFD_CLOEXEC);
	char path[64];
	struct config_sources sources = { .user_path = path, .environment = environment };

	check(fd >= 0 && fd_write_all(fd, bytes, n_bytes) == 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return config_load(&sources, ret, err);
}

static void ignore(const struct sbx_error *err, void *userdata) {}

/* As config_edit() reads it: with mistakes. */
static void read_tree(const char *bytes, size_t n_bytes, struct tree **ret)
{
	struct sbx_error err;

	check(tree_read_all("file", bytes, n_bytes, ignore, NULL, ret, &err) >= 0);
}

static void check_edited(const struct config_key *key, const char *value, const struct text *edited,
			 size_t n_before)
{
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_text_ struct text again = TEXT_INIT;
	const struct tree_node *node;
	size_t n;

	read_tree(edited->data, edited->len, &tree);
	node = tree_get(tree, tree_root(tree), key->name);
	check(node && strcmp(node->text, value) == 0);
	n = tree_root(tree)->n_children;
	check(n == n_before || n == n_before + 1);
	check(config_edit("edited", edited->data, edited->len, key->name, value, &again, NULL) ==
	      0);
	check(again.len == edited->len && memcmp(again.data, edited->data, again.len) == 0);
}

static size_t count_keys(const char *bytes, size_t n_bytes)
{
	_cleanup_tree_ struct tree *tree = NULL;

	read_tree(bytes, n_bytes, &tree);
	return tree_root(tree)->n_children;
}

static void edit(const char *bytes, size_t n_bytes, const struct config_key *key, const char *value)
{
	_cleanup_text_ struct text edited = TEXT_INIT;
	_cleanup_config_ struct config *before = NULL, *after = NULL;
	struct sbx_error err = { .code = 0 };

	if (config_edit("file", bytes, n_bytes, key->name, value, &edited, &err) < 0) {
		check(edited.len == 0 && err.what[0] && err.fix[0]);
		return;
	}
	check_edited(key, value, &edited, count_keys(bytes, n_bytes));
	if (load(bytes, n_bytes, NULL, &before, NULL) < 0)
		return;
	/* A valid configuration is still valid, with the new value. */
	check(load(edited.data, edited.len, NULL, &after, NULL) == 0);
	check(strcmp(config_get(after, key->name).text, value) == 0);
	check(config_get(after, key->name).origin == CONFIG_FROM_USER);
	for (const struct config_key *other = config_keys(); other->name; other++)
		check(other == key || strcmp(config_get(before, other->name).text,
					     config_get(after, other->name).text) == 0);
}

/* The same bytes as an environment variable and as an argument. */
static void use_as_words(const char *bytes, size_t n_bytes)
{
	_cleanup_free_ char *word = strndup(bytes, n_bytes);
	_cleanup_config_ struct config *config = NULL;
	struct sbx_error err = { .code = 0 };
	char *environment[] = { word, NULL };

	check(word != NULL);
	if (load("", 0, environment, &config, &err) < 0)
		check(!config && strncmp(err.what, "SBX_", 4) == 0);
	if (config_check(word, word, &err) < 0)
		check(err.what[0] && err.fix[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	const struct config_key *key;
	const char *value;

	if (n_bytes == 0)
		return 0;
	key = choose(bytes[0], &value);
	edit((const char *)bytes + 1, n_bytes - 1, key, value);
	use_as_words((const char *)bytes + 1, n_bytes - 1);
	return 0;
}
