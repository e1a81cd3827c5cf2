/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include "audit-hash-rig.h"
#include "audit/chain.h"
#include "base/text.h"
#include "count-alloc.h"

/* These texts and hashes define the format; sbx-audit-layout(7) lists them. */
static const char genesis_bytes[] =
	"{\"version\":1,\"time\":\"2026-01-02T03:04:05.678901Z\","
	"\"boot\":\"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\",\"event\":\"log_created\","
	"\"tool\":\"sbx-audit\",\"format\":\"sbx-audit/1\","
	"\"log\":\"000102030405060708090a0b0c0d0e0f\","
	"\"key\":\"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"}";
static const char genesis_hash[] =
	"07dc95b7983f18cd5b42497ff06c9071bcef2a8d36b16ff1b415da820f7dd342";
static const char first_bytes[] = "{\"event\":\"kernel_start\"}";
static const char first_hash[] = "9f27f28088de9a421e5af76e42cef4f19cbf8f7454cd2f11ea8a51c6dd3a6865";
static const char empty_hash[] = "26c1bec17dae27c6dcd6f126aa053c42839348416e1f41f3b64183a53f534c7f";
static const char last_hash[] = "de02d1ad1bd11b72b446557b29df549d557554343ea3684939a55c9779f7a642";

static const struct audit_hash nothing;

static struct chain_genesis example(void)
{
	struct chain_genesis genesis = {
		.log_id = "000102030405060708090a0b0c0d0e0f",
		.boot_id = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
		.time_usec = 1767323045678901,
	};

	from_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
		 genesis.public_key, sizeof(genesis.public_key));
	return genesis;
}

static void chains_the_documented_records(void)
{
	struct audit_hash hash = nothing;

	expect_eq(chain_next(0, &hash, genesis_bytes, strlen(genesis_bytes), &hash), 0);
	expect_hash(&hash, genesis_hash);
	expect_eq(chain_next(1, &hash, first_bytes, strlen(first_bytes), &hash), 0);
	expect_hash(&hash, first_hash);
	expect_eq(chain_next(2, &hash, NULL, 0, &hash), 0);
	expect_hash(&hash, empty_hash);
	expect_eq(chain_next(INT64_MAX, &hash, "\0\xff\n", 3, &hash), 0);
	expect_hash(&hash, last_hash);
}

static void a_hash_depends_on_number_predecessor_and_bytes(void)
{
	struct audit_hash previous = hash_of_hex(genesis_hash), want = hash_of_hex(first_hash),
			  hash;
	size_t n = strlen(first_bytes);

	expect_eq(chain_next(2, &previous, first_bytes, (uint32_t)n, &hash), 0);
	expect(!audit_hash_equal(&hash, &want));
	expect_eq(chain_next(1, &previous, first_bytes, (uint32_t)n - 1, &hash), 0);
	expect(!audit_hash_equal(&hash, &want));
	previous.bytes[31] ^= 1;
	expect_eq(chain_next(1, &previous, first_bytes, (uint32_t)n, &hash), 0);
	expect(!audit_hash_equal(&hash, &want));
}

static void a_step_of_the_chain_allocates_nothing(void)
{
	struct audit_hash hash = nothing;

	if (!count_alloc_works())
		skip("the heap belongs to a sanitizer");
	count_alloc_start();
	for (uint64_t seq = 0; seq < 100; seq++)
		(void)chain_next(seq, &hash, first_bytes, 24, &hash);
	expect_eq(count_alloc_stop(), 0);
}

static void writes_the_documented_genesis(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	const struct chain_genesis genesis = example();

	expect_eq(chain_add_genesis(&out, &genesis), 0);
	expect_str(text_string(&out), genesis_bytes);
}

static void reads_a_genesis_back(void)
{
	struct chain_genesis genesis = { .time_usec = 1 };
	const struct chain_genesis want = example();

	expect_eq(chain_parse_genesis(genesis_bytes, strlen(genesis_bytes), &genesis), 0);
	expect_str(genesis.log_id, want.log_id);
	expect_str(genesis.boot_id, want.boot_id);
	expect_eq(genesis.time_usec, want.time_usec);
	expect(memcmp(genesis.public_key, want.public_key, sizeof(want.public_key)) == 0);
}

static void a_genesis_may_not_know_its_boot_or_be_from_1970_or_9999(void)
{
	static const uint64_t times[] = { 0, 951782399999999, 253402300799999999 };

	for (size_t i = 0; i < N_ELEMENTS(times); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;
		struct chain_genesis genesis = example(), again;

		genesis.boot_id[0] = '\0';
		genesis.time_usec = times[i];
		expect_eq(chain_add_genesis(&out, &genesis), 0);
		expect_eq(chain_parse_genesis(out.data, out.len, &again), 0);
		expect_eq(again.time_usec, times[i]);
		expect_str(again.boot_id, "");
	}
}

static void refuses_to_write_a_genesis_that_could_not_be_read(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct chain_genesis late = example(), name = example(), capital = example(),
			     boot = example(), nameless = example();

	late.time_usec = 253402300800000000;
	expect_eq(chain_add_genesis(&out, &late), -EINVAL);
	name.log_id[31] = '\0';
	expect_eq(chain_add_genesis(&out, &name), -EINVAL);
	capital.log_id[10] = 'A';
	expect_eq(chain_add_genesis(&out, &capital), -EINVAL);
	boot.boot_id[8] = 'a';
	expect_eq(chain_add_genesis(&out, &boot), -EINVAL);
	nameless.log_id[0] = '\0';
	expect_eq(chain_add_genesis(&out, &nameless), -EINVAL);
	expect_eq(out.len, 0);
}

/* Replaces @old, which must occur, and expects a refusal without output. */
static void refuses_replaced(const char *old, const char *new)
{
	const char *at = strstr(genesis_bytes, old);
	_cleanup_text_ struct text changed = TEXT_INIT;
	struct chain_genesis genesis = { .time_usec = 77 };

	if (!at)
		abort();
	text_add_bytes(&changed, genesis_bytes, (size_t)(at - genesis_bytes));
	text_add(&changed, new);
	text_add(&changed, at + strlen(old));
	expect_eq(chain_parse_genesis(changed.data, changed.len, &genesis), -EBADMSG);
	expect_eq(genesis.time_usec, 77);
}

static void refuses_a_genesis_in_any_other_form(void)
{
	static const char *const changes[][2] = {
		{ "{\"version\":1,", "{" },
		{ "\"version\":1", "\"version\":2" },
		{ "\"version\":1", "\"version\": 1" },
		{ "\"version\":1,", "\"version\":1,\"version\":1," },
		{ "log_created", "kernel_start" },
		{ "sbx-audit/1", "sbx-audit/2" },
		{ "05.678901Z", "05.6789Z" },
		{ "05.678901Z", "05.678901+" },
		{ "01-02T03", "01-32T03" },
		{ "01-02T03", "13-02T03" },
		{ "T03:04:05", "T03:04:65" },
		{ "\"2026-", "\"-026-" },
		{ "\"2026-", "\"1969-" },
		{ "\"2026-01-02T03:04:05.678901Z\"", "1767323045678901" },
		{ "\"log\":\"0001", "\"log\":\"000A" },
		{ "\"log\":\"0001", "\"log\":\"000" },
		{ "\"log\":\"0001", "\"log\":\"00011" },
		{ "0f1e2d3c-", "0f1e2d3c0" },
		{ "cHURo=\"}", "cHURp=\"}" },
		{ "cHURo=\"}", "cHUQ==\"}" },
		{ "cHURo=\"}", "cHURo=\"} " },
		{ "cHURo=\"}", "cHURo=\",\"more\":1}" },
		{ "cHURo=\"}", "cHURo=\"" },
		{ "{\"version\"", " {\"version\"" },
		{ "{\"version\"", "[\"version\"" },
		{ "\"tool\":\"sbx-audit\",", "" },
		{ "sbx-audit/1", "sbx-audit\\/1" },
	};

	for (size_t i = 0; i < N_ELEMENTS(changes); i++)
		refuses_replaced(changes[i][0], changes[i][1]);
}

static void refuses_a_genesis_that_is_cut_anywhere(void)
{
	struct chain_genesis genesis;

	for (size_t n = 0; n < strlen(genesis_bytes); n++)
		expect_eq(chain_parse_genesis(genesis_bytes, n, &genesis), -EBADMSG);
}

static void refuses_a_genesis_of_any_length(void)
{
	static char bytes[1 << 20];
	struct chain_genesis genesis;

	memset(bytes, '[', sizeof(bytes));
	expect_eq(chain_parse_genesis(bytes, sizeof(bytes), &genesis), -EBADMSG);
	memset(bytes, ' ', sizeof(bytes));
	memcpy(bytes, genesis_bytes, strlen(genesis_bytes));
	expect_eq(chain_parse_genesis(bytes, sizeof(bytes), &genesis), -EBADMSG);
}

static const struct test tests[] = {
	TEST(chains_the_documented_records),
	TEST(a_hash_depends_on_number_predecessor_and_bytes),
	TEST(a_step_of_the_chain_allocates_nothing),
	TEST(writes_the_documented_genesis),
	TEST(reads_a_genesis_back),
	TEST(a_genesis_may_not_know_its_boot_or_be_from_1970_or_9999),
	TEST(refuses_to_write_a_genesis_that_could_not_be_read),
	TEST(refuses_a_genesis_in_any_other_form),
	TEST(refuses_a_genesis_that_is_cut_anywhere),
	TEST(refuses_a_genesis_of_any_length),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
