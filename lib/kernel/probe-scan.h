/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One look through all repositories that a sandbox may write: what its parts share
 *
 *   probe-repository.c   the names in one repository, its worktrees and its submodules
 *   probe-config.c       what its configuration names besides
 *   probe-programs.c     where that is
 *   probe-nested.c       which repositories there are below a folder
 */

#include <stdbool.h>
#include <stddef.h>

#include "kernel/probe-internal.h"

struct scan {
	struct place_search *search;
	struct host *host; /* what could not be made out is told there */
	struct host_path *names;
	size_t n;
	size_t n_room;
	unsigned n_folders;
	unsigned n_files;	       /* of configuration */
	struct repository *repository; /* that is looked through */
};

/* A folder that paths in the configuration may be relative to. */
struct top {
	const char *path;
	struct top *next;
};

/* What the configuration names. */
struct named {
	const char *text;
	bool is_folder; /* of hooks */
	struct named *next;
};

struct repository {
	const char *folder;
	struct top *tops;
	struct top *worktrees; /* folders of linked ones, in it */
	struct named *named;
	unsigned n_values; /* that name something */
	const char *files; /* where its files are, as far as the configuration says; or NULL */
};

int scan_add(struct scan *scan, const struct host_path *name);
/* What stands at @path, which is @name in @fd. */
int scan_add_path(struct scan *scan, int fd, const char *name, const char *path);
/* @path is a ".git". */
int scan_entry(struct scan *scan, const char *path, enum host_path_kind kind);
/* The repository that the folder @path, which @fd is, is itself: a bare one. 1; 0 where it is none.
 */
int scan_bare(struct scan *scan, int fd, const char *path);
int scan_add_top(struct scan *scan, struct top **tops, const char *path);
/* Has the plan asked about a ".git" here? */
bool probe_is_entry(const struct host_path *place);

/* probe-config.c: what the configuration of @scan's repository names. */
int scan_configuration(struct scan *scan);

/* probe-programs.c: that, and all that has to be protected because of it. */
int scan_programs(struct scan *scan);
/* Where @text in @folder leads. 1, and then it has been told, where nobody can say; -ENOMEM. */
int scan_resolve(struct scan *scan, const char *folder, const char *text, struct host_path *ret);
int scan_add_place(struct scan *scan, const struct host_path *place);
/* Tells that nobody knows what @scan's repository names. 0. */
int scan_give_up(struct scan *scan, const char *why);

/* probe-nested.c: the repositories below those folders of @scan's host whose ".git" was asked
 * about, and these folders themselves where they are bare ones. */
int scan_nested(struct scan *scan);
