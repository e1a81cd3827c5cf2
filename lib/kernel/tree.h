/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Places in the sandbox's file tree
 *
 * Names are created only in the sandbox's own tmpfs. Nothing is created in a directory of the host,
 * so nothing remains there, and no link in it is followed, because a process outside may create one
 * at any time.
 */

#include <stdbool.h>
#include <stddef.h>

struct kernel;
struct step;

/* Is the target of step @number in a tmpfs of the sandbox? */
bool tree_is_ours(const struct kernel *kernel, size_t number);
/* Is there a directory in the path of the target that the command's user may not search? */
bool tree_is_closed(const struct kernel *kernel, size_t number);
/* Attaches a detached mount at the step's target, which is created if it is in a tmpfs of the
 * sandbox. */
int tree_attach(const struct kernel *kernel, size_t number, int mount_fd, bool is_folder);
