/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of the configuration share
 */

#include <stdbool.h>

#include "base/config.h"

/* Reads the file of a layer. *@ret_bytes stays as it was where there is none. */
int config_read(const char *path, enum config_origin origin, char **ret_bytes, size_t *ret_n_bytes,
		struct sbx_error *err);

/* Does @name decide what a sandbox may do? Then it belongs in a policy, wherever it was found. */
bool config_is_security(const char *name);
/* The same of a variable SBX_NAME, in small letters, of which only some are surely meant for us. */
bool config_is_security_variable(const char *name);
