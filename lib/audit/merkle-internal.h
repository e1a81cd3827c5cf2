/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The tree over leaves that are hashed already (RFC 9162, 2.1.1: SHA-256 of a zero byte and the
 * data), whatever their data was. The public functions hash 32 bytes and call these.
 */

#include "audit/merkle.h"

int merkle_leaf(struct hasher *hasher, const struct audit_hash *data, struct audit_hash *ret);
int merkle_node(struct hasher *hasher, const struct audit_hash *left,
		const struct audit_hash *right, struct audit_hash *ret);

int merkle_add_node(struct hasher *hasher, struct merkle_frontier *frontier,
		    struct audit_hash node);

/* Where hashed leaves come from. */
struct merkle_source {
	struct hasher *hasher;
	merkle_read read;
	void *userdata;
	const struct merkle_frontier *known; /* of leaves that cannot be read; NULL: all can */
};

int merkle_source_inclusion(const struct merkle_source *source, uint64_t index, uint64_t size,
			    struct audit_hash ret[MERKLE_PATH_MAX]);
int merkle_source_consistency(const struct merkle_source *source, uint64_t old_size,
			      uint64_t new_size, struct audit_hash ret[MERKLE_PATH_MAX]);

int merkle_verify_node(struct hasher *hasher, uint64_t index, uint64_t size, struct audit_hash node,
		       const struct audit_hash *path, size_t n, const struct audit_hash *root);
