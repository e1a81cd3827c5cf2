/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Runs a second command in a running sandbox with the namespaces, cgroup and restrictions of the
 * first (sbx-ctl exec)
 */

#include "kernel/kernel.h"
#include "scope/scope.h"
#include "spawn/join.h"

/* The cgroup of a sandbox in a scope of systemd. */
struct scope_cgroup {
	scope_join_fn *join; /* NULL: there is no scope */
	const char *unit;
	char *directory; /* absolute */
};

struct visit {
	const struct kernel *kernel;
	const struct plan *plan;
	const struct namespace_set *namespaces;
	const struct scope_cgroup *scope;
	char *const *argv;
	int stdio[3];
};

/* Messages come from @ret->socket, as from PID 1. 0 or negative errno. */
int visit_start(const struct visit *visit, struct joined *ret);
