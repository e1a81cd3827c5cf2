/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the kernel cannot see of a rule about files and programs
 *
 * It knows paths and operations. Neither who asks, in which state, nor with which token reaches it,
 * and a file has no host. The one reading of that for composition, check and planner.
 */

#include <stdbool.h>

#include "policy/model.h"

/* Of who asks: only a tool that asks the policy service says it. */
bool match_key_is_unseen(enum match_key key);
/* The first such key of the condition, or N_MATCH_KEYS. */
enum match_key condition_unseen_key(const struct condition *condition);
/* False where no file meets the condition: a key of the network, or an empty list. */
bool condition_can_hold_for_files(const struct condition *condition);
bool condition_has_empty_list(const struct condition *condition);

enum unmet_constraint {
	UNMET_NONE,
	UNMET_TOKEN,
	UNMET_LEVEL, /* the rule wants a deeper sandbox */
	UNMET_DIGEST,
};
/* What no command in a sandbox of @level (NULL: not known) meets of the constraints. */
enum unmet_constraint constraints_unmet(const struct constraints *constraints, const char *level);
/* "capability token"; NULL for UNMET_NONE. */
const char *unmet_constraint_name(enum unmet_constraint unmet);

/* "L2", or the outer one for a policy under which the command builds sandboxes itself. */
const char *policy_sandbox_level(const struct policy *policy);

/* /proc/self, /proc/thread-self, and what is below them: other files for each process. */
bool path_is_of_reader(const char *path);
