/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What lies over a file or folder that must not be seen
 */

#include <stdbool.h>

/* Is it where masks are made from? Nothing else may stand there. */
bool mask_has_name(const char *path);
