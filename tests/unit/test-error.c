/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>

#include "base/json.h"
#include "base/text.h"

#include "test.h"

static void prints_three_lines(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	expect_eq(sbx_error_what(&err, -ENOENT, "cannot bind '%s'", "/srv"), -ENOENT);
	sbx_error_why(&err, "p.yaml:%d names it", 14);
	sbx_error_fix(&err, "create it");
	error_add_text(&text, "sbx-spawn", &err);
	expect_str(text_string(&text),
		   "sbx-spawn: cannot bind '/srv'\n  why: p.yaml:14 names it\n  fix: create it\n");
}

static void the_reason_defaults_to_the_errno(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -ENOENT, "cannot open 'x'");
	error_add_text(&text, "t", &err);
	expect_str(text_string(&text), "t: cannot open 'x'\n  why: No such file or directory\n");
}

/* Without a why nobody knew the cause, and a fix for the path would mislead. */
static void too_many_open_files_are_not_the_fault_of_a_path(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EMFILE, "cannot open 'x'");
	sbx_error_fix(&err, "remove it");
	error_add_text(&text, "t", &err);
	expect_str(text_string(&text), "t: cannot open 'x'\n  why: Too many open files\n"
				       "  fix: raise the limit of open files (ulimit -n)\n");
	text_reset(&text);
	err.code = -ENFILE;
	error_add_json(&text, &err);
	expect(strstr(text_string(&text), "\"fix\":\"stop other programs, or raise the sysctl"));
	text_reset(&text);
	sbx_error_why(&err, "it is the 9th");
	error_add_text(&text, "t", &err);
	expect(strstr(text_string(&text), "fix: remove it\n"));
}

static void the_json_form_has_the_same_parts(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EINVAL, "bad \"x\"");
	sbx_error_why(&err, "because");
	sbx_error_context(&err, "state: new");
	error_add_json(&text, &err);
	expect_str(text_string(&text), "{\"level\":\"error\",\"what\":\"bad \\\"x\\\"\",\"why\":"
				       "\"because\",\"context\":\"state: new\"}\n");
}

static void the_closing_line_is_the_fix(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EINVAL, "a");
	sbx_error_fix(&err, "d");
	sbx_error_context(&err, "c");
	sbx_error_why(&err, "b");
	error_add_text(&text, "t", &err);
	expect_str(text_string(&text), "t: a\n  why: b\n  context: c\n  fix: d\n");
}

static void retelling_keeps_the_reason_and_the_fix(void)
{
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EINVAL, "old");
	sbx_error_why(&err, "reason");
	sbx_error_fix(&err, "fix");
	expect_eq(error_retell(&err, -EIO, "x.yaml:1: %s", err.what), -EIO);
	expect_eq(err.code, -EIO);
	expect_str(err.what, "x.yaml:1: old");
	expect_str(err.why, "reason");
	expect_str(err.fix, "fix");
	expect_eq(error_retell(NULL, -EIO, "x"), -EIO);
}

static void a_new_error_forgets_the_one_before(void)
{
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EINVAL, "first");
	sbx_error_why(&err, "old reason");
	sbx_error_fix(&err, "old fix");
	(void)sbx_error_what(&err, -EIO, "second");
	expect_str(err.why, "");
	expect_str(err.fix, "");
	expect_eq(err.code, -EIO);
}

static void a_fix_names_the_sandbox_that_it_is_for(void)
{
	struct sbx_error err = { .code = 0 };

	error_fix_for(&err, "stop it: 'sbx-ctl stop ID', or sbx-ctl remove ID", "a-1");
	expect_str(err.fix, "stop it: 'sbx-ctl stop a-1', or sbx-ctl remove a-1");
	error_fix_for(&err, "an IDentity of ID is no ID", "x");
	expect_str(err.fix, "an IDentity of x is no x");
	error_fix_for(&err, "see 'sbx-ctl list'", "x");
	expect_str(err.fix, "see 'sbx-ctl list'");
	error_fix_for(NULL, "ID ID", "x");
}

static void accepts_a_null_error(void)
{
	expect_eq(sbx_error_what(NULL, -EIO, "x"), -EIO);
	sbx_error_why(NULL, "x");
	sbx_error_fix(NULL, "x");
	sbx_error_context(NULL, "x");
}

static void a_long_text_ends_in_dots_at_a_character(void)
{
	char long_text[SBX_ERROR_TEXT_SIZE * 2];
	struct sbx_error err = { .code = 0 };

	for (size_t shift = 0; shift < 4; shift++) {
		size_t at = 0;

		memset(long_text, 'a', shift);
		for (at = shift; at + 4 < sizeof(long_text); at += 3)
			memcpy(long_text + at, "\xe2\x82\xac", 3);
		long_text[at] = '\0';
		(void)sbx_error_what(&err, -EINVAL, "%s", long_text);
		expect(strlen(err.what) < SBX_ERROR_TEXT_SIZE);
		expect_str(err.what + strlen(err.what) - 3, "...");
		for (size_t i = 0; err.what[i] != '\0';) {
			size_t len = utf8_sequence(err.what + i, strlen(err.what + i));

			expect(len > 0);
			i += len > 0 ? len : 1;
		}
	}
}

static void a_text_that_just_fits_is_not_cut(void)
{
	char text[SBX_ERROR_TEXT_SIZE];
	struct sbx_error err = { .code = 0 };

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)sbx_error_what(&err, -EINVAL, "%s", text);
	expect_str(err.what, text);
}

static void a_hostile_name_cannot_act_on_the_terminal(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -ENOENT, "cannot open '%s'", "\033]0;owned\a\n  fix: run rm");
	sbx_error_why(&err, "x");
	error_add_text(&text, "t", &err);
	expect(strchr(text_string(&text), '\033') == NULL);
	expect_str(text_string(&text),
		   "t: cannot open '\\x1b]0;owned\\x07\\x0a  fix: run rm'\n  why: x\n");
}

static void a_hostile_name_still_makes_valid_json(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -ENOENT, "cannot open '%s'", "\xff\"\n\033");
	error_add_json(&text, &err);
	expect_eq(json_validate(text_string(&text), text.len, NULL, NULL), 0);
}

static void a_fix_has_a_whole_word_or_none(void)
{
	struct sbx_error err = { .code = 0 };
	char path[401];

	error_fix_word(&err, "create it: mkdir -p ", "/a b", ", or not");
	expect_str(err.fix, "create it: mkdir -p '/a b', or not");
	memset(path, ' ', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	error_fix_word(&err, "create it: mkdir -p ", path, ", or not");
	expect_str(err.fix, "create it: mkdir -p PATH, or not");
}

static const struct test tests[] = {
	TEST(a_fix_has_a_whole_word_or_none),
	TEST(prints_three_lines),
	TEST(the_reason_defaults_to_the_errno),
	TEST(too_many_open_files_are_not_the_fault_of_a_path),
	TEST(the_json_form_has_the_same_parts),
	TEST(the_closing_line_is_the_fix),
	TEST(retelling_keeps_the_reason_and_the_fix),
	TEST(a_new_error_forgets_the_one_before),
	TEST(a_fix_names_the_sandbox_that_it_is_for),
	TEST(accepts_a_null_error),
	TEST(a_long_text_ends_in_dots_at_a_character),
	TEST(a_text_that_just_fits_is_not_cut),
	TEST(a_hostile_name_cannot_act_on_the_terminal),
	TEST(a_hostile_name_still_makes_valid_json),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
