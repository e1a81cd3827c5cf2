/* SPDX-License-Identifier: MIT */

/*
 * The Merkle tree: growing it, and proofs from its leaves
 *
 * A tree of n leaves is a row of perfect trees, one for each bit that is set in n, the largest
 * first. Adding a leaf is adding one to a binary number: where the number carries, two perfect
 * trees become one. A whole subtree is computed in the same way from its leaves, so nothing here
 * calls itself.
 */

#include "audit/merkle.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "audit/merkle-internal.h"

/* RFC 9162, 2.1.1: what stands before a leaf and before a node, so that neither passes for the
 * other. */
#define LEAF_PREFIX 0
#define NODE_PREFIX 1

int merkle_leaf(struct hasher *hasher, const struct audit_hash *data, struct audit_hash *ret)
{
	uint8_t bytes[1 + AUDIT_HASH_SIZE] = { LEAF_PREFIX };
	const struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };

	memcpy(bytes + 1, data->bytes, AUDIT_HASH_SIZE);
	return hasher_digest(hasher, &part, 1, ret);
}

int merkle_node(struct hasher *hasher, const struct audit_hash *left,
		const struct audit_hash *right, struct audit_hash *ret)
{
	uint8_t bytes[1 + 2 * AUDIT_HASH_SIZE] = { NODE_PREFIX };
	const struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };

	memcpy(bytes + 1, left->bytes, AUDIT_HASH_SIZE);
	memcpy(bytes + 1 + AUDIT_HASH_SIZE, right->bytes, AUDIT_HASH_SIZE);
	return hasher_digest(hasher, &part, 1, ret);
}

static bool has_bit(uint64_t size, unsigned bit)
{
	return size >> bit & 1;
}

int merkle_add_node(struct hasher *hasher, struct merkle_frontier *frontier, struct audit_hash node)
{
	unsigned level = 0;
	int r = 0;

	if (frontier->size >= MERKLE_SIZE_MAX)
		return -EOVERFLOW;
	for (; r == 0 && has_bit(frontier->size, level); level++)
		r = merkle_node(hasher, &frontier->peaks[level], &node, &node);
	if (r < 0)
		return r;
	frontier->peaks[level] = node;
	frontier->size++;
	return 0;
}

int merkle_add(struct hasher *hasher, struct merkle_frontier *frontier,
	       const struct audit_hash *leaf)
{
	struct audit_hash node;
	int r = merkle_leaf(hasher, leaf, &node);

	return r < 0 ? r : merkle_add_node(hasher, frontier, node);
}

int merkle_root(struct hasher *hasher, const struct merkle_frontier *frontier,
		struct audit_hash *ret)
{
	struct audit_hash root;
	unsigned level = 0;
	int r = 0;

	if (frontier->size == 0)
		return hasher_digest(hasher, NULL, 0, ret);
	while (!has_bit(frontier->size, level))
		level++;
	root = frontier->peaks[level++];
	for (; r == 0 && level < MERKLE_PATH_MAX; level++)
		if (has_bit(frontier->size, level))
			r = merkle_node(hasher, &frontier->peaks[level], &root, &root);
	if (r == 0)
		*ret = root;
	return r;
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
 * The perfect trees that are known instead of the leaves from @begin on: each is wholly inside of
 * what is asked for, or it cannot be taken apart.
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

static int subtree(const struct merkle_source *source, uint64_t begin, uint64_t end,
		   struct audit_hash *ret)
{
	struct merkle_frontier frontier = { .size = 0 };
	int known = source->known ? take_known(source->known, begin, end, &frontier) : 0;

	if (known < 0)
		return known;
	for (uint64_t i = begin + frontier.size; i < end; i++) {
		struct audit_hash node;
		int r = source->read(source->userdata, i, &node);

		if (r == 0)
			r = merkle_add_node(source->hasher, &frontier, node);
		if (r < 0)
			return r;
	}
	return merkle_root(source->hasher, &frontier, ret);
}

/* A proof is found from the root down and written from the leaf up. */
struct path {
	struct audit_hash *hashes;
	size_t n;
};

static int add_subtree(const struct merkle_source *source, struct path *path, uint64_t begin,
		       uint64_t end)
{
	if (path->n >= MERKLE_PATH_MAX)
		return -EOVERFLOW;

	int r = subtree(source, begin, end, &path->hashes[path->n]);

	if (r == 0)
		path->n++;
	return r;
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

/* The largest power of two below @n, which is at least 2: where RFC 9162 divides a tree. */
static uint64_t split(uint64_t n)
{
	return UINT64_C(1) << (63 - __builtin_clzll(n - 1));
}

/* RFC 9162, 2.1.3.1 */
int merkle_source_inclusion(const struct merkle_source *source, uint64_t index, uint64_t size,
			    struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct path path = { .hashes = ret };
	uint64_t begin = 0, end = size;

	if (size > MERKLE_SIZE_MAX || index >= size)
		return -EINVAL;
	while (end - begin > 1) {
		uint64_t middle = begin + split(end - begin);
		bool is_left = index < middle;
		int r = is_left ? add_subtree(source, &path, middle, end)
				: add_subtree(source, &path, begin, middle);

		if (r < 0)
			return r;
		*(is_left ? &end : &begin) = middle;
	}
	return turn_over(&path);
}

/* RFC 9162, 2.1.4.1: the end of the old tree is looked for as a leaf is above. */
int merkle_source_consistency(const struct merkle_source *source, uint64_t old_size,
			      uint64_t new_size, struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct path path = { .hashes = ret };
	uint64_t begin = 0, end = new_size;
	int r = 0;

	if (new_size > MERKLE_SIZE_MAX || old_size == 0 || old_size > new_size)
		return -EINVAL;
	while (r == 0 && old_size != end) {
		uint64_t middle = begin + split(end - begin);
		bool is_left = old_size <= middle;

		r = is_left ? add_subtree(source, &path, middle, end)
			    : add_subtree(source, &path, begin, middle);
		*(is_left ? &end : &begin) = middle;
	}
	/* The old tree's own root is known to who verifies; any other subtree is not. */
	if (r == 0 && begin != 0)
		r = add_subtree(source, &path, begin, end);
	return r < 0 ? r : turn_over(&path);
}

/* Leaves as the caller has them. */
struct leaves {
	struct hasher *hasher;
	merkle_read read;
	void *userdata;
};

static int read_leaf(void *userdata, uint64_t index, struct audit_hash *ret)
{
	const struct leaves *leaves = userdata;
	struct audit_hash data;
	int r = leaves->read(leaves->userdata, index, &data);

	return r < 0 ? r : merkle_leaf(leaves->hasher, &data, ret);
}

int merkle_root_of(struct hasher *hasher, uint64_t size, merkle_read read, void *userdata,
		   struct audit_hash *ret)
{
	struct leaves leaves = { .hasher = hasher, .read = read, .userdata = userdata };
	const struct merkle_source source = { hasher, read_leaf, &leaves, NULL };

	return size > MERKLE_SIZE_MAX ? -EINVAL : subtree(&source, 0, size, ret);
}

int merkle_prove_inclusion(struct hasher *hasher, uint64_t index, uint64_t size, merkle_read read,
			   void *userdata, struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct leaves leaves = { .hasher = hasher, .read = read, .userdata = userdata };
	const struct merkle_source source = { hasher, read_leaf, &leaves, NULL };

	return merkle_source_inclusion(&source, index, size, ret);
}

int merkle_prove_consistency(struct hasher *hasher, uint64_t old_size, uint64_t new_size,
			     merkle_read read, void *userdata,
			     struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct leaves leaves = { .hasher = hasher, .read = read, .userdata = userdata };
	const struct merkle_source source = { hasher, read_leaf, &leaves, NULL };

	return merkle_source_consistency(&source, old_size, new_size, ret);
}

/* ---- the first leaves are known by their tree alone ---- */

int merkle_root_behind(struct hasher *hasher, uint64_t size, const struct merkle_leaves *behind,
		       struct audit_hash *ret)
{
	struct leaves leaves = { hasher, behind->read, behind->userdata };
	const struct merkle_source source = { hasher, read_leaf, &leaves, behind->known };

	return size > MERKLE_SIZE_MAX ? -EINVAL : subtree(&source, 0, size, ret);
}

int merkle_prove_inclusion_behind(struct hasher *hasher, uint64_t index, uint64_t size,
				  const struct merkle_leaves *behind,
				  struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct leaves leaves = { hasher, behind->read, behind->userdata };
	const struct merkle_source source = { hasher, read_leaf, &leaves, behind->known };

	return index < behind->known->size ? -ENODATA
					   : merkle_source_inclusion(&source, index, size, ret);
}

int merkle_prove_consistency_behind(struct hasher *hasher, uint64_t old_size, uint64_t new_size,
				    const struct merkle_leaves *behind,
				    struct audit_hash ret[MERKLE_PATH_MAX])
{
	struct leaves leaves = { hasher, behind->read, behind->userdata };
	const struct merkle_source source = { hasher, read_leaf, &leaves, behind->known };

	return old_size < behind->known->size
		       ? -ENODATA
		       : merkle_source_consistency(&source, old_size, new_size, ret);
}
