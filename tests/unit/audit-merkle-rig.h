/* SPDX-License-Identifier: MIT */
#pragma once

/* Roots and proofs of trees with all their leaves */

#include "audit/merkle.h"

/* Leaves that are not hashed yet. */
struct rig_leaves {
	merkle_read read;
	void *userdata;
};

static inline int rig_read_hashed(void *userdata, uint64_t index, struct audit_hash *ret)
{
	const struct rig_leaves *leaves = userdata;
	int r = leaves->read(leaves->userdata, index, ret);

	return r < 0 ? r : merkle_leaf(ret, ret);
}

static inline struct merkle_leaves all_leaves(struct rig_leaves *leaves)
{
	static const struct merkle_frontier none = { .size = 0 };

	return (struct merkle_leaves){ &none, rig_read_hashed, leaves };
}

static inline int root_of_leaves(uint64_t size, merkle_read read, void *userdata,
				 struct audit_hash *ret)
{
	struct rig_leaves data = { read, userdata };
	const struct merkle_leaves leaves = all_leaves(&data);

	return merkle_root_behind(size, &leaves, ret);
}

static inline int prove_inclusion(uint64_t index, uint64_t size, merkle_read read, void *userdata,
				  struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct rig_leaves data = { read, userdata };
	const struct merkle_leaves leaves = all_leaves(&data);

	return merkle_prove_inclusion_behind(index, size, &leaves, ret);
}

static inline int prove_consistency(uint64_t old_size, uint64_t new_size, merkle_read read,
				    void *userdata, struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct rig_leaves data = { read, userdata };
	const struct merkle_leaves leaves = all_leaves(&data);

	return merkle_prove_consistency_behind(old_size, new_size, &leaves, ret);
}
