/* SPDX-License-Identifier: MIT */

/*
 * The bytes are scanned as a text, and written as a string. A failed check is an abort.
 */

#include "base/json.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Prefixes are checked one by one, so only short texts are. */
#define PREFIX_BYTES_MAX 512

static void check(bool condition)
{
	if (!condition)
		abort();
}

static bool is_utf8(const char *bytes, size_t n_bytes)
{
	for (size_t at = 0, n; at < n_bytes; at += n) {
		n = utf8_sequence(bytes + at, n_bytes - at);
		if (n == 0)
			return false;
	}
	return true;
}

/* Writes a string and reads it back. */
static void write_and_read(const char *bytes, size_t n_bytes, struct text *ret)
{
	_cleanup_text_ struct text written = TEXT_INIT;
	struct json_writer writer;
	struct json_scanner scanner;
	struct json_item item;

	json_write(&writer, &written);
	json_add_string_bytes(&writer, bytes, n_bytes);
	json_scan(&scanner, written.data, written.len);
	check(json_next(&scanner, &item) == 1 && item.kind == JSON_STRING);
	check(item.n_bytes == written.len - 2);
	check(json_decode(&item, ret) == 0);
	check(json_next(&scanner, &item) == 0);
	check(is_utf8(ret->data, ret->len));
}

static void check_string(const struct json_item *item)
{
	_cleanup_text_ struct text decoded = TEXT_INIT, again = TEXT_INIT;
	int r = json_decode(item, &decoded);

	check(r == 0 || (r == -EILSEQ && item->escaped));
	check(item->escaped == (memchr(item->bytes, '\\', item->n_bytes) != NULL));
	if (r < 0) {
		check(decoded.len == 0 && !json_equals(item, ""));
		return;
	}
	check(is_utf8(decoded.data, decoded.len));
	check(json_equals(item, text_string(&decoded)) ==
	      (strlen(text_string(&decoded)) == decoded.len));
	write_and_read(decoded.data, decoded.len, &again);
	check(again.len == decoded.len &&
	      memcmp(text_string(&again), text_string(&decoded), again.len) == 0);
}

static void check_number(const struct json_item *item)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct json_writer writer;
	uint64_t u64;
	int64_t i64;
	int r_u64 = json_u64(item, &u64), r_i64 = json_i64(item, &i64);
	bool minus_zero = item->n_bytes == 2 && memcmp(item->bytes, "-0", 2) == 0;

	check((r_u64 == -EINVAL) == (r_i64 == -EINVAL));
	json_write(&writer, &again);
	if (r_u64 == 0)
		json_add_u64(&writer, u64);
	else if (r_i64 == 0)
		json_add_i64(&writer, i64);
	else
		return;
	check(minus_zero ||
	      (again.len == item->n_bytes && memcmp(again.data, item->bytes, again.len) == 0));
}

/* Copies each item to @ret, which becomes the same text without white space. */
static int scan_all(const char *bytes, size_t n_bytes, struct json_scanner *scanner,
		    struct text *ret)
{
	struct json_writer writer;
	struct json_item item;
	size_t end = 0;
	int r;

	json_write(&writer, ret);
	json_scan(scanner, bytes, n_bytes);
	while ((r = json_next(scanner, &item)) > 0) {
		bool quoted = item.kind == JSON_NAME || item.kind == JSON_STRING;

		check(item.offset >= end && scanner->at <= n_bytes);
		check(item.bytes == bytes + item.offset + quoted);
		end = scanner->at;
		check(end == item.offset + item.n_bytes + 2 * quoted);
		if (quoted)
			check_string(&item);
		if (item.kind == JSON_NUMBER)
			check_number(&item);
		if (item.kind == JSON_OBJECT_END || item.kind == JSON_ARRAY_END)
			writer.needs_comma = false;
		json_add_raw(&writer, bytes + item.offset, end - item.offset);
		if (item.kind == JSON_OBJECT_BEGIN || item.kind == JSON_ARRAY_BEGIN)
			writer.needs_comma = false;
		if (item.kind == JSON_NAME) {
			text_add_char(ret, ':');
			writer.needs_comma = false;
		}
	}
	return r;
}

static void check_prefixes(const char *bytes, size_t n_bytes)
{
	while (n_bytes > 0 && bytes[n_bytes - 1] != '}' && bytes[n_bytes - 1] != ']')
		n_bytes--;
	for (size_t n = 0; n < n_bytes && n_bytes <= PREFIX_BYTES_MAX; n++) {
		size_t offset = SIZE_MAX;

		check(json_validate(bytes, n, &offset, NULL) == -EBADMSG);
		check(offset <= n);
	}
}

static void check_failure(struct json_scanner *scanner, int r, size_t n_bytes)
{
	size_t at = scanner->at;
	struct json_item item;

	check(r == -EBADMSG || r == -E2BIG);
	check(at <= n_bytes && scanner->problem);
	check(json_next(scanner, &item) == r && scanner->at == at);
}

static void check_success(const char *bytes, size_t n_bytes, const struct text *compact)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct json_scanner scanner;
	struct json_item item;

	check(is_utf8(bytes, n_bytes));
	check(scan_all(compact->data, compact->len, &scanner, &again) == 0);
	check(again.len == compact->len && memcmp(again.data, compact->data, again.len) == 0);

	json_scan(&scanner, bytes, n_bytes);
	check(json_next(&scanner, &item) == 1);
	check(json_skip(&scanner, &item) == 0);
	check(scanner.depth == 0 && json_next(&scanner, &item) == 0);
	if (compact->data[0] == '{' || compact->data[0] == '[')
		check_prefixes(bytes, n_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	/* A block of exactly this size, so that a sanitizer detects a read past it. */
	_cleanup_free_ char *copy = malloc(n_bytes);
	_cleanup_text_ struct text compact = TEXT_INIT, decoded = TEXT_INIT;
	struct json_scanner scanner;
	size_t offset = SIZE_MAX;
	int r;

	if (!copy)
		return 0;
	if (n_bytes > 0)
		memcpy(copy, bytes, n_bytes);
	r = scan_all(copy, n_bytes, &scanner, &compact);
	check(json_validate(copy, n_bytes, &offset, NULL) == r);
	check(offset == (r < 0 ? scanner.at : SIZE_MAX));
	if (r < 0)
		check_failure(&scanner, r, n_bytes);
	else
		check_success(copy, n_bytes, &compact);

	write_and_read(copy, n_bytes, &decoded);
	if (is_utf8(copy, n_bytes))
		check(decoded.len == n_bytes && memcmp(text_string(&decoded), copy, n_bytes) == 0);
	return 0;
}
