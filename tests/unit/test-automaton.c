/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/automaton.h"
#include "base/cleanup.h"
#include "test.h"

#define MATCHES_MAX 512

struct matches {
	struct automaton_match list[MATCHES_MAX];
	size_t n;
};

static struct automaton *build(const char *const *words, size_t n_words, uint32_t flags)
{
	struct automaton *automaton = NULL;

	expect_eq(automaton_build(words, n_words, flags, &automaton, NULL), 0);
	if (!automaton)
		abort();
	return automaton;
}

/* Adds what @scan finds in one buffer. */
static void collect(const struct automaton *automaton, struct automaton_scan *scan,
		    const char *bytes, size_t n_bytes, struct matches *matches)
{
	while (matches->n < MATCHES_MAX &&
	       automaton_next(automaton, scan, bytes, n_bytes, &matches->list[matches->n]) == 1)
		matches->n++;
}

static struct matches find_all(const struct automaton *automaton, const char *text)
{
	struct automaton_scan scan = { 0 };
	struct matches matches = { .n = 0 };

	collect(automaton, &scan, text, strlen(text), &matches);
	expect_eq(scan.at, strlen(text));
	return matches;
}

/* @want: "word:start-end word:start-end ...", in the order of the matches. */
static void expect_found(const struct automaton *automaton, const char *text, const char *want)
{
	struct matches matches = find_all(automaton, text);
	char got[1024] = "";
	size_t len = 0;

	for (size_t i = 0; i < matches.n; i++)
		len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%u:%zu-%zu", i ? " " : "",
					matches.list[i].word, matches.list[i].start,
					matches.list[i].end);
	expect_str(got, want);
	expect_eq(automaton_any(automaton, text, strlen(text)), matches.n > 0);
}

static const char *const pronouns[] = { "he", "she", "his", "hers" };

static void finds_overlapping_words_longer_before_shorter(void)
{
	_cleanup_free_ struct automaton *automaton = build(pronouns, 4, 0);

	expect_found(automaton, "ushers", "1:1-4 0:2-4 3:2-6");
	expect_found(automaton, "hishe", "2:0-3 1:2-5 0:3-5");
	expect_found(automaton, "h s e", "");
	expect_found(automaton, "", "");
}

static void finds_a_word_inside_a_longer_one_that_fails_late(void)
{
	static const char *const words[] = { "abcdex", "bcd", "c" };
	_cleanup_free_ struct automaton *automaton = build(words, 3, 0);

	expect_found(automaton, "abcdey", "2:2-3 1:1-4");
	expect_found(automaton, "abcdex", "2:2-3 1:1-4 0:0-6");
}

static void finds_a_word_that_overlaps_itself(void)
{
	static const char *const words[] = { "aa", "aaaa" };
	_cleanup_free_ struct automaton *automaton = build(words, 2, 0);

	expect_found(automaton, "aaaaa", "0:0-2 0:1-3 1:0-4 0:2-4 1:1-5 0:3-5");
}

static void a_word_given_twice_reports_its_first_index(void)
{
	static const char *const words[] = { "b", "ab", "b", "ab" };
	_cleanup_free_ struct automaton *automaton = build(words, 4, 0);

	expect_found(automaton, "ab", "1:0-2 0:1-2");
}

static void without_words_nothing_matches(void)
{
	_cleanup_free_ struct automaton *automaton = build(NULL, 0, 0);
	const struct automaton *opened = NULL;

	expect_found(automaton, "anything", "");
	expect_eq(automaton_open(automaton, automaton->n_bytes, &opened), 0);
	expect(opened == automaton);
}

static void folds_case_only_when_told_and_only_letters(void)
{
	static const char *const words[] = { "Ab[", "\xc3\xa4" };
	_cleanup_free_ struct automaton *folded = build(words, 2, AUTOMATON_FOLD_CASE);
	_cleanup_free_ struct automaton *exact = build(words, 2, 0);

	expect_found(folded, "aB[ AB[ Ab{ ", "0:0-3 0:4-7");
	expect_found(exact, "aB[ Ab[", "0:4-7");
	/* a-umlaut and A-umlaut in UTF-8: folding only applies to ASCII. */
	expect_found(folded, "\xc3\xa4 \xc3\x84", "1:0-2");
}

static void words_that_differ_only_in_case_are_one_when_folded(void)
{
	static const char *const words[] = { "Key", "KEY", "key" };
	_cleanup_free_ struct automaton *folded = build(words, 3, AUTOMATON_FOLD_CASE);
	_cleanup_free_ struct automaton *exact = build(words, 3, 0);

	expect_found(folded, "kEy", "0:0-3");
	expect_found(exact, "key", "2:0-3");
}

static void takes_every_byte_that_a_word_can_hold(void)
{
	char all[256];
	const char *const words[] = { all };

	for (int i = 0; i < 256; i++)
		all[i] = (char)(i + 1);

	_cleanup_free_ struct automaton *automaton = build(words, 1, 0);
	const struct automaton *opened;

	expect_eq(automaton->n_classes, 256);
	expect_found(automaton, all, "0:0-255");
	expect_eq(automaton_open(automaton, automaton->n_bytes, &opened), 0);
}

static void text_may_hold_zero_bytes(void)
{
	_cleanup_free_ struct automaton *automaton = build(pronouns, 4, 0);
	struct automaton_scan scan = { 0 };
	struct automaton_match match;

	expect_eq(automaton_next(automaton, &scan, "h\0e\0she", 7, &match), 1);
	expect_eq(match.word, 1);
	expect_eq(match.start, 4);
	expect(!automaton_any(automaton, "h\0e", 3));
}

static void goes_on_from_one_buffer_to_the_next(void)
{
	_cleanup_free_ struct automaton *automaton = build(pronouns, 4, 0);
	struct automaton_scan scan = { 0 };
	struct matches matches = { .n = 0 };

	/* The match ends at the end of the buffer, and a shorter one is still pending. */
	collect(automaton, &scan, "us", 2, &matches);
	collect(automaton, &scan, "", 0, &matches);
	collect(automaton, &scan, "he", 2, &matches);
	collect(automaton, &scan, "r", 1, &matches);
	collect(automaton, &scan, "s", 1, &matches);
	expect_eq(matches.n, 3);
	expect_eq(matches.list[0].start, 1);
	expect_eq(matches.list[2].word, 3);
	expect_eq(matches.list[2].start, 2);
	expect_eq(matches.list[2].end, 6);
	expect_eq(scan.at, 6);
}

static void survives_a_buffer_that_shrinks_under_a_scan(void)
{
	_cleanup_free_ struct automaton *automaton = build(pronouns, 4, 0);
	struct automaton_scan scan = { 0 };
	struct automaton_match match;

	expect_eq(automaton_next(automaton, &scan, "....she", 7, &match), 1);
	expect_eq(automaton_next(automaton, &scan, ".", 1, &match), 1); /* the pending match */
	expect_eq(automaton_next(automaton, &scan, ".", 1, &match), 0);
}

static void refuses_an_empty_word(void)
{
	static const char *const words[] = { "a", "" };
	struct automaton *automaton = NULL;
	struct sbx_error err = { 0 };

	expect_eq(automaton_build(words, 2, 0, &automaton, &err), -EINVAL);
	expect(!automaton);
	expect_str(err.what, "cannot search for an empty word");
	expect_str(err.why, "word 2 of 2 is empty and would match everywhere");
	expect_str(err.fix, "remove it");
	expect_eq(automaton_build(words, 2, 0, &automaton, NULL), -EINVAL);
}

static void holds_as_many_states_as_it_says_and_no_more(void)
{
	_cleanup_free_ char *word = malloc(AUTOMATON_STATES_MAX + 1);
	struct automaton *refused = NULL;
	struct sbx_error err = { 0 };

	if (!word)
		skip("not enough memory for the longest word");
	memset(word, 'a', AUTOMATON_STATES_MAX);
	word[AUTOMATON_STATES_MAX] = '\0';
	expect_eq(automaton_build((const char *[]){ word }, 1, 0, &refused, &err), -E2BIG);
	expect(!refused);
	expect_str(err.what, "cannot search for 1 words");
	expect(*err.why && *err.fix);

	/* One byte less: the root and one state for each byte. */
	_cleanup_free_ struct automaton *automaton = build((const char *[]){ word + 1 }, 1, 0);
	struct automaton_scan scan = { 0 };
	struct automaton_match match;
	const struct automaton *opened;

	expect_eq(automaton->n_states, AUTOMATON_STATES_MAX);
	expect_eq(automaton_open(automaton, automaton->n_bytes, &opened), 0);
	expect_eq(automaton_next(automaton, &scan, word, AUTOMATON_STATES_MAX, &match), 1);
	expect_eq(match.end, AUTOMATON_STATES_MAX - 1);
}

static void refuses_a_table_of_more_than_32_bits_before_it_needs_the_memory(void)
{
	_cleanup_free_ char *word = malloc(AUTOMATON_STATES_MAX);
	struct automaton *automaton = NULL;
	char all[256];

	if (!word)
		skip("not enough memory for the longest word");
	for (int i = 0; i < 256; i++)
		all[i] = (char)(i + 1);
	/* 4,194,303 states of 256 classes: just over 4 GiB. */
	memset(word, 'a', AUTOMATON_STATES_MAX);
	word[AUTOMATON_STATES_MAX - 257] = '\0';
	expect_eq(automaton_build((const char *[]){ word, all }, 2, 0, &automaton, NULL), -E2BIG);
	expect(!automaton);
}

static uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* @n letters of a short alphabet, so that words overlap, repeat and contain each other. */
static void random_text(uint64_t *state, char *text, size_t n, unsigned n_letters, bool mixed)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t random = random_next(state);

		text[i] = (char)((mixed && random >> 32 & 1 ? 'A' : 'a') + random % n_letters);
	}
	text[n] = '\0';
}

static bool equal(const char *a, const char *b, size_t n, bool folded)
{
	return (folded ? strncasecmp(a, b, n) : strncmp(a, b, n)) == 0;
}

/* The reference: for each end, each length from the longest, each word. */
static struct matches find_naively(const char *const *words, size_t n_words, bool folded,
				   const char *text)
{
	struct matches matches = { .n = 0 };

	for (size_t end = 1; end <= strlen(text); end++) {
		for (size_t length = end; length > 0; length--) {
			size_t i = 0;

			while (i < n_words &&
			       (strlen(words[i]) != length ||
				!equal(words[i], text + end - length, length, folded)))
				i++;
			if (i < n_words && matches.n < MATCHES_MAX)
				matches.list[matches.n++] = (struct automaton_match){
					.word = (uint32_t)i,
					.start = end - length,
					.end = end,
				};
		}
	}
	return matches;
}

static bool same_matches(const struct matches *a, const struct matches *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->list[i].word != b->list[i].word || a->list[i].start != b->list[i].start ||
		    a->list[i].end != b->list[i].end)
			return false;
	return true;
}

/* Scans the same text in buffers of random length, each a heap block of exactly its size. */
static struct matches find_in_parts(const struct automaton *automaton, const char *text,
				    uint64_t *random)
{
	struct automaton_scan scan = { 0 };
	struct matches matches = { .n = 0 };

	for (size_t at = 0, n; text[at]; at += n) {
		n = random_next(random) % 5;
		if (n > strlen(text + at))
			n = strlen(text + at);

		_cleanup_free_ char *part = malloc(n + 1);

		if (!part)
			abort();
		memcpy(part + 1, text + at, n);
		collect(automaton, &scan, part + 1, n, &matches);
	}
	return matches;
}

/* Prints the inputs of a failed case. */
static bool random_case_agrees(uint64_t *random)
{
	unsigned n_words = 1 + (unsigned)(random_next(random) % 7);
	unsigned n_letters = 1 + (unsigned)(random_next(random) % 3);
	bool folded = random_next(random) % 2;
	char store[7][8], text[48];
	const char *words[7];

	for (unsigned i = 0; i < n_words; i++) {
		random_text(random, store[i], 1 + random_next(random) % 6, n_letters, folded);
		words[i] = store[i];
	}
	random_text(random, text, random_next(random) % 40, n_letters, folded);

	_cleanup_free_ struct automaton *automaton =
		build(words, n_words, folded ? AUTOMATON_FOLD_CASE : 0);
	const struct automaton *opened;
	struct matches want = find_naively(words, n_words, folded, text);
	struct matches whole = find_all(automaton, text);
	struct matches parts = find_in_parts(automaton, text, random);

	if (same_matches(&want, &whole) && same_matches(&want, &parts) &&
	    automaton_any(automaton, text, strlen(text)) == (want.n > 0) &&
	    automaton_open(automaton, automaton->n_bytes, &opened) == 0)
		return true;
	printf("# folded %d, text '%s', words", folded, text);
	for (unsigned i = 0; i < n_words; i++)
		printf(" '%s'", words[i]);
	printf("\n");
	return false;
}

static void agrees_with_a_naive_search_in_random_cases(void)
{
	uint64_t random = 20240229;
	unsigned n_wrong = 0, n_cases = test_is_slow() ? 1000000 : 50000;

	for (unsigned i = 0; i < n_cases && n_wrong < 5; i++)
		n_wrong += !random_case_agrees(&random);
	expect_eq(n_wrong, 0);
}

/* @n_bytes at the end of a mapping, followed by an unmapped page. */
struct guarded {
	char *map;
	size_t size;
	size_t page;
};

static struct guarded guarded_make(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct guarded guarded = { .size = 4 * page, .page = page };

	guarded.map = mmap(NULL, guarded.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	if (guarded.map == MAP_FAILED || mprotect(guarded.map, page, PROT_NONE) < 0 ||
	    mprotect(guarded.map + 3 * page, page, PROT_NONE) < 0)
		abort();
	return guarded;
}

/* Scans with a block that was accepted: the scan must end, and each match be inside the text. */
static void scan_safely(const struct automaton *automaton)
{
	static const char text[] = "ushers his she hers\0hehehe\xff";
	struct automaton_scan scan = { 0 };
	struct automaton_match match;
	size_t n = 0;

	while (automaton_next(automaton, &scan, text, sizeof(text), &match) == 1) {
		expect(match.start <= match.end && match.end <= sizeof(text));
		expect(match.word < automaton->n_words);
		if (++n > sizeof(text) * automaton->n_words)
			break;
	}
	expect(n <= sizeof(text) * automaton->n_words);
	expect_eq(scan.at, sizeof(text));
	expect_eq(automaton_any(automaton, text, sizeof(text)), n > 0);
}

static void any_changed_byte_is_refused_or_harmless(void)
{
	_cleanup_free_ struct automaton *good = build(pronouns, 4, AUTOMATON_FOLD_CASE);
	struct guarded guarded = guarded_make();
	uint8_t *block = (uint8_t *)guarded.map + 3 * guarded.page - good->n_bytes;
	const struct automaton *opened = NULL;
	size_t n_refused = 0, n_accepted = 0;

	memcpy(block, good, good->n_bytes);
	expect_eq(automaton_open(block, good->n_bytes, &opened), 0);
	for (size_t i = 0; i < good->n_bytes; i++) {
		for (unsigned change = 1; change < 256; change++) {
			block[i] ^= (uint8_t)change;
			if (automaton_open(block, good->n_bytes, &opened) == 0) {
				n_accepted++;
				scan_safely(opened);
			} else {
				n_refused++;
			}
			block[i] ^= (uint8_t)change;
		}
	}
	/* Some changed edges are still valid; all other changes are refused. */
	expect(n_refused > n_accepted);
	expect(n_accepted > 0);
	(void)munmap(guarded.map, guarded.size);
}

static void random_damage_is_refused_or_harmless(void)
{
	_cleanup_free_ struct automaton *good = build(pronouns, 4, 0);
	struct guarded guarded = guarded_make();
	uint8_t *block = (uint8_t *)guarded.map + 3 * guarded.page - good->n_bytes;
	const struct automaton *opened;
	uint64_t random = 7;

	for (unsigned i = 0; i < 100000; i++) {
		memcpy(block, good, good->n_bytes);
		/* Small numbers are valid states, words or lengths more often than random bytes. */
		for (unsigned n = 0; n < 4; n++) {
			size_t at = random_next(&random) % (good->n_bytes - sizeof(*good)) / 4 * 4;
			uint32_t value = (uint32_t)(random_next(&random) % 12);

			memcpy(block + sizeof(*good) + at, &value, sizeof(value));
		}
		if (automaton_open(block, good->n_bytes, &opened) == 0)
			scan_safely(opened);
	}
	(void)munmap(guarded.map, guarded.size);
}

/* Opens a copy of @automaton in which the number at @offset is @value. */
static int open_with(const struct automaton *automaton, size_t offset, uint32_t value)
{
	_cleanup_free_ char *copy = malloc(automaton->n_bytes);
	const struct automaton *opened = NULL;

	if (!copy)
		abort();
	memcpy(copy, automaton, automaton->n_bytes);
	memcpy(copy + offset, &value, sizeof(value));

	int r = automaton_open(copy, automaton->n_bytes, &opened);

	expect((r == 0) == (opened != NULL));
	return r;
}

#define HEAD(field) offsetof(struct automaton, field)

static void refuses_a_head_that_does_not_fit_the_block(void)
{
	_cleanup_free_ struct automaton *good = build(pronouns, 4, 0);
	static const size_t fields[] = {
		HEAD(magic),	      HEAD(version),	   HEAD(flags),	      HEAD(n_words),
		HEAD(n_states),	      HEAD(n_classes),	   HEAD(next_offset), HEAD(word_offset),
		HEAD(shorter_offset), HEAD(length_offset), HEAD(n_bytes),
	};
	static const uint32_t values[] = { 3, 5, 0x7fffffff, 0x80000000, 0x40000001, UINT32_MAX };

	for (size_t i = 0; i < N_ELEMENTS(fields); i++)
		for (size_t k = 0; k < N_ELEMENTS(values); k++)
			expect_eq(open_with(good, fields[i], values[k]), -EBADMSG);
	expect_eq(open_with(good, HEAD(n_states), 0), -EBADMSG);
	expect_eq(open_with(good, HEAD(n_classes), 0), -EBADMSG);
	/* A block with the flag FOLD_CASE but without folded classes. */
	expect_eq(open_with(good, HEAD(flags), AUTOMATON_FOLD_CASE), -EBADMSG);
}

static void refuses_every_length_but_its_own(void)
{
	_cleanup_free_ struct automaton *good = build(pronouns, 4, 0);
	_cleanup_free_ char *longer = calloc(1, good->n_bytes + 8);
	const struct automaton *opened = NULL;

	if (!longer)
		abort();
	memcpy(longer, good, good->n_bytes);
	expect_eq(automaton_open(longer, good->n_bytes + 4, &opened), -EBADMSG);
	for (size_t n = 0; n < good->n_bytes; n++) {
		_cleanup_free_ char *part = malloc(n + 1);

		if (!part)
			abort();
		memcpy(part, good, n);
		expect_eq(automaton_open(part, n, &opened), -EBADMSG);
	}
	/* Unaligned. */
	memmove(longer + 1, longer, good->n_bytes);
	expect_eq(automaton_open(longer + 1, good->n_bytes, &opened), -EBADMSG);
	expect(!opened);
}

static void refuses_numbers_that_lead_out_of_their_table(void)
{
	_cleanup_free_ struct automaton *good = build(pronouns, 4, 0);
	uint32_t end = good->next_offset + good->n_states * good->n_classes * 4;

	for (uint32_t at = good->next_offset; at < end; at += 4) {
		expect_eq(open_with(good, at, good->n_states), -EBADMSG);
		expect_eq(open_with(good, at, good->n_states | 0x80000000), -EBADMSG);
		/* No word may end in the root. */
		expect_eq(open_with(good, at, 0x80000000), -EBADMSG);
	}
	for (uint32_t i = 0; i < good->n_states; i++) {
		expect_eq(open_with(good, good->word_offset + 4 * i, good->n_words), -EBADMSG);
		expect_eq(open_with(good, good->shorter_offset + 4 * i, good->n_states), -EBADMSG);
	}
	for (uint32_t i = 0; i < good->n_words; i++) {
		expect_eq(open_with(good, good->length_offset + 4 * i, 0), -EBADMSG);
		expect_eq(open_with(good, good->length_offset + 4 * i, good->n_states), -EBADMSG);
	}
}

static void refuses_chains_that_do_not_get_shorter(void)
{
	static const char *const words[] = { "aaa", "aa", "a" };
	_cleanup_free_ struct automaton *good = build(words, 3, 0);

	/* State n is the prefix of n times 'a'; each reports its own word and then the next shorter
	 * one. */
	expect_eq(good->n_states, 4);
	expect_eq(open_with(good, good->shorter_offset + 4 * 3, 2), 0);
	expect_eq(open_with(good, good->shorter_offset + 4 * 3, 1), 0);
	/* To itself, in a circle, and to the root. */
	expect_eq(open_with(good, good->shorter_offset + 4 * 3, 3), -EBADMSG);
	expect_eq(open_with(good, good->shorter_offset + 4 * 2, 3), -EBADMSG);
	expect_eq(open_with(good, good->shorter_offset + 4 * 1, 3), -EBADMSG);
	expect_eq(open_with(good, good->shorter_offset + 4 * 3, 0), -EBADMSG);
	/* A circle made by changed lengths. */
	expect_eq(open_with(good, good->length_offset + 4 * 1, 3), -EBADMSG);
	expect_eq(open_with(good, good->length_offset + 4 * 0, 2), -EBADMSG);
}

static void refuses_a_root_that_reports_a_word(void)
{
	_cleanup_free_ struct automaton *automaton = build((const char *[]){ "a" }, 1, 0);
	uint32_t *numbers = (uint32_t *)(void *)automaton;
	const struct automaton *opened = NULL;

	/* Consistent, but every edge to the root reports a word. */
	for (uint32_t i = 0; i < automaton->n_states * automaton->n_classes; i++)
		numbers[automaton->next_offset / 4 + i] |= 0x80000000;
	numbers[automaton->word_offset / 4] = 0;
	expect_eq(automaton_open(automaton, automaton->n_bytes, &opened), -EBADMSG);
	expect(!opened);
}

static void a_block_works_wherever_it_is_copied_to(void)
{
	_cleanup_free_ struct automaton *good = build(pronouns, 4, 0);
	_cleanup_free_ char *copy = malloc(good->n_bytes);
	const struct automaton *opened = NULL;

	if (!copy)
		abort();
	memcpy(copy, good, good->n_bytes);
	expect_eq(automaton_open(copy, good->n_bytes, &opened), 0);
	if (opened)
		expect_found(opened, "ushers", "1:1-4 0:2-4 3:2-6");
}

static const struct test tests[] = {
	TEST(finds_overlapping_words_longer_before_shorter),
	TEST(finds_a_word_inside_a_longer_one_that_fails_late),
	TEST(finds_a_word_that_overlaps_itself),
	TEST(a_word_given_twice_reports_its_first_index),
	TEST(without_words_nothing_matches),
	TEST(folds_case_only_when_told_and_only_letters),
	TEST(words_that_differ_only_in_case_are_one_when_folded),
	TEST(takes_every_byte_that_a_word_can_hold),
	TEST(text_may_hold_zero_bytes),
	TEST(goes_on_from_one_buffer_to_the_next),
	TEST(survives_a_buffer_that_shrinks_under_a_scan),
	TEST(refuses_an_empty_word),
	TEST(holds_as_many_states_as_it_says_and_no_more),
	TEST(refuses_a_table_of_more_than_32_bits_before_it_needs_the_memory),
	TEST(agrees_with_a_naive_search_in_random_cases),
	TEST(any_changed_byte_is_refused_or_harmless),
	TEST(random_damage_is_refused_or_harmless),
	TEST(refuses_a_head_that_does_not_fit_the_block),
	TEST(refuses_every_length_but_its_own),
	TEST(refuses_numbers_that_lead_out_of_their_table),
	TEST(refuses_chains_that_do_not_get_shorter),
	TEST(refuses_a_root_that_reports_a_word),
	TEST(a_block_works_wherever_it_is_copied_to),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
