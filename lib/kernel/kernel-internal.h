/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The rows of lib/kernel: one function a step kind, in the file of its facility
 *
 * @number is the step's place in the plan, and in kernel->fds. 0 or negative errno; the loop in
 * apply.c makes the failure of it.
 */

#include "kernel/kernel.h"

typedef int step_fn(struct kernel *kernel, const struct step *step, size_t number);

/* Started by root, the command is somebody else, who cannot reach what only root can. */
static inline bool kernel_borrows(const struct kernel *kernel)
{
	return kernel->plan->uid != kernel->uid || kernel->plan->gid != kernel->gid;
}

/* PID 1 goes into a cgroup of its own, at birth or moved by a service manager. */
static inline bool kernel_joins_cgroup(const struct kernel *kernel)
{
	return kernel->cgroup_fd >= 0 ||
	       kernel_find_step(kernel->plan, STEP_SCOPE) != KERNEL_NO_STEP;
}

/* The KERNEL_STEP_FDS fds of a step. */
static inline int *kernel_fds(const struct kernel *kernel, size_t number)
{
	return kernel->fds + number * KERNEL_STEP_FDS;
}

/* bind.c, overlay.c, mask.c, instance.c: what stands in the tree; tree.c: the tree itself */
step_fn bind_reach;
step_fn bind_attach;
step_fn overlay_reach;
step_fn overlay_make;
step_fn overlay_attach;
step_fn mask_attach;
step_fn instance_tmpfs;
step_fn instance_make_proc;
step_fn instance_attach_proc;
step_fn instance_pts;
step_fn tree_make_root;
step_fn tree_pivot;
step_fn tree_link;
step_fn tree_folder;
step_fn tree_reach_file;
step_fn tree_copy_file;
step_fn tree_seal;

/* identity.c */
step_fn identity_map;
step_fn identity_set;
/*
 * Of the effective ids only, so that a namespace made now belongs to them; for root. The effective
 * capabilities stay: clone3() into a cgroup asks whether its caller may write there.
 */
int identity_borrow(uid_t uid, gid_t gid);
int identity_return(uid_t uid, gid_t gid);

/* capabilities.c */
step_fn capabilities_drop;
step_fn capabilities_lock; /* no_new_privs */

/* network.c */
step_fn network_hostname;
step_fn network_loopback;
step_fn network_listen;

/* rlimit.c */
step_fn rlimit_set;

/* landlock.c */
step_fn landlock_create;
step_fn landlock_allow_path;
step_fn landlock_allow_port;
step_fn landlock_enforce;

/* cgroup.c */
step_fn cgroup_make;
step_fn cgroup_limit; /* enables the controller above where it has to */
int cgroup_kill(int cgroup_fd);
int cgroup_kill_each(int cgroup_fd); /* the same without cgroup.kill */
/* Waits until nothing is left in it. -EBUSY: something will not die. 0 also where it is gone. */
int cgroup_remove(int parent_fd, const char *name, int cgroup_fd);

/* terminal.c, seccomp.c, command.c */
step_fn terminal_take; /* stdin to stderr; the other end is kernel->pty_master */
step_fn seccomp_load;
step_fn command_enter_folder;
