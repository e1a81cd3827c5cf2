/* SPDX-License-Identifier: MIT */
#pragma once

/* Joins two BPF programs: a call that the first does not refuse is judged by the second */

#include <stddef.h>

struct sock_filter;
struct sock_fprog;

/*
 * For any @prefix, the result allows nothing that @program refuses. -EBADMSG: @prefix is not a
 * program that only refuses; -E2BIG: together more than BPF_MAXINSNS. @ret is from malloc().
 */
int prefix_join(const struct sock_filter *prefix, size_t n, const struct sock_fprog *program,
		struct sock_filter **ret, size_t *ret_n);
