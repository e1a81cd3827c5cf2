/* SPDX-License-Identifier: MIT */

/* Values of JSON items in corner cases: surrogates, the largest integers, places in invalid text */

#include "base/json.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "json-texts.h"
#include "test.h"

/* Scans @text up to the first item of @kind. */
static struct json_item scan_to(struct json_scanner *scanner, const char *text, enum json_kind kind)
{
	struct json_item item = { .kind = JSON_NULL };

	json_scan(scanner, text, strlen(text));
	while (json_next(scanner, &item) > 0)
		if (item.kind == kind)
			return item;
	expect(!"no such item");
	return item;
}

static void decodes_escapes_and_surrogate_pairs(void)
{
	static const struct {
		const char *text;
		const char *decoded;
		size_t n_bytes;
	} rows[] = {
		{ "\"\"", "", 0 },
		{ "\"plain\"", "plain", 5 },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
		{ "\"a\\nb\"", "a\nb", 3 },
		{ "\"\\u0000\"", "\0", 1 },
		{ "\"x\\u0000y\"", "x\0y", 3 },
		{ "\"\\u007f\\u0080\"", "\x7f\xc2\x80", 3 },
		{ "\"\\u07ff\\u0800\"", "\xdf\xbf\xe0\xa0\x80", 5 },
		{ "\"\\ud7ff\\ue000\"", "\xed\x9f\xbf\xee\x80\x80", 6 },
		{ "\"\\uffff\"", "\xef\xbf\xbf", 3 },
		{ "\"\\uD83D\\uDE00!\"", "\xf0\x9f\x98\x80!", 5 },
		{ "\"\\ud800\\udc00\"", "\xf0\x90\x80\x80", 4 },
		{ "\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf", 4 },
		{ "\"\xc3\xa9\\u00e9\"", "\xc3\xa9\xc3\xa9", 4 },
		{ "\"\\\\u0041\"", "\\u0041", 6 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;
		unsigned before = test_failures;
		struct json_scanner scanner;
		struct json_item item = scan_to(&scanner, rows[i].text, JSON_STRING);

		expect_eq(json_decode(&item, &out), 0);
		expect_eq(out.len, rows[i].n_bytes);
		expect(memcmp(text_string(&out), rows[i].decoded, rows[i].n_bytes) == 0);
		expect_eq(json_equals(&item, rows[i].decoded),
			  strlen(rows[i].decoded) == rows[i].n_bytes);
		name_row(before, rows[i].text, strlen(rows[i].text));
	}
}

static void decoding_refuses_unpaired_surrogates_and_adds_nothing(void)
{
	static const char *const rows[] = {
		"\"\\ud800\"",	      "\"\\udbff\"",	      "\"\\udc00\"",
		"\"\\udfff\"",	      "\"a\\ud800\"",	      "\"\\ud800a\"",
		"\"\\ud800\\n\"",     "\"\\ud800\\u0041\"",   "\"\\ud800\\ud800\"",
		"\"\\udc00\\ud800\"", "\"\\ud800\\\\udc00\"", "\"a\\ud83d\\ude00\\ud83d\"",
		"\"\\ud800\\ue000\"", "\"\\ud800\\udbff\"",
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;
		unsigned before = test_failures;
		struct json_scanner scanner;
		struct json_item item = scan_to(&scanner, rows[i], JSON_STRING);

		text_add(&out, "kept");
		expect_eq(json_decode(&item, &out), -EILSEQ);
		expect_str(text_string(&out), "kept");
		expect(!json_equals(&item, ""));
		expect(!json_equals(&item, "a"));
		name_row(before, rows[i], strlen(rows[i]));
	}
}

static void only_names_and_strings_are_decoded(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_scanner scanner;
	struct json_item item = scan_to(&scanner, "[true]", JSON_TRUE);

	expect_eq(json_decode(&item, &out), -EINVAL);
	expect_eq(out.len, 0);
	expect(!json_equals(&item, "true"));
}

static void compares_decoded_names(void)
{
	struct json_scanner scanner;
	struct json_item plain = scan_to(&scanner, "{\"policy\":1}", JSON_NAME);
	struct json_item escaped = scan_to(&scanner, "{\"p\\u006flic\\u0079\":1}", JSON_NAME);
	struct json_item empty = scan_to(&scanner, "{\"\":1}", JSON_NAME);
	struct json_item nul = scan_to(&scanner, "{\"a\\u0000\":1}", JSON_NAME);

	expect(json_equals(&plain, "policy"));
	expect(!json_equals(&plain, "polic"));
	expect(!json_equals(&plain, "policyy"));
	expect(!json_equals(&plain, "Policy"));
	expect(!json_equals(&plain, ""));
	expect(json_equals(&escaped, "policy"));
	expect(!json_equals(&escaped, "polic"));
	expect(!json_equals(&escaped, "policyy"));
	expect(!json_equals(&escaped, "p\\u006flic\\u0079"));
	expect(json_equals(&empty, ""));
	expect(!json_equals(&empty, "a"));
	expect(!json_equals(&nul, "a"));
}

static void integers_are_exact_at_their_limits(void)
{
	static const struct {
		const char *text;
		int r_u64;
		int r_i64;
		uint64_t u64;
		int64_t i64;
	} rows[] = {
		{ "0", 0, 0, 0, 0 },
		{ "-0", 0, 0, 0, 0 },
		{ "1", 0, 0, 1, 1 },
		{ "-1", -ERANGE, 0, 0, -1 },
		{ "9223372036854775807", 0, 0, INT64_MAX, INT64_MAX },
		{ "9223372036854775808", 0, -ERANGE, (uint64_t)INT64_MAX + 1, 0 },
		{ "-9223372036854775808", -ERANGE, 0, 0, INT64_MIN },
		{ "-9223372036854775809", -ERANGE, -ERANGE, 0, 0 },
		{ "18446744073709551615", 0, -ERANGE, UINT64_MAX, 0 },
		{ "18446744073709551616", -ERANGE, -ERANGE, 0, 0 },
		{ "18446744073709551620", -ERANGE, -ERANGE, 0, 0 },
		{ "-18446744073709551616", -ERANGE, -ERANGE, 0, 0 },
		{ "100000000000000000000000000000000000000000", -ERANGE, -ERANGE, 0, 0 },
		{ "1.0", -EINVAL, -EINVAL, 0, 0 },
		{ "-1.5", -EINVAL, -EINVAL, 0, 0 },
		{ "1e2", -EINVAL, -EINVAL, 0, 0 },
		{ "1E0", -EINVAL, -EINVAL, 0, 0 },
		{ "99999999999999999999.5", -EINVAL, -EINVAL, 0, 0 },
		{ "\"1\"", -EINVAL, -EINVAL, 0, 0 },
		{ "true", -EINVAL, -EINVAL, 0, 0 },
		{ "[]", -EINVAL, -EINVAL, 0, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		unsigned before = test_failures;
		struct json_scanner scanner;
		struct json_item item;
		uint64_t u64 = 77;
		int64_t i64 = 77;

		json_scan(&scanner, rows[i].text, strlen(rows[i].text));
		expect_eq(json_next(&scanner, &item), 1);
		expect_eq(json_u64(&item, &u64), rows[i].r_u64);
		expect_eq(json_i64(&item, &i64), rows[i].r_i64);
		expect(u64 == (rows[i].r_u64 == 0 ? rows[i].u64 : 77));
		expect(i64 == (rows[i].r_i64 == 0 ? rows[i].i64 : 77));
		name_row(before, rows[i].text, strlen(rows[i].text));
	}
}

static const struct test tests[] = {
	TEST(decodes_escapes_and_surrogate_pairs),
	TEST(decoding_refuses_unpaired_surrogates_and_adds_nothing),
	TEST(only_names_and_strings_are_decoded),
	TEST(compares_decoded_names),
	TEST(integers_are_exact_at_their_limits),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
