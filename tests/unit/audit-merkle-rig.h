/* SPDX-License-Identifier: MIT */
#pragma once

/* Roots and proofs of trees with all their leaves */

#include "audit/merkle.h"

static inline struct merkle_leaves all_leaves(merkle_read read, void *userdata)
{
	static const struct merkle_frontier none = { .size = 0 };

	return (struct merkle_leaves){ &none, read, userdata };
}

static inline int root_of_leaves(struct hasher *hasher, uint64_t size, merkle_read read,
				 void *userdata, struct audit_hash *ret)
{
	const struct merkle_leaves leaves = all_leaves(read, userdata);

	return merkle_root_behind(hasher, size, &leaves, ret);
}

static inline int prove_inclusion(struct hasher *hasher, uint64_t index, uint64_t size,
				  merkle_read read, void *userdata,
				  struct audit_hash ret[MERKLE_PATH_MAX])
{
	const struct merkle_leaves leaves = all_leaves(read, userdata);

	return merkle_prove_inclusion_behind(hasher, index, size, &leaves, ret);
}

static inline int prove_consistency(struct hasher *hasher, uint64_t old_size, uint64_t new_size,
				    merkle_read read, void *userdata,
				    struct audit_hash ret[MERKLE_PATH_MAX])
{
	const struct merkle_leaves leaves = all_leaves(read, userdata);

	return merkle_prove_consistency_behind(hasher, old_size, new_size, &leaves, ret);
}
