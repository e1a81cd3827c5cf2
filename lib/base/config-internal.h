/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the files of the configuration
 */

#include <stdbool.h>

#include "base/config.h"

/* Reads the file of a layer. *@ret_bytes is unchanged if there is none. */
int config_read(const char *path, enum config_origin origin, char **ret_bytes, size_t *ret_n_bytes,
		struct sbx_error *err);

/* Does @name decide what a sandbox may do? Then it belongs in a policy, wherever it was found. */
bool config_is_security(const char *name);
/* The same for a variable SBX_NAME, in lower case. Fewer names, because other programs use the
 * prefix, too. */
bool config_is_security_variable(const char *name);
