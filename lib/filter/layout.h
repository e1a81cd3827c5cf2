/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * From rules over numbers to BPF: a tree over the numbers, the conditions at its leaves
 */

#include <stddef.h>
#include <stdint.h>

struct filter_rule;
struct sock_filter;

#define LAYOUT_CHAIN_MAX 16

/* What one call answers: the first rule that holds, else @otherwise. Each rule has a condition. */
struct layout_chain {
	const struct filter_rule *rules[LAYOUT_CHAIN_MAX];
	size_t n_rules;
	uint32_t otherwise; /* SECCOMP_RET_* */
};

/* The numbers from @first to below the next range's. */
struct layout_range {
	uint32_t first;
	const struct layout_chain *chain;
};

/*
 * @ranges: sorted, from 0 on, equal chains are the same chain, and neighbours differ; behind the
 * last of the @n_ranges stands one more, whose number is UINT32_MAX. @architecture: AUDIT_ARCH_*;
 * any other is killed. @ret is from malloc(). -E2BIG where the kernel would not take so many
 * instructions.
 */
int layout_build(uint32_t architecture, const struct layout_range *ranges, size_t n_ranges,
		 struct sock_filter **ret, size_t *ret_n);
