/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Compiles rules to BPF with libseccomp's table of system calls; only in the generator and
 * filter.so, never in a tool
 */

#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

/* Supported architectures have no system call with this number or a higher one. */
#define FILTER_NUMBERS 1024

struct sock_filter;

/* The filter of a profile; @ret is from malloc(). -ENOENT: no such profile. */
int filter_compile(const char *profile, unsigned variant, struct sock_filter **ret, size_t *ret_n);

/*
 * A program that refuses these calls (EPERM; clone3: ENOSYS) and allows all others, to be put
 * before a filter. A call that exists only on other architectures is skipped. -EINVAL: a name is
 * not a system call.
 */
typedef int filter_compile_denied_fn(const char *const *names, struct sock_filter **ret,
				     size_t *ret_n);
SBX_API filter_compile_denied_fn sbx_filter_compile_denied;

/* The symbol that filter.so exports. */
#define FILTER_MODULE_SYMBOL "sbx_filter_compile_denied"
