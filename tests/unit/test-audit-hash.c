/* SPDX-License-Identifier: MIT */

#include "audit-hash-rig.h"
#include "count-alloc.h"

/* Examples of FIPS 180-4. */
static const char digest_of_nothing[] =
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char digest_of_abc[] =
	"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static void digests_the_published_examples(void)
{
	const struct iovec abc = { .iov_base = (char *)"abc", .iov_len = 3 };
	struct audit_hash hash;

	expect_eq(audit_hash_digest(NULL, 0, &hash), 0);
	expect_hash(&hash, digest_of_nothing);
	expect_eq(audit_hash_digest(&abc, 1, &hash), 0);
	expect_hash(&hash, digest_of_abc);
}

static void parts_of_a_digest_are_one_text(void)
{
	const struct iovec parts[] = {
		{ .iov_base = (char *)"a", .iov_len = 1 },
		{ .iov_base = NULL, .iov_len = 0 },
		{ .iov_base = (char *)"bc", .iov_len = 2 },
	};
	struct audit_hash hash;

	expect_eq(audit_hash_digest(parts, N_ELEMENTS(parts), &hash), 0);
	expect_hash(&hash, digest_of_abc);
}

static void a_digest_leaves_nothing_behind_for_the_next(void)
{
	const struct iovec abc = { .iov_base = (char *)"abc", .iov_len = 3 };
	struct audit_hash hash;

	for (int i = 0; i < 3; i++) {
		expect_eq(audit_hash_digest(&abc, 1, &hash), 0);
		expect_hash(&hash, digest_of_abc);
	}
}

static void a_digest_may_replace_its_own_input(void)
{
	struct audit_hash hash = hash_of_hex(digest_of_abc), other = hash;
	const struct iovec in_place = { .iov_base = hash.bytes, .iov_len = sizeof(hash.bytes) };
	const struct iovec apart = { .iov_base = other.bytes, .iov_len = sizeof(other.bytes) };
	struct audit_hash want;

	expect_eq(audit_hash_digest(&apart, 1, &want), 0);
	expect_eq(audit_hash_digest(&in_place, 1, &hash), 0);
	expect(audit_hash_equal(&hash, &want));
}

static void hashes_that_differ_in_one_bit_are_not_equal(void)
{
	const struct audit_hash hash = hash_of_hex(digest_of_abc);

	for (size_t bit = 0; bit < 8 * sizeof(hash.bytes); bit++) {
		struct audit_hash other = hash;

		other.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		expect(!audit_hash_equal(&hash, &other));
	}
	expect(audit_hash_equal(&hash, &hash));
}

static void a_digest_allocates_nothing(void)
{
	const struct iovec abc = { .iov_base = (char *)"abc", .iov_len = 3 };
	struct audit_hash hash;

	if (!count_alloc_works())
		skip("the heap belongs to a sanitizer");
	count_alloc_start();
	for (int i = 0; i < 100; i++)
		(void)audit_hash_digest(&abc, 1, &hash);
	expect_eq(count_alloc_stop(), 0);
}

static const struct test tests[] = {
	TEST(digests_the_published_examples),
	TEST(parts_of_a_digest_are_one_text),
	TEST(a_digest_leaves_nothing_behind_for_the_next),
	TEST(a_digest_may_replace_its_own_input),
	TEST(hashes_that_differ_in_one_bit_are_not_equal),
	TEST(a_digest_allocates_nothing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
