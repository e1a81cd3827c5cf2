/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where a process is, as seen from this one: outside of every sandbox, or not
 *
 * A uid does not say that: what an ordinary user runs in a sandbox has the same one. A user
 * namespace does, because no process leaves one; and a sandbox without one (the tier "reduced") has
 * a cgroup of its own.
 */

#include <stdbool.h>
#include <sys/types.h>

enum place {
	PLACE_UNKNOWN, /* the process is gone, or /proc does not show it: as if it were inside */
	PLACE_BESIDE,  /* in our user namespace and in no sandbox's cgroup, or in our sandbox's */
	PLACE_IN_NAMESPACE,
	PLACE_IN_SANDBOX,
};

/* By its number: the caller makes sure that it is still the same process afterwards. */
enum place place_of(pid_t pid);
/* Are two processes in the same sandbox's cgroup, or both in none? By what /proc/PID/cgroup says. A
 * sandbox inside of the other's is another one. */
bool place_is_same_sandbox(const char *ours, const char *its);
/* For records: NULL for PLACE_BESIDE. */
const char *place_name(enum place place);
