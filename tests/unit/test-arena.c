/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdint.h>

#include "test.h"

static bool is_zero(const unsigned char *bytes, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static void gives_zeroed_memory_of_any_size(void)
{
	static const size_t sizes[] = { 1, 3, 16, 100, 4095, 4096, 5000, 300000, 1 << 20 };
	struct arena arena = ARENA_INIT;

	for (unsigned round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			unsigned char *bytes = arena_alloc(&arena, sizes[i]);

			expect(bytes && is_zero(bytes, sizes[i]));
			memset(bytes, 0xff, sizes[i]);
		}
	arena_deinit(&arena);
}

static void aligns_for_any_type_also_behind_a_string(void)
{
	struct arena arena = ARENA_INIT;

	for (size_t len = 0; len < 40; len++) {
		expect(arena_copy(&arena, "0123456789012345678901234567890123456789", len) != NULL);
		expect_eq((uintptr_t)arena_alloc(&arena, 1) % _Alignof(max_align_t), 0);
	}
	arena_deinit(&arena);
}

static void never_gives_the_same_bytes_twice(void)
{
	struct arena arena = ARENA_INIT;
	unsigned *objects[5000];

	for (unsigned i = 0; i < 5000; i++) {
		objects[i] = arena_alloc(&arena, sizeof(unsigned));
		*objects[i] = i;
		expect(arena_alloc(&arena, 0) != arena_alloc(&arena, 0));
	}
	for (unsigned i = 0; i < 5000; i++)
		expect_eq(*objects[i], i);
	arena_deinit(&arena);
}

static void copies_bytes_and_ends_them_with_nul(void)
{
	struct arena arena = ARENA_INIT;
	char *copy = arena_copy(&arena, "ab\0cd", 5);

	expect(memcmp(copy, "ab\0cd\0", 6) == 0);
	expect_str(arena_copy(&arena, NULL, 0), "");
	expect_str(arena_copy(&arena, "name and more", 4), "name");
	arena_deinit(&arena);
}

static void refuses_a_size_that_cannot_be(void)
{
	struct arena arena = ARENA_INIT;
	volatile size_t huge =
		SIZE_MAX; /* a constant would not compile: the size is checked at compile time */

	expect(!arena_alloc(&arena, huge));
	expect(!arena_alloc(&arena, huge - 8));
	expect(!arena_alloc(&arena, huge / 2 + 1));
	expect(!arena_copy(&arena, "x", huge));
	expect(arena_alloc(&arena, 8) != NULL);
	arena_deinit(&arena);
}

static void is_empty_and_usable_again_after_the_end(void)
{
	struct arena arena = ARENA_INIT;

	arena_deinit(&arena);
	expect(arena_alloc(&arena, 10) != NULL);
	arena_deinit(&arena);
	expect(!arena.chunk);
	expect_str(arena_copy(&arena, "again", 5), "again");
	arena_deinit(&arena);
}

static void rows_keep_their_content_while_they_grow(void)
{
	struct arena arena = ARENA_INIT;
	struct arena_rows rows = { .rows = NULL };

	for (size_t i = 0; i < 1000; i++) {
		size_t *row = arena_add_row(&arena, &rows, sizeof(*row));

		expect(row && *row == 0);
		*row = i;
	}
	expect_eq(rows.n_rows, 1000);
	for (size_t i = 0; i < 1000; i++)
		expect_eq(((size_t *)rows.rows)[i], i);
	expect(arena_reserve_rows(&arena, &rows, sizeof(size_t), 5000));

	void *reserved = rows.rows;

	for (size_t i = 0; i < 5000; i++)
		expect(arena_add_row(&arena, &rows, sizeof(size_t)) != NULL);
	expect(rows.rows == reserved);
	expect(!arena_reserve_rows(&arena, &rows, sizeof(size_t), SIZE_MAX / sizeof(size_t)));
	expect(rows.rows == reserved && rows.n_rows == 6000);
	arena_deinit(&arena);
}

static const struct test tests[] = {
	TEST(gives_zeroed_memory_of_any_size),
	TEST(aligns_for_any_type_also_behind_a_string),
	TEST(never_gives_the_same_bytes_twice),
	TEST(copies_bytes_and_ends_them_with_nul),
	TEST(refuses_a_size_that_cannot_be),
	TEST(is_empty_and_usable_again_after_the_end),
	TEST(rows_keep_their_content_while_they_grow),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
