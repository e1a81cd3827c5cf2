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

static void room_that_was_asked_for_counts_and_is_followed_by_a_nul(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	for (size_t n = 0; n < 300; n++) {
		size_t before = text.len;
		char *at = text_extend(&text, n);

		expect(at == text.data + before);
		memset(at, 'x', n);
		expect_eq(text.len, before + n);
		expect_eq(text.data[text.len], '\0');
	}
	expect_eq(strlen(text_string(&text)), text.len);
	expect(text_extend(&text, SIZE_MAX) == NULL);
	expect(text_extend(&text, 1) == NULL);
	expect_eq(text_status(&text), -ENOMEM);
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

static void adds_character(struct text *text, uint32_t c)
{
	if (c < 0x80)
		text_add_char(text, (char)c);
	else if (c < 0x800)
		text_addf(text, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
	else if (c < 0x10000)
		text_addf(text, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 0x3f),
			  0x80 | (c & 0x3f));
	else
		text_addf(text, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 0x3f),
			  0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
}

static bool is_shown_as_it_is(uint32_t character)
{
	_cleanup_text_ struct text text = TEXT_INIT, shown = TEXT_INIT;

	adds_character(&text, character);
	text_add_visible(&shown, text.data, text.len);
	return strcmp(text_string(&text), text_string(&shown)) == 0;
}

/* Bidi_Control of the Unicode Character Database (PropList.txt), characters without width, spaces,
 * and both ends of each range of Default_Ignorable_Code_Point (DerivedCoreProperties.txt). */
static const uint32_t unseen[] = {
	0x061c,	 0x200e,  0x200f,  0x202a,  0x202b,  0x202c,  0x202d,  0x202e, 0x2066,	0x2067,
	0x2068,	 0x2069,  0x200b,  0x200c,  0x200d,  0x2060,  0x2064,  0xfeff, 0x2028,	0x2029,
	0xe0001, 0xe0041, 0xe007f, 0x00a0,  0x1680,  0x2000,  0x200a,  0x202f, 0x205f,	0x3000,
	0x00ad,	 0x034f,  0x115f,  0x1160,  0x17b4,  0x17b5,  0x180b,  0x180e, 0x180f,	0x2065,
	0x206f,	 0x2800,  0x3164,  0xfe00,  0xfe0f,  0xffa0,  0xfff0,  0xfffb, 0x1bca0, 0x1bca3,
	0x1d173, 0x1d17a, 0xe0000, 0xe0080, 0xe0100, 0xe01ef, 0xe0fff,
};

static const uint32_t seen[] = {
	' ',	 '~',	  '\\',	   0xa1,    0xac,    0xae,    0xe4,   0x34e,  0x350,
	0x61b,	 0x61d,	  0x5d0,   0x115e,  0x1161,  0x17b3,  0x17b6, 0x180a, 0x1810,
	0x1fff,	 0x2010,  0x2027,  0x2030,  0x205e,  0x2070,  0x20ac, 0x27ff, 0x2801,
	0x3001,	 0x3163,  0x3165,  0xfdff,  0xfe10,  0xff9f,  0xffa1, 0xfffc, 0xfffd,
	0x1f600, 0x1bc9f, 0x1d172, 0x1d17b, 0xdffff, 0xe1000,
};

static void shows_every_character_that_cannot_be_seen_or_reorders(void)
{
	for (size_t i = 0; i < N_ELEMENTS(unseen); i++)
		expect(!is_shown_as_it_is(unseen[i]) && text_is_hidden(unseen[i]));
	for (size_t i = 0; i < N_ELEMENTS(seen); i++)
		expect(is_shown_as_it_is(seen[i]) && !text_is_hidden(seen[i]));
	for (uint32_t c = 1; c < 0x20; c++)
		expect(!is_shown_as_it_is(c) && !is_shown_as_it_is(0x7f + c));
}

/* A name with the four characters \x1b must look different from one with the byte. */
static void a_literal_backslash_x_is_escaped(void)
{
	static const char *const rows[][2] = {
		{ "\\x1b", "\\x5cx1b" }, { "\x1b", "\\x1b" },	  { "C:\\dir", "C:\\dir" },
		{ "\\", "\\" },		 { "\\\\x", "\\\\x5cx" }, { "\\\x01", "\\\\x01" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		text_add_visible(&text, rows[i][0], strlen(rows[i][0]));
		expect_str(text_string(&text), rows[i][1]);
	}
}

static void quotes_a_text_so_that_yaml_reads_it_back(void)
{
	static const char *const rows[][2] = {
		{ "", "\"\"" },
		{ "a b", "\"a b\"" },
		{ "\"\\", "\"\\\"\\\\\"" },
		{ "\n\t\x7f", "\"\\n\\x09\\x7F\"" },
		{ "\xc2\xa0\xc2\x85", "\"\\xA0\\x85\"" },
		{ "a\xe2\x80\xae"
		  "b",
		  "\"a\\u202Eb\"" },
		{ "\xf3\xa0\x80\xa1", "\"\\U000E0021\"" },
		{ "\xef\xbf\xbf", "\"\\uFFFF\"" },
		{ "\xf0\x9f\x98\x80\xc3\xa9", "\"\xf0\x9f\x98\x80\xc3\xa9\"" },
		{ "\xff"
		  "a\xe2\x80",
		  "\"\\uFFFDa\\uFFFD\\uFFFD\"" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		text_add_quoted(&text, rows[i][0]);
		expect_str(text_string(&text), rows[i][1]);
	}
}

static void quotes_a_word_so_that_a_shell_reads_it_back(void)
{
	static const char *const rows[][2] = {
		{ "/srv/a-b_c.d:e=f@g%h+i,j", "/srv/a-b_c.d:e=f@g%h+i,j" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "~", "'~'" },
		{ "$(id);*?[a]{b}!&|<>#\\\"", "'$(id);*?[a]{b}!&|<>#\\\"'" },
		{ "it's", "'it'\\''s'" },
		{ "\xc3\xa4", "'\xc3\xa4'" },
		{ "a\nb", "$'a\\012b'" },
		{ "\033[2J'\\", "$'\\033[2J\\047\\134'" },
		{ "\xff\xe2\x80\xae", "$'\\377\\342\\200\\256'" },
		{ "\\x1b", "$'\\134x1b'" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text text = TEXT_INIT, shown = TEXT_INIT;

		text_add_word_string(&text, rows[i][0]);
		expect_str(text_string(&text), rows[i][1]);
		/* Errors show all their texts in this way. */
		text_add_visible_string(&shown, text_string(&text));
		expect_str(text_string(&shown), rows[i][1]);
	}
}

static void decodes_the_character_of_a_sequence(void)
{
	static const uint32_t characters[] = { 'a',   0x7f,   0x80,    0x7ff,
					       0x800, 0xffff, 0x10000, 0x10ffff };

	for (size_t i = 0; i < N_ELEMENTS(characters); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;
		uint32_t character = 77;

		adds_character(&text, characters[i]);
		expect_eq(utf8_decode(text.data, text.len, &character), text.len);
		expect_eq(character, characters[i]);
		expect_eq(utf8_decode(text.data, text.len - 1, &character), 0);
		expect_eq(character, characters[i]);
	}
}

static void every_byte_is_two_hexadecimal_digits(void)
{
	_cleanup_text_ struct text text = TEXT_INIT, want = TEXT_INIT;

	for (unsigned byte = 0; byte < 256; byte++) {
		const uint8_t bytes[] = { (uint8_t)byte, 0xa5 };

		text_add_hex(&text, bytes, sizeof(bytes));
		text_addf(&want, "%02xa5", byte);
	}
	expect_str(text_string(&text), text_string(&want));
}

static const struct test tests[] = {
	TEST(every_byte_is_two_hexadecimal_digits),
	TEST(an_empty_text_is_an_empty_string),
	TEST(taking_an_empty_text_gives_a_string_not_null),
	TEST(grows_over_many_additions),
	TEST(room_that_was_asked_for_counts_and_is_followed_by_a_nul),
	TEST(keeps_nul_bytes),
	TEST(a_reset_text_keeps_its_memory),
	TEST(truncating_to_more_changes_nothing),
	TEST(remembers_a_failed_addition),
	TEST(knows_valid_utf8_from_everything_else),
	TEST(shows_what_would_move_a_terminal),
	TEST(shows_every_character_that_cannot_be_seen_or_reorders),
	TEST(a_literal_backslash_x_is_escaped),
	TEST(quotes_a_text_so_that_yaml_reads_it_back),
	TEST(quotes_a_word_so_that_a_shell_reads_it_back),
	TEST(decodes_the_character_of_a_sequence),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
