/* SPDX-License-Identifier: MIT */

#include "base/table.h"
#include "test.h"

static void expect_printed(const struct table *table, const char *wanted)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	table_print(table, &out);
	expect_str(text_string(&out), wanted);
}

static void columns_are_as_wide_as_their_widest_cell(void)
{
	_cleanup_table_ struct table table = { .n_columns = 2 };

	table_add(&table, "ID");
	table_add(&table, "COMMAND");
	table_add(&table, "a-long-name");
	table_add(&table, "true");
	expect_printed(&table, "ID           COMMAND\na-long-name  true\n");
}

static void numbers_end_at_the_same_place(void)
{
	_cleanup_table_ struct table table = { .n_columns = 3, .numbers = 1 << 1 };

	table_add(&table, "a");
	table_add_number(&table, 5);
	table_add(&table, "x");
	table_add(&table, "b");
	table_add_number(&table, 1234);
	table_add(&table, "y");
	expect_printed(&table, "a     5  x\nb  1234  y\n");
}

static void a_character_of_several_bytes_takes_one_column(void)
{
	_cleanup_table_ struct table table = { .n_columns = 2 };

	table_add(&table, "\xc3\xa4\xc3\xb6");
	table_add(&table, "1");
	table_add(&table, "abc");
	table_add(&table, "2");
	expect_printed(&table, "\xc3\xa4\xc3\xb6   1\nabc  2\n");
}

static void an_empty_table_prints_nothing(void)
{
	_cleanup_table_ struct table table = { .n_columns = 2 };

	expect_printed(&table, "");
}

static const struct test tests[] = {
	TEST(columns_are_as_wide_as_their_widest_cell),
	TEST(numbers_end_at_the_same_place),
	TEST(a_character_of_several_bytes_takes_one_column),
	TEST(an_empty_table_prints_nothing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
