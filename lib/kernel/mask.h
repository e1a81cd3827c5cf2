/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Mounts that hide a file or directory
 */

#include <stdbool.h>

/* Is @path reserved for the sources of masks? */
bool mask_has_name(const char *path);
