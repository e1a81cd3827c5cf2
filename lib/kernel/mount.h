/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the steps that mount share: the mount API, new instances, owners, places, masks
 *
 * All functions use fds: a path is resolved once, and the opened file is mounted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kernel;
struct mount_attributes;
struct step_owner;

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

/*
 * Private file systems of the sandbox: tmpfs, /proc, /dev/pts
 */

/* A detached tmpfs of at most @size bytes; never set-uid, no devices. */
int instance_make_tmpfs(uint64_t size, mode_t mode, unsigned attributes);

/*
 * Idmapped mounts: files of one owner outside belong to the command's user inside
 */

/*
 * For root: a user namespace for mount_set() that maps the owner @uid and @gid to the command's
 * user. @kernel keeps it until another owner is requested. The fd or negative errno.
 */
int idmap_open(struct kernel *kernel, uid_t uid, gid_t gid);

/*
 * Should @owner be mapped in a copy of @fd, which was opened by @path? Not for the system's files,
 * as far as can be determined, even if a bind mount shows them below a directory of root's.
 */
bool idmap_applies(struct kernel *kernel, const struct step_owner *owner, int fd, const char *path);

/*
 * Places in the sandbox's file tree
 *
 * Names are created only in the sandbox's own tmpfs. Nothing is created in a directory of the host,
 * so nothing remains there, and no link in it is followed, because a process outside may create one
 * at any time.
 */

/* Is the target of step @number in a tmpfs of the sandbox? */
bool tree_is_ours(const struct kernel *kernel, size_t number);
/* Is there a directory in the path of the target that the command's user may not search? */
bool tree_is_closed(const struct kernel *kernel, size_t number);
/* Attaches a detached mount at the step's target, which is created if it is in a tmpfs of the
 * sandbox. */
int tree_attach(const struct kernel *kernel, size_t number, int mount_fd, bool is_directory);

/*
 * Mounts that hide a file or directory
 */

/* Is @path reserved for the sources of masks? */
bool mask_has_name(const char *path);
