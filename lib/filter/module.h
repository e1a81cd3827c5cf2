/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * filter_compile_denied() of the private module filter.so, which is in memory only while it is
 * needed
 */

#include <stddef.h>

struct sbx_error;
struct sock_filter;

/* @folder must be absolute. -EINVAL for a name that is no system call, -ELIBACC where the module
 * cannot be used. */
int module_compile_denied(const char *folder, const char *const *names, struct sock_filter **ret,
			  size_t *ret_n, struct sbx_error *err);
