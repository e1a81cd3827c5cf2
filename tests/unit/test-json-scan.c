/* SPDX-License-Identifier: MIT */

/*
 * The texts of json-texts.h, and what a table cannot express. Each text is scanned in a heap block
 * of exactly its size, so that a sanitizer detects a read past it.
 */

#include "base/json.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "json-texts.h"
#include "test.h"

static const char *exact_copy(const char *bytes, size_t n_bytes)
{
	char *copy = malloc(n_bytes);

	if (n_bytes > 0 && !copy)
		abort();
	if (n_bytes > 0)
		memcpy(copy, bytes, n_bytes);
	return copy;
}

static void accepts_every_form_of_the_grammar(void)
{
	expect(N_ELEMENTS(accepted) >= 60);
	for (size_t i = 0; i < N_ELEMENTS(accepted); i++) {
		const struct accepted *row = &accepted[i];
		_cleanup_free_ const char *copy = exact_copy(row->text, row->n_bytes);
		_cleanup_text_ struct text items = TEXT_INIT;
		unsigned before = test_failures;
		struct json_scanner scanner;
		struct json_item item;
		int r;

		json_scan(&scanner, copy, row->n_bytes);
		while ((r = json_next(&scanner, &item)) > 0)
			text_add_char(&items, kind_letters[item.kind]);
		expect_eq(r, 0);
		expect_eq(json_next(&scanner, &item), 0);
		expect_eq(scanner.depth, 0);
		expect_eq(scanner.at, row->n_bytes);
		expect_str(text_string(&items), row->items);
		name_row(before, row->text, row->n_bytes);
	}
}

static void refuses_everything_else_at_its_exact_offset(void)
{
	expect(N_ELEMENTS(refused) >= 120);
	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		const struct refused *row = &refused[i];
		_cleanup_free_ const char *copy = exact_copy(row->text, row->n_bytes);
		unsigned before = test_failures;
		const char *problem = NULL;
		size_t offset = SIZE_MAX;

		expect_eq(json_validate(copy, row->n_bytes, &offset, &problem), -EBADMSG);
		expect_eq(offset, row->offset);
		expect_str(problem, row->problem);
		name_row(before, row->text, row->n_bytes);
	}
}

static void fails_again_at_the_same_place_after_a_failure(void)
{
	struct json_scanner scanner;
	struct json_item item = { .kind = JSON_NULL, .offset = 77 };

	json_scan(&scanner, "[1,] []", 7);
	while (json_next(&scanner, &item) > 0)
		item.offset = 77;
	for (int i = 0; i < 3; i++) {
		expect_eq(json_next(&scanner, &item), -EBADMSG);
		expect_eq(scanner.at, 3);
		expect_str(scanner.problem, VALUE);
	}
	expect_eq(item.offset, 77);
}

static void validate_leaves_the_answers_alone_on_success(void)
{
	const char *problem = "untouched";
	size_t offset = 77;

	expect_eq(json_validate("[1]", 3, &offset, &problem), 0);
	expect_eq(offset, 77);
	expect_str(problem, "untouched");
	expect_eq(json_validate("[1", 2, NULL, NULL), -EBADMSG);
	expect_eq(json_validate(NULL, 0, NULL, NULL), -EBADMSG);
}

static void items_point_into_the_text(void)
{
	static const char text[] = " {\"a\\n\" : [ -1.5e3,true,\"\" ] } ";
	static const struct {
		enum json_kind kind;
		size_t offset;
		const char *bytes;
		bool escaped;
	} want[] = {
		{ JSON_OBJECT_BEGIN, 1, "{", false }, { JSON_NAME, 2, "a\\n", true },
		{ JSON_ARRAY_BEGIN, 10, "[", false }, { JSON_NUMBER, 12, "-1.5e3", false },
		{ JSON_TRUE, 19, "true", false },     { JSON_STRING, 24, "", false },
		{ JSON_ARRAY_END, 27, "]", false },   { JSON_OBJECT_END, 29, "}", false },
	};
	struct json_scanner scanner;
	struct json_item item;

	json_scan(&scanner, text, sizeof(text) - 1);
	for (size_t i = 0; i < N_ELEMENTS(want); i++) {
		bool quoted = want[i].kind == JSON_NAME || want[i].kind == JSON_STRING;

		expect_eq(json_next(&scanner, &item), 1);
		expect_eq(item.kind, want[i].kind);
		expect_eq(item.offset, want[i].offset);
		expect_eq(item.n_bytes, strlen(want[i].bytes));
		expect(memcmp(item.bytes, want[i].bytes, item.n_bytes) == 0);
		expect(item.bytes == text + item.offset + quoted);
		expect_eq(item.escaped, want[i].escaped);
	}
	expect_eq(json_next(&scanner, &item), 0);
}

static void one_byte_is_a_text_only_if_it_is_a_digit(void)
{
	for (int c = 0; c < 256; c++) {
		char byte = (char)c;

		expect_eq(json_validate(&byte, 1, NULL, NULL), c >= '0' && c <= '9' ? 0 : -EBADMSG);
	}
}

static void expect_special_byte_found(size_t n, size_t at, uint8_t c)
{
	bool plain = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
	char text[32];
	size_t offset = 0;

	memset(text, 'a', sizeof(text));
	text[0] = text[n + 1] = '"';
	text[at + 1] = (char)c;
	expect_eq(json_validate(text, n + 2, &offset, NULL), plain ? 0 : -EBADMSG);
	/* The error is at the byte after a quote or a backslash; an escaped closing quote leaves
	 * the string open. */
	if (c == '\\' && at + 1 == n)
		expect_eq(offset, n + 2);
	else if (!plain)
		expect_eq(offset, at + 1 + (c == '"' || c == '\\'));
}

/* The scanner checks eight bytes at once: test each byte at each position within them. */
static void finds_every_special_byte_at_every_place_of_a_string(void)
{
	for (size_t n = 1; n <= 20; n++)
		for (size_t at = 0; at < n; at++)
			for (int c = 0; c < 256; c++)
				expect_special_byte_found(n, at, (uint8_t)c);
}

static void knows_exactly_nine_escapes(void)
{
	for (int c = 0; c < 256; c++) {
		char text[] = { '"', '\\', (char)c, '0', '0', '0', '0', '"' };
		bool known = c && strchr("\"\\/bfnrtu", c);
		size_t offset = 0;

		/* For \" the rest is still inside the string, so all nine texts are valid. */
		expect_eq(json_validate(text, sizeof(text), &offset, NULL), known ? 0 : -EBADMSG);
		expect_eq(offset, known ? 0 : 2);
	}
}

static void knows_exactly_22_hexadecimal_digits(void)
{
	for (size_t at = 0; at < 4; at++)
		for (int c = 0; c < 256; c++) {
			char text[] = "\"\\u0000\"";
			bool known = c && strchr("0123456789abcdefABCDEF", c);
			size_t offset = 0;

			text[3 + at] = (char)c;
			expect_eq(json_validate(text, sizeof(text) - 1, &offset, NULL),
				  known ? 0 : -EBADMSG);
			expect_eq(offset, known ? 0 : 3 + at);
		}
}

static void refuses_every_strict_prefix_at_its_end(void)
{
	static const char text[] =
		"{\"name\":[1,-2.5e+10,true,false,null,\"\\u00e9\\n\",{}],\"\":{\"x\":[[]]}}";
	const char *problem;
	size_t offset;

	expect_eq(json_validate(text, sizeof(text) - 1, NULL, NULL), 0);
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		_cleanup_free_ const char *copy = exact_copy(text, n);

		offset = SIZE_MAX;
		problem = NULL;
		expect_eq(json_validate(copy, n, &offset, &problem), -EBADMSG);
		expect_eq(offset, n);
		expect(problem && strncmp(problem, "expected ", strlen("expected ")) == 0);
	}
}

/* @n opening brackets, alternately of objects and arrays, a 0, and the closing brackets. */
static void add_nested(struct text *out, size_t n, bool only_arrays)
{
	for (size_t i = 0; i < n; i++)
		text_add(out, only_arrays || i % 2 == 1 ? "[" : "{\"\":");
	text_add(out, "0");
	for (size_t i = n; i-- > 0;)
		text_add(out, only_arrays || i % 2 == 1 ? "]" : "}");
}

static void accepts_1024_levels(void)
{
	for (int only_arrays = 0; only_arrays < 2; only_arrays++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		add_nested(&text, JSON_DEPTH_MAX, only_arrays);
		expect_eq(json_validate(text.data, text.len, NULL, NULL), 0);
	}
}

static void refuses_1025_levels_at_the_bracket(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *problem = NULL;
	struct json_scanner scanner;
	struct json_item item;
	size_t offset = 0;

	add_nested(&text, JSON_DEPTH_MAX + 1, true);
	expect_eq(json_validate(text.data, text.len, &offset, &problem), -E2BIG);
	expect_eq(offset, JSON_DEPTH_MAX);
	expect_str(problem, "expected at most 1024 levels");

	json_scan(&scanner, text.data, text.len);
	while (json_next(&scanner, &item) > 0)
		continue;
	expect_eq(json_next(&scanner, &item), -E2BIG);
	expect_eq(scanner.depth, JSON_DEPTH_MAX);
}

static void forgets_the_kind_of_a_level_that_was_closed(void)
{
	static const char good[] = "[{\"a\":1},[1,2],{\"b\":[{}],\"c\":2},[[3],4]]";
	size_t offset = 0;

	expect_eq(json_validate(good, sizeof(good) - 1, NULL, NULL), 0);
	expect_eq(json_validate("[{\"a\":1},[1,2}]", 15, &offset, NULL), -EBADMSG);
	expect_eq(offset, 13);
	expect_eq(json_validate("[[1],{\"a\":2]]", 13, &offset, NULL), -EBADMSG);
	expect_eq(offset, 11);
}

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

static void skips_a_value_and_all_that_is_in_it(void)
{
	struct json_scanner scanner;
	struct json_item item = scan_to(&scanner, "[{\"a\":[1,{}],\"b\":{}},7]", JSON_OBJECT_BEGIN);

	expect_eq(json_skip(&scanner, &item), 0);
	expect_eq(json_next(&scanner, &item), 1);
	expect_eq(item.kind, JSON_NUMBER);
	expect_eq(item.offset, 21);
	expect_eq(json_skip(&scanner, &item), 0);
	expect_eq(json_next(&scanner, &item), 1);
	expect_eq(item.kind, JSON_ARRAY_END);
	expect_eq(json_next(&scanner, &item), 0);
}

static void skips_a_whole_text_and_still_sees_what_follows(void)
{
	struct json_scanner scanner;
	struct json_item item = scan_to(&scanner, "[[],[]] x", JSON_ARRAY_BEGIN);

	expect_eq(json_skip(&scanner, &item), 0);
	expect_eq(json_next(&scanner, &item), -EBADMSG);
	expect_eq(scanner.at, 8);
}

static void skipping_fails_where_the_value_is_broken(void)
{
	struct json_scanner scanner;
	struct json_item item = scan_to(&scanner, "{\"a\":[1,}", JSON_ARRAY_BEGIN);

	expect_eq(json_skip(&scanner, &item), -EBADMSG);
	expect_eq(scanner.at, 8);
}

/* ---- the fast path for compact text ---- */

static const char *const fragments[] = {
	"\"name\":\"value\"",
	"\"\":\"\"",
	"\"n\":0",
	"\"n\":1234567890",
	"\"n\":-1.5e3",
	"\"n\":01",
	"\"n\":1-2",
	"\"n\":12 ",
	"\"n\" : 12",
	" \"n\":12",
	"\"w\":true",
	"\"w\":false",
	"\"w\":null",
	"\"w\":nul",
	"\"e\":\"\\u0061\"",
	"\"\\u0061\":1",
	"\"\xc3\xb6\":\"\xc3\xb6\x7f\"",
	"\"long\":\"0123456789abcdef0123456789abcdef0123456789abcdef\"",
	"\"o\":{}",
	"\"o\":{\"a\":1,\"b\":{\"c\":[]}}",
	"\"o\":{\"a\":1,}",
	"\"o\":{\"a\" :true,\"b\":-0}",
	"\"a\":[]",
	"\"a\":[1,\"two\",{\"three\":3},[[4]],false]",
	"\"a\":[1,]",
	"\"a\":[,1]",
	"\"a\":[1 2]",
	"\"a\":[{\"x\":\"y\"]",
	"\"a\":{]",
};

static int skip_item_by_item(struct json_scanner *scanner, const struct json_item *item)
{
	unsigned depth = scanner->depth;
	struct json_item inner;
	int r = 1;

	if (item->kind != JSON_OBJECT_BEGIN && item->kind != JSON_ARRAY_BEGIN)
		return 0;
	while (r > 0 && scanner->depth >= depth)
		r = json_next(scanner, &inner);
	return r < 0 ? r : 0;
}

static int member_by_items(struct json_scanner *scanner, struct json_item *name,
			   struct json_item *value)
{
	int r = json_next(scanner, name);

	if (r <= 0 || name->kind != JSON_NAME)
		return r < 0 ? r : 0;
	return json_next(scanner, value);
}

static bool is_same_item(const struct json_item *a, const struct json_item *b)
{
	return a->kind == b->kind && a->bytes == b->bytes && a->n_bytes == b->n_bytes &&
	       a->offset == b->offset && a->escaped == b->escaped;
}

/* Skips or enters each member, as the bits of @choices say. */
static void expect_same_members(const char *bytes, size_t n_bytes, uint32_t choices)
{
	struct json_scanner compact, plain;
	struct json_item name, name_of_items, value, value_of_items;
	int r;

	json_scan(&compact, bytes, n_bytes);
	json_scan(&plain, bytes, n_bytes);
	expect_eq(json_next(&compact, &value), json_next(&plain, &value_of_items));
	do {
		r = json_next_member(&compact, &name, &value);
		expect_eq(r, member_by_items(&plain, &name_of_items, &value_of_items));
		if (r > 0) {
			bool is_entered = value.kind == JSON_OBJECT_BEGIN && choices & 1;

			expect(is_same_item(&name, &name_of_items));
			expect(is_same_item(&value, &value_of_items));
			choices = choices >> 1 | choices << 31;
			if (!is_entered) {
				r = json_skip(&compact, &value);
				expect_eq(r, skip_item_by_item(&plain, &value_of_items));
				r = r < 0 ? r : 1;
			}
		} else if (r == 0 && compact.depth > 0) {
			r = 1;
		}
		expect_eq(compact.at, plain.at);
		expect_eq(compact.depth, plain.depth);
		expect(compact.problem == plain.problem);
	} while (r > 0 && test_failures == 0);
}

static void compact_members_are_those_of_single_items(void)
{
	unsigned n = test_is_slow() ? 1000000 : 20000;
	uint32_t seed = 1;

	for (unsigned i = 0; i < n && test_failures == 0; i++) {
		_cleanup_text_ struct text text = TEXT_INIT;
		_cleanup_free_ const char *copy = NULL;
		size_t at;

		text_add_char(&text, '{');
		for (unsigned j = 0; j < 1 + i % 6; j++) {
			seed = seed * 1664525 + 1013904223;
			text_add(&text, j > 0 ? "," : "");
			text_add(&text, fragments[(seed >> 8) % N_ELEMENTS(fragments)]);
		}
		text_add_char(&text, '}');
		at = (seed >> 4) % text.len;
		if (i % 3 == 1)
			((uint8_t *)text.data)[at] ^= (uint8_t)(1 << (seed >> 28 & 7));
		if (i % 3 == 2 && i % 2)
			text_truncate(&text, at);
		copy = exact_copy(text.data, text.len);
		expect_same_members(copy, text.len, seed);
	}
}

static const struct test tests[] = {
	TEST(accepts_every_form_of_the_grammar),
	TEST(refuses_everything_else_at_its_exact_offset),
	TEST(fails_again_at_the_same_place_after_a_failure),
	TEST(validate_leaves_the_answers_alone_on_success),
	TEST(items_point_into_the_text),
	TEST(one_byte_is_a_text_only_if_it_is_a_digit),
	TEST(finds_every_special_byte_at_every_place_of_a_string),
	TEST(knows_exactly_nine_escapes),
	TEST(knows_exactly_22_hexadecimal_digits),
	TEST(refuses_every_strict_prefix_at_its_end),
	TEST(accepts_1024_levels),
	TEST(refuses_1025_levels_at_the_bracket),
	TEST(forgets_the_kind_of_a_level_that_was_closed),
	TEST(skips_a_value_and_all_that_is_in_it),
	TEST(skips_a_whole_text_and_still_sees_what_follows),
	TEST(skipping_fails_where_the_value_is_broken),
	TEST(compact_members_are_those_of_single_items),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
