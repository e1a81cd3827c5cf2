/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What built-in rules protect beside the system's fixed places: the policies in force, what an
 * update keeps beside them, and the user's own folders
 *
 * Shared by the server and by the verbs that judge without one, so that both say the same.
 */

#include <stddef.h>

/*
 * A list that ends with NULL. @policies that are not there are left out; @also ends with NULL and
 * may be NULL. 0 or -ENOMEM.
 */
int protected_find(const char *const *policies, size_t n_policies, const char *const *also,
		   char ***ret);
void protected_free(char **paths);
