/* SPDX-License-Identifier: MIT */

/*
 * RFC 8259 in audit records: every valid text can be a value and is stored as written, invalid ones
 * are refused, and where the RFC leaves a choice sbx-audit(1) says which is made
 */

#include "audit/entry.h"

#include <errno.h>

#include <sbx/error.h>

#include "audit/redact.h"
#include "base/json.h"
#include "json-texts.h"

#define BEGIN "{\"time\":\"2026-01-02T03:04:05Z\",\"event\":\"syscall\",\"v\":"
#define SPACE " \t\r\n"

struct reader {
	struct audit_entry *entry;
	struct redactor *redactor;
};

static struct reader reader_new(void)
{
	struct reader reader = { .entry = calloc(1, sizeof(*reader.entry)) };

	expect(reader.entry != NULL);
	expect_eq(redactor_new(NULL, 0, &reader.redactor, NULL), 0);
	return reader;
}

static void reader_deinit(struct reader *reader)
{
	if (reader->entry)
		entry_deinit(reader->entry);
	free(reader->entry);
	(void)redactor_free(reader->redactor);
}
#define _cleanup_reader_ _cleanup_(reader_deinit)

static int take_bytes(struct reader *reader, const char *bytes, size_t n_bytes,
		      struct sbx_error *err)
{
	const struct entry_options options = { .redactor = reader->redactor };

	return entry_read(reader->entry, &options, bytes, n_bytes, err);
}

static int take_line(struct reader *reader, const struct text *line, struct sbx_error *err)
{
	return take_bytes(reader, text_string(line), line->len, err);
}

static void add_record(struct text *out, const char *value, size_t n_bytes)
{
	text_reset(out);
	text_add(out, BEGIN);
	text_add_bytes(out, value, n_bytes);
	text_add_char(out, '}');
}

/* An unpaired surrogate escape? */
static bool has_half_a_pair(const char *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text scratch = TEXT_INIT;
	struct json_scanner scanner;
	struct json_item item;

	json_scan(&scanner, bytes, n_bytes);
	while (json_next(&scanner, &item) > 0)
		if ((item.kind == JSON_STRING || item.kind == JSON_NAME) &&
		    json_decode(&item, &scratch) < 0)
			return true;
	return false;
}

/* The value without surrounding white space, and without newlines. */
static void add_stored(struct text *out, const char *value, size_t n_bytes)
{
	_cleanup_text_ struct text one_line = TEXT_INIT;

	for (; n_bytes > 0 && strchr(SPACE, value[n_bytes - 1]); n_bytes--)
		;
	for (; n_bytes > 0 && strchr(SPACE, value[0]); n_bytes--)
		value++;
	for (size_t i = 0; i < n_bytes; i++)
		text_add_bytes(&one_line, strchr("\r\n", value[i]) ? " " : &value[i], 1);
	add_record(out, text_string(&one_line), one_line.len);
}

static void every_valid_value_is_stored_as_it_was_written(void)
{
	_cleanup_reader_ struct reader reader = reader_new();
	_cleanup_text_ struct text line = TEXT_INIT, wanted = TEXT_INIT;
	size_t n_halves = 0;

	for (size_t i = 0; i < N_ELEMENTS(accepted); i++) {
		bool is_half = has_half_a_pair(accepted[i].text, accepted[i].n_bytes);
		unsigned before = test_failures;

		n_halves += is_half;
		add_record(&line, accepted[i].text, accepted[i].n_bytes);
		expect_eq(take_line(&reader, &line, NULL), is_half ? -EINVAL : 0);
		add_stored(&wanted, accepted[i].text, accepted[i].n_bytes);
		if (!is_half)
			expect_str(text_string(&reader.entry->body), text_string(&wanted));
		name_row(before, accepted[i].text, accepted[i].n_bytes);
	}
	expect(n_halves > 0);
}

static void nothing_else_is_a_value(void)
{
	_cleanup_reader_ struct reader reader = reader_new();
	_cleanup_text_ struct text line = TEXT_INIT;
	size_t n_refused = 0;

	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		unsigned before = test_failures;

		expect(take_bytes(&reader, refused[i].text, refused[i].n_bytes, NULL) < 0);
		add_record(&line, refused[i].text, refused[i].n_bytes);
		/* Some of these texts, such as "1 ", become valid when the closing brace follows.
		 */
		if (json_validate(line.data, line.len, NULL, NULL) < 0) {
			expect_eq(take_line(&reader, &line, NULL), -EBADMSG);
			n_refused++;
		}
		name_row(before, refused[i].text, refused[i].n_bytes);
	}
	expect(n_refused > N_ELEMENTS(refused) * 3 / 4);
}

static void only_an_object_is_a_record(void)
{
	_cleanup_reader_ struct reader reader = reader_new();

	for (size_t i = 0; i < N_ELEMENTS(accepted); i++)
		expect_eq(take_bytes(&reader, accepted[i].text, accepted[i].n_bytes, NULL),
			  -EINVAL);
}

/* ---- choices that the RFC leaves open ---- */

#define AFTER(text) BEGIN "0," text "}"

static const struct decision {
	const char *line;
	int code;
	const char *why; /* why it is refused */
} decisions[] = {
	/* duplicate names, also with escapes */
	{ AFTER("\"v\":1"), -EINVAL, "a member occurs twice" },
	{ AFTER("\"\\u0076\":1"), -EINVAL, "a member occurs twice" },
	{ AFTER("\"w\":{\"a\":1,\"a\":2}"), 0, NULL },
	/* names */
	{ AFTER("\"\":1"), 0, NULL },
	{ AFTER("\"V\":1"), 0, NULL },
	{ AFTER("\"\\u0000\":1"), 0, NULL },
	/* characters */
	{ AFTER("\"w\":\"\\u0000\""), 0, NULL },
	{ AFTER("\"w\":\"\xef\xbf\xbf\xef\xb7\x90\""), 0, NULL },
	{ AFTER("\"w\":\"\\ud800\""), -EINVAL, "half of a surrogate pair" },
	{ AFTER("\"\\udc00\":1"), -EINVAL, "half of a surrogate pair" },
	{ AFTER("\"w\":[{\"\\ud800x\":1}]"), -EINVAL, "half of a surrogate pair" },
	{ AFTER("\"w\":\"\xed\xa0\x80\""), -EBADMSG, "expected valid UTF-8" },
	{ "\xef\xbb\xbf" AFTER("\"w\":1"), -EBADMSG, "not a byte order mark" },
	/* numbers of any size are kept as written */
	{ AFTER("\"w\":1e400"), 0, NULL },
	{ AFTER("\"w\":-0.0E-0"), 0, NULL },
	{ AFTER("\"w\":123456789012345678901234567890.000000000000000000001"), 0, NULL },
	/* numbers that the log interprets */
	{ "{\"timestamp\":1e3,\"event\":\"syscall\"}", -EINVAL,
	  "its timestamp is not a valid time" },
	{ "{\"timestamp\":-1,\"event\":\"syscall\"}", -EINVAL,
	  "its timestamp is not a valid time" },
	{ "{\"timestamp\":1.0,\"event\":\"syscall\"}", -EINVAL,
	  "its timestamp is not a valid time" },
	/* one text in each line */
	{ AFTER("\"w\":1") AFTER("\"w\":1"), -EBADMSG, "expected the end of the text" },
	{ AFTER("\"w\":1") " \r\n", 0, NULL },
	{ AFTER("\"w\":1,"), -EBADMSG, "expected a name" },
	{ AFTER("\"w\":NaN"), -EBADMSG, "expected a value" },
	{ AFTER("\"w\":1 /* x */"), -EBADMSG, "expected ',' or '}'" },
};

static void what_the_rfc_leaves_open_is_decided(void)
{
	_cleanup_reader_ struct reader reader = reader_new();

	for (size_t i = 0; i < N_ELEMENTS(decisions); i++) {
		const struct decision *decision = &decisions[i];
		struct sbx_error err = { .code = 0 };
		unsigned before = test_failures;

		expect_eq(take_bytes(&reader, decision->line, strlen(decision->line), &err),
			  decision->code);
		expect(!decision->why || strstr(err.why, decision->why) != NULL);
		name_row(before, decision->line, strlen(decision->line));
	}
}

static void add_nested(struct text *out, int n_levels)
{
	text_reset(out);
	text_add(out, BEGIN);
	for (int i = 0; i < n_levels; i++)
		text_add_char(out, '[');
	for (int i = 0; i < n_levels; i++)
		text_add_char(out, ']');
	text_add_char(out, '}');
}

/* The record itself is the first level. */
static void a_record_has_1024_levels_at_most(void)
{
	_cleanup_reader_ struct reader reader = reader_new();
	_cleanup_text_ struct text line = TEXT_INIT;

	add_nested(&line, 1023);
	expect_eq(take_line(&reader, &line, NULL), 0);
	add_nested(&line, 1024);
	expect_eq(take_line(&reader, &line, NULL), -EINVAL);
}

static const struct test tests[] = {
	TEST(every_valid_value_is_stored_as_it_was_written),
	TEST(nothing_else_is_a_value),
	TEST(only_an_object_is_a_record),
	TEST(what_the_rfc_leaves_open_is_decided),
	TEST(a_record_has_1024_levels_at_most),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
