/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Model → artefact
 *
 * Linear in the size of the policy. All globs are compiled into one trie over path components;
 * hosts, address prefixes and port ranges into one hash index. A policy for which a decision could
 * cost more than COMPILE_LIVE_* is refused, with the line of a glob that contributes much.
 */

#include <stddef.h>
#include <stdint.h>

struct artefact;
struct policy;
struct sbx_error;

/*
 * How many "**" nodes may be live at the same time while one path is matched, and how many steps
 * one of its components may take. A live node is a step; so is a pattern of "*" and literal text;
 * any other pattern takes one step more than it has bytes (each of which may be compared with each
 * byte of the component). A decision makes at most so many steps times the components of the path.
 */
#define COMPILE_LIVE_FLOATS_MAX 256
#define COMPILE_LIVE_STEPS_MAX 8192

/* Allocates *@ret_block, aligned for artefact_open(); the caller frees it. */
int policy_compile(const struct policy *policy, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err);
/* For an evaluator of this process: the block, which the caller frees, has no checksum, because no
 * other program can change it. */
int policy_compile_here(const struct policy *policy, void **ret_block, struct artefact *ret,
			struct sbx_error *err);

/* The maximum cost of any path, even if the policy exceeds the bounds. A test compares it with the
 * work of real decisions. */
struct compile_cost {
	uint64_t n_floats;
	uint64_t n_steps;
};
int policy_measure(const struct policy *policy, struct compile_cost *ret, struct sbx_error *err);
