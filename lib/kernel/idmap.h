/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Idmapped mounts: what somebody owns outside belongs to the command's user inside
 */

#include <sys/types.h>

struct kernel;

/*
 * For root: a user namespace for mount_set() that maps the owner @uid and @gid to the command's
 * user. It stays @kernel's, until another owner is asked for. The fd or negative errno.
 */
int idmap_open(struct kernel *kernel, uid_t uid, gid_t gid);
