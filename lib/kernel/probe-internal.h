/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The parts of the probe: each determines some facts of struct host
 *
 * Every start of a sandbox runs host_probe(), so each part uses as few system calls as possible and
 * stops as soon as it has the answer.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "plan/host.h"

struct sbx_error;

/*
 * Reads a small file, which may be untrusted: does not follow a link at the end, and does not block
 * on a FIFO. Returns the length without trailing white space, followed by a NUL; or negative errno,
 * -EFBIG if it does not fit.
 */
int probe_read(int dirfd, const char *path, char *ret, size_t size);
/* "DIRECTORY/NAME" in @arena, or NULL. */
char *probe_join(struct arena *arena, const char *directory, const char *name);

/*
 * probe-paths.c: resolves paths and caches the links in them, so that each link is read once
 */
struct place_search {
	struct arena *arena;
	struct parents *parents; /* directories in which several paths are; or NULL */
	struct arena_rows links; /* struct host_link, sorted by path */
	bool follows_all;	 /* also links of other users, only to report their targets */
	int has_root; /* is uid 0 mapped in the current user namespace? -1: not determined yet */
};
/* Examines @path, which is normal. 0 or negative errno with @err. */
int probe_place(struct place_search *search, const char *path, struct host_path *ret,
		struct sbx_error *err);
/* The same for @text, interpreted like the target of a link in the canonical @directory. */
int probe_place_from(struct place_search *search, const char *directory, const char *text,
		     struct host_path *ret);
/* Fills in paths and links. */
int probe_places(struct place_search *search, const char *const *paths, struct host *ret,
		 struct sbx_error *err);

/* probe-repository.c: git_common. @project is canonical. */
int probe_git(struct place_search *search, const char *project, struct host *ret);
/* Repository and tops, for each ".git" among @ret's paths, which the plan asks for in
 * writable directories. */
int probe_repositories(struct place_search *search, struct host *ret);

/* probe-cgroup.c: cgroup, controllers, has_cgroup_kill, cgroup_why, has_scope */
int probe_cgroup(struct arena *arena, struct host *ret);
/* The same with @mount as the cgroup file system and @own as the line of /proc/self/cgroup. */
int probe_cgroup_at(struct arena *arena, const char *mount, const char *own, struct host *ret);

/* With @sysctl_fd for /proc/sys, or -EBADF; @is_filtered: the process has a seccomp filter. */
void probe_explain_userns(int sysctl_fd, bool is_filtered, int code, struct sbx_error *err);

/* probe-try.c: facts that a child process determines by trying. */
int probe_try(struct arena *arena, struct host *ret, struct sbx_error *err);
