/* SPDX-License-Identifier: MIT */

#include "audit/entry.h"

#include <errno.h>
#include <stdio.h>

#include <sbx/error.h>

#include "audit/redact.h"
#include "base/json.h"
#include "test.h"

#define TIME "\"time\":\"2026-01-02T03:04:05.678901Z\""
#define TIME_USEC UINT64_C(1767323045678901)
#define SECRET "ghp_a1B2c3D4e5F6g7H8"

struct fixture {
	struct audit_entry *entry;
	struct redactor *redactor;
	struct entry_options options;
	struct sbx_error err;
};

static struct fixture fixture_new(void)
{
	struct fixture f = { .entry = calloc(1, sizeof(*f.entry)) };

	expect(f.entry != NULL);
	expect_eq(redactor_new(NULL, 0, &f.redactor, NULL), 0);
	f.options.redactor = f.redactor;
	return f;
}

static void fixture_deinit(struct fixture *f)
{
	if (f->entry)
		entry_deinit(f->entry);
	free(f->entry);
	(void)redactor_free(f->redactor);
}

#define _cleanup_fixture_ _cleanup_(fixture_deinit)

static int take(struct fixture *f, const char *line)
{
	return entry_read(f->entry, &f->options, line, strlen(line), &f->err);
}

static void expect_column(const struct fixture *f, enum entry_column column, const char *wanted)
{
	const struct entry_text *got = &f->entry->columns[column];
	_cleanup_text_ struct text text = TEXT_INIT;

	if (got->bytes)
		text_add_bytes(&text, got->bytes, got->n_bytes);
	expect((got->bytes != NULL) == (wanted != NULL));
	expect_str(text_string(&text), wanted ? wanted : "");
}

static void expect_refused(const char *line, int code, const char *why)
{
	_cleanup_fixture_ struct fixture f = fixture_new();

	expect_eq(take(&f, line), code);
	expect_eq(f.err.code, code);
	if (!strstr(f.err.why, why))
		printf("# %s: %s\n", line, f.err.why);
	expect(strstr(f.err.why, why) != NULL);
	expect_eq(entry_read(f.entry, &f.options, line, strlen(line), NULL), code);
}

static void a_line_without_secrets_is_stored_as_it_was_written(void)
{
	static const char line[] = "{\"version\":1," TIME ",\"boot\":\"b\",\"event\":\"syscall\","
				   "\"tool\":\"sbx-spawn\",\"op\":\"fs.write\",\"n\":[1, 2.50e3 ,"
				   "{\"a\":null}],\"t\":\"\\u00e9\\/\"}";
	_cleanup_fixture_ struct fixture f = fixture_new();

	expect_eq(take(&f, line), 0);
	expect_str(text_string(&f.entry->body), line);
	expect_str(f.entry->event->name, "syscall");
	expect_eq(f.entry->time_usec, TIME_USEC);
	expect_eq(f.entry->n_originals, 0);
	expect_column(&f, ENTRY_OP, "fs.write");
	expect_column(&f, ENTRY_CALLER, "sbx-spawn");
	expect_column(&f, ENTRY_DECISION, NULL);
}

static void a_record_is_one_line_whatever_it_came_as(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();

	expect_eq(take(&f, " \r\n{ \"event\" :\n\"syscall\",\r\n" TIME ", \"a\":[1,\n2\r]}\n \n"),
		  0);
	expect_str(text_string(&f.entry->body), "{\"event\":\"syscall\"," TIME ",\"a\":[1, 2 ]}");
}

static void columns_are_found_where_each_tool_puts_them(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();

	expect_eq(take(&f,
		       "{" TIME ",\"event\":\"policy_decision\",\"tool\":\"sbx-policy\","
		       "\"peer\":{\"pid\":7,\"uid\":0,\"sandbox_id\":\"box-1\"},"
		       "\"verdict\":\"deny\",\"rules\":[{\"name\":\"no-ssh\",\"action\":\"deny\"},"
		       "{\"name\":\"other\"}],\"input\":{\"op\":\"fs.read\",\"path\":\"/x\","
		       "\"caller\":\"plugin\"},\"policy\":\"00\"}"),
		  0);
	expect_column(&f, ENTRY_OP, "fs.read");
	expect_column(&f, ENTRY_DECISION, "deny");
	expect_column(&f, ENTRY_RULE, "no-ssh");
	expect_column(&f, ENTRY_SANDBOX, "box-1");
	expect_column(&f, ENTRY_CALLER, "plugin");

	expect_eq(take(&f,
		       "{\"timestamp\":1767323045678,\"event_type\":\"syscall\","
		       "\"syscall_type\":\"net.connect\",\"policy_decision\":\"review_required\","
		       "\"policy_rule_name\":\"r\",\"sandbox_id\":\"s\","
		       "\"caller\":{\"type\":\"plugin\",\"name\":\"p\"}}"),
		  0);
	expect_eq(f.entry->time_usec, TIME_USEC / 1000 * 1000);
	expect_column(&f, ENTRY_OP, "net.connect");
	expect_column(&f, ENTRY_DECISION, "require_review");
	expect_column(&f, ENTRY_RULE, "r");
	expect_column(&f, ENTRY_SANDBOX, "s");
	expect_column(&f, ENTRY_CALLER, "p");
}

static void nothing_of_the_record_before_is_left_in_the_columns(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();

	expect_eq(take(&f, "{" TIME ",\"event\":\"syscall\",\"op\":\"a\",\"verdict\":\"allow\","
			   "\"x\":\"" SECRET "\"}"),
		  0);
	expect_eq(f.entry->n_originals, 1);
	expect_eq(take(&f, "{" TIME ",\"event\":\"syscall\",\"rules\":[],\"input\":7}"), 0);
	for (int i = 0; i < N_ENTRY_COLUMNS; i++)
		expect_column(&f, (enum entry_column)i, NULL);
	expect_eq(f.entry->n_originals, 0);
}

static void a_column_ends_at_a_character(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();
	_cleanup_text_ struct text line = TEXT_INIT;

	text_add(&line, "{" TIME ",\"event\":\"syscall\",\"op\":\"");
	for (int i = 0; i < 200; i++)
		text_add(&line, "\xc3\xa9");
	text_add(&line, "\"}");
	expect_eq(take(&f, text_string(&line)), 0);
	expect_eq(f.entry->columns[ENTRY_OP].n_bytes, ENTRY_COLUMN_MAX - 1);
	expect_str(text_string(&f.entry->body), text_string(&line));
}

/* ---- refusals ---- */

static void refuses_what_is_not_one_json_object(void)
{
	expect_refused("", -EBADMSG, "not JSON");
	expect_refused("hello", -EBADMSG, "not JSON at byte 1");
	expect_refused("{" TIME ",\"event\":\"syscall\"", -EBADMSG, "not JSON");
	expect_refused("{" TIME ",\"event\":\"syscall\",}", -EBADMSG, "not JSON");
	expect_refused("{" TIME ",\"event\":\"syscall\"}{}", -EBADMSG, "not JSON");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"a\":\"\xff\"}", -EBADMSG, "not JSON");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"a\":\"\n\"}", -EBADMSG, "not JSON");
	expect_refused("[]", -EINVAL, "not an object");
	expect_refused("\"x\"", -EINVAL, "not an object");
}

static void refuses_an_unknown_event_and_names_the_nearest(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();

	expect_eq(take(&f, "{" TIME ",\"event\":\"syscal\"}"), -EINVAL);
	expect_str(f.err.what, "'syscal' is not an event");
	expect_str(f.err.fix, "did you mean 'syscall'?");
	expect_refused("{" TIME "}", -EINVAL, "no event");
	expect_refused("{" TIME ",\"event\":7}", -EINVAL, "not a string");
	expect_refused("{" TIME ",\"event\":null,\"event_type\":\"syscall\"}", -EINVAL,
		       "not a string");
}

static void refuses_a_record_that_does_not_say_when(void)
{
	static const char *const times[] = {
		"\"2026-01-02T03:04:05\"",
		"\"2026-01-02 03:04:05Z\"",
		"\"2026-02-30T03:04:05Z\"",
		"\"2026-13-02T03:04:05Z\"",
		"\"2026-01-02T24:04:05Z\"",
		"\"2026-01-02T03:04:60Z\"",
		"\"2026-01-02T03:04:05+00:00\"",
		"\"1969-12-31T23:59:59Z\"",
		"\"2026-01-02T03:04:05.Z\"",
		"\"2026-01-02T03:04:05.1234567890Z\"",
		"\"\"",
		"1767323045678",
		"null",
		"\"+026-01-02T03:04:05Z\"",
		"\"2026-01-02T03:04:05Zx\"",
		"\"2026-01-02T03:04:05Z\\u0000\"",
	};
	char line[128];

	expect_refused("{\"event\":\"syscall\"}", -EINVAL, "it has no time");
	for (size_t i = 0; i < N_ELEMENTS(times); i++) {
		(void)snprintf(line, sizeof(line), "{\"event\":\"syscall\",\"time\":%s}", times[i]);
		expect_refused(line, -EINVAL, "RFC 3339");
	}
	expect_refused("{\"event\":\"syscall\",\"timestamp\":-1}", -EINVAL, "not a valid time");
	expect_refused("{\"event\":\"syscall\",\"time\":\"1969-12-31T23:59:59.999999Z\"}", -EINVAL,
		       "RFC 3339");
	expect_refused("{\"event\":\"syscall\",\"timestamp\":1.5}", -EINVAL, "not a valid time");
	expect_refused("{\"event\":\"syscall\",\"timestamp\":253402300800000}", -EINVAL,
		       "not a valid time");
}

static void refuses_a_member_that_is_there_twice(void)
{
	expect_refused("{" TIME ",\"event\":\"syscall\",\"event\":\"syscall\"}", -EINVAL, "twice");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"op\":\"a\",\"o\\u0070\":\"b\"}", -EINVAL,
		       "twice");
}

static void refuses_members_that_only_the_log_writes(void)
{
	expect_refused("{" TIME ",\"event\":\"syscall\",\"commitment\":{}}", -EINVAL,
		       "only sbx-audit");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"writer\":{\"uid\":0}}", -EINVAL,
		       "only sbx-audit");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"wri\\u0074er\":0}", -EINVAL,
		       "only sbx-audit");
}

static void refuses_events_of_the_log_itself_from_clients(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();

	expect_refused("{" TIME ",\"event\":\"audit_archive_deleted\"}", -EINVAL, "only sbx-audit");
	expect_refused("{" TIME ",\"event\":\"log_created\"}", -EINVAL, "only sbx-audit");
	f.options.is_own = true;
	expect_eq(take(&f, "{" TIME ",\"event\":\"audit_archive_deleted\"}"), 0);
	expect_eq(take(&f, "{" TIME ",\"event\":\"syscall\"}"), -EINVAL);
}

static void refuses_a_record_without_what_its_event_needs(void)
{
	expect_refused("{" TIME ",\"event\":\"sandbox_created\"}", -EINVAL, "needs 'sandbox_id'");
	expect_refused("{" TIME ",\"event\":\"policy_decision\",\"verdict\":\"deny\","
		       "\"policy\":\"0\"}",
		       -EINVAL, "needs 'input'");
	expect_refused("{" TIME ",\"event\":\"ring_violation\",\"channel\":\"a\",\"reason\":\"b\"}",
		       -EINVAL, "needs 'peer'");
	expect_refused("{" TIME ",\"event\":\"ring_closed\",\"channel\":\"a\"}", -EINVAL,
		       "needs 'counters'");
}

static void refuses_a_column_of_another_type(void)
{
	expect_refused("{" TIME ",\"event\":\"syscall\",\"op\":7}", -EINVAL,
		       "'op' is not a string");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"verdict\":true}", -EINVAL,
		       "'verdict' is not a string");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"input\":{\"op\":true}}", -EINVAL,
		       "'op' in 'input' is not a string");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"rules\":[{\"name\":5}]}", -EINVAL,
		       "'name' in 'rules' is not a string");
}

static void refuses_half_a_character(void)
{
	expect_refused("{" TIME ",\"event\":\"syscall\",\"a\":\"\\ud800\"}", -EINVAL, "surrogate");
	expect_refused("{" TIME ",\"event\":\"syscall\",\"\\udc00\":1}", -EINVAL, "surrogate");
}

static void refuses_a_record_that_is_too_long_or_has_too_many_members(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();
	_cleanup_text_ struct text line = TEXT_INIT;

	text_add(&line, "{" TIME ",\"event\":\"syscall\",\"a\":\"");
	while (line.len < RECORD_BYTES_MAX - 2)
		text_add_char(&line, 'a');
	text_add(&line, "\"}");
	expect_eq(take(&f, text_string(&line)), 0);
	text_add_char(&line, ' ');
	expect_eq(take(&f, text_string(&line)), -EMSGSIZE);

	text_reset(&line);
	text_add(&line, "{" TIME ",\"event\":\"syscall\"");
	for (int i = 2; i < ENTRY_LINE_MEMBERS_MAX; i++)
		text_addf(&line, ",\"m%d\":0", i);
	text_add(&line, "}");
	expect_eq(take(&f, text_string(&line)), 0);
	text_truncate(&line, line.len - 1);
	text_add(&line, ",\"more\":0}");
	expect_refused(text_string(&line), -EINVAL, "256 members");
}

static void refuses_what_is_nested_too_deeply(void)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	text_add(&line, "{" TIME ",\"event\":\"syscall\",\"a\":");
	for (int i = 0; i < 2000; i++)
		text_add_char(&line, '[');
	expect_refused(text_string(&line), -EINVAL, "not JSON");
}

/* ---- secrets and summaries ---- */

static void expect_no_secret(const struct fixture *f)
{
	expect(strstr(text_string(&f->entry->body), "ghp_") == NULL);
	expect(strstr(text_string(&f->entry->body), "a1B2c3D4") == NULL);
	expect_eq(json_validate(f->entry->body.data, f->entry->body.len, NULL, NULL), 0);
}

static void a_secret_is_gone_wherever_it_stands(void)
{
	static const char *const lines[] = {
		"{" TIME ",\"event\":\"syscall\",\"x\":\"" SECRET "\"}",
		"{" TIME ",\"event\":\"syscall\",\"x\":{\"deep\":[[1,\"a " SECRET " b\"]]}}",
		"{" TIME ",\"event\":\"syscall\",\"x\":{\"" SECRET "\":1}}",
		"{" TIME ",\"event\":\"syscall\",\"x\":\"gh\\u0070_a1B2c3D4e5F6g7H8\"}",
		"{" TIME ",\"event\":\"syscall\",\"x\":\"\\n" SECRET "\\n\"}",
		"{" TIME ",\"event\":\"syscall\",\"op\":\"" SECRET "\"}",
	};

	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		_cleanup_fixture_ struct fixture f = fixture_new();

		expect_eq(take(&f, lines[i]), 0);
		expect_no_secret(&f);
		expect(strstr(text_string(&f.entry->body), REDACTED) != NULL);
		expect_eq(f.entry->n_originals, 1);
	}
}

static void no_message_shows_a_secret(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();

	expect_eq(take(&f, "{" TIME ",\"event\":\"" SECRET "\"}"), -EINVAL);
	expect(strstr(f.err.what, "ghp_") == NULL && strstr(f.err.why, "ghp_") == NULL);
	expect_refused("{" TIME ",\"event\":\"syscall\",\"" SECRET "\":1}", -EINVAL,
		       "name of a member");
}

static void the_commitment_is_the_hash_of_salt_and_value(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();
	_cleanup_text_ struct text wanted = TEXT_INIT;
	struct audit_hash hash;

	expect_eq(take(&f, "{\"a\":1,\"x\":[ \"" SECRET "\" ],\"event\":\"syscall\"," TIME "}"), 0);
	expect_eq(f.entry->n_originals, 1);

	struct entry_original *original = &f.entry->originals[0];
	const struct iovec parts[] = { { original->salt, sizeof(original->salt) },
				       { (void *)"[ \"" SECRET "\" ]", strlen(SECRET) + 6 } };

	expect_eq(original->name.n_bytes, 1);
	expect_eq(original->value.n_bytes, strlen(SECRET) + 6);
	expect_eq(audit_hash_digest(parts, 2, &hash), 0);
	text_add(&wanted, "{\"a\":1,\"x\":[ \"" REDACTED "\" ],\"event\":\"syscall\"," TIME
			  ",\"commitment\":{\"x\":\"");
	for (size_t i = 0; i < sizeof(hash.bytes); i++)
		text_addf(&wanted, "%02x", hash.bytes[i]);
	text_add(&wanted, "\"}}");
	expect_str(text_string(&f.entry->body), text_string(&wanted));
}

static void two_commitments_to_the_same_value_differ(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();
	_cleanup_text_ struct text first = TEXT_INIT;

	expect_eq(take(&f, "{" TIME ",\"event\":\"syscall\",\"x\":\"" SECRET "\"}"), 0);
	text_add(&first, text_string(&f.entry->body));
	expect_eq(take(&f, "{" TIME ",\"event\":\"syscall\",\"x\":\"" SECRET "\"}"), 0);
	expect(strcmp(text_string(&first), text_string(&f.entry->body)) != 0);
	expect_eq(first.len, f.entry->body.len);
}

static void add_summary(struct text *line, const char *name, const char *unit, size_t n)
{
	text_addf(line, "{" TIME ",\"event\":\"tool_result\",\"%s\":\"", name);
	for (size_t i = 0; i < n; i++)
		text_add(line, unit);
	text_add(line, "\"}");
}

static void summaries_end_after_500_characters(void)
{
	static const char *const units[] = { "a", "\xc3\xa9", "\xf0\x9f\x98\x80" };
	static const char *const names[] = { "input_summary", "output_summary" };

	for (size_t i = 0; i < N_ELEMENTS(units); i++) {
		_cleanup_fixture_ struct fixture f = fixture_new();
		_cleanup_text_ struct text line = TEXT_INIT, wanted = TEXT_INIT;

		add_summary(&line, names[i % 2], units[i], 501);
		add_summary(&wanted, names[i % 2], units[i], 500);
		expect_eq(take(&f, text_string(&line)), 0);
		expect_str(text_string(&f.entry->body), text_string(&wanted));
		expect_eq(take(&f, text_string(&wanted)), 0);
		expect_str(text_string(&f.entry->body), text_string(&wanted));
	}
}

static void a_summary_of_escapes_is_counted_in_characters(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();
	_cleanup_text_ struct text line = TEXT_INIT;

	add_summary(&line, "input_summary", "\\u00e9", 500);
	expect_eq(take(&f, text_string(&line)), 0);
	expect_str(text_string(&f.entry->body), text_string(&line));
	text_reset(&line);
	add_summary(&line, "input_summary", "\\n", 600);
	expect_eq(take(&f, text_string(&line)), 0);
	text_reset(&line);
	add_summary(&line, "input_summary", "\\n", 500);
	expect_str(text_string(&f.entry->body), text_string(&line));
}

static void a_secret_across_the_end_of_a_summary_is_gone(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();
	_cleanup_text_ struct text line = TEXT_INIT;

	text_add(&line, "{" TIME ",\"event\":\"tool_result\",\"input_summary\":\"");
	for (int i = 0; i < 492; i++)
		text_add_char(&line, '.');
	text_add(&line, SECRET " and more behind it\"}");
	expect_eq(take(&f, text_string(&line)), 0);
	expect_no_secret(&f);
	expect(strstr(text_string(&f.entry->body), "..[REDACTE\"") != NULL);
	expect_eq(f.entry->n_originals, 1);
}

static void another_member_is_not_cut(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();
	_cleanup_text_ struct text line = TEXT_INIT;

	add_summary(&line, "summary_of_input", "a", 600);
	expect_eq(take(&f, text_string(&line)), 0);
	expect_str(text_string(&f.entry->body), text_string(&line));
}

/* ---- members that the log adds ---- */

static void the_time_and_the_writer_are_added_where_they_are_known(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new();

	f.options.now_usec = TIME_USEC;
	expect_eq(take(&f, "{\"event\":\"syscall\"}"), 0);
	expect_str(text_string(&f.entry->body), "{\"event\":\"syscall\"," TIME "}");
	expect_eq(f.entry->time_usec, TIME_USEC);
	f.options.has_writer = true;
	f.options.uid = 1000;
	f.options.pid = 7;
	expect_eq(take(&f, "{\"event\":\"syscall\",\"time\":\"2025-01-01T00:00:00Z\"}"), 0);
	expect_str(text_string(&f.entry->body),
		   "{\"event\":\"syscall\",\"time\":\"2025-01-01T00:00:00Z\","
		   "\"writer\":{\"uid\":1000,\"pid\":7}}");
	expect_eq(take(&f, "{\"event\":\"syscall\",\"timestamp\":1}"), 0);
	expect(strstr(text_string(&f.entry->body), "\"time\"") == NULL);
	f.options.confined = "unknown";
	f.options.ring = "0123456789abcdef";
	expect_eq(take(&f, "{\"event\":\"syscall\",\"timestamp\":1}"), 0);
	expect_str(text_string(&f.entry->body),
		   "{\"event\":\"syscall\",\"timestamp\":1,\"writer\":{\"uid\":1000,\"pid\":7,"
		   "\"confined\":\"unknown\",\"ring\":\"0123456789abcdef\"}}");
	f.options.ring = NULL;
	expect_eq(take(&f, "{\"event\":\"syscall\",\"timestamp\":1}"), 0);
	expect(strstr(text_string(&f.entry->body), "\"ring\"") == NULL);
}

static void the_stored_bytes_give_the_same_columns_again(void)
{
	_cleanup_fixture_ struct fixture f = fixture_new(), again = fixture_new();

	expect_eq(take(&f, "{" TIME ",\"event\":\"syscall\",\"op\":\"fs.\\u0072ead\",\"verdict\":"
			   "\"denied\",\"rule\":\"r " SECRET "\",\"sandbox_id\":\"s\",\"caller\":"
			   "\"user\"}"),
		  0);
	expect_eq(entry_read_stored(again.entry, f.entry->body.data, f.entry->body.len, NULL), 0);
	expect_eq(again.entry->time_usec, f.entry->time_usec);
	expect(again.entry->event == f.entry->event);
	expect_column(&f, ENTRY_OP, "fs.read");
	expect_column(&f, ENTRY_DECISION, "deny");
	expect_column(&f, ENTRY_RULE, "r " REDACTED);
	for (int i = 0; i < N_ENTRY_COLUMNS; i++) {
		const struct entry_text *a = &f.entry->columns[i], *b = &again.entry->columns[i];

		expect(a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0);
	}
}

/* A line without white space between its members is copied; any other is rewritten. */
static void space_between_members_changes_nothing(void)
{
	static const char *const rests[] = {
		("\"event\":\"policy_decision\"," TIME ",\"verdict\":\"deny\",\"policy\":\"00\","
		 "\"input\":{\"op\":\"fs.read\",\"caller\":\"c\"},\"rules\":[{\"name\":\"r\"}],"
		 "\"peer\":{\"pid\":1,\"sandbox_id\":\"s\"}}"),
		("\"timestamp\":1767323045678,\"event_type\":\"tool_result\",\"caller\":{\"name\":\"n\"},"
		 "\"policy_decision\":\"denied\",\"output_summary\":\"short\"}"),
		"\"event\":\"syscall\",\"op\":\"x\"}",
	};
	_cleanup_fixture_ struct fixture tight = fixture_new(), spaced = fixture_new();

	tight.options.now_usec = spaced.options.now_usec = TIME_USEC;
	tight.options.has_writer = spaced.options.has_writer = true;
	for (size_t i = 0; i < N_ELEMENTS(rests); i++) {
		char line[512];

		tight.options.pid = spaced.options.pid = (int)i;
		(void)snprintf(line, sizeof(line), "{%s", rests[i]);
		expect_eq(take(&tight, line), 0);
		(void)snprintf(line, sizeof(line), "{ %s", rests[i]);
		expect_eq(take(&spaced, line), 0);
		expect_str(text_string(&tight.entry->body), text_string(&spaced.entry->body));
		expect(tight.entry->event == spaced.entry->event);
		expect_eq(tight.entry->time_usec, spaced.entry->time_usec);
		for (enum entry_column column = 0; column < N_ENTRY_COLUMNS; column++) {
			const struct entry_text *wanted = &spaced.entry->columns[column];
			_cleanup_text_ struct text text = TEXT_INIT;

			text_add_bytes(&text, wanted->bytes ? wanted->bytes : "", wanted->n_bytes);
			expect_column(&tight, column, wanted->bytes ? text_string(&text) : NULL);
		}
	}
}

/* The log must be able to read the members that it adds. */
static void what_the_log_adds_does_not_count_as_members_of_the_line(void)
{
	static const char *const firsts[] = {
		TIME,
		"\"a\":0",
		"\"a\":\"ghp_000000000000000000000000000000000007\"",
		" \"a\":\"ghp_000000000000000000000000000000000007\"",
	};

	for (size_t first = 0; first < N_ELEMENTS(firsts); first++) {
		_cleanup_fixture_ struct fixture f = fixture_new();
		_cleanup_text_ struct text line = TEXT_INIT;

		f.options.has_writer = true;
		f.options.now_usec = 1;
		text_addf(&line, "{%s,\"event\":\"syscall\"", firsts[first]);
		for (int i = 2; i < ENTRY_LINE_MEMBERS_MAX; i++)
			text_addf(&line, ",\"m%d\":0", i);
		text_add_char(&line, '}');
		expect_eq(take(&f, text_string(&line)), 0);
		expect_eq(entry_read_stored(f.entry, f.entry->body.data, f.entry->body.len, NULL),
			  0);
		expect_eq(f.entry->n_members, first == 0
						      ? ENTRY_LINE_MEMBERS_MAX + 1
						      : ENTRY_LINE_MEMBERS_MAX + 2 + (first > 1));
		text_truncate(&line, line.len - 1);
		text_add(&line, ",\"more\":0}");
		expect_eq(take(&f, text_string(&line)), -EINVAL);
		expect_str(f.err.why, "it has more than 256 members");
	}
}

static const struct test tests[] = {
	TEST(a_line_without_secrets_is_stored_as_it_was_written),
	TEST(a_record_is_one_line_whatever_it_came_as),
	TEST(columns_are_found_where_each_tool_puts_them),
	TEST(nothing_of_the_record_before_is_left_in_the_columns),
	TEST(a_column_ends_at_a_character),
	TEST(refuses_what_is_not_one_json_object),
	TEST(refuses_an_unknown_event_and_names_the_nearest),
	TEST(refuses_a_record_that_does_not_say_when),
	TEST(refuses_a_member_that_is_there_twice),
	TEST(refuses_members_that_only_the_log_writes),
	TEST(refuses_events_of_the_log_itself_from_clients),
	TEST(refuses_a_record_without_what_its_event_needs),
	TEST(refuses_a_column_of_another_type),
	TEST(refuses_half_a_character),
	TEST(refuses_a_record_that_is_too_long_or_has_too_many_members),
	TEST(refuses_what_is_nested_too_deeply),
	TEST(a_secret_is_gone_wherever_it_stands),
	TEST(no_message_shows_a_secret),
	TEST(the_commitment_is_the_hash_of_salt_and_value),
	TEST(two_commitments_to_the_same_value_differ),
	TEST(summaries_end_after_500_characters),
	TEST(a_summary_of_escapes_is_counted_in_characters),
	TEST(a_secret_across_the_end_of_a_summary_is_gone),
	TEST(another_member_is_not_cut),
	TEST(the_time_and_the_writer_are_added_where_they_are_known),
	TEST(the_stored_bytes_give_the_same_columns_again),
	TEST(space_between_members_changes_nothing),
	TEST(what_the_log_adds_does_not_count_as_members_of_the_line),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
