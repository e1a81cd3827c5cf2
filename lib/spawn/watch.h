/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Does everything still stand over what it covers, and is what must be absent still absent?
 *
 * A denial in a folder that is shown from outside is a mount over a name. The kernel takes it away
 * when somebody outside removes that name or puts another file there, and it goes along when the
 * name is renamed. Neither can be prevented; both are noticed. Where there is nothing to cover, the
 * name may appear.
 */

#include <stdbool.h>
#include <stddef.h>

#include "spawn/loop.h"

struct plan;
struct plan_absent;
struct sbx_error;
struct step_origin;
struct watched;

/* Points into the plan. */
struct watch_loss {
	const char *path; /* inside, or NULL: nothing is lost */
	const struct step_origin *origin;
};

struct watch {
	struct watched *names;
	size_t n;
	size_t size;
	bool is_begun;
	/* Has something to say when mounts have changed; its function is the caller's. */
	struct source mounts;
};

#define WATCH_INIT                                                                                 \
	{                                                                                          \
		.mounts = {.fd = -EBADF }                                                          \
	}

/* Which names are to be watched; none is the usual answer. 0 or -ENOMEM. */
int watch_read_plan(struct watch *watch, const struct plan *plan);
static inline bool watch_is_needed(const struct watch *watch)
{
	return watch->n > 0;
}

/*
 * @root is the sandbox's "/", and @mounts a /proc/PID/mountinfo of its mounts, opened before any
 * was made there. Takes @mounts, also on failure. From its success on no change goes unnoticed:
 * after what @watch->mounts says and after each SIGIO, which must be blocked, watch_check() tells.
 */
int watch_begin(struct watch *watch, int root, int mounts, struct sbx_error *err);
/* The first that does not stand where it stood. */
struct watch_loss watch_check(const struct watch *watch);
/* The first from *@at on that is there and should not be, or NULL; *@at is then behind it. */
const struct plan_absent *watch_find_appeared(const struct watch *watch, size_t *at);
/*
 * Puts what has appeared under a name that nobody looks for, beside it: a name inside, in @ret. It
 * is done outside, in the folder that was seen inside. 0, -ENOENT where it is gone again, or
 * negative errno.
 */
int watch_put_aside(const struct watch *watch, const struct plan_absent *absent, char *ret,
		    size_t size);
void watch_deinit(struct watch *watch);
#define _cleanup_watch_ _cleanup_(watch_deinit)
