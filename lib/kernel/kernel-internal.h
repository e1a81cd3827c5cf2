/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The table of step kinds, with functions in the files of their facilities
 *
 * @number is the index of the step in the plan and in kernel->fds. 0 or negative errno, from which
 * the loop in apply.c makes the struct kernel_failure.
 */

#include "kernel/kernel.h"

typedef int step_fn(struct kernel *kernel, const struct step *step, size_t number);

/*
 * If root started sbx-spawn, the command has another uid and cannot open paths that only root can.
 */
static inline bool kernel_borrows(const struct kernel *kernel)
{
	return kernel->plan->uid != kernel->uid || kernel->plan->gid != kernel->gid;
}

/* PID 1 is in its own cgroup, by clone3() or moved there by the service manager. */
static inline bool kernel_joins_cgroup(const struct kernel *kernel)
{
	return kernel->cgroup_fd >= 0 || plan_find_step(kernel->plan, STEP_SCOPE);
}

/* The KERNEL_STEP_FDS fds of a step. */
static inline int *kernel_fds(const struct kernel *kernel, size_t number)
{
	return kernel->fds + number * KERNEL_STEP_FDS;
}

/*
 * One row per kind of step, with its functions:
 *
 *   reach   opens what lies outside: in PID 1, or where root borrows an identity in the supervisor
 *   make    in PID 1, while the old tree is still there
 *   run     the step itself, in its turn
 *
 * tree_attach_directory() mounts the first of the step's fds, a directory, on its target. scope and
 * scope-limit are carried out by the service manager, which lib/spawn asks; namespaces in
 * kernel_clone(); exec in kernel_exec().
 */
#define KERNEL_STEPS(ROW)                                                                          \
	ROW(STEP_CGROUP, step_none, step_none, cgroup_make)                                        \
	ROW(STEP_CGROUP_LIMIT, step_none, step_none, cgroup_limit)                                 \
	ROW(STEP_SCOPE, step_none, step_none, step_none)                                           \
	ROW(STEP_SCOPE_LIMIT, step_none, step_none, step_none)                                     \
	ROW(STEP_NAMESPACES, step_none, step_none, step_none)                                      \
	ROW(STEP_ID_MAP, step_none, step_none, identity_map)                                       \
	ROW(STEP_ROOT, step_none, step_none, tree_make_root)                                       \
	ROW(STEP_PIVOT, step_none, step_none, tree_pivot)                                          \
	ROW(STEP_BIND, bind_reach, step_none, bind_attach)                                         \
	ROW(STEP_TMPFS, step_none, step_none, instance_tmpfs)                                      \
	ROW(STEP_OVERLAY, overlay_reach, overlay_make, tree_attach_directory)                      \
	ROW(STEP_MASK, step_none, step_none, mask_attach)                                          \
	ROW(STEP_LINK, step_none, step_none, tree_link)                                            \
	ROW(STEP_DIRECTORY, step_none, step_none, tree_directory)                                  \
	ROW(STEP_FILE, tree_reach_file, step_none, tree_copy_file)                                 \
	ROW(STEP_PROC, step_none, instance_make_proc, tree_attach_directory)                       \
	ROW(STEP_PTS, step_none, step_none, instance_pts)                                          \
	ROW(STEP_SEAL, step_none, step_none, tree_seal)                                            \
	ROW(STEP_HOSTNAME, step_none, step_none, network_hostname)                                 \
	ROW(STEP_LOOPBACK, step_none, step_none, network_loopback)                                 \
	ROW(STEP_LISTEN, step_none, step_none, network_listen)                                     \
	ROW(STEP_RLIMIT, step_none, step_none, rlimit_set)                                         \
	ROW(STEP_IDENTITY, step_none, step_none, identity_set)                                     \
	ROW(STEP_CAPABILITIES, step_none, step_none, capabilities_drop)                            \
	ROW(STEP_NO_NEW_PRIVILEGES, step_none, step_none, capabilities_lock)                       \
	ROW(STEP_LANDLOCK, step_none, step_none, landlock_create)                                  \
	ROW(STEP_LANDLOCK_PATH, step_none, step_none, landlock_allow_path)                         \
	ROW(STEP_LANDLOCK_STREAMS, step_none, step_none, landlock_allow_streams)                   \
	ROW(STEP_LANDLOCK_PORT, step_none, step_none, landlock_allow_port)                         \
	ROW(STEP_LANDLOCK_ENFORCE, step_none, step_none, landlock_enforce)                         \
	ROW(STEP_WORKING_DIRECTORY, step_none, step_none, command_enter_directory)                 \
	ROW(STEP_TERMINAL, step_none, step_none, terminal_take)                                    \
	ROW(STEP_SECCOMP, step_none, step_none, seccomp_load)                                      \
	ROW(STEP_EXEC, step_none, step_none, step_none)

#define DECLARE(kind, reach, make, run) step_fn reach, make, run;
KERNEL_STEPS(DECLARE)
#undef DECLARE

/* identity.c */
/*
 * Of the effective ids only, so that a namespace made now belongs to them; for root. The effective
 * capabilities stay: clone3() into a cgroup asks whether its caller may write there.
 */
int identity_borrow(uid_t uid, gid_t gid);
int identity_return(uid_t uid, gid_t gid);

/* cgroup.c */
/* Waits until the process in the cgroup has exited; false once the cgroup, or one above it, is
 * frozen, because the process cannot exit there. */
bool cgroup_lets_exit(int cgroup_fd, int pidfd);
int cgroup_kill(int cgroup_fd);
int cgroup_kill_each(int cgroup_fd); /* the same without cgroup.kill */
