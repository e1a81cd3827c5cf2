/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include "audit-hash-rig.h"
#include "audit/checkpoint.h"

/* RFC 8032, section 7.1, tests 1 to 3. */
static const struct {
	const char *private_key;
	const char *public_key;
	const char *message;
	const char *signature;
} published[] = {
	{ "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
	  "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
	  "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
	  "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b" },
	{ "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
	  "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
	  "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da0"
	  "85ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00" },
	{ "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
	  "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
	  "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac1"
	  "8ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a" },
};

struct vector {
	uint8_t private_key[SIGNATURE_KEY_SIZE];
	uint8_t public_key[SIGNATURE_KEY_SIZE];
	uint8_t message[2];
	size_t n_message;
	uint8_t signature[SIGNATURE_SIZE];
};

static struct vector vector_of(size_t i)
{
	struct vector vector = { .n_message = strlen(published[i].message) / 2 };

	from_hex(published[i].private_key, vector.private_key, SIGNATURE_KEY_SIZE);
	from_hex(published[i].public_key, vector.public_key, SIGNATURE_KEY_SIZE);
	from_hex(published[i].message, vector.message, vector.n_message);
	from_hex(published[i].signature, vector.signature, SIGNATURE_SIZE);
	return vector;
}

static void makes_the_published_signatures(void)
{
	for (size_t i = 0; i < N_ELEMENTS(published); i++) {
		const struct vector vector = vector_of(i);
		uint8_t public_key[SIGNATURE_KEY_SIZE], signature[SIGNATURE_SIZE];

		expect_eq(signature_public_key(vector.private_key, public_key), 0);
		expect(memcmp(public_key, vector.public_key, sizeof(public_key)) == 0);
		expect_eq(signature_make(vector.private_key, vector.message, vector.n_message,
					 signature),
			  0);
		expect(memcmp(signature, vector.signature, sizeof(signature)) == 0);
		expect_eq(signature_verify(vector.public_key, vector.message, vector.n_message,
					   signature),
			  0);
	}
}

static void refuses_a_signature_with_one_changed_bit(void)
{
	struct vector vector = vector_of(2);

	for (size_t bit = 0; bit < 8 * SIGNATURE_SIZE; bit++) {
		vector.signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
		expect_eq(signature_verify(vector.public_key, vector.message, vector.n_message,
					   vector.signature),
			  -EKEYREJECTED);
		vector.signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void refuses_a_signature_of_another_text_or_key(void)
{
	const struct vector vector = vector_of(2), other = vector_of(1);

	expect_eq(signature_verify(vector.public_key, vector.message, 1, vector.signature),
		  -EKEYREJECTED);
	expect_eq(signature_verify(vector.public_key, other.message, other.n_message,
				   vector.signature),
		  -EKEYREJECTED);
	expect_eq(signature_verify(other.public_key, vector.message, vector.n_message,
				   vector.signature),
		  -EKEYREJECTED);
}

/* RFC 8032, 5.1.7: the second half must be below the group order; otherwise one text would have two
 * valid signatures. */
static void refuses_a_second_form_of_the_same_signature(void)
{
	static const char order[] =
		"edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
	struct vector vector = vector_of(2);
	uint8_t addend[SIGNATURE_SIZE / 2];
	unsigned carry = 0;

	from_hex(order, addend, sizeof(addend));
	for (size_t i = 0; i < sizeof(addend); i++) {
		carry += vector.signature[32 + i] + addend[i];
		vector.signature[32 + i] = (uint8_t)carry;
		carry >>= 8;
	}
	expect_eq(carry, 0);
	expect_eq(signature_verify(vector.public_key, vector.message, vector.n_message,
				   vector.signature),
		  -EKEYREJECTED);
}

static void refuses_a_public_key_that_is_no_point(void)
{
	struct vector vector = vector_of(0);

	memset(vector.public_key, 0xff, sizeof(vector.public_key));
	expect_eq(signature_verify(vector.public_key, vector.message, 0, vector.signature),
		  -EKEYREJECTED);
}

static const struct test tests[] = {
	TEST(makes_the_published_signatures),
	TEST(refuses_a_signature_with_one_changed_bit),
	TEST(refuses_a_signature_of_another_text_or_key),
	TEST(refuses_a_second_form_of_the_same_signature),
	TEST(refuses_a_public_key_that_is_no_point),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
