/* SPDX-License-Identifier: MIT */

/*
 * Text → model
 *
 * 1 The text becomes a tree (base/tree), which refuses a text that is neither YAML nor JSON.
 * 2 The walk compares the tree with the table of keys: every value is checked by its row's type,
 *   settings are stored, and the handlers of a few rows are called after everything in the row has
 * been checked. This collects the rules and settings. 3 Checks that need the whole file: two rules
 * of one name, a setting that occurs twice, a dialect without its version. 4 The rules' own
 * examples are checked, with the same evaluator that later decides by the policy.
 */

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "policy/artefact.h"
#include "policy/load-internal.h"
#include "policy/model.h"
#include "policy/view.h"

static void report_mistake(struct loader *loader)
{
	if (loader->has_mistake)
		loader->report(&loader->mistake, loader->userdata);
	loader->has_mistake = false;
}

void load_mistake(struct loader *loader, struct tree_place place, const char *why, const char *fix,
		  const char *format, ...)
{
	char text[SBX_ERROR_TEXT_SIZE];
	va_list args;

	report_mistake(loader);
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)tree_error(loader->tree, place, &loader->mistake, "%s", text);
	sbx_error_why(&loader->mistake, "%s", why ? why : "");
	sbx_error_fix(&loader->mistake, "%s", fix ? fix : "");
	loader->has_mistake = true;
	loader->n_mistakes++;
}

void load_mistake_of(struct loader *loader, struct tree_place place, const struct sbx_error *err)
{
	load_mistake(loader, place, err->why, err->fix, "%s", err->what);
}

void *load_add_row(struct loader *loader, struct arena_rows *rows, size_t row_size)
{
	void *row = arena_add_row(&loader->policy->arena, rows, row_size);

	loader->no_memory |= !row;
	return row;
}

void *load_alloc(struct loader *loader, size_t n_bytes)
{
	void *memory = arena_alloc(&loader->policy->arena, n_bytes);

	loader->no_memory |= !memory;
	return memory;
}

const char *load_copy(struct loader *loader, const char *text)
{
	const char *copy = arena_copy(&loader->policy->arena, text, strlen(text));

	loader->no_memory |= !copy;
	return copy;
}

/*
 * Settings: values that are not rules, stored by path. A value that has two names in the dialects
 * is stored under one of them; a file with both is a mistake, because only one could count.
 */

static const struct {
	const char *from;
	const char *to;
} aliases[] = {
	{ "antiEscape.denySyscalls", "denySyscalls" },
	{ "security.sandbox", "sandbox" },
};

static const char *own_path(struct loader *loader, const char *path)
{
	_cleanup_text_ struct text own = TEXT_INIT;

	for (size_t i = 0; i < N_ELEMENTS(aliases); i++) {
		size_t len = strlen(aliases[i].from);

		if (strncmp(path, aliases[i].from, len) == 0 && strchr(".[", path[len])) {
			text_addf(&own, "%s%s", aliases[i].to, path + len);
			return load_copy(loader, text_string(&own));
		}
	}
	return load_copy(loader, path);
}

void load_add_setting_at(struct loader *loader, const char *path, enum tree_type type,
			 const char *text, uint64_t number, struct tree_place place)
{
	struct setting *setting = load_add_row(loader, &loader->settings, sizeof(*setting));

	if (!setting)
		return;
	setting->path = own_path(loader, path);
	setting->type = type;
	setting->text = load_copy(loader, text);
	setting->number = number;
	setting->place.at = place;
}

static void add_setting(struct loader *loader, const struct tree_node *node, uint64_t number)
{
	enum tree_type type = node->type == TREE_NULL ? TREE_STRING : node->type;

	load_add_setting_at(loader, text_string(&loader->path), type, load_word(node), number,
			    node->place);
}

static int compare_places(struct tree_place a, struct tree_place b)
{
	if (a.line != b.line)
		return a.line < b.line ? -1 : 1;
	return a.column < b.column ? -1 : a.column > b.column;
}

static int compare_settings(const void *a, const void *b)
{
	const struct setting *one = a, *other = b;
	int order = policy_compare_paths(one->path, other->path);

	return order != 0 ? order : compare_places(one->place.at, other->place.at);
}

static void finish_settings(struct loader *loader)
{
	struct setting *settings = loader->settings.rows;
	size_t n = loader->settings.n_rows;

	if (loader->no_memory || n == 0)
		return;
	qsort(settings, n, sizeof(*settings), compare_settings);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(settings[i].path, settings[i - 1].path) != 0)
			continue;
		load_mistake(loader, settings[i].place.at, NULL, "keep one of the two",
			     "'%s' is given twice", settings[i].path);
		sbx_error_why(&loader->mistake,
			      "line %u gives it, too, possibly under another name",
			      settings[i - 1].place.at.line);
	}
}

/* The name of a secret is that of a file. */
static void check_secret_name(struct loader *loader, const struct setting *secret, const char *name)
{
	if (strlen(name) <= NAME_MAX)
		return;
	load_mistake(loader, secret->place.at, NULL, "shorten it",
		     "'env.secrets' has a name that is longer than %d bytes", NAME_MAX);
	sbx_error_why(&loader->mistake, "a file in " VIEW_SECRETS " gets this name, which has %zu",
		      strlen(name));
}

/* Only one of a value and the path of a secret's copy can be in a variable. */
static void check_secrets(struct loader *loader)
{
	const struct policy *policy = loader->policy;

	for (size_t i = 0; i < policy->n_settings; i++) {
		const char *name = setting_below(&policy->settings[i], "env.secrets.");
		_cleanup_text_ struct text path = TEXT_INIT;
		const struct setting *value;

		if (name)
			check_secret_name(loader, &policy->settings[i], name);
		text_addf(&path, "env.set.%s", name ? name : "");
		value = name ? policy_get_setting(policy, text_string(&path)) : NULL;
		if (!value)
			continue;
		load_mistake(loader, policy->settings[i].place.at, NULL, "keep one of the two",
			     "'%s' sets a variable that 'env.set' sets, too",
			     policy->settings[i].path);
		sbx_error_why(&loader->mistake, "line %u gives it a value", value->place.at.line);
	}
}

#define NEWEST_VERSION "1"

static void load_version(struct loader *loader, const struct tree_node *node)
{
	if (node->type != TREE_NUMBER || strcmp(node->text, NEWEST_VERSION) == 0)
		return;
	load_mistake(loader, node->place, "this program reads version " NEWEST_VERSION,
		     "write 'version: " NEWEST_VERSION "'", "unknown version '%s'", node->text);
}

static void load_view(struct loader *loader, const struct tree_node *node)
{
	view_set(loader->policy, load_word(node));
}

static void load_defaults(struct loader *loader, const struct tree_node *node)
{
	for (int i = 0; i < N_CLASSES; i++) {
		const char *name = operation_class_name((enum operation_class)i);
		const struct tree_node *action = load_get(loader, node, name, TREE_STRING);

		if (action)
			loader->policy->says_default[i] =
				policy_action_find(action->text, &loader->policy->defaults[i]);
	}
}

static const struct {
	const char *path;
	load_handler_fn *run;
	bool makes_rule;
} handlers[] = {
	{ "version", load_version, false },
	{ "view", load_view, false },
	{ "capabilities[]", load_capability, true },
	{ "network_whitelist", load_whitelist, false },
	{ "defaults", load_defaults, false },
	{ "fs.rules[]", load_rule, true },
	{ "net.rules[]", load_rule, true },
	{ "net.allowed_hosts", load_allowed_hosts, false },
	{ "exec.rules[]", load_rule, true },
	{ "extensions[]", load_extension, false },
	{ "sandbox", load_manifest, false },
	{ "security.sandbox", load_manifest, false },
};

/* The number of a handler, from 1 on, is kept in its key's node. */
static bool read_keys(struct loader *loader)
{
	loader->keys = policy_key_tree();
	for (size_t i = 0; loader->keys && i < N_ELEMENTS(handlers); i++)
		for (struct policy_key_node *key = loader->keys + 1; key->row; key++)
			if (strcmp(handlers[i].path, key->row->path) == 0)
				key->use = (uint8_t)(i + 1);
	return loader->keys;
}

/* ---- the walk ---- */

static void walk(struct loader *loader, const struct policy_key_node *key,
		 const struct tree_node *node);

struct level {
	const struct policy_key_node *keys;
	const struct policy_key_node *map;
};

static const char *child_name(const void *list, size_t i)
{
	const struct level *level = list;
	const struct policy_key_node *key = policy_key_next(level->keys, level->map, NULL);

	while (key && i-- > 0)
		key = policy_key_next(level->keys, level->map, key);
	return key ? key->name : NULL;
}

/* A row with this name anywhere in the table, or NULL. */
static const struct policy_key *find_elsewhere(const char *name)
{
	for (const struct policy_key *row = policy_keys(); row->path; row++)
		if (strcmp(policy_key_name(row), name) == 0)
			return row;
	return NULL;
}

static void refuse_key(struct loader *loader, const struct policy_key_node *map,
		       const struct tree_node *node)
{
	const struct level level = { loader->keys, map };
	struct suggest_words words = { .word = child_name, .list = &level };
	const struct policy_key *elsewhere = find_elsewhere(node->key);
	_cleanup_text_ struct text list = TEXT_INIT;

	suggest_add_all(&list, words);
	load_mistake(loader, node->key_place, NULL, "remove it", "unknown key '%s'", node->key);
	sbx_error_why(&loader->mistake, "the keys %s%s are: %s", map->row ? "of " : "at the top",
		      map->row ? map->row->path : "", text_string(&list));
	if (!suggest_fix(&loader->mistake, node->key, words) && elsewhere)
		sbx_error_fix(&loader->mistake, "'%s' belongs at %s", node->key, elsewhere->path);
}

/* Names chosen by the user become part of a setting's path, so they must not contain '.' or '['. */
static bool check_free_name(struct loader *loader, const struct tree_node *node)
{
	const char *at = node->key;

	while (isalnum((unsigned char)*at) || *at == '_' || *at == '-')
		at++;
	if (*at == '\0')
		return true;
	load_mistake(loader, node->key_place, "it may have letters, digits, '_' and '-'",
		     "choose another name", "not a name: '%s'", node->key);
	return false;
}

static void check_required(struct loader *loader, const struct policy_key_node *map,
			   const struct tree_node *node)
{
	const struct policy_key_node *key = NULL;

	while (map->needs_keys && (key = policy_key_next(loader->keys, map, key))) {
		if (!(key->row->flags & KEY_REQUIRED) || tree_get(loader->tree, node, key->name))
			continue;
		load_mistake(loader, node->place, NULL, NULL, "'%s' is missing", key->name);
		sbx_error_why(&loader->mistake, "%s needs it: %s", map->row->help, key->row->help);
		sbx_error_fix(&loader->mistake, "add '%s:' here", key->name);
	}
}

static void walk_map(struct loader *loader, const struct policy_key_node *map,
		     const struct tree_node *node)
{
	size_t len = loader->path.len;

	for (const struct tree_node *child = node->first; child; child = child->next) {
		const struct policy_key_node *key =
			child->key[0] == '[' ? NULL
					     : policy_key_child(loader->keys, map, child->key);

		if (!key) {
			refuse_key(loader, map, child);
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

/* Adds "[12]"; printf is too slow for a hundred thousand of them. */
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

static void walk_list(struct loader *loader, const struct policy_key_node *list,
		      const struct tree_node *node)
{
	const struct policy_key_node *key = policy_key_child(loader->keys, list, "[]");
	size_t len = loader->path.len, i = 0;

	if (key->use && handlers[key->use - 1].makes_rule &&
	    !arena_reserve_rows(&loader->policy->arena, &loader->rules, sizeof(struct rule),
				node->n_children)) {
		loader->no_memory = true;
		return;
	}
	for (const struct tree_node *child = node->first; child; child = child->next) {
		add_item_number(&loader->path, i++);
		walk(loader, key, child);
		text_truncate(&loader->path, len);
	}
}

/* A manifest's framework treats an empty property like an absent one: as its default. */
static bool is_default(const struct policy_key *row, const struct tree_node *node)
{
	return (row->flags & KEY_QUOTED) && node->type == TREE_STRING && node->text_len == 0;
}

static void walk(struct loader *loader, const struct policy_key_node *key,
		 const struct tree_node *node)
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
		add_setting(loader, node, is_open ? node->n_children : number);
	if (is_open && node->type == TREE_MAP)
		walk_map(loader, key, node);
	else if (is_open)
		walk_list(loader, key, node);
	if (key->use)
		handlers[key->use - 1].run(loader, node);
}

static void walk_text(struct loader *loader, const struct tree_node *root)
{
	if (root->type == TREE_NULL)
		return;
	if (root->type != TREE_MAP) {
		load_mistake(loader, root->place, NULL,
			     "begin with keys: capabilities, defaults, limits",
			     "a policy must be a map");
		sbx_error_why(&loader->mistake, "this is %s", tree_type_name(root->type));
		return;
	}
	walk_map(loader, loader->keys, root);
}

static const struct {
	const char *key;
	enum policy_dialect dialect;
} signs[] = {
	{ "capabilities", DIALECT_FLUFFY },  { "network_whitelist", DIALECT_FLUFFY },
	{ "scheduler", DIALECT_FLUFFY },     { "extensions", DIALECT_FLUFFY },
	{ "plugins", DIALECT_BUNTIME },	     { "defaults", DIALECT_BUNTIME },
	{ "fs", DIALECT_BUNTIME },	     { "exec", DIALECT_BUNTIME },
	{ "denySyscalls", DIALECT_BUNTIME }, { "antiEscape", DIALECT_BUNTIME },
	{ "sandbox", DIALECT_MANIFEST },     { "security", DIALECT_MANIFEST },
	{ "module", DIALECT_MANIFEST },
};

/* The dialect to which the keys belong; DIALECT_SBX for keys of several, or of none. */
static enum policy_dialect find_dialect(const struct loader *loader, const struct tree_node *root)
{
	const struct tree_node *net = load_get(loader, root, "net", TREE_MAP);
	unsigned found = 0;

	if (root->type != TREE_MAP)
		return DIALECT_SBX;
	for (size_t i = 0; i < N_ELEMENTS(signs); i++)
		if (tree_get(loader->tree, root, signs[i].key))
			found |= 1u << signs[i].dialect;
	if (net && tree_get(loader->tree, net, "rules"))
		found |= 1u << DIALECT_BUNTIME;
	for (int dialect = DIALECT_BUNTIME; dialect <= DIALECT_MANIFEST; dialect++)
		if (found == 1u << dialect)
			return (enum policy_dialect)dialect;
	return DIALECT_SBX;
}

static void check_version(struct loader *loader, const struct tree_node *root)
{
	if (loader->policy->dialect != DIALECT_BUNTIME || tree_get(loader->tree, root, "version"))
		return;
	load_mistake(
		loader, root->place,
		"a policy with plugins, defaults or fs, net and exec rules must give its format version",
		"add 'version: " NEWEST_VERSION "'", "'version' is missing");
}

struct named {
	const char *name;
	struct tree_place place;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order != 0 ? order : compare_places(one->place, other->place);
}

/* Sorts @named and reports duplicates. Empty names have been reported already. */
static void check_names(struct loader *loader, struct named *named, size_t n, const char *noun)
{
	if (n > 1)
		qsort(named, n, sizeof(*named), compare_named);
	for (size_t i = 1; i < n; i++) {
		if (!named[i].name[0] || strcmp(named[i].name, named[i - 1].name) != 0)
			continue;
		load_mistake(loader, named[i].place, NULL, "give it a different name",
			     "a second %s with the name '%s'", noun, named[i].name);
		sbx_error_why(
			&loader->mistake,
			"line %u has the first, and a decision that names it would be ambiguous",
			named[i - 1].place.line);
	}
}

static void check_all_names(struct loader *loader)
{
	const struct rule *rules = loader->rules.rows;
	const struct extension_program *programs = loader->extensions.rows;
	size_t n_rules = loader->rules.n_rows, n_programs = loader->extensions.n_rows;
	size_t n_max = n_rules > n_programs ? n_rules : n_programs;
	_cleanup_free_ struct named *named = calloc(n_max + 1, sizeof(*named));

	loader->no_memory |= !named;
	if (loader->no_memory)
		return;
	for (size_t i = 0; i < n_rules; i++)
		named[i] = (struct named){ rules[i].name, rules[i].place.at };
	check_names(loader, named, n_rules, "rule");
	for (size_t i = 0; i < n_programs; i++)
		named[i] = (struct named){ programs[i].name ? programs[i].name : "",
					   programs[i].place.at };
	check_names(loader, named, n_programs, "extension");
}

static void set_source(struct loader *loader, const char *name, const void *bytes, size_t n_bytes)
{
	struct policy *policy = loader->policy;
	struct policy_source *source = load_alloc(loader, sizeof(*source));

	if (!source)
		return;
	source->name = load_copy(loader, name);
	source->bytes = arena_copy(&policy->arena, bytes, n_bytes);
	source->n_bytes = n_bytes;
	digest_of(bytes, n_bytes, source->digest);
	policy->sources = source;
	policy->n_sources = 1;
	if (!source->bytes || policy_make_digest(policy, policy->digest) < 0)
		loader->no_memory = true;
}

static void take_rows(struct loader *loader)
{
	struct policy *policy = loader->policy;

	if (loader->no_memory)
		return;
	policy->rules = loader->rules.rows;
	policy->n_rules = loader->rules.n_rows;
	policy->settings = loader->settings.rows;
	policy->n_settings = loader->settings.n_rows;
	policy->extensions = loader->extensions.rows;
	policy->n_extensions = loader->extensions.n_rows;
	if (loader->n_mistakes == 0)
		load_try_examples(loader);
	if (!loader->no_memory)
		check_secrets(loader);
}

/* Returns the number of mistakes, or negative errno. Sets *@ret only if there were none. */
static int load(struct loader *loader, const char *name, const void *bytes, size_t n_bytes,
		struct policy **ret)
{
	_cleanup_policy_ struct policy *policy = calloc(1, sizeof(*policy));
	const struct tree_node *root = tree_root(loader->tree);

	if (!policy)
		return -ENOMEM;
	for (int i = 0; i < N_CLASSES; i++)
		policy->defaults[i] = POLICY_DENY;
	loader->policy = policy;
	policy->dialect = find_dialect(loader, root);
	view_set_by_dialect(policy);
	set_source(loader, name, bytes, n_bytes);
	check_version(loader, root);
	if (read_keys(loader))
		walk_text(loader, root);
	else
		loader->no_memory = true;
	loader->no_memory |= text_status(&loader->path) < 0;
	check_all_names(loader);
	finish_settings(loader);
	take_rows(loader);
	report_mistake(loader);
	if (loader->no_memory)
		return -ENOMEM;
	if (loader->n_mistakes == 0)
		*ret = take_ptr(policy);
	return loader->n_mistakes > INT_MAX ? INT_MAX : (int)loader->n_mistakes;
}

static void loader_deinit(struct loader *loader)
{
	text_deinit(&loader->path);
	free(loader->keys);
}

static void keep_first(const struct sbx_error *mistake, void *userdata)
{
	struct sbx_error *err = userdata;

	if (err && err->code == 0)
		*err = *mistake;
}

static int refuse_compiled(const char *name, struct sbx_error *err)
{
	return error_fill(err, -EINVAL,
			  "it contains the rules, but not the settings: mounts, limits, "
			  "environment, network mode",
			  "name the file that it was compiled from",
			  "cannot use the compiled policy '%s' here", name);
}

int policy_load(const char *name, const void *bytes, size_t n_bytes, struct policy **ret,
		struct sbx_error *err)
{
	_cleanup_(loader_deinit) struct loader loader = { .report = keep_first,
							  .userdata = err,
							  .only_first = true };
	_cleanup_tree_ struct tree *tree = NULL;
	struct policy *policy = NULL;
	int r = artefact_has_magic(bytes, n_bytes) ? refuse_compiled(name, err)
						   : tree_read(name, bytes, n_bytes, &tree, err);

	if (r < 0)
		return r;
	loader.tree = tree;
	if (err)
		*err = (struct sbx_error){ .code = 0 };
	r = load(&loader, name, bytes, n_bytes, &policy);
	if (r < 0)
		return sbx_error_what(err, r, "%s: cannot load it", name);
	if (r > 0)
		return -EINVAL;
	*ret = policy;
	return 0;
}

int policy_load_file(int dirfd, const char *path, struct policy **ret, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	const char *name;
	size_t n_bytes;
	int r = file_read_operand(dirfd, path, TREE_BYTES_MAX, &name, &bytes, &n_bytes, err);

	return r < 0 ? r : policy_load(name, bytes, n_bytes, ret, err);
}

struct counted {
	void (*report)(const struct sbx_error *err, void *userdata);
	void *userdata;
	int n;
};

static void count_mistake(const struct sbx_error *err, void *userdata)
{
	struct counted *counted = userdata;

	counted->report(err, counted->userdata);
	counted->n++;
}

int policy_load_all_mistakes(const char *name, const void *bytes, size_t n_bytes,
			     void (*report)(const struct sbx_error *err, void *userdata),
			     void *userdata)
{
	_cleanup_(loader_deinit) struct loader loader = { .report = report, .userdata = userdata };
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_tree_ struct tree *tree = NULL;
	struct sbx_error err = { .code = 0 };
	struct counted counted = { .report = report, .userdata = userdata };
	int r = tree_read_all(name, bytes, n_bytes, count_mistake, &counted, &tree, &err);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		if (r == -EINVAL)
			sbx_error_context(&err,
					  "the rest of the file is checked once this is corrected");
		count_mistake(&err, &counted);
		return counted.n;
	}
	loader.tree = tree;
	r = load(&loader, name, bytes, n_bytes, &policy);
	return r < 0 ? r : r + counted.n;
}
