/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Rules → BPF, with libseccomp's table of system calls: a part of the generator and of filter.so,
 * never of a tool
 */

#include <stddef.h>
#include <stdint.h>

struct sock_filter;

/* The whole filter of a profile; @ret is from malloc(). -ENOENT where there is no such profile. */
int filter_compile(const char *profile, unsigned variant, struct sock_filter **ret, size_t *ret_n);

/* A name that is no system call anywhere, and the nearest one of this machine, or "". */
struct filter_bad_name {
	const char *name;
	char suggestion[64];
};

/*
 * A program that refuses these calls (EPERM; clone3: ENOSYS) and allows all others, to stand in
 * front of a filter. A call that only other architectures have is none here, so there is nothing to
 * deny. -EINVAL with
 * @ret_bad (which may be NULL) for a name that is no system call.
 */
int filter_compile_denied(const char *const *names, struct sock_filter **ret, size_t *ret_n,
			  struct filter_bad_name *ret_bad);

/* What filter.so exports under this name: filter_compile_denied(). */
#define FILTER_MODULE_SYMBOL "sbx_filter_compile_denied"
typedef int filter_compile_denied_fn(const char *const *names, struct sock_filter **ret,
				     size_t *ret_n, struct filter_bad_name *ret_bad);
