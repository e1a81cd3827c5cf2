/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The new mount API, with negative errno and close-on-exec
 *
 * Everything here works with fds: a path is resolved once, and what was opened is what is mounted.
 */

#include <stdint.h>

struct mount_attributes;

/* Opens @path where no part of it is a link of any kind: -ELOOP. @flags as for open(). */
int mount_open(int dirfd, const char *path, int flags);
/* A detached copy of the mount(s) at @fd; @flags: AT_RECURSIVE or 0. */
int mount_copy(int fd, unsigned flags);
/*
 * Gives a detached mount @attributes (MOUNT_ATTR_*), with AT_RECURSIVE also those below it, and
 * cuts it off from what is mounted elsewhere later. @userns_fd: of an idmapped mount, or -EBADF.
 */
int mount_set(int fd, unsigned flags, uint64_t attributes, int userns_fd);
/* Puts a detached mount on @path, or with "" on what @dirfd is. Follows no link at the end. */
int mount_attach(int fd, int dirfd, const char *path);

struct mount_option {
	const char *key;
	const char *value; /* NULL: the key is all */
};
/* A detached mount of a new instance of the file system @type; @options end with a NULL key. */
int mount_make(const char *type, const struct mount_option *options, unsigned attributes);

/* As MOUNT_ATTR_*; nothing that a sandbox sees is ever set-uid. */
unsigned mount_attributes(const struct mount_attributes *attributes);
