/* SPDX-License-Identifier: MIT */

/*
 * Which system call filter: a profile, its variant, and the policy's own denials
 */

#include "plan/plan-internal.h"

#include <string.h>

/* NULL-terminated; the policy dies before the plan does. */
static void copy_denied(struct planner *planner)
{
	const struct setting *list = planner_setting(planner, "denySyscalls"), *item;
	const char **names;

	if (!list || list->number == 0)
		return;
	names = planner_alloc(planner, (list->number + 1) * sizeof(*names));
	for (size_t i = 0; names && (item = planner_item(planner, "denySyscalls", i, "")); i++)
		names[i] = planner_keep(planner, item->text);
	planner->plan->deny_syscalls = names;
}

/* Is the memory of a strict template held by what does not count shared memory? */
static bool is_memory_private(const struct planner *planner)
{
	const struct plan_limit *memory = &planner->plan->limits[LIMIT_MEMORY];

	return strcmp(planner->template->profile, "strict") == 0 && memory->is_set &&
	       memory->holder == HELD_BY_RLIMIT;
}

void add_filter(struct planner *planner)
{
	struct step *step = planner_add_step(planner, STEP_SECCOMP, origin_built_in);

	step->seccomp.profile = planner->profile;
	if (planner->is_using_inet)
		step->seccomp.variants |= VARIANT_INET;
	if (planner->is_using_inet && (planner->plan->layers & LAYER_NET))
		step->seccomp.variants |= VARIANT_LOOPBACK;
	if (planner->is_nested)
		step->seccomp.variants |= VARIANT_NESTED;
	if (is_limiting_exec(planner) && !planner->exec_everywhere)
		step->seccomp.variants |= VARIANT_NO_MEMFD_EXEC;
	if (planner->is_using_inet && planner->is_limiting_ports)
		step->seccomp.variants |= VARIANT_PORTS;
	if (planner->plan->tier == TIER_REDUCED)
		step->seccomp.variants |= VARIANT_NO_NAMESPACES;
	if (is_memory_private(planner))
		step->seccomp.variants |= VARIANT_NO_SHM;
	copy_denied(planner);
}
