/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <errno.h>
#include <stdint.h>

#include "test.h"

static void an_empty_text_is_an_empty_string(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	expect_str(text_string(&text), "");
	expect_eq(text_status(&text), 0);
}

static void taking_an_empty_text_gives_a_string_not_null(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	_cleanup_free_ char *taken = text_take(&text);

	expect_str(taken, "");
}

static void grows_over_many_additions(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	for (int i = 0; i < 10000; i++)
		text_addf(&text, "%d,", i % 10);
	expect_eq(text.len, 20000);
	expect_eq(text.data[text.len], '\0');
	expect_eq(memcmp(text.data + 19990, "5,6,7,8,9,", 10), 0);
}

static void keeps_nul_bytes(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add_bytes(&text, "a\0b", 3);
	expect_eq(text.len, 3);
	expect_eq(memcmp(text.data, "a\0b", 4), 0);
}

static void a_reset_text_keeps_its_memory(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	char *before;

	text_add(&text, "something");
	before = text.data;
	text_reset(&text);
	expect_str(text_string(&text), "");
	text_add(&text, "else");
	expect(text.data == before);
}

static void truncating_to_more_changes_nothing(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add(&text, "abc");
	text_truncate(&text, 10);
	expect_str(text_string(&text), "abc");
	text_truncate(&text, 1);
	expect_str(text_string(&text), "a");
}

static void remembers_a_failed_addition(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add(&text, "abc");
	text_add_bytes(&text, "x", SIZE_MAX - 2);
	text_add(&text, "more");
	expect_eq(text_status(&text), -ENOMEM);
	expect(text_take(&text) == NULL);
}

static void knows_valid_utf8_from_everything_else(void)
{
	static const struct {
		const char *bytes;
		size_t n_bytes, len;
	} rows[] = {
		{ "a", 1, 1 },
		{ "\x7f", 1, 1 },
		{ "\0", 1, 1 },
		{ "\xc3\xa4", 2, 2 },
		{ "\xe2\x82\xac", 3, 3 },
		{ "\xf0\x9f\x98\x80", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "\xed\x9f\xbf", 3, 3 },
		{ "\xee\x80\x80", 3, 3 },
		{ "", 0, 0 },
		{ "\x80", 1, 0 },
		{ "\xc3", 1, 0 },
		{ "\xc3 ", 2, 0 },
		{ "\xc0\x80", 2, 0 },
		{ "\xc1\xbf", 2, 0 },
		{ "\xe0\x80\x80", 3, 0 },
		{ "\xe0\x9f\xbf", 3, 0 },
		{ "\xed\xa0\x80", 3, 0 },
		{ "\xed\xbf\xbf", 3, 0 },
		{ "\xe2\x82", 2, 0 },
		{ "\xf0\x8f\xbf\xbf", 4, 0 },
		{ "\xf4\x90\x80\x80", 4, 0 },
		{ "\xf5\x80\x80\x80", 4, 0 },
		{ "\xff", 1, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		expect_eq(utf8_sequence(rows[i].bytes, rows[i].n_bytes), rows[i].len);
}

static void shows_what_would_move_a_terminal(void)
{
	static const char hostile[] = "ok\x1b[2J\r\n\t\x7f\xc2\x9b"
				      "1m\xe2\x80\xae"
				      "ab\xff\xc3\xa4";
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add_visible(&text, hostile, sizeof(hostile) - 1);
	expect_str(text_string(&text), "ok\\x1b[2J\\x0d\\x0a\\x09\\x7f\\xc2\\x9b1m\\xe2\\x80\\xae"
				       "ab\\xff\xc3\xa4");
}

static const struct test tests[] = {
	TEST(an_empty_text_is_an_empty_string), TEST(taking_an_empty_text_gives_a_string_not_null),
	TEST(grows_over_many_additions),	TEST(keeps_nul_bytes),
	TEST(a_reset_text_keeps_its_memory),	TEST(truncating_to_more_changes_nothing),
	TEST(remembers_a_failed_addition),	TEST(knows_valid_utf8_from_everything_else),
	TEST(shows_what_would_move_a_terminal), TEST_END,
};

int main(void)
{
	return test_run(tests);
}
