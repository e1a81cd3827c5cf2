/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One program in front of another: what the first does not refuse, the second answers
 */

#include <stddef.h>

struct sock_filter;
struct sock_fprog;

/*
 * Whatever @prefix is, the result allows nothing that @program does not allow. -EBADMSG where it is
 * not a program that only refuses, -E2BIG where both are more than the kernel takes. @ret is from
 * malloc().
 */
int prefix_join(const struct sock_filter *prefix, size_t n, const struct sock_fprog *program,
		struct sock_filter **ret, size_t *ret_n);
