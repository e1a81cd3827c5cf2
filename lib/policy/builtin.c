/* SPDX-License-Identifier: MIT */

/*
 * The built-in rules: what an attacker would have to change first
 *
 * A path here is a glob that means itself and everything below it. Between equally severe rules the
 * earlier one gives its name, so the narrower stands first.
 */

#include "policy/builtin.h"

#include <string.h>

#include "base/cleanup.h"
#include "policy/decide.h"
#include "policy/glob.h"

/* Bits of the table in operation.c; the unit test compares them with their names. */
#define FS_WRITE (UINT64_C(1) << 1)
#define CONTAINER_RUN (UINT64_C(1) << 8)
#define POLICY_UPDATE (UINT64_C(1) << 11)
#define SET_MODE (UINT64_C(1) << 15)

static const char *const policy_files[] = {
	"/etc/sbx", "/usr/share/sbx", "**/.sbx", "**/.config/sbx", NULL,
};

static const char *const programs[] = {
	"/usr/bin/sbx-*",	"/usr/sbin/sbx-*",
	"/usr/local/bin/sbx-*", "/bin/sbx-*",
	"/usr/lib/sbx",		"/usr/libexec/sbx",
	"/usr/lib/libsbx*",	"/usr/lib/*/libsbx*",
	"/usr/lib/*/sbx",	NULL,
};

static const char *const units[] = {
	"/etc/systemd/**/sbx*",
	"/run/systemd/**/sbx*",
	"/usr/lib/systemd/**/sbx*",
	"/lib/systemd/**/sbx*",
	"/usr/local/lib/systemd/**/sbx*",
	"**/.config/systemd/user/**/sbx*",
	"**/.local/share/systemd/user/**/sbx*",
	"/usr/lib/*.d/sbx*",
	"/etc/*.d/sbx*",
	NULL,
};

static const char *const daemon_files[] = { "/run/sbx", "/var/run/sbx", "/run/user/*/sbx", NULL };
static const char *const audit_logs[] = { "/var/lib/sbx/audit", "**/sbx/audit", NULL };
static const char *const state_databases[] = { "/var/lib/sbx", "**/.local/state/sbx", NULL };

static const char *const debug_mode[] = { "debug", NULL };
static const char *const modest_modes[] = { "strict", "explore", NULL };

static const struct builtin_rule rules[] = {
	{
		.name = "builtin:policy-files",
		.operations = FS_WRITE,
		.paths = policy_files,
		.protected_paths = true,
		.action = POLICY_DENY,
		.reason = "policy files change through policy.update only",
	},
	{
		.name = "builtin:programs",
		.operations = FS_WRITE,
		.paths = programs,
		.action = POLICY_DENY,
		.reason = "the programs that enforce the policy cannot be written",
	},
	{
		.name = "builtin:units",
		.operations = FS_WRITE,
		.paths = units,
		.action = POLICY_DENY,
		.reason = "the units that start the enforcing services cannot be written",
	},
	{
		.name = "builtin:daemon-files",
		.operations = FS_WRITE,
		.paths = daemon_files,
		.action = POLICY_DENY,
		.reason = "the running services' own files cannot be written",
	},
	{
		.name = "builtin:audit-log",
		.operations = FS_WRITE,
		.paths = audit_logs,
		.action = POLICY_DENY,
		.reason = "the audit log grows through its service only",
	},
	{
		.name = "builtin:state-database",
		.operations = FS_WRITE,
		.paths = state_databases,
		.action = POLICY_DENY,
		.reason = "the services' state cannot be written",
	},
	{
		.name = "builtin:container-run",
		.operations = CONTAINER_RUN,
		.unless_modes = debug_mode,
		.action = POLICY_DENY,
		.reason = "containers run in debug mode only",
	},
	{
		.name = "builtin:container-run-debug",
		.operations = CONTAINER_RUN,
		.action = POLICY_REVIEW,
		.is_default = true,
		.reason = "a container needs a review, also in debug mode",
	},
	{
		.name = "builtin:policy-update",
		.operations = POLICY_UPDATE,
		.action = POLICY_REVIEW,
		.reason = "a new policy always needs a review",
	},
	{
		.name = "builtin:set-mode",
		.operations = SET_MODE,
		.unless_modes = modest_modes,
		.action = POLICY_REVIEW,
		.reason = "a mode other than strict and explore needs a review",
	},
	{ .name = NULL },
};

_Static_assert(N_ELEMENTS(rules) - 1 <= BUILTIN_RULES_MAX, "there are at most ten built-in rules");

const struct builtin_rule *builtin_rules(void)
{
	return rules;
}

/*
 * Both without their leading slash. A "**" component tries every place; a pattern holds at most one
 * of them in the middle and one at the start, so this is no deeper than three calls.
 */
static bool matches(const char *pattern, const char *path)
{
	for (;;) {
		size_t pattern_len = strcspn(pattern, "/"), len = strcspn(path, "/");

		if (strncmp(pattern, "**/", 3) == 0) {
			if (matches(pattern + 3, path))
				return true;
		} else if (!glob_pattern_matches(pattern, pattern_len, path, len)) {
			return false;
		} else if (pattern[pattern_len] == '\0') {
			return true;
		} else {
			pattern += pattern_len + 1;
		}
		if (path[len] == '\0')
			return false;
		path += len + 1;
	}
}

static bool is_in(const char *const *words, const char *word)
{
	while (*words && !(word && strcmp(*words, word) == 0))
		words++;
	return *words != NULL;
}

static bool is_named(const struct builtin_rule *rule, const char *path)
{
	for (const char *const *at = rule->paths; *at; at++)
		if (matches(*at + (**at == '/'), path + 1))
			return true;
	return false;
}

/* Both are normal, so a comparison of bytes and one slash will do. */
static bool is_beneath(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/' || len == 1);
}

static bool is_protected(const char *const *paths, const char *path)
{
	while (paths && *paths && !is_beneath(path, *paths))
		paths++;
	return paths && *paths;
}

/* @marked: the path contains BUILTIN_MARK. */
static bool applies(const struct builtin_rule *rule, const struct policy_request *request,
		    bool marked, const char *const *protected_paths)
{
	if (rule->unless_modes && is_in(rule->unless_modes, request->mode))
		return false;
	if (!rule->paths)
		return true;
	if (marked && is_named(rule, request->path))
		return true;
	return rule->protected_paths && request->path &&
	       is_protected(protected_paths, request->path);
}

const struct builtin_rule *builtin_judge(const struct builtin_rule *table,
					 const struct policy_request *request,
					 uint64_t operation_bit, const char *const *protected_paths)
{
	const struct builtin_rule *found = NULL;
	bool marked = false;

	while (table->name && !(table->operations & operation_bit))
		table++;
	if (table->name && request->path)
		marked = strstr(request->path, BUILTIN_MARK) != NULL;

	for (; table->name; table++)
		if ((table->operations & operation_bit) &&
		    (!found || table->action > found->action) &&
		    applies(table, request, marked, protected_paths))
			found = table;
	return found;
}
