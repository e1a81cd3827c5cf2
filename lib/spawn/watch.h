/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Detects when the kernel has detached a mount that protects a path
 *
 * A denial in a directory that is shown from outside is a mount over a name. The kernel detaches it
 * when a process outside removes the name or renames another file over it; a process inside gets
 * EBUSY. It cannot be prevented, but poll() of the sandbox's mountinfo reports it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "spawn/loop.h"

struct plan;
struct sbx_error;
struct step;
struct step_origin;

/* Points into the plan. */
struct watch_loss {
	const char *path; /* inside; NULL: nothing is lost */
	const struct step_origin *origin;
};

/* A mount over a name of the host. */
struct watched {
	const struct step *step;
	size_t base;
	uint64_t mount;
};

/* The outermost bind mount around watched ones. */
struct watch_base {
	const struct step *step;
	int fd;
};

struct watch {
	struct watched *mounts;
	struct watch_base *bases;
	size_t n, n_bases;
	int root;  /* the sandbox's "/" */
	uid_t uid; /* of the command, outside */
	gid_t gid;
	bool is_begun;
	/* Ready when mounts have changed; the caller sets its function. */
	struct source changes;
};

#define WATCH_INIT                                                                                 \
	{                                                                                          \
		.root = -EBADF, .changes = {.fd = -EBADF }                                         \
	}

/* Finds the mounts to watch; usually there are none. 0 or -ENOMEM. */
int watch_read_plan(struct watch *watch, const struct plan *plan);
static inline bool watch_is_needed(const struct watch *watch)
{
	return watch->n > 0;
}

/*
 * @root is the sandbox's "/", and @mountinfo a /proc/PID/mountinfo of its mounts, opened before any
 * was made there. Takes both, even on failure. After success no change is missed: call
 * watch_check() when @watch->changes is ready.
 */
int watch_begin(struct watch *watch, int root, int mountinfo, struct sbx_error *err);
/* The first mount that is no longer at its target. */
struct watch_loss watch_check(const struct watch *watch);
void watch_deinit(struct watch *watch);
#define _cleanup_watch_ _cleanup_(watch_deinit)
