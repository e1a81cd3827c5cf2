/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A second command in a sandbox that runs, as the first one is: same namespaces, same cgroup, same
 * confinement (sbx-ctl exec)
 */

#include "kernel/kernel.h"
#include "scope/scope.h"
#include "spawn/join.h"

/* A sandbox's cgroup in a scope of the service manager. */
struct scope_cgroup {
	scope_join_fn *join; /* NULL: it is in none */
	const char *unit;
	char *folder; /* absolute */
};

struct visit {
	const struct kernel *kernel;
	const struct plan *plan;
	const struct place *place;
	const struct scope_cgroup *scope;
	char *const *argv;
	int stdio[3];
};

/* Messages come from @ret->socket, as from PID 1. 0 or negative errno. */
int visit_start(const struct visit *visit, struct joined *ret);
