/* SPDX-License-Identifier: MIT */

/*
 * A module's manifest: sandbox, or security.sandbox
 *
 * The paths that it allows become a rule that is called by its key; its limits, and the network of
 * the host where it may connect anywhere, are kept under our names for them. A manifest that asks
 * for no sandbox, or for a layer that sbx does not have, is refused.
 */

#include "policy/load-internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

/* How a number of the manifest is written in our own words, and what it counts then. */
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
			load_mistake(loader, node->place, "'%s' is too large", limits[i].key);
			sbx_error_why(&loader->mistake, "no machine has that much");
			sbx_error_fix(&loader->mistake, "write a smaller number");
			continue;
		}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the formats of the table above */
		text_addf(&text, limits[i].format, number);
#pragma GCC diagnostic pop
		load_add_setting_at(loader, limits[i].path, limits[i].type, text_string(&text),
				    value, node->place);
	}
}

static bool is_said(const struct tree_node *node, const char *text)
{
	return node && strcmp(node->text, text) == 0;
}

static void refuse_no_sandbox(struct loader *loader, const struct tree_node *node)
{
	load_mistake(loader, node->place, "'%s: %s' asks for no sandbox", node->key, node->text);
	sbx_error_why(&loader->mistake, "a policy says what a sandbox is like; none means none");
	sbx_error_fix(&loader->mistake, "write 'enabled: true' and a type such as PROCESS");
}

/* PROCESS, NAMESPACE, CONTAINER and SECCOMP are all part of every sandbox. */
static void refuse_type(struct loader *loader, const struct tree_node *type)
{
	load_mistake(loader, type->place, "'type: %s' cannot be carried out", type->text);
	sbx_error_why(&loader->mistake,
		      "sbx loads no profile of a security module; it uses namespaces, seccomp and "
		      "Landlock");
	sbx_error_fix(&loader->mistake, "write PROCESS, NAMESPACE, CONTAINER or SECCOMP");
}

static void load_network(struct loader *loader, const struct tree_node *config)
{
	const struct tree_node *access = load_get(loader, config, "allowNetworkAccess", TREE_BOOL);

	if (is_said(access, "true"))
		load_add_setting_at(loader, "net.mode", TREE_STRING, "host", 0, access->place);
}

/* The flag and the list must agree; neither is guessed from the other. */
static bool check_paths(struct loader *loader, const struct tree_node *access,
			const struct tree_node *paths)
{
	if (is_said(access, "true") && !paths) {
		load_mistake(loader, access->place,
			     "'allowFileSystemAccess: true' without 'allowedPaths'");
		sbx_error_why(&loader->mistake, "no path is named, so nothing could be opened");
		sbx_error_fix(&loader->mistake, "add 'allowedPaths' with the paths");
		return false;
	}
	if (is_said(access, "false") && paths) {
		load_mistake(loader, access->place,
			     "'allowFileSystemAccess: false' and 'allowedPaths' contradict each "
			     "other");
		sbx_error_why(&loader->mistake, "line %u forbids all files, line %u allows some",
			      access->place.line, paths->key_place.line);
		sbx_error_fix(&loader->mistake, "remove one of the two");
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
	rule = load_add_rule(loader, "sandbox.config.allowedPaths", paths->place);
	if (!rule)
		return;
	rule->action = POLICY_ALLOW;
	rule->match.operations = load_all_file_operations();
	load_list(loader, paths, MATCH_PATH, true, &rule->match);
}

void load_manifest(struct loader *loader, const struct tree_node *node)
{
	const struct tree_node *enabled = load_get(loader, node, "enabled", TREE_BOOL);
	const struct tree_node *type = load_get_string(loader, node, "type");
	const struct tree_node *config = load_get(loader, node, "config", TREE_MAP);

	if (is_said(enabled, "false"))
		refuse_no_sandbox(loader, enabled);
	if (is_said(type, "NONE"))
		refuse_no_sandbox(loader, type);
	if (is_said(type, "APPARMOR") || is_said(type, "SELINUX"))
		refuse_type(loader, type);
	load_limits(loader, config);
	load_network(loader, config);
	load_paths(loader, config);
}
