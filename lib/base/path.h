/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Paths: resolution that cannot leave a directory, and the lexical form that policies require
 */

#include <stdbool.h>
#include <sys/types.h>

struct stat;

/*
 * Opens @path below @dirfd. Paths that would leave the directory or contain a symbolic or magic
 * link are refused: -EXDEV, -ELOOP. Close-on-exec is added to @flags. A race with a rename
 * (-EAGAIN) is retried a bounded number of times. Returns the fd or negative errno. Where openat2()
 * is not available, the components are opened one by one, with the same refusals, and any ".." is
 * refused.
 */
int path_open_beneath(int dirfd, const char *path, int flags, mode_t mode);

/* The same, but @path may be absolute, which begins at "/", and ".." is not limited. @flags do not
 * create. */
int path_open_no_links(int dirfd, const char *path, int flags);

/*
 * Opens the regular file or directory @name in @dirfd for reading, never through a link; -EBADMSG
 * for other types. If it is owned by the caller, missing permissions of the owner are added;
 * *@ret_status has the original mode, which is restored for a file but not for a directory. The fd
 * or negative errno.
 */
int path_open_own(int dirfd, const char *name, struct stat *ret_status);

/* Creates the parent directories of @path below @dirfd, never through a link and never through
 * "..". 0 or negative errno. */
int path_make_parents_beneath(int dirfd, const char *path, mode_t mode);

/* Creates the parent directories of @path, also through links. 0 or negative errno; then @path ends
 * at the directory that cannot be created. */
int path_make_parents(char *path, mode_t mode);
/* The same, and @path itself. */
int path_make_directories(char *path, mode_t mode);

/* Absolute, no empty, "." or ".." component, no slash at the end except in "/" itself, at most
 * PATH_MAX - 1 bytes. */
bool path_is_normal(const char *path);

/* Is @path the same as @directory or below it, by whole components? /tmp/foobar is not in /tmp/foo.
 * False if one of the two is not normal. */
bool path_is_beneath(const char *path, const char *directory);

/* The same for texts that need not be normal: "./src", the text of a glob. */
bool path_is_at_or_below(const char *path, const char *directory);

/* Asks in one step what realpath() asks component by component; a missing path has no links on the
 * way to where it ends. */
bool path_has_no_links(const char *path);

/* The path with symbolic links resolved, allocated from the struct arena @arena; @path itself if it
 * does not exist. */
const char *path_follow(void *arena, const char *path);

/* Points into @path, after its last slash. */
const char *path_last(const char *path);

/* The path of @name in the directory of this program; that directory with its last slash for "". 0
 * or negative errno. */
int path_beside_program(const char *name, char *ret, size_t size);
