/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of the configuration share
 */

#include <stdbool.h>

#include "base/config.h"

/* Does @name decide what a sandbox may do? Then it belongs in a policy, wherever it was found. */
bool config_is_security(const char *name);
