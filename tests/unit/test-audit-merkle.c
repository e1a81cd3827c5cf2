/* SPDX-License-Identifier: MIT */

/*
 * The tree against the test vectors of Certificate Transparency (eight leaves of 0 to 16 bytes),
 * and against a slow second implementation that follows the definitions of RFC 9162.
 */

#include <errno.h>

#include "audit-hash-rig.h"
#include "audit/merkle.h"
#include "audit-merkle-rig.h"
#include "count-alloc.h"

#define N_PUBLISHED 8
#define N_COMPARED 70

/* Leaf hashes and inner nodes of the published tree, named by the leaves below them. */
#define LEAF_0 "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
#define LEAF_1 "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
#define LEAF_2 "0298d122906dcfc10892cb53a73992fc5b9f493ea4c9badb27b791b4127a7fe7"
#define LEAF_3 "07506a85fd9dd2f120eb694f86011e5bb4662e5c415a62917033d4a9624487e7"
#define LEAF_4 "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
#define LEAF_5 "4271a26be0d8a84f0bd54c8c302e7cb3a3b5d1fa6780a40bcce2873477dab658"
#define LEAF_6 "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f"
#define LEAF_7 "46f6ffadd3d06a09ff3c5860d2755c8b9819db7df44251788c7d8e3180de8eb1"
#define NODE_01 "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
#define NODE_23 "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
#define NODE_45 "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
#define NODE_67 "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
#define NODE_0123 "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
#define NODE_4567 "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"

static const char *const leaves[N_PUBLISHED] = { LEAF_0, LEAF_1, LEAF_2, LEAF_3,
						 LEAF_4, LEAF_5, LEAF_6, LEAF_7 };
static const char *const roots[N_PUBLISHED + 1] = {
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	LEAF_0,
	NODE_01,
	"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
	NODE_0123,
	"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
	"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
	"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
	"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
};

/* An inclusion proof of leaf @from, or a consistency proof from size @from, in the tree of @size
 * leaves. */
struct proof {
	uint64_t from;
	uint64_t size;
	const char *path[4];
};

static const struct proof inclusions[] = {
	{ 0, 1, { NULL } },
	{ 0, 8, { LEAF_1, NODE_23, NODE_4567 } },
	{ 5, 8, { LEAF_4, NODE_67, NODE_0123 } },
	{ 2, 3, { NODE_01 } },
	{ 1, 5, { LEAF_0, NODE_23, LEAF_4 } },
};

static const struct proof consistencies[] = {
	{ 1, 1, { NULL } },
	{ 1, 8, { LEAF_1, NODE_23, NODE_4567 } },
	{ 6, 8, { NODE_45, NODE_67, NODE_0123 } },
	{ 2, 5, { NODE_23, LEAF_4 } },
	{ 6, 7, { NODE_45, LEAF_6, NODE_0123 } },
};

static int read_published(void *userdata, uint64_t index, struct audit_hash *ret)
{
	if (index >= N_PUBLISHED)
		return -ERANGE;
	*ret = hash_of_hex(leaves[index]);
	return 0;
}

static void the_published_trees_have_the_published_roots(void)
{
	struct merkle_frontier frontier = { .size = 0 };
	struct audit_hash root;

	for (size_t i = 0; i <= N_PUBLISHED; i++) {
		expect_eq(merkle_root(&frontier, &root), 0);
		expect_hash(&root, roots[i]);
		if (i < N_PUBLISHED)
			expect_eq(merkle_add_node(&frontier, hash_of_hex(leaves[i])), 0);
	}
	expect_eq(frontier.size, N_PUBLISHED);
}

static void expect_path(const struct audit_hash *path, int n, const char *const want[4])
{
	int n_want = 0;

	while (n_want < 4 && want[n_want])
		n_want++;
	expect_eq(n, n_want);
	for (int i = 0; i < n && i < n_want; i++)
		expect_hash(&path[i], want[i]);
}

static void proves_what_is_published(void)
{
	const struct merkle_frontier none = { .size = 0 };
	const struct merkle_leaves published = { .known = &none, .read = read_published };
	struct audit_hash path[MERKLE_PATH_MAX];

	for (size_t i = 0; i < N_ELEMENTS(inclusions); i++) {
		const struct proof *proof = &inclusions[i];
		int n = merkle_prove_inclusion_behind(proof->from, proof->size, &published, path);

		expect_path(path, n, proof->path);
	}
	for (size_t i = 0; i < N_ELEMENTS(consistencies); i++) {
		const struct proof *proof = &consistencies[i];
		int n = merkle_prove_consistency_behind(proof->from, proof->size, &published, path);

		expect_path(path, n, proof->path);
	}
}

/* The definitions of RFC 9162, sections 2.1.1, 2.1.3.1 and 2.1.4.1. */
struct naive {
	const struct audit_hash *data;
	struct audit_hash path[MERKLE_PATH_MAX];
	int n;
};

static size_t naive_split(size_t n)
{
	size_t k = 1;

	while (2 * k < n)
		k *= 2;
	return k;
}

static struct audit_hash naive_root(struct naive *naive, size_t begin, size_t n)
{
	struct audit_hash left, right, hash;

	if (n == 1) {
		expect_eq(merkle_leaf(&naive->data[begin], &hash), 0);
		return hash;
	}
	left = naive_root(naive, begin, naive_split(n));
	right = naive_root(naive, begin + naive_split(n), n - naive_split(n));
	expect_eq(merkle_node(&left, &right, &hash), 0);
	return hash;
}

static void naive_path(struct naive *naive, size_t m, size_t begin, size_t n)
{
	size_t k = naive_split(n);

	if (n == 1)
		return;
	if (m < k) {
		naive_path(naive, m, begin, k);
		naive->path[naive->n++] = naive_root(naive, begin + k, n - k);
	} else {
		naive_path(naive, m - k, begin + k, n - k);
		naive->path[naive->n++] = naive_root(naive, begin, k);
	}
}

static void naive_subproof(struct naive *naive, size_t m, size_t begin, size_t n, bool is_known)
{
	size_t k = naive_split(n);

	if (m == n) {
		if (!is_known)
			naive->path[naive->n++] = naive_root(naive, begin, n);
	} else if (m <= k) {
		naive_subproof(naive, m, begin, k, is_known);
		naive->path[naive->n++] = naive_root(naive, begin + k, n - k);
	} else {
		naive_subproof(naive, m - k, begin + k, n - k, false);
		naive->path[naive->n++] = naive_root(naive, begin, k);
	}
}

static void fill(struct audit_hash data[N_COMPARED])
{
	for (size_t i = 0; i < N_COMPARED; i++)
		memset(data[i].bytes, (int)i + 1, AUDIT_HASH_SIZE);
}

static int read_data(void *userdata, uint64_t index, struct audit_hash *ret)
{
	const struct audit_hash *data = userdata;

	if (index >= N_COMPARED)
		return -ERANGE;
	*ret = data[index];
	return 0;
}

static void expect_same_path(const struct naive *want, const struct audit_hash *path, int n)
{
	expect_eq(n, want->n);
	expect(n == want->n && memcmp(path, want->path, (size_t)n * sizeof(path[0])) == 0);
}

static void roots_agree_with_the_definition(void)
{
	struct audit_hash data[N_COMPARED], root;
	struct naive naive = { .data = data };
	struct merkle_frontier frontier = { .size = 0 };

	fill(data);
	for (size_t n = 1; n <= N_COMPARED; n++) {
		const struct audit_hash want = naive_root(&naive, 0, n);

		expect_eq(merkle_add(&frontier, &data[n - 1]), 0);
		expect_eq(merkle_root(&frontier, &root), 0);
		expect(audit_hash_equal(&root, &want));
		expect_eq(root_of_leaves(n, read_data, data, &root), 0);
		expect(audit_hash_equal(&root, &want));
	}
}

static void inclusion_proofs_agree_with_the_definition(void)
{
	struct audit_hash data[N_COMPARED], path[MERKLE_PATH_MAX] = { { { 0 } } };

	fill(data);
	for (size_t n = 1; n <= N_COMPARED; n++)
		for (size_t m = 0; m < n; m++) {
			struct naive naive = { .data = data };

			naive_path(&naive, m, 0, n);
			expect_same_path(&naive, path,
					 prove_inclusion(m, n, read_data, data, path));
		}
}

static void consistency_proofs_agree_with_the_definition(void)
{
	struct audit_hash data[N_COMPARED], path[MERKLE_PATH_MAX] = { { { 0 } } };

	fill(data);
	for (size_t n = 1; n <= N_COMPARED; n++)
		for (size_t m = 1; m <= n; m++) {
			struct naive naive = { .data = data };

			naive_subproof(&naive, m, 0, n, true);
			expect_same_path(&naive, path,
					 prove_consistency(m, n, read_data, data, path));
		}
}

/* Fails at leaf 3, and counts the reads of each leaf. */
struct counted {
	unsigned n_reads[N_PUBLISHED];
	bool fails;
};

static int read_counted(void *userdata, uint64_t index, struct audit_hash *ret)
{
	struct counted *counted = userdata;

	if (index >= N_PUBLISHED)
		return -ERANGE;
	counted->n_reads[index]++;
	memset(ret->bytes, (int)index, sizeof(ret->bytes));
	return counted->fails && index == 3 ? -ENODATA : 0;
}

static void no_leaf_is_read_twice_for_a_proof(void)
{
	struct counted counted = { .fails = false };
	struct audit_hash path[MERKLE_PATH_MAX];

	expect_eq(prove_inclusion(5, 8, read_counted, &counted, path), 3);
	for (size_t i = 0; i < N_PUBLISHED; i++)
		expect_eq(counted.n_reads[i], i != 5);
}

static void a_leaf_that_cannot_be_read_ends_the_proof(void)
{
	struct counted counted = { .fails = true };
	struct audit_hash path[MERKLE_PATH_MAX], root = hash_of_hex(LEAF_7);

	expect_eq(prove_inclusion(5, 8, read_counted, &counted, path), -ENODATA);
	expect_eq(prove_consistency(6, 8, read_counted, &counted, path), -ENODATA);
	expect_eq(root_of_leaves(8, read_counted, &counted, &root), -ENODATA);
	expect_hash(&root, LEAF_7);
}

static void refuses_to_prove_what_is_not_there(void)
{
	const uint64_t too_large = (uint64_t)MERKLE_SIZE_MAX + 1;
	struct audit_hash path[MERKLE_PATH_MAX], root;

	expect_eq(prove_inclusion(0, 0, read_data, NULL, path), -EINVAL);
	expect_eq(prove_inclusion(8, 8, read_data, NULL, path), -EINVAL);
	expect_eq(prove_inclusion(1, too_large, read_data, NULL, path), -EINVAL);
	expect_eq(prove_consistency(0, 8, read_data, NULL, path), -EINVAL);
	expect_eq(prove_consistency(0, 0, read_data, NULL, path), -EINVAL);
	expect_eq(prove_consistency(9, 8, read_data, NULL, path), -EINVAL);
	expect_eq(prove_consistency(1, too_large, read_data, NULL, path), -EINVAL);
	expect_eq(root_of_leaves(too_large, read_data, NULL, &root), -EINVAL);
}

static void a_full_tree_takes_no_leaf_and_stays_as_it_was(void)
{
	struct merkle_frontier frontier = { .size = MERKLE_SIZE_MAX };
	const struct audit_hash leaf = hash_of_hex(LEAF_0);

	expect_eq(merkle_add(&frontier, &leaf), -EOVERFLOW);
	expect_eq(frontier.size, MERKLE_SIZE_MAX);
}

static void a_saved_frontier_goes_on_where_it_was(void)
{
	struct audit_hash data[N_COMPARED], peaks[MERKLE_PATH_MAX], root, want;

	fill(data);
	for (size_t at = 0; at < N_COMPARED; at++) {
		struct merkle_frontier frontier = { .size = 0 }, again;

		for (size_t i = 0; i < at; i++)
			expect_eq(merkle_add(&frontier, &data[i]), 0);

		size_t n = merkle_save(&frontier, peaks);

		expect_eq(n, __builtin_popcountll(at));
		expect_eq(merkle_load(at, peaks, n, &again), 0);
		for (size_t i = at; i < N_COMPARED; i++)
			expect_eq(merkle_add(&again, &data[i]), 0);
		expect_eq(merkle_root(&again, &root), 0);
		expect_eq(root_of_leaves(N_COMPARED, read_data, data, &want), 0);
		expect(audit_hash_equal(&root, &want));
	}
}

static void a_saved_frontier_begins_with_its_largest_tree(void)
{
	struct merkle_frontier frontier = { .size = 0 };
	struct audit_hash peaks[MERKLE_PATH_MAX];

	for (size_t i = 0; i < 7; i++)
		expect_eq(merkle_add_node(&frontier, hash_of_hex(leaves[i])), 0);
	expect_eq(merkle_save(&frontier, peaks), 3);
	expect_hash(&peaks[0], NODE_0123);
	expect_hash(&peaks[1], NODE_45);
	expect_hash(&peaks[2], LEAF_6);
}

static void refuses_a_frontier_with_too_few_or_too_many_peaks(void)
{
	struct audit_hash peaks[MERKLE_PATH_MAX] = { { { 0 } } };
	struct merkle_frontier frontier = { .size = 77 };

	expect_eq(merkle_load(7, peaks, 2, &frontier), -EBADMSG);
	expect_eq(merkle_load(7, peaks, 4, &frontier), -EBADMSG);
	expect_eq(merkle_load(0, peaks, 1, &frontier), -EBADMSG);
	expect_eq(merkle_load((uint64_t)MERKLE_SIZE_MAX + 1, peaks, 1, &frontier), -EBADMSG);
	expect_eq(frontier.size, 77);
}

static struct audit_hash numbered_leaf(uint64_t i)
{
	const struct iovec part = { &i, sizeof(i) };
	struct audit_hash leaf;

	expect_eq(audit_hash_digest(&part, 1, &leaf), 0);
	return leaf;
}

/* Adds every run of leaves to the tree of the leaves before it. */
static void runs_of_leaves_make_the_same_tree(void)
{
	struct merkle_frontier whole[N_COMPARED + 1] = { { .size = 0 } };

	for (uint64_t i = 0; i < N_COMPARED; i++) {
		struct audit_hash leaf = numbered_leaf(i);

		whole[i + 1] = whole[i];
		expect_eq(merkle_add(&whole[i + 1], &leaf), 0);
	}
	for (uint64_t first = 0; first <= N_COMPARED; first++) {
		struct merkle_run run;

		merkle_run_begin(&run, first);
		for (uint64_t end = first; end <= N_COMPARED; end++) {
			struct merkle_frontier frontier = whole[first];
			struct audit_hash leaf = numbered_leaf(end), root, wanted;

			expect_eq(merkle_add_run(&frontier, &run), 0);
			expect_eq(frontier.size, end);
			expect_eq(merkle_root(&frontier, &root), 0);
			expect_eq(merkle_root(&whole[end], &wanted), 0);
			expect(audit_hash_equal(&root, &wanted));
			expect_eq(merkle_run_add(&run, &leaf), 0);
		}
	}
}

static void a_run_is_not_added_elsewhere(void)
{
	struct merkle_frontier frontier = { .size = 0 };
	struct audit_hash leaf = numbered_leaf(0);
	struct merkle_run run;

	merkle_run_begin(&run, 1);
	expect_eq(merkle_run_add(&run, &leaf), 0);
	expect_eq(merkle_add_run(&frontier, &run), -EINVAL);
	expect_eq(frontier.size, 0);
	merkle_run_begin(&run, MERKLE_SIZE_MAX);
	expect_eq(merkle_run_add(&run, &leaf), -EOVERFLOW);
}

static void growing_the_tree_allocates_nothing(void)
{
	struct merkle_frontier frontier = { .size = 0 };
	struct audit_hash hash = hash_of_hex(LEAF_0);

	if (!count_alloc_works())
		skip("the heap belongs to a sanitizer");
	count_alloc_start();
	for (int i = 0; i < 100; i++) {
		(void)merkle_add(&frontier, &hash);
		(void)merkle_root(&frontier, &hash);
	}
	expect_eq(count_alloc_stop(), 0);
	expect_eq(frontier.size, 100);
}

/* ---- trees whose first leaves were deleted ---- */

struct behind {
	uint64_t known;
	struct audit_hash data[N_COMPARED];
};

static int read_behind(void *userdata, uint64_t index, struct audit_hash *ret)
{
	const struct behind *behind = userdata;

	if (index < behind->known)
		return -ENODATA;
	return rig_read_hashed(&(struct rig_leaves){ read_data, (void *)behind->data }, index, ret);
}

static bool is_path(int n, const struct audit_hash *path, int n_other,
		    const struct audit_hash *other)
{
	return n == n_other && n >= 0 && memcmp(path, other, (size_t)n * sizeof(*path)) == 0;
}

static void compare_behind(const struct merkle_leaves *behind, uint64_t size)
{
	struct audit_hash path[MERKLE_PATH_MAX], other[MERKLE_PATH_MAX], root, other_root;
	struct behind *whole = behind->userdata;
	uint64_t known = behind->known->size;

	expect_eq(merkle_root_behind(size, behind, &root), 0);
	expect_eq(root_of_leaves(size, read_data, whole->data, &other_root), 0);
	expect(audit_hash_equal(&root, &other_root));
	for (uint64_t i = known; i < size; i++)
		expect(is_path(merkle_prove_inclusion_behind(i, size, behind, path), path,
			       prove_inclusion(i, size, read_data, whole->data, other), other));
	for (uint64_t i = known; i <= size; i++)
		expect(is_path(merkle_prove_consistency_behind(i, size, behind, path), path,
			       prove_consistency(i, size, read_data, whole->data, other), other));
}

static void what_is_proved_without_the_first_leaves_is_the_same(void)
{
	struct merkle_frontier frontier = { .size = 0 };
	struct behind behind = {};
	const struct merkle_leaves leaves_behind = { &frontier, read_behind, &behind };

	fill(behind.data);
	for (uint64_t known = 1; known <= 34; known++) {
		behind.known = known;
		expect_eq(merkle_add(&frontier, &behind.data[known - 1]), 0);
		for (uint64_t size = known; size <= N_COMPARED; size++)
			compare_behind(&leaves_behind, size);
	}
}

static void what_is_about_the_first_leaves_cannot_be_proved_without_them(void)
{
	struct merkle_frontier frontier = { .size = 0 };
	struct behind behind = { .known = 13 };
	const struct merkle_leaves leaves_behind = { &frontier, read_behind, &behind };
	struct audit_hash path[MERKLE_PATH_MAX];

	fill(behind.data);
	for (size_t i = 0; i < 13; i++)
		expect_eq(merkle_add(&frontier, &behind.data[i]), 0);
	for (uint64_t i = 1; i < 13; i++) {
		expect_eq(merkle_prove_inclusion_behind(i, 20, &leaves_behind, path), -ENODATA);
		expect_eq(merkle_prove_consistency_behind(i, 20, &leaves_behind, path), -ENODATA);
	}
	for (uint64_t size = 1; size < 13; size++)
		if (size != 8 && size != 12)
			expect_eq(merkle_root_behind(size, &leaves_behind, path), -ENODATA);
}

static const struct test tests[] = {
	TEST(the_published_trees_have_the_published_roots),
	TEST(proves_what_is_published),
	TEST(roots_agree_with_the_definition),
	TEST(inclusion_proofs_agree_with_the_definition),
	TEST(consistency_proofs_agree_with_the_definition),
	TEST(no_leaf_is_read_twice_for_a_proof),
	TEST(a_leaf_that_cannot_be_read_ends_the_proof),
	TEST(refuses_to_prove_what_is_not_there),
	TEST(a_full_tree_takes_no_leaf_and_stays_as_it_was),
	TEST(a_saved_frontier_goes_on_where_it_was),
	TEST(a_saved_frontier_begins_with_its_largest_tree),
	TEST(refuses_a_frontier_with_too_few_or_too_many_peaks),
	TEST(runs_of_leaves_make_the_same_tree),
	TEST(a_run_is_not_added_elsewhere),
	TEST(growing_the_tree_allocates_nothing),
	TEST(what_is_proved_without_the_first_leaves_is_the_same),
	TEST(what_is_about_the_first_leaves_cannot_be_proved_without_them),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
