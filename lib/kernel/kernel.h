/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Carries out the steps of a plan; no other directory changes the state of a process
 *
 *   supervisor   kernel_prepare()   makes the cgroup; as root, opens every path once
 *                kernel_clone()     one clone3() with the namespaces, into the cgroup
 *                kernel_divide_scope()  where a service manager has moved PID 1 into a scope
 *   PID 1        kernel_build()     id map, paths, file tree, network: the host's tree is gone
 *                kernel_confine()   rlimits, identity, capabilities, Landlock: for good
 *   command      kernel_become()    directory, terminal, seccomp; kernel_exec()
 *   supervisor   kernel_finish()    kills and removes what is left of it
 *
 * Policies and options are unknown here. A failed step is reported as its number and an errno
 * (struct kernel_failure); the supervisor, which has the plan, writes the message.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "kernel/interpreter.h"
#include "plan/plan.h"

struct sbx_error;
struct sock_fprog;

#define KERNEL_LISTENERS_MAX 32
/* Most steps need one fd, an overlay four. */
#define KERNEL_STEP_FDS 4
/* In struct kernel_failure: before any step, or between two. */
#define KERNEL_NO_STEP UINT32_MAX

/* The state while a plan is carried out. */
struct kernel {
	const struct plan *plan;
	int *fds;	     /* KERNEL_STEP_FDS per step: opened for it, or -EBADF */
	int cgroup_fd;	     /* directory of the sandbox's cgroup, or -EBADF */
	int cgroup_child_fd; /* of its child, if the plan has one: the processes are there */
	int cgroup_parent_fd;
	int proc_fd; /* /proc, while the file tree changes */
	int ruleset_fd;
	int listeners[KERNEL_LISTENERS_MAX]; /* made by STEP_LISTEN, in their order */
	size_t n_listeners;
	const struct sock_fprog *filter; /* for STEP_SECCOMP */
	bool filter_notifies;
	const mode_t *umask; /* of the command; NULL: the caller's */
	int streams[3];	     /* fds that become 0 to 2 of the command; -EBADF: unchanged */
	int notify_fd;	     /* of the command's filter, to be sent to the supervisor */
	int pty_master;	     /* made by STEP_TERMINAL in PID 1, to be sent to the supervisor */
	uid_t uid;	     /* ids before identity_borrow() */
	gid_t gid;
	int owner_fd; /* of a user namespace that maps owner to the command's user: mount.h */
	uid_t owner_uid;
	gid_t owner_gid;
	const char *unmapped;  /* the source of a bind whose optional owner could not be mapped; or
				  NULL */
	const char *of_system; /* the source of a writable bind or an overlay whose owner was not
				  mapped, because it has files of the system; or NULL */
	pid_t pid;	       /* of PID 1 in the supervisor's PID namespace */
	int pidfd;
};

struct kernel_failure {
	uint32_t step; /* number in the plan */
	int32_t code;  /* negative errno */
};

/* Why the command could not be executed, if the errno alone is ambiguous. */
enum exec_fault {
	EXEC_FAULT_NONE,
	EXEC_FAULT_DIRECTORY,
	EXEC_FAULT_MODE,	/* no execute permission */
	EXEC_FAULT_INTERPRETER, /* the file exists, but not its interpreter or loader */
	N_EXEC_FAULTS,
};

struct exec_failure {
	enum exec_fault fault;
	char interpreter[INTERPRETER_MAX]; /* "" if the file does not name one */
};

#define KERNEL_NO_STREAMS                                                                          \
	{                                                                                          \
		-EBADF, -EBADF, -EBADF                                                             \
	}
#define KERNEL_INIT                                                                                \
	{                                                                                          \
		.cgroup_fd = -EBADF, .cgroup_child_fd = -EBADF, .cgroup_parent_fd = -EBADF,        \
		.proc_fd = -EBADF, .ruleset_fd = -EBADF, .notify_fd = -EBADF,                      \
		.pty_master = -EBADF, .pidfd = -EBADF, .owner_fd = -EBADF,                         \
		.streams = KERNEL_NO_STREAMS                                                       \
	}

int kernel_prepare(struct kernel *kernel, const struct plan *plan, const struct sock_fprog *filter,
		   bool filter_notifies, struct kernel_failure *ret_failure);
/*
 * Like fork() into the namespaces and the cgroup of the plan: 0 in PID 1, its pid in the
 * supervisor, or negative errno (a failure of STEP_NAMESPACES). Started by root, the new process is
 * no longer root outside.
 */
pid_t kernel_clone(struct kernel *kernel);
/*
 * Does the kernel kill a process that clone3() creates in another cgroup than ours? It compares how
 * often cgroup.kill was written in the one and in the other (seen with Linux 6.18), and so takes an
 * old write to ours for one during the fork. For the message about a PID 1 that was killed: makes
 * and removes a child of the sandbox's cgroup.
 */
bool kernel_kills_at_birth(const struct kernel *kernel);
/*
 * Both PID 1 and @keeper are in the cgroup of a scope. Moves PID 1 into @directory, a new child of
 * it with memory.oom.group, and @keeper into another child. 0 or negative errno.
 */
int kernel_divide_scope(struct kernel *kernel, const char *directory, pid_t keeper);

/* These functions run in the sandbox. 0, or negative errno with the step in @ret. */
int kernel_build(struct kernel *kernel, struct kernel_failure *ret);
int kernel_confine(struct kernel *kernel, struct kernel_failure *ret);
/* Loads the filter as its last step; if that notifies, the caller must then send and close
 * notify_fd. */
int kernel_become(struct kernel *kernel, struct kernel_failure *ret);
/* The directories in which kernel_search() looks for a name. */
const char *kernel_search_path(char *const *environment);
/* Tries the command's name as it is, or in each directory of its PATH, until @try returns something
 * else than the errno of an absent program. The best of these errnos if it never does. */
typedef int kernel_try_fn(const struct plan *plan, const char *path, struct exec_failure *ret);
int kernel_search(const struct plan *plan, kernel_try_fn *try, struct exec_failure *ret);
/* Returns only on failure: -ENOENT is 127, everything else 126. PATH is the command's own. */
int kernel_exec(const struct plan *plan, struct exec_failure *ret);
/*
 * Loads the filter of PID 1 itself, when it only reaps processes and forwards signals:
 * rt_sigtimedwait, rt_sigprocmask, wait4, waitid, kill, write, sendto, sendmsg, close, getpid,
 * exit.
 */
int kernel_confine_reaper(void);

/* The name of the cgroup's child, where the plan has one. */
#define KERNEL_CGROUP_CHILD "command"
/* The cgroup in which the processes are, or -EBADF. */
int kernel_process_cgroup(const struct kernel *kernel);
/* Writes @text to the file @name of a cgroup. 0 or negative errno, -EBADF: there is no cgroup. */
int kernel_write_cgroup(int cgroup_fd, const char *name, const char *text);
/*
 * Waits until no process is left in the cgroup, and removes it with its descendants. -EBUSY:
 * something will not die. 0 also where it is gone.
 */
int kernel_remove_cgroup(int parent_fd, const char *name, int cgroup_fd);
/* Kills all processes in the cgroup and removes it. 0 or negative errno; may be called again. */
int kernel_finish(struct kernel *kernel);
void kernel_deinit(struct kernel *kernel);
#define _cleanup_kernel_ _cleanup_(kernel_deinit)

/* The number of the first step of @kind, or KERNEL_NO_STEP. */
uint32_t kernel_find_step(const struct plan *plan, enum step_kind kind);

/* "cannot bind '/srv/data' into the sandbox", why (step's origin, errno's meaning here), fix. */
void kernel_explain(const struct plan *plan, const struct kernel_failure *failure,
		    struct sbx_error *err);
