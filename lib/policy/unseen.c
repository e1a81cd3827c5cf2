/* SPDX-License-Identifier: MIT */

/*
 * What the kernel cannot see of a rule: the tables
 */

#include "policy/unseen.h"

#include <string.h>

#include "base/cleanup.h"

static const bool unseen_keys[N_MATCH_KEYS] = {
	[MATCH_CALLER] = true,
	[MATCH_TAG] = true,
	[MATCH_STATE] = true,
	[MATCH_MODE] = true,
};
static const bool network_keys[N_MATCH_KEYS] = {
	[MATCH_HOST] = true,
	[MATCH_CIDR] = true,
	[MATCH_PORT] = true,
	[MATCH_PROTO] = true,
};

bool match_key_is_unseen(enum match_key key)
{
	return unseen_keys[key];
}

enum match_key condition_unseen_key(const struct condition *condition)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (unseen_keys[key] && condition->lists[key].present)
			return (enum match_key)key;
	return N_MATCH_KEYS;
}

bool condition_has_empty_list(const struct condition *condition)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (condition->lists[key].present && condition->lists[key].n_values == 0)
			return true;
	return false;
}

bool condition_can_hold_for_files(const struct condition *condition)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (network_keys[key] && condition->lists[key].present)
			return false;
	return !condition_has_empty_list(condition);
}

enum unmet_constraint constraints_unmet(const struct constraints *constraints, const char *level)
{
	const char *wanted = constraints->require_sandbox;

	if (constraints->require_token)
		return UNMET_TOKEN;
	if (wanted && level && strcmp(level, wanted) < 0)
		return UNMET_LEVEL;
	return constraints->sha256 ? UNMET_DIGEST : UNMET_NONE;
}

const char *unmet_constraint_name(enum unmet_constraint unmet)
{
	static const char *const names[] = {
		[UNMET_TOKEN] = "capability token",
		[UNMET_LEVEL] = "inner sandbox",
		[UNMET_DIGEST] = "program's digest",
	};

	return names[unmet];
}

const char *policy_sandbox_level(const struct policy *policy)
{
	const struct setting *nested = policy_get_setting(policy, "isolation.nested");

	return nested && nested->number ? "L1" : "L2";
}

bool path_is_of_reader(const char *path)
{
	static const char *const links[] = { "/proc/self", "/proc/thread-self" };

	for (size_t i = 0; i < N_ELEMENTS(links); i++) {
		size_t len = strlen(links[i]);

		if (strncmp(path, links[i], len) == 0 && (path[len] == '\0' || path[len] == '/'))
			return true;
	}
	return false;
}
