/* SPDX-License-Identifier: MIT */

/* The writer's output, compared byte for byte, and all of it scanned again */

#include "base/json.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "test.h"

static void expect_valid(const struct text *out)
{
	const char *problem = "";
	size_t offset = 0;

	expect_eq(text_status(out), 0);
	expect_eq(json_validate(out->data, out->len, &offset, &problem), 0);
	if (*problem)
		printf("# %s at %zu of %s\n", problem, offset, text_string(out));
}

/* Writes one string, with its quotes. */
static void write_string(struct text *out, const void *bytes, size_t n_bytes)
{
	struct json_writer writer;

	json_write(&writer, out);
	json_add_string_bytes(&writer, bytes, n_bytes);
	expect_valid(out);
}

static void sets_the_commas_itself(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer writer;

	json_write(&writer, &out);
	json_add_object(&writer);
	json_add_name(&writer, "empty");
	json_add_array(&writer);
	json_end_array(&writer);
	json_add_name(&writer, "list");
	json_add_array(&writer);
	json_add_u64(&writer, 1);
	json_add_object(&writer);
	json_end_object(&writer);
	json_add_array(&writer);
	json_add_null(&writer);
	json_end_array(&writer);
	json_add_bool(&writer, true);
	json_end_array(&writer);
	json_add_name(&writer, "last");
	json_add_string(&writer, "x");
	json_end_object(&writer);
	expect_str(text_string(&out), "{\"empty\":[],\"list\":[1,{},[null],true],\"last\":\"x\"}");
	expect_valid(&out);
}

static void every_kind_of_value_is_followed_by_a_comma(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer writer;

	json_write(&writer, &out);
	json_add_array(&writer);
	for (int i = 0; i < 2; i++) {
		json_add_string(&writer, "s");
		json_add_string(&writer, NULL);
		json_add_string_bytes(&writer, NULL, 0);
		json_add_u64(&writer, 1);
		json_add_i64(&writer, -1);
		json_add_bool(&writer, false);
		json_add_null(&writer);
		json_add_raw(&writer, "{\"a\": 1}", 8);
	}
	json_end_array(&writer);
	expect_str(text_string(&out), "[\"s\",null,\"\",1,-1,false,null,{\"a\": 1},"
				      "\"s\",null,\"\",1,-1,false,null,{\"a\": 1}]");
	expect_valid(&out);
}

static void members_are_names_and_values(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer writer;

	json_write(&writer, &out);
	json_add_object(&writer);
	json_member_string(&writer, "s", "a\"b");
	json_member_string(&writer, "none", NULL);
	json_member_u64(&writer, "u", 7);
	json_member_i64(&writer, "i", -7);
	json_member_bool(&writer, "b", true);
	json_end_object(&writer);
	expect_str(text_string(&out),
		   "{\"s\":\"a\\\"b\",\"none\":null,\"u\":7,\"i\":-7,\"b\":true}");
	expect_valid(&out);
}

static void a_plain_name_is_parted_by_a_comma_like_others(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer writer;

	json_write(&writer, &out);
	json_add_object(&writer);
	json_add_plain_name(&writer, "first");
	json_add_array(&writer);
	json_end_array(&writer);
	json_add_plain_name(&writer, "second");
	json_add_string(&writer, "x");
	json_add_plain_name(&writer, "third");
	json_add_null(&writer);
	json_end_object(&writer);
	expect_str(text_string(&out), "{\"first\":[],\"second\":\"x\",\"third\":null}");
	expect_valid(&out);
}

static void adds_behind_what_the_text_already_holds(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer writer;

	text_add(&out, "1\n");
	for (int i = 0; i < 2; i++) {
		json_write(&writer, &out);
		json_add_bool(&writer, i);
		text_add_char(&out, '\n');
	}
	expect_str(text_string(&out), "1\nfalse\ntrue\n");
}

static void names_are_escaped_like_strings(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer writer;

	json_write(&writer, &out);
	json_add_object(&writer);
	json_member_u64(&writer, "a\"\\\n\xff", 1);
	json_member_u64(&writer, "", 2);
	json_end_object(&writer);
	expect_str(text_string(&out), "{\"a\\\"\\\\\\n\xef\xbf\xbd\":1,\"\":2}");
	expect_valid(&out);
}

static void escapes_what_must_be_and_nothing_else(void)
{
	static const struct {
		const char *bytes;
		const char *written;
	} rows[] = {
		{ "", "\"\"" },
		{ "plain", "\"plain\"" },
		{ "\"\\", "\"\\\"\\\\\"" },
		{ "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
		{ "\x01\x0b\x1b\x1f", "\"\\u0001\\u000b\\u001b\\u001f\"" },
		{ "/'<>&", "\"/'<>&\"" },
		{ "\x7f", "\"\\u007f\"" },
		{ "1234567\x7f", "\"1234567\\u007f\"" },
		{ "\xc2\x85", "\"\\u0085\"" },
		{ "\xc2\xa0", "\"\\u00a0\"" },
		{ "\xc2\xa1", "\"\xc2\xa1\"" },
		{ "\xe3\x85\xa4", "\"\\u3164\"" },
		{ "\xe2\x80\xa8\xe2\x80\xa9", "\"\\u2028\\u2029\"" },
		{ "\xe2\x80\xae", "\"\\u202e\"" },
		{ "\xf3\xa0\x81\x81", "\"\\udb40\\udc41\"" },
		{ "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
		{ "\xef\xbb\xbf", "\"\\ufeff\"" },
		{ "a long run of plain bytes\nand another",
		  "\"a long run of plain bytes\\nand another\"" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;

		write_string(&out, rows[i].bytes, strlen(rows[i].bytes));
		expect_str(text_string(&out), rows[i].written);
	}
}

static void bytes_that_are_not_utf8_become_replacement_characters(void)
{
	static const struct {
		const char *bytes;
		unsigned n_replaced;
	} rows[] = {
		{ "\x80", 1 },
		{ "\xff", 1 },
		{ "\xc3", 1 },
		{ "\xc0\x80", 2 },
		{ "\xe2\x82", 2 },
		{ "\xf0\x9f\x98", 3 },
		{ "\xed\xa0\x80", 3 },
		{ "\xe0\x80\xaf", 3 },
		{ "\xf4\x90\x80\x80", 4 },
		{ "\xf8\x88\x80\x80\x80", 5 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text in = TEXT_INIT, out = TEXT_INIT, want = TEXT_INIT;

		text_addf(&in, "a%sz", rows[i].bytes);
		text_add(&want, "\"a");
		for (unsigned n = 0; n < rows[i].n_replaced; n++)
			text_add(&want, "\xef\xbf\xbd");
		text_add(&want, "z\"");
		write_string(&out, in.data, in.len);
		expect_str(text_string(&out), text_string(&want));
	}
}

/* @len bytes, all plain except the one at @at. */
static void writes_and_reads(size_t len, size_t at, int c)
{
	_cleanup_text_ struct text out = TEXT_INIT, back = TEXT_INIT;
	struct json_scanner scanner;
	struct json_item item = { .kind = JSON_NULL };
	char bytes[32];

	memset(bytes, 'a', len);
	bytes[at] = (char)c;
	write_string(&out, bytes, len);
	json_scan(&scanner, out.data, out.len);
	expect_eq(json_next(&scanner, &item), 1);
	expect_eq(json_decode(&item, &back), 0);
	expect_eq(back.len, len + (c < 0x80 ? 0 : 2));
	expect(c >= 0x80 || memcmp(text_string(&back), bytes, len) == 0);
	expect(c < 0x80 || memcmp(text_string(&back) + at, "\xef\xbf\xbd", 3) == 0);
}

/* Each byte at each position of each length: long runs are checked eight bytes at a time, short
 * ones in another way. */
static void every_byte_comes_back_or_is_replaced(void)
{
	for (size_t len = 1; len <= 26; len++)
		for (size_t at = 0; at < len; at++)
			for (int c = 0; c < 256; c++)
				writes_and_reads(len, at, c);
}

/* json_mark_special() is exact only for the lowest mark: test two special bytes at each distance.
 */
static void two_special_bytes_are_both_seen(void)
{
	for (size_t first = 0; first < 20; first++)
		for (size_t second = first + 1; second < 20; second++) {
			_cleanup_text_ struct text out = TEXT_INIT, want = TEXT_INIT;
			char bytes[20];

			memset(bytes, '!', sizeof(bytes));
			bytes[first] = bytes[second] = '"';
			text_addf(&want, "\"%.*s\\\"%.*s\\\"%.*s\"", (int)first, bytes,
				  (int)(second - first - 1), bytes + first + 1,
				  (int)(sizeof(bytes) - second - 1), bytes + second + 1);
			write_string(&out, bytes, sizeof(bytes));
			expect_str(text_string(&out), text_string(&want));
		}
}

static void a_nul_in_a_string_is_written(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	write_string(&out, "a\0b", 3);
	expect_str(text_string(&out), "\"a\\u0000b\"");
}

/* A fixed pseudorandom sequence. */
static void random_bytes_always_make_valid_json(void)
{
	uint32_t random = 1;

	for (int i = 0; i < (test_is_slow() ? 100000 : 2000); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;
		char bytes[48];

		for (size_t n = 0; n < sizeof(bytes); n++) {
			random = random * 1664525 + 1013904223;
			bytes[n] = (char)(random >> 24);
		}
		write_string(&out, bytes, random >> 16 & 31);
	}
}

static void integers_are_written_exactly(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer writer;

	json_write(&writer, &out);
	json_add_array(&writer);
	json_add_u64(&writer, 0);
	json_add_u64(&writer, 10);
	json_add_u64(&writer, UINT64_MAX);
	json_add_i64(&writer, 0);
	json_add_i64(&writer, -1);
	json_add_i64(&writer, INT64_MAX);
	json_add_i64(&writer, INT64_MIN);
	json_end_array(&writer);
	expect_str(text_string(&out), "[0,10,18446744073709551615,0,-1,9223372036854775807,"
				      "-9223372036854775808]");
	expect_valid(&out);
}

static const struct test tests[] = {
	TEST(sets_the_commas_itself),
	TEST(every_kind_of_value_is_followed_by_a_comma),
	TEST(members_are_names_and_values),
	TEST(adds_behind_what_the_text_already_holds),
	TEST(names_are_escaped_like_strings),
	TEST(escapes_what_must_be_and_nothing_else),
	TEST(bytes_that_are_not_utf8_become_replacement_characters),
	TEST(every_byte_comes_back_or_is_replaced),
	TEST(two_special_bytes_are_both_seen),
	TEST(a_plain_name_is_parted_by_a_comma_like_others),
	TEST(a_nul_in_a_string_is_written),
	TEST(random_bytes_always_make_valid_json),
	TEST(integers_are_written_exactly),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
