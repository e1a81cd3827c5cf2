/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * From rules over system call numbers to BPF: a tree over the numbers, with conditions at its
 * leaves
 */

#include <stddef.h>
#include <stdint.h>

struct filter_rule;
struct sock_filter;

#define LAYOUT_CHAIN_MAX 16

/* The verdict of one system call: that of the first rule whose conditions hold, else @otherwise.
 * Each rule has at least one condition. */
struct layout_chain {
	const struct filter_rule *rules[LAYOUT_CHAIN_MAX];
	size_t n_rules;
	uint32_t otherwise; /* SECCOMP_RET_* */
};

/* System calls from @first up to, but without, @first of the next range. */
struct layout_range {
	uint32_t first;
	const struct layout_chain *chain;
};

/*
 * @ranges: sorted, beginning with 0; equal chains have equal pointers; neighbours differ.
 * @ranges[@n_ranges] must exist, with @first UINT32_MAX. @architecture: AUDIT_ARCH_*; other
 * architectures are killed. @ret is from malloc(). -E2BIG: more than BPF_MAXINSNS instructions.
 */
int layout_build(uint32_t architecture, const struct layout_range *ranges, size_t n_ranges,
		 struct sock_filter **ret, size_t *ret_n);
