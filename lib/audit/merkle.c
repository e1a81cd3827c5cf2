/* SPDX-License-Identifier: MIT */

/*
 * The Merkle tree: growing it, and proofs from its leaves
 *
 * A tree of n leaves is a sequence of perfect trees, one for each set bit of n, the largest first.
 * Adding a leaf works like adding one to a binary number: each carry merges two perfect trees into
 * one. A subtree is computed from its leaves in the same way, so nothing here is recursive.
 */

#include "audit/merkle.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* RFC 9162, 2.1.1: domain separation of leaves and nodes, so that neither can pass for the
 * other. */
#define LEAF_PREFIX 0
#define NODE_PREFIX 1

int merkle_leaf(const struct audit_hash *data, struct audit_hash *ret)
{
	uint8_t bytes[1 + AUDIT_HASH_SIZE] = { LEAF_PREFIX };
	const struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };

	memcpy(bytes + 1, data->bytes, AUDIT_HASH_SIZE);
	return audit_hash_digest(&part, 1, ret);
}

int merkle_node(const struct audit_hash *left, const struct audit_hash *right,
		struct audit_hash *ret)
{
	uint8_t bytes[1 + 2 * AUDIT_HASH_SIZE] = { NODE_PREFIX };
	const struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };

	memcpy(bytes + 1, left->bytes, AUDIT_HASH_SIZE);
	memcpy(bytes + 1 + AUDIT_HASH_SIZE, right->bytes, AUDIT_HASH_SIZE);
	return audit_hash_digest(&part, 1, ret);
}

static bool has_bit(uint64_t size, unsigned bit)
{
	return bit < MERKLE_PATH_MAX && (size >> bit & 1);
}

/* Appends a perfect tree of 2^@level leaves with root @node. */
static int add_tree(struct merkle_frontier *frontier, unsigned level, struct audit_hash node)
{
	uint64_t size = UINT64_C(1) << level;

	for (; has_bit(frontier->size, level); level++) {
		int r = merkle_node(&frontier->peaks[level], &node, &node);

		if (r < 0)
			return r;
	}
	frontier->peaks[level] = node;
	frontier->size += size;
	return 0;
}

int merkle_add_node(struct merkle_frontier *frontier, struct audit_hash node)
{
	return frontier->size < MERKLE_SIZE_MAX ? add_tree(frontier, 0, node) : -EOVERFLOW;
}

int merkle_add(struct merkle_frontier *frontier, const struct audit_hash *leaf)
{
	struct audit_hash node;
	int r = merkle_leaf(leaf, &node);

	return r < 0 ? r : merkle_add_node(frontier, node);
}

/* ---- runs of leaves ---- */

void merkle_run_begin(struct merkle_run *run, uint64_t first)
{
	run->first = run->end = first;
	run->has_right = 0;
}

/* Like merkle_add_node(), but a tree whose left half lies before this run's first leaf is stored in
 * run->right. */
int merkle_run_add(struct merkle_run *run, const struct audit_hash *leaf)
{
	uint64_t at = run->end;
	struct audit_hash node;
	unsigned level = 0;
	int r;

	if (at >= MERKLE_SIZE_MAX)
		return -EOVERFLOW;
	r = merkle_leaf(leaf, &node);
	if (r < 0)
		return r;
	for (; has_bit(at, level); level++) {
		if (((at >> level) - 1) << level < run->first) {
			run->right[level] = node;
			run->has_right |= UINT64_C(1) << level;
			run->end++;
			return 0;
		}
		r = merkle_node(&run->left[level], &node, &node);
		if (r < 0)
			return r;
	}
	run->left[level] = node;
	run->end++;
	return 0;
}

int merkle_add_run(struct merkle_frontier *frontier, const struct merkle_run *run)
{
	int r;

	if (frontier->size != run->first)
		return -EINVAL;
	for (unsigned level = 0; level < MERKLE_PATH_MAX; level++) {
		r = has_bit(run->has_right, level) ? add_tree(frontier, level, run->right[level])
						   : 0;
		if (r < 0)
			return r;
	}
	for (unsigned level = MERKLE_PATH_MAX; level-- > 0;) {
		uint64_t begin = run->end >> level << level;

		if (!has_bit(run->end, level) || begin - (UINT64_C(1) << level) < frontier->size)
			continue;
		r = add_tree(frontier, level, run->left[level]);
		if (r < 0)
			return r;
	}
	return 0;
}

int merkle_root(const struct merkle_frontier *frontier, struct audit_hash *ret)
{
	struct audit_hash root;
	unsigned level = 0;

	if (frontier->size == 0)
		return audit_hash_digest(NULL, 0, ret);
	while (!has_bit(frontier->size, level))
		level++;
	root = frontier->peaks[level++];
	for (; level < MERKLE_PATH_MAX; level++)
		if (has_bit(frontier->size, level)) {
			int r = merkle_node(&frontier->peaks[level], &root, &root);

			if (r < 0)
				return r;
		}
	*ret = root;
	return 0;
}

bool merkle_equal(const struct merkle_frontier *a, const struct merkle_frontier *b)
{
	if (a->size != b->size)
		return false;
	for (unsigned level = 0; level < MERKLE_PATH_MAX; level++)
		if (has_bit(a->size, level) &&
		    !audit_hash_equal(&a->peaks[level], &b->peaks[level]))
			return false;
	return true;
}

size_t merkle_save(const struct merkle_frontier *frontier, struct audit_hash ret[MERKLE_PATH_MAX])
{
	size_t n = 0;

	for (unsigned level = MERKLE_PATH_MAX; level-- > 0;)
		if (has_bit(frontier->size, level))
			ret[n++] = frontier->peaks[level];
	return n;
}

int merkle_load(uint64_t size, const struct audit_hash *peaks, size_t n,
		struct merkle_frontier *ret)
{
	struct merkle_frontier frontier = { .size = size };

	if (size > MERKLE_SIZE_MAX || n != (size_t)__builtin_popcountll(size))
		return -EBADMSG;
	for (unsigned level = MERKLE_PATH_MAX; level-- > 0;)
		if (has_bit(size, level))
			frontier.peaks[level] = *peaks++;
	*ret = frontier;
	return 0;
}

/*
 * Takes perfect trees from @known in place of the leaves from @begin on. Each must lie wholly in
 * the requested range, because a root cannot be split into its halves.
 */
static int take_known(const struct merkle_frontier *known, uint64_t begin, uint64_t end,
		      struct merkle_frontier *ret)
{
	uint64_t at = 0;

	for (unsigned level = MERKLE_PATH_MAX; level-- > 0;) {
		uint64_t size = UINT64_C(1) << level;

		if (!has_bit(known->size, level))
			continue;
		if (at + size > begin && (at < begin || at + size > end))
			return at < end ? -ENODATA : 0;
		if (at >= begin) {
			ret->peaks[level] = known->peaks[level];
			ret->size += size;
		}
		at += size;
	}
	return 0;
}

static int subtree(const struct merkle_leaves *leaves, uint64_t begin, uint64_t end,
		   struct audit_hash *ret)
{
	struct merkle_frontier frontier = { .size = 0 };
	int known = take_known(leaves->known, begin, end, &frontier);

	if (known < 0)
		return known;
	for (uint64_t i = begin + frontier.size; i < end; i++) {
		struct audit_hash node;
		int r = leaves->read(leaves->userdata, i, &node);

		if (r < 0)
			return r;
		r = merkle_add_node(&frontier, node);
		if (r < 0)
			return r;
	}
	return merkle_root(&frontier, ret);
}

/* A proof is computed from the root down, but listed from the leaf up. */
struct path {
	const struct merkle_leaves *leaves;
	struct audit_hash *hashes;
	size_t n;
};

static int add_subtree(struct path *path, uint64_t begin, uint64_t end)
{
	if (path->n >= MERKLE_PATH_MAX)
		return -EOVERFLOW;

	int r = subtree(path->leaves, begin, end, &path->hashes[path->n]);

	if (r < 0)
		return r;
	path->n++;
	return 0;
}

static int turn_over(struct path *path)
{
	for (size_t i = 0; i < path->n / 2; i++) {
		struct audit_hash hash = path->hashes[i];

		path->hashes[i] = path->hashes[path->n - 1 - i];
		path->hashes[path->n - 1 - i] = hash;
	}
	return (int)path->n;
}

/* RFC 9162 splits a tree at the largest power of two below @n; @n is at least 2. */
static uint64_t split(uint64_t n)
{
	return UINT64_C(1) << (63 - __builtin_clzll(n - 1));
}

int merkle_root_behind(uint64_t size, const struct merkle_leaves *leaves, struct audit_hash *ret)
{
	return size > MERKLE_SIZE_MAX ? -EINVAL : subtree(leaves, 0, size, ret);
}

/* RFC 9162, 2.1.3.1 */
int merkle_prove_inclusion_behind(uint64_t index, uint64_t size, const struct merkle_leaves *leaves,
				  struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct path path = { .leaves = leaves, .hashes = ret };
	uint64_t begin = 0, end = size;

	if (index < leaves->known->size)
		return -ENODATA;
	if (size > MERKLE_SIZE_MAX || index >= size)
		return -EINVAL;
	while (end - begin > 1) {
		uint64_t middle = begin + split(end - begin);
		bool is_left = index < middle;
		int r = is_left ? add_subtree(&path, middle, end)
				: add_subtree(&path, begin, middle);

		if (r < 0)
			return r;
		*(is_left ? &end : &begin) = middle;
	}
	return turn_over(&path);
}

/* RFC 9162, 2.1.4.1: descends to the end of the old tree as merkle_prove_inclusion_behind() does to
 * a leaf. */
int merkle_prove_consistency_behind(uint64_t old_size, uint64_t new_size,
				    const struct merkle_leaves *leaves,
				    struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct path path = { .leaves = leaves, .hashes = ret };
	uint64_t begin = 0, end = new_size;
	int r;

	if (old_size < leaves->known->size)
		return -ENODATA;
	if (new_size > MERKLE_SIZE_MAX || old_size == 0 || old_size > new_size)
		return -EINVAL;
	while (old_size != end) {
		uint64_t middle = begin + split(end - begin);
		bool is_left = old_size <= middle;

		r = is_left ? add_subtree(&path, middle, end) : add_subtree(&path, begin, middle);
		if (r < 0)
			return r;
		*(is_left ? &end : &begin) = middle;
	}
	/* The verifier knows the root of the old tree, but of no other subtree. */
	r = begin != 0 ? add_subtree(&path, begin, end) : 0;
	return r < 0 ? r : turn_over(&path);
}

/* ---- verifying a proof ---- */

/*
 * An attacker may have chosen every hash of a proof. So the sizes alone determine how many hashes
 * the path has and on which side each one is (RFC 9162, 2.1.3.2); a path with a hash too few or too
 * many is refused like one with a wrong hash.
 */

int merkle_verify_inclusion(uint64_t index, uint64_t size, const struct audit_hash *leaf,
			    const struct audit_hash *path, size_t n, const struct audit_hash *root)
{
	/* The numbers of the node and of the last node, halved at each level. */
	uint64_t at = index, last = size - 1;
	struct audit_hash node;
	int r = merkle_leaf(leaf, &node);

	if (r < 0)
		return r;
	if (size > MERKLE_SIZE_MAX || index >= size || n > MERKLE_PATH_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++, at >>= 1, last >>= 1) {
		bool is_on_the_left = (at & 1) || at == last;

		if (last == 0)
			return -EBADMSG;
		/* Skip the levels without a neighbour. */
		for (; is_on_the_left && !(at & 1) && at != 0; at >>= 1)
			last >>= 1;
		r = is_on_the_left ? merkle_node(&path[i], &node, &node)
				   : merkle_node(&node, &path[i], &node);
		if (r < 0)
			return r;
	}
	return last == 0 && audit_hash_equal(&node, root) ? 0 : -EBADMSG;
}
