/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The parts of the probe: each looks at one thing and writes it into struct host
 *
 * Every start of a sandbox pays for every system call of host_probe(), so each part does with as
 * few as it can and stops as soon as it knows.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "plan/host.h"

struct sbx_error;

/*
 * Reads a small file of the kernel's, or of anybody's: never through a link at the end, never
 * waiting for somebody to write. Its length without white space at the end, and a NUL behind it; or
 * negative errno, -EFBIG where it does not fit.
 */
int probe_read(int dirfd, const char *path, char *ret, size_t size);
/* "FOLDER/NAME" in @arena, or NULL. */
char *probe_join(struct arena *arena, const char *folder, const char *name);

/*
 * probe-paths.c: looks at paths and remembers the links on their ways, so that what lies behind one
 * costs nothing twice
 */
struct place_search {
	struct arena *arena;
	struct host_link *links; /* sorted by path */
	size_t n_links;
	size_t n_room;
	bool follows_all; /* anybody's links: to know where others go, not to go there */
	int has_root; /* is there a number for root in our user namespace? -1: not looked at yet */
};
/* What stands at @path, which is normal. 0 or negative errno with @err. */
int probe_place(struct place_search *search, const char *path, struct host_path *ret,
		struct sbx_error *err);
/* The same for what @text, as a link would have it, means in the canonical @folder. */
int probe_place_from(struct place_search *search, const char *folder, const char *text,
		     struct host_path *ret);
/* Fills in paths and links. */
int probe_places(struct place_search *search, const char *const *paths, struct host *ret,
		 struct sbx_error *err);

/* probe-git.c: git_common. @project is canonical. */
int probe_git(struct place_search *search, const char *project, struct host *ret);
/* probe-tops.c: repository and tops, for each ".git" among @ret's paths, which are those of
 * directories that may be written. */
int probe_repositories(struct place_search *search, struct host *ret);

/* probe-cgroup.c: cgroup, controllers, has_cgroup_kill, cgroup_why, has_scope */
int probe_cgroup(struct arena *arena, struct host *ret);
/* The same where @mount is the cgroup file system and @own our line of /proc/self/cgroup. */
int probe_cgroup_at(struct arena *arena, const char *mount, const char *own, struct host *ret);

/* probe-userns.c: with @sysctl_fd for /proc/sys, -EBADF: not there; and whether a filter watches
 * our own system calls. */
void probe_explain_userns(int sysctl_fd, bool is_filtered, int code, struct sbx_error *err);

/* probe-try.c: what a child of ours finds by trying. */
int probe_try(struct arena *arena, struct host *ret, struct sbx_error *err);
