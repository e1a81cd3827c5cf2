/* SPDX-License-Identifier: MIT */

/*
 * Every proof of small trees verifies, and no changed one does: another bit, one hash more or less,
 * two hashes swapped, another leaf, size or root.
 */

#include <errno.h>

#include "audit-hash-rig.h"
#include "audit/merkle.h"
#include "audit-merkle-rig.h"

#define N_LEAVES 40

struct tree {
	struct audit_hash leaves[N_LEAVES];
	struct audit_hash roots[N_LEAVES + 1];
};

static struct tree make_tree(void)
{
	struct tree tree = {};
	struct merkle_frontier frontier = { .size = 0 };

	for (size_t i = 0; i <= N_LEAVES; i++) {
		expect_eq(merkle_root(&frontier, &tree.roots[i]), 0);
		if (i == N_LEAVES)
			break;
		memset(tree.leaves[i].bytes, (int)i + 1, AUDIT_HASH_SIZE);
		expect_eq(merkle_add(&frontier, &tree.leaves[i]), 0);
	}
	return tree;
}

static int read_tree(void *userdata, uint64_t index, struct audit_hash *ret)
{
	const struct tree *tree = userdata;

	if (index >= N_LEAVES)
		return -ERANGE;
	*ret = tree->leaves[index];
	return 0;
}

/* One claim about the tree and its proof. */
struct claim {
	uint64_t from;
	uint64_t size;
	struct audit_hash first; /* the leaf */
	struct audit_hash root;
	struct audit_hash path[MERKLE_PATH_MAX + 1];
	size_t n;
};

static int verify(const struct claim *claim)
{
	return merkle_verify_inclusion(claim->from, claim->size, &claim->first, claim->path,
				       claim->n, &claim->root);
}

static struct claim make_claim(struct tree *tree, uint64_t from, uint64_t size)
{
	struct claim claim = { .from = from, .size = size };
	int n = prove_inclusion(from, size, read_tree, tree, claim.path);

	expect(n >= 0);
	claim.n = (size_t)n;
	claim.first = tree->leaves[from];
	claim.root = tree->roots[size];
	return claim;
}

/* Calls the function with each claim about trees of up to N_LEAVES. */
static void each_claim(struct tree *tree, void (*check)(const struct claim *claim))
{
	for (uint64_t size = 1; size <= N_LEAVES; size++)
		for (uint64_t from = 0; from < size; from++) {
			struct claim claim = make_claim(tree, from, size);

			check(&claim);
		}
}

static void check_holds(const struct claim *claim)
{
	expect_eq(verify(claim), 0);
}

static void every_true_proof_holds(void)
{
	struct tree tree = make_tree();

	each_claim(&tree, check_holds);
}

static void flip(struct audit_hash *hash)
{
	hash->bytes[7] ^= 0x10;
}

static void check_changed_hashes(const struct claim *claim)
{
	struct claim changed = *claim;

	for (size_t i = 0; i < claim->n; i++) {
		flip(&changed.path[i]);
		expect_eq(verify(&changed), -EBADMSG);
		flip(&changed.path[i]);
	}
	flip(&changed.first);
	expect_eq(verify(&changed), -EBADMSG);
	flip(&changed.first);
	flip(&changed.root);
	expect_eq(verify(&changed), -EBADMSG);
	flip(&changed.root);
	expect_eq(verify(&changed), 0);
}

static void refuses_a_proof_with_one_changed_bit(void)
{
	struct tree tree = make_tree();

	each_claim(&tree, check_changed_hashes);
}

static void check_changed_length(const struct claim *claim)
{
	struct claim shorter = *claim, longer = *claim, headless = *claim, twice = *claim;

	longer.n++;
	expect_eq(verify(&longer), -EBADMSG);
	longer.path[claim->n] = claim->root;
	expect_eq(verify(&longer), -EBADMSG);
	memmove(twice.path + 1, twice.path, claim->n * sizeof(twice.path[0]));
	twice.n++;
	expect_eq(verify(&twice), -EBADMSG);
	if (claim->n == 0)
		return;
	shorter.n--;
	expect_eq(verify(&shorter), -EBADMSG);
	headless.n--;
	memmove(headless.path, headless.path + 1, headless.n * sizeof(headless.path[0]));
	expect_eq(verify(&headless), -EBADMSG);
}

static void refuses_a_proof_with_a_hash_more_or_less(void)
{
	struct tree tree = make_tree();

	each_claim(&tree, check_changed_length);
}

static void check_swapped_hashes(const struct claim *claim)
{
	for (size_t i = 0; i + 1 < claim->n; i++) {
		struct claim swapped = *claim;

		swapped.path[i] = claim->path[i + 1];
		swapped.path[i + 1] = claim->path[i];
		expect_eq(verify(&swapped), -EBADMSG);
	}
}

static void refuses_a_proof_in_another_order(void)
{
	struct tree tree = make_tree();

	each_claim(&tree, check_swapped_hashes);
}

/* A path verifies only with the index of its leaf. */
static void check_other_numbers(const struct claim *claim)
{
	for (uint64_t from = 0; from <= claim->size + 2; from++) {
		struct claim moved = *claim;

		moved.from = from;
		if (from != claim->from)
			expect_eq(verify(&moved), -EBADMSG);
	}
}

static void refuses_a_proof_for_another_leaf_or_tree(void)
{
	struct tree tree = make_tree();

	each_claim(&tree, check_other_numbers);
}

static void refuses_leaves_and_trees_that_cannot_be(void)
{
	struct tree tree = make_tree();
	const struct audit_hash *root = &tree.roots[8];
	struct audit_hash path[MERKLE_PATH_MAX + 1] = { { { 0 } } };
	const uint64_t sizes[] = { 0,	      1, 8, MERKLE_SIZE_MAX, (uint64_t)MERKLE_SIZE_MAX + 1,
				   UINT64_MAX };

	for (size_t i = 0; i < N_ELEMENTS(sizes); i++)
		for (size_t n = 0; n <= MERKLE_PATH_MAX + 1; n++) {
			uint64_t size = sizes[i];

			expect_eq(merkle_verify_inclusion(size, size, root, path, n, root),
				  -EBADMSG);
			expect_eq(merkle_verify_inclusion(UINT64_MAX, size, root, path, n, root),
				  -EBADMSG);
		}
}

static void a_node_never_passes_for_a_leaf(void)
{
	struct tree tree = make_tree();
	struct claim claim = make_claim(&tree, 2, 4);

	/* The node over leaves 0 and 1, passed off as a leaf of a tree of two. */
	expect_eq(verify(&claim), 0);
	claim.from = 0;
	claim.size = 2;
	claim.first = tree.roots[2];
	claim.path[0] = claim.path[1];
	claim.n = 1;
	expect_eq(verify(&claim), -EBADMSG);
}

static const struct test tests[] = {
	TEST(every_true_proof_holds),
	TEST(refuses_a_proof_with_one_changed_bit),
	TEST(refuses_a_proof_with_a_hash_more_or_less),
	TEST(refuses_a_proof_in_another_order),
	TEST(refuses_a_proof_for_another_leaf_or_tree),
	TEST(refuses_leaves_and_trees_that_cannot_be),
	TEST(a_node_never_passes_for_a_leaf),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
