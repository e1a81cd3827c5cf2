/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Places in the sandbox's file tree
 *
 * A name is made only in what belongs to the sandbox alone, its tmpfs. Below a folder that was
 * bound from outside nothing is ever made, so nothing is left behind there, and no link is
 * followed, since somebody outside may put one there at any moment.
 */

#include <stdbool.h>
#include <stddef.h>

struct kernel;
struct step;

/* Does the target of step @number lie in what belongs to the sandbox alone? */
bool tree_is_ours(const struct kernel *kernel, size_t number);
/* May the command's user not search a directory on the way to the target? */
bool tree_is_closed(const struct kernel *kernel, size_t number);
/* Puts a detached mount on the step's target, which is made where it may be. */
int tree_attach(const struct kernel *kernel, size_t number, int mount_fd, bool is_folder);
