/* SPDX-License-Identifier: MIT */

/*
 * The loop over a plan's steps
 *
 * The functions of a step kind, and their order, are a row of KERNEL_STEPS() in kernel-internal.h.
 *
 * A step without a row fails.
 */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/kernel-internal.h"
#include "kernel/mount.h"

#include "kernel/fault.h"

enum part { REACH, MAKE, RUN, N_PARTS };

#define ROW(kind, reach, make, run) [kind] = { [REACH] = reach, [MAKE] = make, [RUN] = run },
static step_fn *const rows[N_STEP_KINDS][N_PARTS] = { KERNEL_STEPS(ROW) };
#undef ROW

int step_none(struct kernel *kernel, const struct step *step, size_t number)
{
	return 0;
}

static int fail(struct kernel_failure *ret, size_t number, int code)
{
	ret->step = (uint32_t)number;
	ret->code = code;
	return code;
}

/* Calls one function (reach, make or run) of all steps from @first to @last. */
static int walk(struct kernel *kernel, enum part part, enum step_kind first, enum step_kind last,
		struct kernel_failure *ret)
{
	for (size_t i = 0; i < kernel->plan->n_steps; i++) {
		const struct step *step = &kernel->plan->steps[i];

		if (step->kind < first || step->kind > last)
			continue;

		step_fn *fn = rows[step->kind][part];
		int r = fn ? fn(kernel, step, i) : -ENOSYS;

		if (r < 0)
			return fail(ret, i, r);
	}
	return 0;
}

/* The kinds of a stage follow one another; "no step is left out" does not depend on a name here. */
static enum step_kind first_of(enum step_stage stage)
{
	enum step_kind kind = 0;

	while (step_row(kind)->stage != stage)
		kind++;
	return kind;
}

static enum step_kind last_of(enum step_stage stage)
{
	enum step_kind kind = N_STEP_KINDS - 1;

	while (step_row(kind)->stage != stage)
		kind--;
	return kind;
}

static int run_stage(struct kernel *kernel, enum step_stage stage, struct kernel_failure *ret)
{
	return walk(kernel, RUN, first_of(stage), last_of(stage), ret);
}

uint32_t kernel_find_step(const struct plan *plan, enum step_kind kind)
{
	const struct step *step = plan_find_step(plan, kind);

	return step ? (uint32_t)(step - plan->steps) : KERNEL_NO_STEP;
}

static bool is_of_tree(enum step_kind kind)
{
	return kind >= STEP_BIND && kind <= STEP_SEAL;
}

/*
 * Before pivot_root() targets would be paths of the host, and a filter that is loaded too early or
 * a privilege that is dropped too late is a vulnerability: so the order of the plan is checked.
 */
static int check_order(const struct plan *plan, struct kernel_failure *ret)
{
	bool is_alone = false;
	size_t wrong = steps_find_disorder(plan->steps, plan->n_steps);

	if (wrong < plan->n_steps)
		return fail(ret, wrong, -EINVAL);
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];

		is_alone = is_alone || step->kind == STEP_PIVOT;
		if (is_of_tree(step->kind) && (!is_alone || mask_has_name(step_target(step))))
			return fail(ret, i, -EINVAL);
	}
	return 0;
}

int kernel_prepare(struct kernel *kernel, const struct plan *plan, const struct sock_fprog *filter,
		   bool filter_notifies, struct kernel_failure *ret_failure)
{
	size_t n_fds = plan->n_steps * KERNEL_STEP_FDS;
	int r = check_order(plan, ret_failure);

	if (r < 0)
		return r;
	kernel->plan = plan;
	kernel->filter = filter;
	kernel->filter_notifies = filter_notifies;
	kernel->uid = geteuid();
	kernel->gid = getegid();
	kernel->fds = malloc(n_fds * sizeof(*kernel->fds));
	if (!kernel->fds)
		return fail(ret_failure, KERNEL_NO_STEP, -ENOMEM);
	for (size_t i = 0; i < n_fds; i++)
		kernel->fds[i] = -EBADF;

	r = run_stage(kernel, STAGE_SUPERVISOR, ret_failure);
	if (r == 0 && kernel_borrows(kernel))
		r = walk(kernel, REACH, STEP_ROOT, STEP_SEAL, ret_failure);
	close_fd(&kernel->owner_fd);
	return r;
}

/*
 * Call it when PID 1 is in its cgroup, which then is the root of what it sees in the cgroup tree.
 */
static int enter_cgroup_namespace(const struct kernel *kernel, struct kernel_failure *ret)
{
	uint32_t number = kernel_find_step(kernel->plan, STEP_NAMESPACES);

	if (!kernel_joins_cgroup(kernel) || number == KERNEL_NO_STEP ||
	    !(kernel->plan->steps[number].namespaces.clone_flags & CLONE_NEWCGROUP))
		return 0;
	return unshare(CLONE_NEWCGROUP) < 0 ? fail(ret, number, -errno) : 0;
}

/* Closes the fds that only the supervisor needs. */
static void leave_to_supervisor(struct kernel *kernel)
{
	close_fd(&kernel->cgroup_fd);
	close_fd(&kernel->cgroup_child_fd);
	close_fd(&kernel->cgroup_parent_fd);
}

static int build(struct kernel *kernel, struct kernel_failure *ret)
{
	int r = enter_cgroup_namespace(kernel, ret);

	leave_to_supervisor(kernel);
	if (r < 0)
		return r;
	r = walk(kernel, RUN, first_of(STAGE_BUILD), STEP_ROOT - 1, ret);
	if (r < 0)
		return r;
	if (!kernel_borrows(kernel)) {
		r = walk(kernel, REACH, STEP_ROOT, STEP_SEAL, ret);
		if (r < 0)
			return r;
	}
	r = walk(kernel, MAKE, STEP_ROOT, STEP_SEAL, ret);
	if (r < 0)
		return r;
	r = walk(kernel, RUN, STEP_ROOT, STEP_SEAL, ret);
	return r < 0 ? r : walk(kernel, RUN, STEP_SEAL + 1, last_of(STAGE_BUILD), ret);
}

int kernel_build(struct kernel *kernel, struct kernel_failure *ret)
{
	/* The modes of the plan are exact. The command gets the caller's umask. */
	mode_t mask = umask(0);
	int r = build(kernel, ret);

	(void)umask(mask);
	return r;
}

int kernel_confine(struct kernel *kernel, struct kernel_failure *ret)
{
	return run_stage(kernel, STAGE_CONFINE, ret);
}

int kernel_become(struct kernel *kernel, struct kernel_failure *ret)
{
	if (kernel->umask)
		(void)umask(*kernel->umask);
	return run_stage(kernel, STAGE_COMMAND, ret);
}

int kernel_finish(struct kernel *kernel)
{
	const struct step *step = kernel->plan ? plan_find_step(kernel->plan, STEP_CGROUP) : NULL;

	if (!step || kernel->cgroup_fd < 0)
		return 0;

	int r = cgroup_kill(kernel->cgroup_fd);

	return r < 0 ? r
		     : kernel_remove_cgroup(kernel->cgroup_parent_fd, path_last(step->cgroup.path),
					    kernel->cgroup_fd);
}

void kernel_deinit(struct kernel *kernel)
{
	int *const fds[] = {
		&kernel->cgroup_fd,  &kernel->cgroup_child_fd, &kernel->cgroup_parent_fd,
		&kernel->proc_fd,    &kernel->ruleset_fd,      &kernel->notify_fd,
		&kernel->pty_master, &kernel->owner_fd,	       &kernel->pidfd
	};

	if (kernel->fds)
		fd_close_many(kernel->fds, kernel->plan->n_steps * KERNEL_STEP_FDS);
	free(kernel->fds);
	kernel->fds = NULL;
	fd_close_many(kernel->listeners, kernel->n_listeners);
	kernel->n_listeners = 0;
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		fd_close_many(fds[i], 1);
}
