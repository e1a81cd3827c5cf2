/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What can this kernel, this user and this place do? Found by trying, never from version numbers
 */

#include <stddef.h>

#include "plan/host.h"

struct arena;
struct sbx_error;
struct text;

/*
 * Fills @ret with the cheap facts, which every start needs, and with what stands at @paths
 * (NULL-terminated). That user namespaces work is known for certain only when one is made:
 * has_userns is true here unless something is known to forbid it; the start itself fails closed,
 * and host_probe_deeply() tries. Texts live in @arena.
 */
int host_probe(const char *const *paths, const char *project, struct arena *arena, struct host *ret,
	       struct sbx_error *err);
/* Are @uid and @gid in /etc/passwd and /etc/group? Without a number: those of an ordinary user are
 * its own, and root's sandbox has some that no file names. */
void host_find_accounts(bool has_number, uid_t uid, gid_t gid, struct host *host);
/* Makes has_userns certain, in a child; else userns_why and userns_fix say what is in the way. For
 * whoever would do with less (tier reduced), and only then: it costs as much as a small program. */
int host_try_userns(struct arena *arena, struct host *host, struct sbx_error *err);
/* Everything, by trying: namespaces, a /proc of its own, overlays, Landlock, filters, a cgroup.
 * Takes a few milliseconds. */
int host_probe_deeply(struct arena *arena, struct host *ret, struct sbx_error *err);

/* Which enum host_sign @folder has now: a plan's tops, looked at again when all is over. */
unsigned host_find_signs(const char *folder);

/* A namespace, or what it needs, was refused: what a user must change here, for @err. */
void host_explain_userns(int code, struct sbx_error *err);

/* --check: one screen, or one object. */
void host_add_text(struct text *out, const struct host *host);
void host_add_json(struct text *out, const struct host *host);
