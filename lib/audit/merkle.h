/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The Merkle tree over the chain: RFC 9162 section 2.1 with SHA-256
 *
 * Leaf number i is the chain hash of record i (32 bytes, hashed as leaf data). A tree that only
 * grows needs no more than one hash for every bit of its size; a proof needs as many.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/chain.h"

/* Sequence numbers are SQLite's integers. */
#define MERKLE_SIZE_MAX INT64_MAX
#define MERKLE_PATH_MAX 64

/* Start it as { 0 }, the empty tree. peaks[n] is the root of 2^n leaves where bit n of size is set.
 */
struct merkle_frontier {
	uint64_t size;
	struct audit_hash peaks[MERKLE_PATH_MAX];
};

/* These return 0, -EIO where libcrypto fails, and -EOVERFLOW for a tree that is full. */
int merkle_add(struct hasher *hasher, struct merkle_frontier *frontier,
	       const struct audit_hash *leaf);
int merkle_root(struct hasher *hasher, const struct merkle_frontier *frontier,
		struct audit_hash *ret);

/*
 * The leaves from @first to @end, which begin anywhere: what becomes of them without those before.
 * Start it with merkle_run_begin(). Roots of perfect trees are in right[n] where their left half is
 * before @first, and in left[n] where their right half is behind @end.
 */
struct merkle_run {
	uint64_t first;
	uint64_t end;
	uint64_t has_right; /* a bit for each n */
	struct audit_hash right[MERKLE_PATH_MAX];
	struct audit_hash left[MERKLE_PATH_MAX];
};

void merkle_run_begin(struct merkle_run *run, uint64_t first);
int merkle_run_add(struct hasher *hasher, struct merkle_run *run, const struct audit_hash *leaf);
/* merkle_add() for all of its leaves; the tree's size must be where the run begins. */
int merkle_add_run(struct hasher *hasher, struct merkle_frontier *frontier,
		   const struct merkle_run *run);

bool merkle_equal(const struct merkle_frontier *a, const struct merkle_frontier *b);

/* The peaks that there are, the largest first, to be kept beside the size: how many. */
size_t merkle_save(const struct merkle_frontier *frontier, struct audit_hash ret[MERKLE_PATH_MAX]);
/* The other way round; -EBADMSG where @n is not the number of peaks of a tree of this size. Whether
 * they are the right ones shows the root. */
int merkle_load(uint64_t size, const struct audit_hash *peaks, size_t n,
		struct merkle_frontier *ret);

/* Reads leaf number @index: 0 or a negative errno, which ends the work. The indices of one subtree
 * come in ascending order; every leaf is asked for at most once a proof. */
typedef int (*merkle_read)(void *userdata, uint64_t index, struct audit_hash *ret);

/* The first leaves may be no longer there, if the tree of them is known: then -ENODATA where they
 * would be needed themselves. */
struct merkle_leaves {
	const struct merkle_frontier *known; /* of the leaves that are missing; may be empty */
	merkle_read read;		     /* the others */
	void *userdata;
};

/* The root of the first @size leaves, from the leaves. */
int merkle_root_behind(struct hasher *hasher, uint64_t size, const struct merkle_leaves *leaves,
		       struct audit_hash *ret);
/*
 * The proof that leaf @index is in the tree of the first @size leaves, and the proof that the tree
 * of the first @old_size leaves is a prefix of the one of @new_size. Return the number of hashes in
 * @ret, -EINVAL where there is no such leaf or tree (an empty tree is a prefix of every tree, which
 * proves nothing), or the error of the reader.
 */
int merkle_prove_inclusion_behind(struct hasher *hasher, uint64_t index, uint64_t size,
				  const struct merkle_leaves *leaves,
				  struct audit_hash ret[MERKLE_PATH_MAX]);
int merkle_prove_consistency_behind(struct hasher *hasher, uint64_t old_size, uint64_t new_size,
				    const struct merkle_leaves *leaves,
				    struct audit_hash ret[MERKLE_PATH_MAX]);

/* Does the proof hold? 0, -EBADMSG where it does not, -EIO where libcrypto fails. */
int merkle_verify_inclusion(struct hasher *hasher, uint64_t index, uint64_t size,
			    const struct audit_hash *leaf, const struct audit_hash *path, size_t n,
			    const struct audit_hash *root);
int merkle_verify_consistency(struct hasher *hasher, uint64_t old_size, uint64_t new_size,
			      const struct audit_hash *old_root, const struct audit_hash *new_root,
			      const struct audit_hash *path, size_t n);

/* ---- leaves that are hashed already ---- */

/*
 * The tree over leaves that are hashed already (RFC 9162, 2.1.1: SHA-256 of a zero byte and the
 * data), whatever their data was. The public functions hash 32 bytes and call these.
 */

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
