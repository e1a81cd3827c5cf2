/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Calls sbx_filter_compile_denied() of the private module filter.so, which is loaded only during
 * the call
 */

#include <stddef.h>

struct sbx_error;
struct sock_filter;

/* @directory must be absolute. -EINVAL: a name is not a system call; -ELIBACC: the module cannot be
 * loaded. */
int module_compile_denied(const char *directory, const char *const *names, struct sock_filter **ret,
			  size_t *ret_n, struct sbx_error *err);
