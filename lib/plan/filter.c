/* SPDX-License-Identifier: MIT */

/*
 * Which system call filter: a profile, its variant, and the policy's own denials
 */

#include "plan/plan-internal.h"

#include <errno.h>
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

static int refuse_ptrace(struct planner *planner, const char *why, const char *fix)
{
	return planner_refuse(planner, -EOPNOTSUPP, "cannot let the command trace its children",
			      why, fix);
}

/*
 * Landlock keeps a tracer from every process that is not of its own domain: those of the host and
 * of sbx-ctl exec. PID 1, which is of that domain, is not dumpable. Without Landlock a visit would
 * be open to the command, and without a pid namespace all of the host would have numbers inside.
 */
int check_ptrace(struct planner *planner)
{
	const struct setting *denied = planner_setting(planner, "denySyscalls"), *item;

	if (!planner->request->ptrace)
		return 0;
	if (strcmp(planner->profile, "strict") == 0)
		return refuse_ptrace(planner, "the profile 'strict' has no processes to trace",
				     "use the profile 'standard', or leave --ptrace out");
	if (planner->plan->tier == TIER_REDUCED)
		return refuse_ptrace(planner,
				     "in the tier reduced the host's processes have numbers inside",
				     "use a host with user namespaces, or leave --ptrace out");
	if (planner->is_nested)
		return refuse_ptrace(planner,
				     "'isolation.nested' leaves Landlock out, which keeps a tracer "
				     "from what 'sbx-ctl exec' runs",
				     "leave --ptrace or 'isolation.nested' out");
	for (size_t i = 0; denied && (item = planner_item(planner, "denySyscalls", i, "")); i++)
		if (strcmp(item->text, "ptrace") == 0)
			return refuse_ptrace(planner, "the policy denies it: 'denySyscalls'",
					     "leave --ptrace out, or 'ptrace' in the policy");
	planner_note(planner, false, "ptrace of its own children: allowed",
		     "--ptrace; strace and gdb work inside");
	return 0;
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
	if (planner->request->ptrace)
		step->seccomp.variants |= VARIANT_PTRACE;
	copy_denied(planner);
}
