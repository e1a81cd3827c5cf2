/* SPDX-License-Identifier: MIT */

/*
 * The built-in rules: what an attacker would have to change first
 *
 * Which paths they are about is the table of guarded paths, whose rows name their rule. Between
 * equally severe rules the earlier one gives its name.
 */

#include "policy/builtin.h"

#include <string.h>

#include "base/cleanup.h"
#include "policy/decide.h"
#include "policy/guarded.h"

/* Bits of the table in operation.c; the unit test compares them with their names. */
#define FS_WRITE (UINT64_C(1) << 1)
#define FILES UINT64_C(0x1f) /* fs.* and exec */
#define CONTAINER_RUN (UINT64_C(1) << 8)
#define POLICY_UPDATE (UINT64_C(1) << 11)
#define SET_MODE (UINT64_C(1) << 15)

static const char *const debug_mode[] = { "debug", NULL };
static const char *const modest_modes[] = { "strict", "explore", NULL };

static const struct builtin_rule rules[] = {
	{
		.name = GUARDED_BY_POLICY_FILES,
		.operations = FS_WRITE,
		.is_guard = true,
		.action = POLICY_DENY,
		.reason = "policy files change through policy.update only",
	},
	{
		.name = GUARDED_BY_PROGRAMS,
		.operations = FS_WRITE,
		.is_guard = true,
		.action = POLICY_DENY,
		.reason = "the programs that enforce the policy cannot be written",
	},
	{
		.name = GUARDED_BY_UNITS,
		.operations = FS_WRITE,
		.is_guard = true,
		.action = POLICY_DENY,
		.reason = "the units that start the enforcing services cannot be written",
	},
	{
		.name = GUARDED_BY_DAEMON_FILES,
		.operations = FILES,
		.is_guard = true,
		.action = POLICY_DENY,
		.reason =
			"the files of running services and sandboxes are neither written nor seen",
	},
	{
		.name = GUARDED_BY_AUDIT_LOG,
		.operations = FS_WRITE,
		.is_guard = true,
		.action = POLICY_DENY,
		.reason = "the audit log grows through its service only",
	},
	{
		.name = GUARDED_BY_STATE,
		.operations = FS_WRITE,
		.is_guard = true,
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

static bool is_in(const char *const *words, const char *word)
{
	while (*words && !(word && strcmp(*words, word) == 0))
		words++;
	return *words != NULL;
}

/* @row: of the request's path, or NULL. */
static bool applies(const struct builtin_rule *rule, const struct policy_request *request,
		    const struct guarded *row)
{
	if (rule->unless_modes && is_in(rule->unless_modes, request->mode))
		return false;
	return !rule->is_guard || (row && strcmp(rule->name, row->rule) == 0);
}

const struct builtin_rule *builtin_judge(const struct builtin_rule *table,
					 const struct policy_request *request,
					 uint64_t operation_bit, const struct guarded_list *guarded)
{
	enum guarded_what what = operation_bit == FS_WRITE ? GUARDED_WRITE : GUARDED_HIDDEN;
	const struct builtin_rule *found = NULL;
	const struct guarded *row = NULL;

	while (table->name && !(table->operations & operation_bit))
		table++;
	if (table->name && request->path && guarded)
		row = guarded_match(guarded, request->path, what);

	for (; table->name; table++)
		if ((table->operations & operation_bit) &&
		    (!found || table->action > found->action) && applies(table, request, row))
			found = table;
	return found;
}
