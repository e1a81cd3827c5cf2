/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A transient scope from the service manager, through sd-bus: the private module scope.so, which a
 * tool opens only when a policy has limits that no delegated cgroup can hold
 */

#include <stdint.h>
#include <sys/types.h>

#define SCOPE_PROCESSES 2

/* 0: no such limit. */
struct scope_limits {
	uint64_t memory_max_bytes;
	uint64_t cpu_quota_usec; /* a second */
	uint64_t tasks_max;
};

/*
 * Makes the scope UNIT with @pids in it (the processes wait until then), in sbx.slice, by the
 * system's manager for root and the user's own else, and waits until the job is done. It is
 * delegated to us, who has what runs out of memory killed; gone when it is empty; and holds every
 * limit, or this fails. *@ret_cgroup: its folder, absolute; the caller frees it. *@ret_why: a text
 * for messages on failure, or NULL; the caller frees it.
 */
typedef int scope_start_fn(const char *unit, const pid_t pids[SCOPE_PROCESSES],
			   const struct scope_limits *limits, const char *description,
			   char **ret_cgroup, char **ret_why);
#define SCOPE_START_SYMBOL "sbx_scope_start"

/*
 * Moves the calling process into @folder ("/name") of the scope UNIT, of which it is not part: the
 * manager may where the kernel does not let us, because all that we share with the scope's cgroup
 * is root's. 0 or negative errno.
 */
typedef int scope_join_fn(const char *unit, const char *folder);
#define SCOPE_JOIN_SYMBOL "sbx_scope_join"
