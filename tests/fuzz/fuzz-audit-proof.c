/* SPDX-License-Identifier: MIT */

/*
 * The bytes are an inclusion proof in a tree of sixteen leaves: a byte that is not used, index,
 * size, and hashes. Each claim has exactly one valid proof, so only that one may verify. The
 * numbers are also used with trees of other sizes, where no proof may verify. A failed check is an
 * abort.
 */

#include "audit/merkle.h"
#include "../unit/audit-merkle-rig.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

#define N_LEAVES 16
#define N_HEADER 3
#define N_HASHES 70

struct proof {
	uint64_t from;
	uint64_t size;
	struct audit_hash path[N_HASHES];
	size_t n;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static int read_leaf(void *userdata, uint64_t index, struct audit_hash *ret)
{
	check(index < N_LEAVES);
	memset(ret->bytes, (int)index, sizeof(ret->bytes));
	return 0;
}

static struct audit_hash root_of(uint64_t size)
{
	struct audit_hash root;

	check(root_of_leaves(size, read_leaf, NULL, &root) == 0);
	return root;
}

static int prove(const struct proof *proof, struct audit_hash *ret)
{
	return prove_inclusion(proof->from, proof->size, read_leaf, NULL, ret);
}

static int verify(const struct proof *proof, const struct audit_hash *first,
		  const struct audit_hash *root)
{
	return merkle_verify_inclusion(proof->from, proof->size, first, proof->path, proof->n,
				       root);
}

static void check_small(const struct proof *proof)
{
	struct audit_hash right[MERKLE_PATH_MAX], first = { { 0 } }, root = { { 0 } };
	bool holds;
	int n;

	if (proof->size > N_LEAVES)
		return;
	n = prove(proof, right);
	root = root_of(proof->size);
	(void)read_leaf(NULL, proof->from % N_LEAVES, &first);
	holds = verify(proof, &first, &root) == 0;
	check(holds == (n >= 0 && (size_t)n == proof->n &&
			memcmp(right, proof->path, proof->n * sizeof(right[0])) == 0));
}

static void check_large(struct proof proof)
{
	const struct audit_hash root = root_of(3);

	for (unsigned shift = 0; shift < 64; shift += 7) {
		proof.from <<= shift;
		proof.size = proof.size << shift | proof.from;
		check(verify(&proof, &root, &root) == -EBADMSG);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct proof proof = { .n = 0 };

	if (n_bytes < N_HEADER)
		return 0;
	proof.from = bytes[1];
	proof.size = bytes[2];
	proof.n = (n_bytes - N_HEADER) / AUDIT_HASH_SIZE;
	if (proof.n > N_HASHES)
		proof.n = N_HASHES;
	memcpy(proof.path, bytes + N_HEADER, proof.n * AUDIT_HASH_SIZE);
	check_small(&proof);
	check_large(proof);
	return 0;
}
