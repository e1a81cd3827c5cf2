/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Paths: resolution that cannot leave a folder, and the lexical form that policies require
 */

#include <stdbool.h>
#include <sys/types.h>

struct stat;

/*
 * Opens @path below @dirfd. The kernel refuses whatever would leave the folder or pass a symbolic
 * or magic link (openat2: RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS): -EXDEV, -ELOOP.
 * Close-on-exec is added to @flags. A race with a rename (-EAGAIN) is retried a bounded number of
 * times. Returns the fd or negative errno; there is no fallback to a plain open.
 */
int path_open_beneath(int dirfd, const char *path, int flags, mode_t mode);

/*
 * Opens for reading the file or folder @name in @dirfd, which is ours whatever mode its maker gave
 * it: never through a link, and nothing else (-EBADMSG). Rights that its owner lacks are added, and
 * *@ret_status has the mode that it had; a file has it again, a folder can be entered from here on.
 * The fd or negative errno.
 */
int path_open_own(int dirfd, const char *name, struct stat *ret_status);

/* Makes the folders of @path (not its last component) below @dirfd, never through a link and never
 * through "..". 0 or negative errno. */
int path_make_parents_beneath(int dirfd, const char *path, mode_t mode);

/* Absolute, no empty, "." or ".." component, no slash at the end except in "/" itself, at most
 * PATH_MAX - 1 bytes. */
bool path_is_normal(const char *path);

/* Is @path the same as @folder or below it, by whole components? /tmp/foobar is not in /tmp/foo,
 * and nothing is where one of the two is not normal. */
bool path_is_beneath(const char *path, const char *folder);

/* Where the path leads when its symbolic links are followed, in the struct arena @arena; the path
 * itself where it does not exist. */
const char *path_follow(void *arena, const char *path);

/* Points into @path, behind its last slash. */
const char *path_last(const char *path);
