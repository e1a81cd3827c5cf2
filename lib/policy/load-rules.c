/* SPDX-License-Identifier: MIT */

/*
 * Rules from the tree: conditions, and each section that contains rules
 *
 * A table has a row for each key of a condition: the list of the model that it fills, and whether
 * its texts are literal. Two keys for the same list in one condition are a mistake: all keys of a
 * condition must hold, but a list holds if any of its values does.
 */

#include "policy/load-internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/suggest.h"
#include "base/units.h"
#include "policy/decide.h"
#include "policy/network.h"
#include "policy/request.h"

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

/* Landlock's rights, as operations. */
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

static uint64_t all_file_operations(void)
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

/* The first item of a list, or the single value itself. */
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
		load_mistake(loader, node->key_place,
			     "syscall, operation, op and perms all name operations",
			     "keep one of them", "'%s' is the second key for operations",
			     node->key);
		return;
	}
	if (!item) {
		load_mistake(loader, node->place, "the condition would never match",
			     "write the operations, or remove the rule", "'%s' is an empty list",
			     node->key);
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

/* Host names and digests are case-insensitive: keep them in lower case. */
static const char *copy_value(struct loader *loader, bool folds, const char *text, size_t len)
{
	char *copy = arena_copy(&loader->policy->arena, text, len);

	loader->no_memory |= !copy;
	for (char *at = copy; folds && at && *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return copy;
}

static struct match_value *add_ports(struct loader *loader, const struct tree_node *item,
				     struct match_value *value)
{
	const char *at = item->text, *port;
	size_t len;

	while (network_next_port(&at, &port, &len)) {
		value->text = copy_value(loader, false, port, len);
		value++->place.at = item->place;
	}
	return value;
}

static void load_list(struct loader *loader, const struct tree_node *node, enum match_key key,
		      bool literal, struct condition *ret)
{
	struct match_list *list = &ret->lists[key];
	size_t n = count_values(node, key == MATCH_PORT);
	struct match_value *values, *value;

	if (list->present) {
		load_mistake(loader, node->key_place, NULL, "put all values under one of the two",
			     "'%s' is the second key for the same list", node->key);
		sbx_error_why(&loader->mistake,
			      "line %u has the other one, and only one can be used",
			      list->place.at.line);
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
		value->text = copy_value(loader, key == MATCH_HOST, item->text, item->text_len);
		value->literal = literal;
		value++->place.at = item->place;
	}
	*list = (struct match_list){
		.present = true, .values = values, .n_values = n, .place.at = node->key_place
	};
}

static void load_condition(struct loader *loader, const struct tree_node *map,
			   struct condition *ret)
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

static void set_value(struct loader *loader, struct condition *condition, enum match_key key,
		      const char *text, struct tree_place place)
{
	struct match_value *value = load_alloc(loader, sizeof(*value));

	if (!value)
		return;
	value->text = copy_value(loader, key == MATCH_HOST, text, strlen(text));
	value->place.at = place;
	condition->lists[key] = (struct match_list){
		.present = true, .values = value, .n_values = 1, .place.at = place
	};
}

/* ---- capabilities (named rules) and extensions ---- */

const struct tree_node *load_get(const struct loader *loader, const struct tree_node *map,
				 const char *key, enum tree_type type)
{
	const struct tree_node *node = map ? tree_get(loader->tree, map, key) : NULL;

	return node && node->type == type ? node : NULL;
}

static enum policy_action action_of(const struct loader *loader, const struct tree_node *map)
{
	const struct tree_node *node = load_get(loader, map, "action", TREE_STRING);
	enum policy_action action = POLICY_DENY;

	if (node)
		(void)policy_action_find(node->text, &action);
	return action;
}

static struct rule *add_rule(struct loader *loader, enum rule_kind kind, const char *name,
			     struct tree_place place)
{
	struct rule *rule = load_add_row(loader, &loader->rules, sizeof(*rule));

	if (!rule)
		return NULL;
	rule->name = load_copy(loader, name);
	rule->action = POLICY_DENY;
	rule->kind = kind;
	rule->match.place.at = place;
	rule->constraints.max_file_size_bytes = UINT64_MAX;
	rule->place.at = place;
	return rule;
}

static void load_exceptions(struct loader *loader, const struct tree_node *list, struct rule *rule)
{
	struct condition *exceptions;
	size_t n = 0;

	if (!list || list->n_children == 0)
		return;
	exceptions = load_alloc(loader, list->n_children * sizeof(*exceptions));
	if (!exceptions)
		return;
	for (const struct tree_node *item = list->first; item; item = item->next) {
		if (item->type != TREE_MAP)
			continue;
		load_condition(loader, item, &exceptions[n++]);
		if (item->n_children > 0)
			continue;
		load_mistake(loader, item->place, "it would cancel the rule for every request",
			     "write the requests that it excepts, or remove the rule",
			     "an exception without conditions");
	}
	rule->exceptions = exceptions;
	rule->n_exceptions = n;
}

static void load_constraints(struct loader *loader, const struct tree_node *map, struct rule *rule)
{
	struct constraints *constraints = &rule->constraints;
	const struct tree_node *level = load_get(loader, map, "require_sandbox", TREE_STRING);
	const struct tree_node *token =
		load_get(loader, map, "require_capability_token", TREE_BOOL);
	const struct tree_node *size = map ? tree_get(loader->tree, map, "max_file_size") : NULL;
	const struct tree_node *sha256 = load_get(loader, map, "sha256", TREE_STRING);
	const struct tree_node *tls = load_get(loader, map, "tls", TREE_STRING);
	uint64_t bytes;

	if (level)
		constraints->require_sandbox = load_copy(loader, level->text);
	constraints->require_token = token && strcmp(token->text, "true") == 0;
	if (size && units_parse_size(size->text, &bytes, NULL) >= 0)
		constraints->max_file_size_bytes = bytes;
	if (sha256)
		constraints->sha256 = copy_value(loader, true, sha256->text, sha256->text_len);
	if (tls && strcmp(tls->text, "any") == 0)
		constraints->tls = TLS_ANY;
}

static size_t add_examples(struct loader *loader, const struct tree_node *node, bool matches,
			   struct example *examples)
{
	const struct tree_node *item = node ? first_of(node) : NULL;
	size_t n = 0;

	for (; item; item = next_of(node, item)) {
		if (item->type != TREE_STRING)
			continue;
		examples[n].text = load_copy(loader, item->text);
		examples[n].matches = matches;
		examples[n++].place.at = item->place;
	}
	return n;
}

static void load_examples(struct loader *loader, const struct tree_node *map, struct rule *rule)
{
	const struct tree_node *match = map ? tree_get(loader->tree, map, "match") : NULL;
	const struct tree_node *not_match = map ? tree_get(loader->tree, map, "not_match") : NULL;
	size_t n_max =
		(match ? match->n_children + 1 : 0) + (not_match ? not_match->n_children + 1 : 0);
	struct example *examples;

	if (n_max == 0)
		return;
	examples = load_alloc(loader, n_max * sizeof(*examples));
	if (!examples)
		return;
	rule->examples = examples;
	rule->n_examples = add_examples(loader, match, true, examples);
	rule->n_examples += add_examples(loader, not_match, false, examples + rule->n_examples);
}

void load_capability(struct loader *loader, const struct tree_node *node)
{
	const struct tree_node *name = load_get(loader, node, "name", TREE_STRING);
	const struct tree_node *match = load_get(loader, node, "match", TREE_MAP);
	const struct tree_node *reason = load_get(loader, node, "reason", TREE_STRING);
	struct rule *rule =
		add_rule(loader, RULE_OF_CAPABILITIES, name ? name->text : "", node->place);

	if (!rule)
		return;
	rule->action = action_of(loader, node);
	if (match)
		load_condition(loader, match, &rule->match);
	if (match && rule->match.operations == 0 && !tree_get(loader->tree, match, "syscall") &&
	    !tree_get(loader->tree, match, "operation") && !tree_get(loader->tree, match, "op") &&
	    !tree_get(loader->tree, match, "perms"))
		load_mistake(loader, match->place,
			     "every rule must name the operations that it is about",
			     "add 'syscall: fs.write' to it, or 'syscall: \"*\"'",
			     "'match' names no operation");
	load_exceptions(loader, load_get(loader, node, "except", TREE_LIST), rule);
	load_constraints(loader, load_get(loader, node, "constraints", TREE_MAP), rule);
	if (reason)
		rule->reason = load_copy(loader, reason->text);
	load_examples(loader, load_get(loader, node, "examples", TREE_MAP), rule);
}

static void check_command(struct loader *loader, const struct tree_node *command)
{
	const struct tree_node *first = command->first;

	if (first && (first->type != TREE_STRING || path_is_normal(first->text)))
		return;
	load_mistake(loader, first ? first->place : command->place, "the list is empty",
		     "write [/usr/lib/sbx/rules, ARGUMENT]",
		     "an extension needs the absolute path of its program");
	if (first)
		sbx_error_why(&loader->mistake, "'%s' is not an absolute path", first->text);
}

void load_extension(struct loader *loader, const struct tree_node *node)
{
	const struct tree_node *name = load_get(loader, node, "name", TREE_STRING);
	const struct tree_node *command = load_get(loader, node, "command", TREE_LIST);
	struct extension_program *program =
		load_add_row(loader, &loader->extensions, sizeof(*program));
	const char **argv;
	size_t n = 0;

	if (!program || !name || !command)
		return;
	check_command(loader, command);
	argv = load_alloc(loader, (command->n_children + 1) * sizeof(*argv));
	if (!argv)
		return;
	for (const struct tree_node *word = command->first; word; word = word->next)
		argv[n++] = load_copy(loader, word->text);
	program->name = load_copy(loader, name->text);
	program->argv = argv;
	program->place.at = node->place;
}

/*
 * fs.rules, net.rules and exec.rules: such a rule has its conditions beside its action. Its name is
 * its place, such as "fs.rules[0]"; its operations are those of the section.
 */

static uint64_t operations_of_section(const char *path)
{
	if (strncmp(path, "fs.", 3) == 0)
		return all_file_operations();
	return operation_set(strncmp(path, "net.", 4) == 0 ? "net.connect" : "exec");
}

void load_rule(struct loader *loader, const struct tree_node *node)
{
	const char *path = text_string(&loader->path);
	struct rule *rule = add_rule(loader, RULE_OF_SECTION, path, node->place);

	if (!rule)
		return;
	rule->action = action_of(loader, node);
	load_condition(loader, node, &rule->match);
	if (rule->match.operations == 0)
		rule->match.operations = operations_of_section(path);
	load_constraints(loader, node, rule);
}

/*
 * network_whitelist: each host becomes a rule that allows to connect to it, at port 443 unless it
 * names another one. The rule's name is its place, such as "network_whitelist.ai[0]".
 */

static void add_host(struct loader *loader, const struct tree_node *item)
{
	struct host_port host;
	struct rule *rule;

	if (item->type != TREE_STRING || network_parse_host_port(item->text, &host, NULL) < 0)
		return; /* already reported as a mistake */
	rule = add_rule(loader, RULE_OF_SECTION, text_string(&loader->path), item->place);
	if (!rule)
		return;
	rule->action = POLICY_ALLOW;
	rule->match.operations = operation_set("net.connect");
	set_value(loader, &rule->match, host.is_address ? MATCH_CIDR : MATCH_HOST, host.host,
		  item->place);
	set_value(loader, &rule->match, MATCH_PORT, host.port[0] ? host.port : "443", item->place);
}

static void add_hosts(struct loader *loader, const struct tree_node *list)
{
	size_t len = loader->path.len, i = 0;

	for (const struct tree_node *item = list->first; item; item = item->next) {
		text_addf(&loader->path, "[%zu]", i++);
		add_host(loader, item);
		text_truncate(&loader->path, len);
	}
}

static const struct tree_node *get_top(const struct loader *loader, const char *key)
{
	const struct tree_node *root = tree_root(loader->tree);

	return root->type == TREE_MAP ? tree_get(loader->tree, root, key) : NULL;
}

/* Does net.allowed_hosts name the group? */
static bool is_allowed_group(const struct loader *loader, const char *name)
{
	const struct tree_node *net = get_top(loader, "net");
	const struct tree_node *names =
		net && net->type == TREE_MAP ? tree_get(loader->tree, net, "allowed_hosts") : NULL;
	const struct tree_node *item = names ? first_of(names) : NULL;

	for (; item; item = next_of(names, item))
		if (item->type == TREE_STRING && strcmp(item->text, name) == 0)
			return true;
	return false;
}

static const char *group_at(const void *list, size_t i)
{
	const struct tree_node *groups = list, *group = groups ? groups->first : NULL;

	if (groups && groups->type != TREE_MAP)
		return NULL;
	while (group && i-- > 0)
		group = group->next;
	return group ? group->key : NULL;
}

static void check_group(struct loader *loader, const struct tree_node *name)
{
	const struct tree_node *groups = get_top(loader, "network_whitelist");
	const struct suggest_words words = { .word = group_at, .list = groups };
	_cleanup_text_ struct text all = TEXT_INIT;
	const char *group;

	for (size_t i = 0; (group = group_at(groups, i)); i++)
		if (strcmp(group, name->text) == 0)
			return;
	suggest_add_all(&all, words);
	load_mistake(loader, name->place,
		     "'net.allowed_hosts' names groups of 'network_whitelist' of the same file",
		     NULL, "there is no group '%s'", name->text);
	if (suggest_fix(&loader->mistake, name->text, words))
		return;
	if (all.len > 0)
		sbx_error_fix(&loader->mistake, "write one of: %s", text_string(&all));
	else
		sbx_error_fix(&loader->mistake, "write 'network_whitelist: {%s: [HOST]}'",
			      name->text);
}

void load_allowed_hosts(struct loader *loader, const struct tree_node *node)
{
	for (const struct tree_node *item = first_of(node); item; item = next_of(node, item))
		if (item->type == TREE_STRING)
			check_group(loader, item);
}

/* A group makes rules only if net.allowed_hosts names it; hosts in a plain list always do. */
void load_whitelist(struct loader *loader, const struct tree_node *node)
{
	size_t len = loader->path.len;

	if (node->type == TREE_LIST) {
		add_hosts(loader, node);
		return;
	}
	for (const struct tree_node *group = node->first; group; group = group->next) {
		if (!is_allowed_group(loader, group->key))
			continue;
		text_addf(&loader->path, ".%s", group->key);
		add_hosts(loader, group);
		text_truncate(&loader->path, len);
	}
}

/*
 * A module's manifest: sandbox, or security.sandbox
 *
 * The paths that it allows become one rule; its limits, and the host's network if it allows to
 * connect anywhere, become settings. A manifest that asks for no sandbox, or for a layer that sbx
 * lacks, is refused.
 */

/* For each number in the manifest: the setting, its text, and the factor of its value. */
static const struct {
	const char *key;
	const char *path;
	const char *format;
	enum tree_type type;
	uint64_t factor;
} limits[] = {
	{ "maxMemoryMB", "limits.memory", "%" PRIu64 "MiB", TREE_STRING, 1024 * 1024 },
	{ "maxCPUPercent", "limits.cpu", "%" PRIu64 "%%", TREE_STRING, 10 },
	{ "maxFileDescriptors", "limits.files", "%" PRIu64, TREE_NUMBER, 1 },
	{ "maxThreads", "limits.pids", "%" PRIu64, TREE_NUMBER, 1 },
};

static void load_limits(struct loader *loader, const struct tree_node *config)
{
	for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
		const struct tree_node *node = load_get(loader, config, limits[i].key, TREE_NUMBER);
		_cleanup_text_ struct text text = TEXT_INIT;
		uint64_t number, value;

		if (!node || units_parse_count(node->text, &number, NULL) < 0)
			continue;
		if (__builtin_mul_overflow(number, limits[i].factor, &value)) {
			load_mistake(loader, node->place, "it exceeds what any machine has",
				     "write a smaller number", "'%s' is too large", limits[i].key);
			continue;
		}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format comes from the table above */
		text_addf(&text, limits[i].format, number);
#pragma GCC diagnostic pop
		load_add_setting_at(loader, limits[i].path, limits[i].type, text_string(&text),
				    value, node->place);
	}
}

static bool is_text(const struct tree_node *node, const char *text)
{
	return node && strcmp(node->text, text) == 0;
}

static void refuse_no_sandbox(struct loader *loader, const struct tree_node *node)
{
	load_mistake(loader, node->place, "sbx does not run a module without a sandbox",
		     "write 'enabled: true' and a type such as PROCESS",
		     "'%s: %s' asks for no sandbox", node->key, node->text);
}

/* Accepts PROCESS, NAMESPACE, CONTAINER and SECCOMP, which are part of every sandbox. */
static void refuse_type(struct loader *loader, const struct tree_node *type)
{
	load_mistake(loader, type->place,
		     "sbx loads no profile of a security module; it uses namespaces, seccomp and "
		     "Landlock",
		     "write PROCESS, NAMESPACE, CONTAINER or SECCOMP",
		     "'type: %s' cannot be carried out", type->text);
}

/* The flag and the list must be consistent. */
static bool check_paths(struct loader *loader, const struct tree_node *access,
			const struct tree_node *paths)
{
	if (is_text(access, "true") && !paths) {
		load_mistake(loader, access->place,
			     "no path is named, so the module could open no file",
			     "add 'allowedPaths' with the paths",
			     "'allowFileSystemAccess: true' without 'allowedPaths'");
		return false;
	}
	if (is_text(access, "false") && paths) {
		load_mistake(loader, access->place, NULL, "remove one of the two",
			     "'allowFileSystemAccess: false' and 'allowedPaths' contradict each "
			     "other");
		sbx_error_why(&loader->mistake, "line %u forbids all files, line %u allows some",
			      access->place.line, paths->key_place.line);
		return false;
	}
	return paths != NULL;
}

static void load_paths(struct loader *loader, const struct tree_node *config)
{
	const struct tree_node *paths =
		config ? tree_get(loader->tree, config, "allowedPaths") : NULL;
	const struct tree_node *access =
		load_get(loader, config, "allowFileSystemAccess", TREE_BOOL);
	struct rule *rule;

	if (!check_paths(loader, access, paths))
		return;
	rule = add_rule(loader, RULE_OF_SECTION, "sandbox.config.allowedPaths", paths->place);
	if (!rule)
		return;
	rule->action = POLICY_ALLOW;
	rule->match.operations = all_file_operations();
	load_list(loader, paths, MATCH_PATH, true, &rule->match);
}

void load_manifest(struct loader *loader, const struct tree_node *node)
{
	const struct tree_node *enabled = load_get(loader, node, "enabled", TREE_BOOL);
	const struct tree_node *type = load_get(loader, node, "type", TREE_STRING);
	const struct tree_node *config = load_get(loader, node, "config", TREE_MAP);
	const struct tree_node *access = load_get(loader, config, "allowNetworkAccess", TREE_BOOL);

	if (is_text(enabled, "false"))
		refuse_no_sandbox(loader, enabled);
	if (is_text(type, "NONE"))
		refuse_no_sandbox(loader, type);
	if (is_text(type, "APPARMOR") || is_text(type, "SELINUX"))
		refuse_type(loader, type);
	load_limits(loader, config);
	if (is_text(access, "true"))
		load_add_setting_at(loader, "net.mode", TREE_STRING, "host", 0, access->place);
	load_paths(loader, config);
}

/*
 * The examples of a rule, checked at every load
 *
 * Each rule with examples is compiled alone, so that no other rule decides them. An example is a
 * request in words; a relative path in it is below a project, like a relative glob.
 */

#define PROJECT "/project"
#define WORDS_MAX 32

/* Adds the operation's argument; a relative path becomes an absolute one. */
static void add_argument(struct text *out, const char *operation, const char *argument)
{
	int row = operation_find(operation);

	if (row != OPERATION_UNKNOWN && operation_at(row)->argument == ARGUMENT_PATH &&
	    argument[0] != '/')
		text_add(out, PROJECT "/");
	text_add(out, strncmp(argument, "./", 2) == 0 ? argument + 2 : argument);
}

/* Is it a word like "tag=x", unlike "src/a=b.c"? */
static bool is_named(const char *word)
{
	return word[strspn(word, "abcdefghijklmnopqrstuvwxyz")] == '=';
}

static int no_request(struct sbx_error *err, const char *text)
{
	return error_fill(
		err, -EINVAL,
		"an example consists of an operation, its argument and attributes such as tag=NAME",
		"write it like 'fs.write src/a.c' or 'net.connect example.com:443'",
		"not an example: '%s'", text);
}

static int parse_example(const char *text, struct request_buffer *ret, struct sbx_error *err)
{
	_cleanup_text_ struct text bytes = TEXT_INIT, argument = TEXT_INIT;
	char *words[WORDS_MAX], *rest = NULL, project[] = "project=" PROJECT;
	size_t n_words = 0;

	text_add(&bytes, text);
	if (text_status(&bytes) < 0)
		return text_status(&bytes);
	for (char *word = strtok_r(bytes.data, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (n_words < WORDS_MAX - 1)
			words[n_words++] = word;
		else
			return no_request(err, text);
	if (n_words == 0)
		return no_request(err, text);
	if (n_words > 1 && !is_named(words[1])) {
		add_argument(&argument, words[0], words[1]);
		if (text_status(&argument) < 0)
			return text_status(&argument);
		words[1] = argument.data;
	}
	if (!strstr(text, " project="))
		words[n_words++] = project;
	return request_parse_words(words, n_words, ret, err);
}

static void explain_near(struct loader *loader, const struct policy_explanation *near)
{
	struct sbx_error *err = &loader->mistake;

	switch (near ? near->near : NEAR_OPERATION) {
	case NEAR_APPLIES:
		sbx_error_why(err, "everything in its 'match' applies");
		break;
	case NEAR_EXCEPTED:
		sbx_error_why(err, "exception %u cancels it", near->exception + 1);
		break;
	case NEAR_KEY:
		sbx_error_why(err, "its '%s' does not match", match_key_name(near->key));
		break;
	case NEAR_EXCLUDED:
		sbx_error_why(err, "a glob with '!' excludes the path");
		break;
	case NEAR_OPERATION:
		sbx_error_why(err, near ? "it is about other operations"
					: "nothing in its 'match' applies");
		break;
	}
}

static void try_example(struct loader *loader, struct policy_engine *engine,
			const struct rule *rule, const struct example *example)
{
	_cleanup_request_ struct request_buffer buffer = { .id = NULL };
	struct policy_explanation near;
	struct sbx_error err = { .code = 0 };
	bool applies, is_near;

	if (parse_example(example->text, &buffer, &err) < 0 ||
	    request_check_operation(&buffer.request, &err) < 0) {
		load_mistake_of(loader, example->place.at, &err);
		return;
	}
	is_near = policy_explain(engine, &buffer.request, &near, 1) > 0;
	applies = is_near && near.near == NEAR_APPLIES;
	if (applies == example->matches)
		return;
	load_mistake(loader, example->place.at, NULL, NULL,
		     applies ? "rule '%s' applies to '%s', which it should not"
			     : "rule '%s' does not apply to its example '%s'",
		     rule->name, example->text);
	explain_near(loader, is_near ? &near : NULL);
	sbx_error_fix(&loader->mistake,
		      "change the rule, or put the example under '%s' if the rule is right",
		      example->matches ? "not_match" : "match");
}

static void try_rule(struct loader *loader, struct rule *rule)
{
	struct policy alone = *loader->policy;
	_cleanup_engine_ struct policy_engine *engine = NULL;
	struct sbx_error err = { .code = 0 };
	int r;

	alone.rules = rule;
	alone.n_rules = 1;
	r = policy_engine_compile(&alone, NULL, &engine, &err);
	if (r == -ENOMEM) {
		loader->no_memory = true;
		return;
	}
	if (r < 0) {
		load_mistake_of(loader, rule->place.at, &err);
		return;
	}
	for (size_t i = 0; i < rule->n_examples; i++)
		try_example(loader, engine, rule, &rule->examples[i]);
}

void load_try_examples(struct loader *loader)
{
	struct policy *policy = loader->policy;

	for (size_t i = 0; i < policy->n_rules && !loader->no_memory; i++)
		if (policy->rules[i].n_examples > 0)
			try_rule(loader, &policy->rules[i]);
}
