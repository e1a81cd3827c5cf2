/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Idmapped mounts: what somebody owns outside belongs to the command's user inside
 */

struct kernel;
struct step;

/*
 * For root: a user namespace for mount_set() that maps the owner (step->value, step->second) to the
 * command's user. It stays @kernel's. The fd or negative errno.
 */
int idmap_open(struct kernel *kernel, const struct step *step);
