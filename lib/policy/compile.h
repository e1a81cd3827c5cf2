/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Model → artefact
 *
 * Linear in the size of the policy. Globs are compiled together into one trie over path components;
 * hosts, address prefixes and port ranges into one hash index. A policy with which a decision could
 * cost more than COMPILE_LIVE_* is refused, with the line of a glob that costs much.
 */

#include <stddef.h>
#include <stdint.h>

struct artefact;
struct policy;
struct sbx_error;

/*
 * How many "**" nodes may be live at the same time while one path is matched, and how many steps
 * may be due for one component of it. A node that is live is a step; so is a pattern that is "*"
 * and text; any other pattern is one more step than it has bytes (each of which may then be
 * compared with each byte of the component). A decision makes at most so many steps times the
 * components of the path.
 */
#define COMPILE_LIVE_FLOATS_MAX 256
#define COMPILE_LIVE_STEPS_MAX 8192

/* *@ret_block is aligned for artefact_open(); the caller frees it. */
int policy_compile(const struct policy *policy, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err);
/* For an evaluator of this process: the block, which the caller frees, has no checksum, because no
 * other program can change it. */
int policy_compile_here(const struct policy *policy, void **ret_block, struct artefact *ret,
			struct sbx_error *err);

/* The greatest numbers that any path can have, also for a policy over the bounds. For the test that
 * compares them with the work of real decisions. */
struct compile_cost {
	uint64_t n_floats;
	uint64_t n_steps;
};
int policy_measure(const struct policy *policy, struct compile_cost *ret, struct sbx_error *err);
