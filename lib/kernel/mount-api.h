/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The new mount API, with negative errno and close-on-exec
 *
 * All functions use fds: a path is resolved once, and the opened file is mounted.
 */

#include <stdint.h>

struct mount_attributes;

/* A detached copy of the mount(s) at @fd; @flags: AT_RECURSIVE or 0. */
int mount_copy(int fd, unsigned flags);
/*
 * Gives a detached mount @attributes (MOUNT_ATTR_*), with AT_RECURSIVE also those below it, and
 * makes its propagation private. @userns_fd: of an idmapped mount, or -EBADF.
 */
int mount_set(int fd, unsigned flags, uint64_t attributes, int userns_fd);
/* Attaches a detached mount at @path, or with "" at @dirfd. Does not follow a link at the end. */
int mount_attach(int fd, int dirfd, const char *path);

struct mount_option {
	const char *key;
	const char *value; /* NULL: a flag without a value */
};
/* A detached mount of a new instance of the file system @type; @options end with a NULL key. */
int mount_make(const char *type, const struct mount_option *options, unsigned attributes);

/* As MOUNT_ATTR_*, always with MOUNT_ATTR_NOSUID. */
unsigned mount_attributes(const struct mount_attributes *attributes);
