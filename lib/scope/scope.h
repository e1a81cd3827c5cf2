/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A transient scope from the service manager, through sd-bus: the private module scope.so, which a
 * tool opens only if the plan has limits that no delegated cgroup can enforce
 */

#include <stdint.h>
#include <sys/types.h>

#define SCOPE_PROCESSES 2

/* 0: no such limit. */
struct scope_limits {
	uint64_t memory_max_bytes;
	uint64_t cpu_quota_usec; /* per second */
	uint64_t tasks_max;
};

/*
 * Creates the scope UNIT with @pids (which must wait until then) in sbx.slice, by the system's
 * manager for root and by the user's manager for others, and waits until the job is done. The scope
 * is delegated, is not stopped by the manager on an out-of-memory kill, and is removed when it is
 * empty. Fails unless every limit is enforced. *@ret_cgroup: its directory, absolute; the caller
 * frees it. *@ret_why: a text for messages on failure, or NULL; the caller frees it.
 */
typedef int scope_start_fn(const char *unit, const pid_t pids[SCOPE_PROCESSES],
			   const struct scope_limits *limits, const char *description,
			   char **ret_cgroup, char **ret_why);
#define SCOPE_START_SYMBOL "sbx_scope_start"

/*
 * Moves the calling process into the cgroup @directory ("/name") of the scope UNIT, to which it
 * does not belong. The kernel refuses this to an unprivileged caller, because the common ancestor
 * of the two cgroups belongs to root; the manager may do it. 0 or negative errno.
 */
typedef int scope_join_fn(const char *unit, const char *directory);
#define SCOPE_JOIN_SYMBOL "sbx_scope_join"
