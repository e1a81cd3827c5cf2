/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One scan of the repositories in writable directories and in their parents
 *
 *   probe-repository.c   where they are, and the parts of one repository
 *   probe-config.c       the paths that its configuration names
 */

#include "kernel/git-config.h"
#include "kernel/probe-internal.h"

struct entry {
	const char *path;
	struct entry *next;
};

struct scan {
	struct place_search *search;
	struct host *host;	 /* receives the reason of scan_give_up() */
	struct arena_rows names; /* struct host_path */
	struct entry *first;
	struct entry **last;
	unsigned n_entries;
};

#define SCAN_FIX_CONFIG                                                                            \
	"correct it (git config --list shows what git reads), or use --out instead of --write"

/* Records that it cannot be determined what git would execute from @path. 0. */
int scan_give_up(struct scan *scan, const char *path, const char *why, const char *fix);
int scan_add_name(struct scan *scan, const struct host_path *name);
/* The parent directory of @path, which is canonical; or NULL. */
const char *scan_around(struct scan *scan, const char *path);
/* Resolves @text relative to the canonical @directory. */
int scan_look(struct scan *scan, const char *directory, const char *text, struct host_path *ret);
int scan_look_and_add(struct scan *scan, const char *directory, const char *text,
		      struct host_path *ret);

/* probe-config.c: each variable of the file; 0 also if the file does not exist. */
int scan_read_file(struct scan *scan, const char *path, git_config_fn *fn, void *context);
/* Adds the paths that the configuration of the repository @directory names. Relative paths begin at
 * *@top, which core.worktree replaces. */
int scan_configuration(struct scan *scan, const char **top, const char *directory,
		       const char *common);
