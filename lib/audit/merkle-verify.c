/* SPDX-License-Identifier: MIT */

/*
 * Proofs, verified
 *
 * Everything comes from somebody who may lie, so the path decides nothing: the sizes alone say how
 * many hashes there are and on which side each one stands (RFC 9162, 2.1.3.2 and 2.1.4.2), and a
 * hash too few or too many is a refusal like a wrong one.
 */

#include <errno.h>
#include <stdbool.h>

#include "audit/merkle-internal.h"

/* A walk from a leaf to the root: the leaf's number and the last leaf's, halved at each level. */
struct walk {
	uint64_t at;
	uint64_t last;
};

/* Is the next hash of the path a left neighbour? Then levels where there is none are skipped. */
static bool is_on_the_left(struct walk *walk)
{
	if (!(walk->at & 1) && walk->at != walk->last)
		return false;
	while (!(walk->at & 1) && walk->at != 0) {
		walk->at >>= 1;
		walk->last >>= 1;
	}
	return true;
}

static void go_up(struct walk *walk)
{
	walk->at >>= 1;
	walk->last >>= 1;
}

int merkle_verify_node(struct hasher *hasher, uint64_t index, uint64_t size, struct audit_hash node,
		       const struct audit_hash *path, size_t n, const struct audit_hash *root)
{
	struct walk walk = { .at = index, .last = size - 1 };
	int r = 0;

	if (size > MERKLE_SIZE_MAX || index >= size || n > MERKLE_PATH_MAX)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (walk.last == 0)
			return -EBADMSG;
		r = is_on_the_left(&walk) ? merkle_node(hasher, &path[i], &node, &node)
					  : merkle_node(hasher, &node, &path[i], &node);
		go_up(&walk);
	}
	if (r < 0)
		return r;
	return walk.last == 0 && audit_hash_equal(&node, root) ? 0 : -EBADMSG;
}

int merkle_verify_inclusion(struct hasher *hasher, uint64_t index, uint64_t size,
			    const struct audit_hash *leaf, const struct audit_hash *path, size_t n,
			    const struct audit_hash *root)
{
	struct audit_hash node;
	int r = merkle_leaf(hasher, leaf, &node);

	return r < 0 ? r : merkle_verify_node(hasher, index, size, node, path, n, root);
}

/* The first hash is a subtree of both; from there on both roots grow side by side. */
static int verify_growth(struct hasher *hasher, struct walk walk, const struct audit_hash *first,
			 const struct audit_hash *path, size_t n, const struct audit_hash *old_root,
			 const struct audit_hash *new_root)
{
	struct audit_hash old_hash = *first, new_hash = *first;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (walk.last == 0)
			return -EBADMSG;
		if (is_on_the_left(&walk)) {
			r = merkle_node(hasher, &path[i], &old_hash, &old_hash);
			if (r == 0)
				r = merkle_node(hasher, &path[i], &new_hash, &new_hash);
		} else {
			r = merkle_node(hasher, &new_hash, &path[i], &new_hash);
		}
		go_up(&walk);
	}
	if (r < 0)
		return r;
	return walk.last == 0 && audit_hash_equal(&old_hash, old_root) &&
			       audit_hash_equal(&new_hash, new_root)
		       ? 0
		       : -EBADMSG;
}

int merkle_verify_consistency(struct hasher *hasher, uint64_t old_size, uint64_t new_size,
			      const struct audit_hash *old_root, const struct audit_hash *new_root,
			      const struct audit_hash *path, size_t n)
{
	struct walk walk = { .at = old_size - 1, .last = new_size - 1 };
	bool is_perfect = (old_size & (old_size - 1)) == 0;

	if (new_size > MERKLE_SIZE_MAX || old_size == 0 || old_size > new_size ||
	    n > MERKLE_PATH_MAX)
		return -EBADMSG;
	if (old_size == new_size)
		return n == 0 && audit_hash_equal(old_root, new_root) ? 0 : -EBADMSG;
	if (n == 0)
		return -EBADMSG;
	while (walk.at & 1)
		go_up(&walk);
	/* A perfect old tree is itself the first hash, and the path leaves it out. */
	if (is_perfect)
		return verify_growth(hasher, walk, old_root, path, n, old_root, new_root);
	return verify_growth(hasher, walk, &path[0], path + 1, n - 1, old_root, new_root);
}
