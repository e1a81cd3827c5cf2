/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdint.h>

#include <sbx/error.h>

#include "policy/artefact-internal.h"
#include "policy/model.h"
#include "policy-everything.h"
#include "test.h"

/* A copy for a test to damage. */
static uint8_t *copy_block(const struct built *built)
{
	uint8_t *copy = malloc(built->n_bytes);

	build_must(copy != NULL);
	memcpy(copy, built->block, built->n_bytes);
	return copy;
}

static void fix_checksum(uint8_t *block, size_t n_bytes)
{
	digest_of(block + CHECKSUM_END, n_bytes - CHECKSUM_END,
		  ((struct artefact_header *)(void *)block)->checksum);
}

/* The reason for which a block is refused, or NULL if it is accepted. */
static const char *problem_of(const void *block, size_t n_bytes)
{
	static struct sbx_error err;
	struct artefact artefact = { .block = NULL };
	int r = artefact_open(block, n_bytes, &artefact, &err);

	if (r == 0)
		return NULL;
	expect_eq(r, -EBADMSG);
	expect(artefact.block == NULL && err.fix[0] != '\0');
	return err.why;
}

static void expect_problem(const char *problem, const char *wanted)
{
	if (problem && strstr(problem, wanted))
		return;
	printf("# expected '%s', got '%s'\n", wanted, problem ? problem : "nothing");
	test_failures++;
}

static void opens_a_compiled_policy(void)
{
	_cleanup_built_ struct built built = build_new();

	build_everything(&built);
	for (int i = 0; i < N_SECTIONS; i++)
		expect(artefact_n_rows(&built.artefact, (enum artefact_section)i) > 0);
	expect(problem_of(built.block, built.n_bytes) == NULL);
}

static void refuses_a_damaged_description(void)
{
	_cleanup_built_ struct built built = build_new();

	build_everything(&built);

	_cleanup_free_ uint8_t *block = copy_block(&built);
	struct artefact_header *header = (void *)block;

	expect_problem(problem_of(block, sizeof(*header) - 1), "too short");
	expect_problem(problem_of(block, 0), "too short");
	expect_problem(problem_of(block, built.n_bytes - 8), "its length");
	header->magic ^= 1;
	expect_problem(problem_of(block, built.n_bytes), "does not begin");
	header->magic ^= 1;
	header->version++;
	expect_problem(problem_of(block, built.n_bytes), "its format version");
	header->version--;
	header->checksum[31] ^= 1;
	expect_problem(problem_of(block, built.n_bytes), "checksum");
	header->checksum[31] ^= 1;
	expect(problem_of(block, built.n_bytes) == NULL);
	header->policy_digest[0] ^= 1;
	expect_problem(problem_of(block, built.n_bytes), "checksum");
	block[built.n_bytes - 1] ^= 1;
	expect_problem(problem_of(block, built.n_bytes), "checksum");
}

static void refuses_a_block_that_is_not_aligned(void)
{
	_cleanup_built_ struct built built = build_new();

	build_everything(&built);

	_cleanup_free_ uint8_t *block = malloc(built.n_bytes + 8);

	build_must(block != NULL);
	memcpy(block + 4, built.block, built.n_bytes);
	expect_problem(problem_of(block + 4, built.n_bytes), "aligned");
}

static void refuses_every_flipped_bit(void)
{
	_cleanup_built_ struct built built = build_new();

	build_everything(&built);

	_cleanup_free_ uint8_t *block = copy_block(&built);

	for (size_t i = 0; i < built.n_bytes; i++) {
		block[i] ^= (uint8_t)(1u << i % 8);
		expect(problem_of(block, built.n_bytes) != NULL);
		block[i] ^= (uint8_t)(1u << i % 8);
	}
}

/* One wrong number in one row. */
static const struct {
	enum artefact_section section;
	size_t row;
	size_t offset;
	uint32_t number;
	const char *problem;
} damages[] = {
#define FIELD(type, field) offsetof(struct artefact_##type, field)
	{ SECTION_SOURCES, 0, FIELD(source, name), 1u << 30, "start of a string" },
	{ SECTION_SOURCES, 0, FIELD(source, name), 1, "start of a string" },
	{ SECTION_RULES, 1, FIELD(rule, name), ARTEFACT_NONE, "start of a string" },
	{ SECTION_RULES, 0, FIELD(rule, reason), 1u << 30, "start of a string" },
	{ SECTION_RULES, 0, FIELD(rule, require_sandbox), 1, "start of a string" },
	{ SECTION_RULES, 0, FIELD(rule, sha256), 1, "start of a string" },
	{ SECTION_RULES, 0, FIELD(rule, source), 2, "source" },
	{ SECTION_RULES, 0, FIELD(rule, action), 5, "action" },
	/* Action and kind in one number. */
	{ SECTION_RULES, 0, FIELD(rule, action), POLICY_DENY | N_RULE_KINDS << 16, "unknown kind" },
	{ SECTION_RULES, 0, FIELD(rule, tls), 2, "TLS" },
	{ SECTION_RULES, 1, FIELD(rule, tls), 1, "contradicts its rule" },
	{ SECTION_RULES, 0, FIELD(rule, condition), 1000, "match" },
	{ SECTION_RULES, 0, FIELD(rule, exceptions), 1000, "span" },
	{ SECTION_RULES, 0, FIELD(rule, exceptions) + 4, UINT32_MAX, "span" },
	{ SECTION_RULES, 0, FIELD(rule, n_plain_exceptions), 3, "exceptions" },
	{ SECTION_CONDITIONS, 0, FIELD(condition, rule), 1000, "belongs to no rule" },
	/* Its keys (path and tag: 65), primary key and protocols in one number. */
	{ SECTION_CONDITIONS, 0, FIELD(condition, keys), 65 | 1u << 9, "unknown key" },
	{ SECTION_CONDITIONS, 0, FIELD(condition, keys), 65 | 1u << 16, "does not have" },
	{ SECTION_CONDITIONS, 0, FIELD(condition, keys), 65 | 6u << 16, "does not have" },
	{ SECTION_CONDITIONS, 0, FIELD(condition, keys), 65 | 255u << 16, "with a path" },
	{ SECTION_CONDITIONS, 0, FIELD(condition, lists), ARTEFACT_NONE, "missing" },
	{ SECTION_CONDITIONS, 0, FIELD(condition, lists), 1000, "missing" },
	{ SECTION_LISTS, 0, FIELD(lists, texts[1]), 1000, "span" },
	{ SECTION_LISTS, 3, FIELD(lists, values[1]) + 4, 1000, "span" },
	{ SECTION_TEXTS, 0, 0, 1u << 20, "index" },
	{ SECTION_VALUES, 0, FIELD(value, kind), N_ENTRY_KINDS, "unknown kind" },
	{ SECTION_VALUES, 0, FIELD(value, length), 129, "prefix" },
	{ SECTION_POSTINGS, 0, 0, 1u << 20, "index" },
	{ SECTION_PLAIN, 0, 0, 1u << 20, "index" },
	{ SECTION_ADDRESSED, 0, 0, 1u << 20, "index" },
	{ SECTION_ADDRESSED, 0, 0, 0, "not indexed by them" },
	{ SECTION_ADDRESSED, 1, 0, 0, "do not ascend" },
	{ SECTION_CONDITIONS, 0, FIELD(condition, action), POLICY_DENY, "contradicts its rule" },
	{ SECTION_CONDITIONS, 0, FIELD(condition, flags), 0, "contradicts its rule" },
	{ SECTION_NODES, 0, FIELD(node, children), 3, "same node" },
	{ SECTION_NODES, 0, FIELD(node, children), 0, "root" },
	{ SECTION_NODES, 0, FIELD(node, children), 1, "root" },
	{ SECTION_NODES, 0, FIELD(node, children), 1u << 20, "does not exist" },
	{ SECTION_NODES, 0, FIELD(node, ends), 1u << 20, "fork that does not exist" },
	{ SECTION_NODES, 0, FIELD(node, ends), 1, "same fork" },
	{ SECTION_FORKS, 0, FIELD(fork, star), 1u << 20, "does not exist" },
	{ SECTION_FORKS, 0, FIELD(fork, star), 0, "root" },
	{ SECTION_FORKS, 0, FIELD(fork, star), 1, "root" },
	{ SECTION_FORKS, 0, FIELD(fork, floating), 2, "same node" },
	{ SECTION_FORKS, 0, FIELD(fork, pattern), 0, "same pattern" },
	{ SECTION_FORKS, 0, FIELD(fork, pattern), 1u << 20, "does not exist" },
	{ SECTION_FORKS, 0, FIELD(fork, here), 1u << 20, "span" },
	{ SECTION_FORKS, 0, FIELD(fork, below) + 4, UINT32_MAX, "span" },
	{ SECTION_PATTERNS, 0, FIELD(pattern, text), 1u << 30, "start of a string" },
	{ SECTION_PATTERNS, 0, FIELD(pattern, len), 1, "recorded length" },
	{ SECTION_PATTERNS, 0, FIELD(pattern, to), 1u << 20, "does not exist" },
	{ SECTION_PATTERNS, 1, FIELD(pattern, next), 0, "does not end" },
	{ SECTION_PATTERNS, 1, FIELD(pattern, next), 1, "does not end" },
#undef FIELD
};

static void refuses_numbers_that_lead_astray(void)
{
	_cleanup_built_ struct built built = build_new();

	build_everything(&built);
	for (size_t i = 0; i < N_ELEMENTS(damages); i++) {
		_cleanup_free_ uint8_t *block = copy_block(&built);
		size_t at = built.artefact.header->sections[damages[i].section].first +
			    damages[i].row * artefact_row_size(damages[i].section) +
			    damages[i].offset;

		memcpy(block + at, &damages[i].number, sizeof(damages[i].number));
		fix_checksum(block, built.n_bytes);
		expect_problem(problem_of(block, built.n_bytes), damages[i].problem);
	}
}

static void damage_tables(uint8_t *block, int what)
{
	struct artefact_header *header = (void *)block;
	struct artefact_word *words = (void *)(block + header->sections[SECTION_WORDS].first);
	struct artefact_node *nodes = (void *)(block + header->sections[SECTION_NODES].first);
	struct artefact_entry *entries = (void *)(block + header->sections[SECTION_INDEX].first);
	uint32_t i = 0;

	while (words[i].text == ARTEFACT_NONE || words[i].len == 0)
		i++;
	words[i].len += what == 0;
	words[i].text += what == 1;
	for (i = 0; nodes[i].key == 0; i++)
		;
	nodes[i].key ^= what == 2 ? 1u << 20 : 0;
	nodes[i].len += what == 3;
	nodes[i].kind = what == 4 ? NODE_FORK | NODE_HERE : nodes[i].kind;
	nodes[0].len += what == 22;
	nodes[0].table_bits = what == 21 ? 32 : nodes[0].table_bits;
	for (i = 0; entries[i].key.kind == ENTRY_EMPTY; i++)
		;
	entries[i].key.kind = what == 5 ? N_ENTRY_KINDS : entries[i].key.kind;
	entries[i].key.length = what == 6 ? 200 : entries[i].key.length;
	entries[i].postings.count += what == 7 ? 1u << 20 : 0;
	for (i = 0; what == 8 && i < header->sections[SECTION_INDEX].count; i++)
		entries[i].key.kind = ENTRY_PORT;
	header->sections[SECTION_WORDS].count -= what == 9;
	header->sections[SECTION_FORKS].count =
		what == 10 ? 0 : header->sections[SECTION_FORKS].count;
	header->sections[SECTION_INDEX].first += what == 11 ? 4 : 0;
	header->sections[SECTION_RULES].count += what == 12 ? 1u << 28 : 0;
	header->sections[SECTION_RULES].first =
		what == 13 ? 0 : header->sections[SECTION_RULES].first;
	header->sections[SECTION_NODES].count =
		what == 14 ? 1 : header->sections[SECTION_NODES].count;
	header->sections[SECTION_BYTES].count -= what == 15;
	header->sections[SECTION_BYTES].count =
		what == 16 ? 0 : header->sections[SECTION_BYTES].count;
	header->defaults[2] = what == 17 ? 5 : header->defaults[2];
	header->prefix_lengths[LENGTHS_IPV4] |= what == 18 ? UINT64_C(1) << 33 : 0;
	header->prefix_lengths[LENGTHS_PORT] |= what == 19 ? UINT64_C(1) << 17 : 0;
	header->plain_of_operation[63].count = what == 20 ? 1000 : 0;
	header->special_needs_cidr = what == 23 ? 2 : header->special_needs_cidr;
	header->reserved = what == 24;
}

static void refuses_damaged_tables_and_sections(void)
{
	_cleanup_built_ struct built built = build_new();

	build_everything(&built);
	for (int what = 0; what <= 25; what++) {
		_cleanup_free_ uint8_t *block = copy_block(&built);

		damage_tables(block, what);
		fix_checksum(block, built.n_bytes);
		/* The last case is undamaged. */
		expect_eq(problem_of(block, built.n_bytes) == NULL, what == 25);
	}
}

static void ask_everything(const struct artefact *artefact)
{
	_cleanup_engine_ struct policy_engine *engine = NULL;
	struct policy_explanation rows[8];
	struct policy_decision decision;

	build_must(policy_engine_new(artefact, &engine) == 0);
	for (size_t i = 0; i < N_ELEMENTS(every_request); i++) {
		policy_decide(engine, &every_request[i], &decision);
		expect(decision.verdict >= POLICY_ALLOW && decision.verdict <= POLICY_DENY);
		(void)policy_explain(engine, &every_request[i], rows, N_ELEMENTS(rows));
	}
}

/* Changes any number: the block is refused, or decisions by it are safe. */
static void decisions_by_any_block_that_opens_do_no_harm(void)
{
	static const uint32_t numbers[] = { 0, 1, 2, 7, 0xff, ARTEFACT_NONE - 1, ARTEFACT_NONE };
	_cleanup_built_ struct built built = build_new();
	size_t n_opened = 0, n_refused = 0, step = test_is_slow() ? 4 : 12;

	build_everything(&built);

	_cleanup_free_ uint8_t *block = copy_block(&built);

	for (size_t at = CHECKSUM_END; at + 4 <= built.n_bytes; at += step) {
		for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
			struct artefact artefact;

			memcpy(block + at, &numbers[i], sizeof(numbers[i]));
			fix_checksum(block, built.n_bytes);
			if (artefact_open(block, built.n_bytes, &artefact, NULL) == 0) {
				ask_everything(&artefact);
				n_opened++;
			} else {
				n_refused++;
			}
			memcpy(block + at, (const uint8_t *)built.block + at, sizeof(numbers[i]));
		}
	}
	expect(n_opened > 100 && n_refused > 100);
}

static void hashes_depend_on_every_byte_and_the_seed(void)
{
	char text[40] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (size_t n = 0; n <= 36; n++) {
		uint64_t hash = hash_bytes(7, text, n);

		expect(hash == hash_bytes(7, text, n) && hash != hash_bytes(8, text, n));
		for (size_t i = 0; i < n; i++) {
			text[i] ^= 1;
			expect(hash_bytes(7, text, n) != hash);
			text[i] ^= 1;
		}
	}
	expect(hash_bytes(0, "\0", 1) != hash_bytes(0, "\0\0", 2));
}

static const struct test tests[] = {
	TEST(opens_a_compiled_policy),
	TEST(refuses_a_damaged_description),
	TEST(refuses_a_block_that_is_not_aligned),
	TEST(refuses_every_flipped_bit),
	TEST(refuses_numbers_that_lead_astray),
	TEST(refuses_damaged_tables_and_sections),
	TEST(decisions_by_any_block_that_opens_do_no_harm),
	TEST(hashes_depend_on_every_byte_and_the_seed),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
