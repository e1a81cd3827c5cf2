/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The Merkle tree over the chain: RFC 9162 section 2.1 with SHA-256
 *
 * Leaf i is the chain hash of record i (32 bytes, hashed as leaf data). A tree that only grows
 * needs at most one hash per bit of its size; a proof has at most as many.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/chain.h"

/* Sequence numbers are SQLite integers, which are signed. */
#define MERKLE_SIZE_MAX INT64_MAX
#define MERKLE_PATH_MAX 64

/* Initialise to { 0 }, the empty tree. peaks[n] is the root of 2^n leaves if bit n of size is
 * set. */
struct merkle_frontier {
	uint64_t size;
	struct audit_hash peaks[MERKLE_PATH_MAX];
};

/* These return 0, -EIO if libcrypto fails, and -EOVERFLOW if the tree is full. */
int merkle_add(struct merkle_frontier *frontier, const struct audit_hash *leaf);
int merkle_root(const struct merkle_frontier *frontier, struct audit_hash *ret);

/*
 * The leaves from @first up to @end without those before: partial results that merkle_add_run() can
 * add later. Initialise with merkle_run_begin(). right[n] is the root of a perfect tree whose left
 * half lies before @first, left[n] of one whose right half lies after @end.
 */
struct merkle_run {
	uint64_t first;
	uint64_t end;
	uint64_t has_right; /* bit n: right[n] is set */
	struct audit_hash right[MERKLE_PATH_MAX];
	struct audit_hash left[MERKLE_PATH_MAX];
};

void merkle_run_begin(struct merkle_run *run, uint64_t first);
int merkle_run_add(struct merkle_run *run, const struct audit_hash *leaf);
/* Like merkle_add() for all leaves of the run; -EINVAL unless the tree's size is run->first. */
int merkle_add_run(struct merkle_frontier *frontier, const struct merkle_run *run);

bool merkle_equal(const struct merkle_frontier *a, const struct merkle_frontier *b);

/* Stores the existing peaks, the largest first, and returns their number. The size is stored by the
 * caller. */
size_t merkle_save(const struct merkle_frontier *frontier, struct audit_hash ret[MERKLE_PATH_MAX]);
/* Reverses merkle_save(); -EBADMSG if @n is not the number of peaks of a tree of this size. Only
 * comparing the root shows whether the peaks are right. */
int merkle_load(uint64_t size, const struct audit_hash *peaks, size_t n,
		struct merkle_frontier *ret);

/* Reads leaf @index, hashed by merkle_leaf(): 0 or a negative errno, which aborts the proof. The
 * indices of one subtree are ascending; a proof reads every leaf at most once. */
typedef int (*merkle_read)(void *userdata, uint64_t index, struct audit_hash *ret);

/* The first leaves may be missing if the tree of them is known: then -ENODATA if one of them is
 * needed itself. */
struct merkle_leaves {
	const struct merkle_frontier *known; /* tree of the missing leaves; may be empty */
	merkle_read read;		     /* reads the other leaves */
	void *userdata;
};

/* The root of the first @size leaves, computed from the leaves. */
int merkle_root_behind(uint64_t size, const struct merkle_leaves *leaves, struct audit_hash *ret);
/*
 * The proof that leaf @index is in the tree of the first @size leaves, and the proof that the tree
 * of the first @old_size leaves is a prefix of the one of @new_size. Returns the number of hashes
 * in @ret, -EINVAL if there is no such leaf or tree (an empty tree is a prefix of every tree, which
 * proves nothing), or the error of the reader.
 */
int merkle_prove_inclusion_behind(uint64_t index, uint64_t size, const struct merkle_leaves *leaves,
				  struct audit_hash ret[MERKLE_PATH_MAX]);
int merkle_prove_consistency_behind(uint64_t old_size, uint64_t new_size,
				    const struct merkle_leaves *leaves,
				    struct audit_hash ret[MERKLE_PATH_MAX]);

/* @leaf is not hashed by merkle_leaf() yet. 0, -EBADMSG if the proof is wrong, -EIO if libcrypto
 * fails. */
int merkle_verify_inclusion(uint64_t index, uint64_t size, const struct audit_hash *leaf,
			    const struct audit_hash *path, size_t n, const struct audit_hash *root);

/* ---- leaves that are already hashed ---- */

/*
 * The tree over leaves that are already hashed (RFC 9162, 2.1.1: SHA-256 of a zero byte and the
 * data), whatever the data was
 */

int merkle_leaf(const struct audit_hash *data, struct audit_hash *ret);
int merkle_node(const struct audit_hash *left, const struct audit_hash *right,
		struct audit_hash *ret);

int merkle_add_node(struct merkle_frontier *frontier, struct audit_hash node);
