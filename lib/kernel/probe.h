/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The features of this kernel for this user, determined by trying, never by version numbers
 */

#include <stddef.h>

#include "plan/host.h"

struct arena;
struct sbx_error;
struct text;

/*
 * Fills @ret with the facts that every start needs, and with the files at @paths (NULL-terminated).
 * Only creating a user namespace shows that it works: has_userns is true here unless it is known to
 * be forbidden; the start itself fails closed, and host_probe_deeply() tries it. Texts are
 * allocated from @arena.
 */
int host_probe(const char *const *paths, const char *project, struct arena *arena, struct host *ret,
	       struct sbx_error *err);
/* Are @uid and @gid in /etc/passwd and /etc/group? Without @has_number: the caller's own ids, or
 * for root unused ones, which are in no file. */
void host_find_accounts(bool has_number, uid_t uid, gid_t gid, struct host *host);
/* Can a copy of /etc/hosts be made? */
void host_find_hosts(struct host *host);
/* Determines has_userns by a child process; if it is false, userns_why and userns_fix explain it.
 * Only for callers that accept the tier reduced, because it costs as much as a small program. */
int host_try_userns(struct arena *arena, struct host *host, struct sbx_error *err);
/* Determines all facts by trying: namespaces, a new /proc, overlays, Landlock, filters, a cgroup.
 * Takes a few milliseconds. */
int host_probe_deeply(struct arena *arena, struct host *ret, struct sbx_error *err);

/*
 * Opens the directory @path, which is normal and the parent of what @option names. It passes only
 * the links that a grant passes, so that no other user, and no command in a sandbox, has redirected
 * it. *@ret_real: the path without links. The fd or negative errno.
 */
int host_open_directory(const char *option, const char *path, struct arena *arena,
			const char **ret_real, struct sbx_error *err);

/* The enum host_sign flags of @directory, to compare a plan's tops after the end of the command. */
unsigned host_find_signs(const char *directory);

/* Fills @err with the reason and the fix after a namespace was refused. */
void host_explain_userns(int code, struct sbx_error *err);

/* --check: one screen, or one object. */
void host_add_text(struct text *out, const struct host *host);
void host_add_json(struct text *out, const struct host *host);
