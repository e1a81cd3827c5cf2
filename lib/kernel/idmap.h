/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Idmapped mounts: files of one owner outside belong to the command's user inside
 */

#include <stdbool.h>
#include <sys/types.h>

struct kernel;

/*
 * For root: a user namespace for mount_set() that maps the owner @uid and @gid to the command's
 * user. @kernel keeps it until another owner is requested. The fd or negative errno.
 */
int idmap_open(struct kernel *kernel, uid_t uid, gid_t gid);

/* Is @fd, opened by @path, of the system's files, as far as can be told? Also where a bind mount
 * shows them below a directory of root's own. */
bool idmap_is_of_system(int fd, const char *path);
