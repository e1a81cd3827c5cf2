/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "count-alloc.h"
#include "test.h"

static void keeps_what_was_added_in_its_order(void)
{
	_cleanup_free_ uint64_t *items = NULL;
	size_t n = 0;

	for (uint64_t i = 0; i < 1000; i++)
		expect_eq(ARRAY_ADD(items, n, &i), 0);
	expect_eq(n, 1000);
	for (size_t i = 0; i < n; i++)
		expect_eq(items[i], i);
}

/* A sanitized build finds a write past the end. */
static void grows_again_after_it_was_made_shorter(void)
{
	for (size_t most = 1; most < 40; most++)
		for (size_t least = 0; least < most; least++) {
			_cleanup_free_ char *items = NULL;
			size_t n = 0;

			while (n < most)
				expect_eq(ARRAY_ADD(items, n, "a"), 0);
			n = least;
			while (n < 2 * most)
				expect_eq(ARRAY_ADD(items, n, "b"), 0);
			expect_eq(least > 0 ? items[least - 1] : 'a', 'a');
			expect_eq(items[least], 'b');
			expect_eq(items[n - 1], 'b');
		}
}

static void changes_nothing_without_memory(void)
{
	char *items = NULL;
	const void *item = "";
	size_t n = 0;

	if (!count_alloc_works())
		skip("the heap belongs to a sanitizer");
	expect_eq(array_add(&items, &n, item, PTRDIFF_MAX), -ENOMEM);
	expect_eq(n, 0);
	expect(!items);
}

static const struct test tests[] = {
	TEST(keeps_what_was_added_in_its_order),
	TEST(grows_again_after_it_was_made_shorter),
	TEST(changes_nothing_without_memory),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
