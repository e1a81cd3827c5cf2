/* SPDX-License-Identifier: MIT */

#include "audit/redact.h"

#include <errno.h>
#include <stdio.h>

#include <sbx/error.h>

#include "base/text.h"
#include "test.h"

/* Tokens are concatenated, so that secret scanners do not report this file. */
#define BODY "a1B2c3D4e5F6g7H8i9J0"

static struct redactor *redactor_with(const char *const *patterns, size_t n)
{
	struct redactor *redactor = NULL;
	struct sbx_error err = { 0 };

	expect_eq(redactor_new(patterns, n, &redactor, &err), 0);
	return redactor;
}

static void expect_clean(const struct redactor *redactor, const char *text, const char *wanted)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	int r;

	text_add(&out, ">");
	r = redactor_clean(redactor, text, strlen(text), &out);
	expect_eq(r, wanted != NULL);
	expect_str(text_string(&out) + 1, wanted ? wanted : "");
	/* The redactor must only change what redactor_suspects() reports. */
	expect(redactor_suspects(redactor, text, strlen(text)) || !wanted);
}

static void every_known_prefix_is_cut_out(void)
{
	static const char *const known[] = { "sk-",   "ghp_",	"gho_", "xox-",	 "xoxb-",
					     "xoxp-", "glpat-", "npm_", "xoxz-", NULL };
	_cleanup_redactor_ struct redactor *redactor = redactor_with(NULL, 0);

	for (const char *const *prefix = known; *prefix; prefix++) {
		char text[96], wanted[96];

		(void)snprintf(text, sizeof(text), "key=%s" BODY ", next", *prefix);
		(void)snprintf(wanted, sizeof(wanted), "key=%s, next", REDACTED);
		expect_clean(redactor, text, wanted);
		(void)snprintf(text, sizeof(text), "%s" BODY, *prefix);
		expect_clean(redactor, text, REDACTED);
	}
	expect_clean(redactor,
		     "AKIA"
		     "IOSFODNN7EXAMPLE",
		     REDACTED);
}

/* Texts of pieces in which prefixes begin and break off, with secrets between them. */
static void secrets_are_found_anywhere_in_random_text(void)
{
	static const char *const pieces[] = { "s.",    "sk ", "np.", "gh ", "AKI ", "xo ",
					      "glpa ", "7 ",  "{",   "\"",  ".",    "ghp " };
	static const char *const prefixes[] = { "sk-",	"npm_",	 "ghp_",   "gho_",
						"xox-", "xoxb-", "glpat-", "AKIA" };
	static const char *const bodies[] = { "A1B2C3D4E5", "0123456789", "ABCDEFGH9" };
	_cleanup_redactor_ struct redactor *redactor = redactor_with(NULL, 0);
	uint32_t random = 1;

	for (unsigned i = 0; i < 20000; i++) {
		_cleanup_text_ struct text text = TEXT_INIT, wanted = TEXT_INIT;
		bool has_secret = false;

		for (unsigned n = i % 40; n > 0; n--) {
			const char *piece = pieces[(random >> 8) % N_ELEMENTS(pieces)];

			random = random * 1664525 + 1013904223;
			text_add(&text, piece);
			text_add(&wanted, piece);
			if ((random >> 24) % 8 != 0)
				continue;
			has_secret = true;
			text_add(&text, prefixes[(random >> 8) % N_ELEMENTS(prefixes)]);
			text_add(&text, bodies[(random >> 16) % N_ELEMENTS(bodies)]);
			text_add(&text, " ");
			text_addf(&wanted, "%s ", REDACTED);
		}
		expect_clean(redactor, text_string(&text),
			     has_secret ? text_string(&wanted) : NULL);
	}
}

static void a_prefix_is_suspected_wherever_it_stands(void)
{
	static const char *const known[] = { "sk-",    "npm_", "ghp_",	"gho_",
					     "glpat-", "AKIA", "xoxq-", "xox-" };
	_cleanup_redactor_ struct redactor *redactor = redactor_with(NULL, 0);

	for (size_t i = 0; i < N_ELEMENTS(known); i++)
		for (size_t n = strlen(known[i]); n < 80; n++) {
			char text[80];

			for (size_t at = 0; at + strlen(known[i]) <= n; at++) {
				memset(text, '.', sizeof(text));
				memcpy(text + at, known[i], strlen(known[i]));
				expect(redactor_suspects(redactor, text, n));
				/* A token that the end of the buffer cuts off does not match,
				 * whatever bytes follow. */
				expect(!redactor_suspects(redactor, text,
							  at + strlen(known[i]) - 1));
			}
		}
}

static void every_secret_of_a_text_is_cut_out(void)
{
	_cleanup_redactor_ struct redactor *redactor = redactor_with(NULL, 0);

	expect_clean(redactor, "ghp_" BODY " gho_" BODY "\nglpat-" BODY "!",
		     REDACTED " " REDACTED "\n" REDACTED "!");
	expect_clean(redactor, "ghp_" BODY ",sk-" BODY, REDACTED "," REDACTED);
}

static void ordinary_words_with_a_prefix_in_them_stay(void)
{
	static const char *const ordinary[] = {
		"task-1234567890abcdef",
		"disk-usage",
		"sk-SK",
		"npm_config_cache=/tmp",
		"npm_execpath",
		"sk-",
		"ghp_",
		"AKIA",
		"xoxo-hugs",
		"risk-based",
		"glpat-ab",
		"",
		"a",
		NULL,
	};
	_cleanup_redactor_ struct redactor *redactor = redactor_with(NULL, 0);

	for (const char *const *text = ordinary; *text; text++)
		expect_clean(redactor, *text, NULL);
}

static void bytes_beside_the_secret_stay_as_they_are(void)
{
	static const char bytes[] = "\xc3\xa9\0sk-" BODY "\xe2\x82\xac";
	_cleanup_redactor_ struct redactor *redactor = redactor_with(NULL, 0);
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(redactor_clean(redactor, bytes, sizeof(bytes) - 1, &out), 1);
	expect_eq(out.len, 3 + strlen(REDACTED) + 3);
	expect(out.len == 16 && memcmp(out.data, "\xc3\xa9\0" REDACTED "\xe2\x82\xac", 16) == 0);
}

static void a_pattern_of_the_users_is_cut_out(void)
{
	static const char *const patterns[] = { "(?i)password\\s*=\\s*\\S+",
						"\\b\\d{4}-\\d{4}\\b" };
	_cleanup_redactor_ struct redactor *redactor = redactor_with(patterns, 2);

	expect_clean(redactor, "PassWord = hunter2 and 1234-5678.", REDACTED " and " REDACTED ".");
	expect_clean(redactor, "nothing here", NULL);
	expect_clean(redactor, "sk-" BODY " 1234-5678", REDACTED " " REDACTED);
	expect_clean(redactor, "caf\xc3\xa9 1111-2222", "caf\xc3\xa9 " REDACTED);
}

static void a_pattern_that_matches_nothing_at_all_changes_nothing(void)
{
	static const char *const patterns[] = { "x*" };
	_cleanup_redactor_ struct redactor *redactor = redactor_with(patterns, 1);

	expect_clean(redactor, "abc", NULL);
	expect_clean(redactor, "axxb", "a" REDACTED "b");
}

static void a_search_that_is_too_expensive_hides_the_whole_text(void)
{
	static const char *const patterns[] = { "(a+)+$" };
	_cleanup_redactor_ struct redactor *redactor = redactor_with(patterns, 1);
	char text[64];

	memset(text, 'a', sizeof(text) - 2);
	text[sizeof(text) - 2] = 'b';
	text[sizeof(text) - 1] = '\0';
	expect_clean(redactor, text, REDACTED);
}

static void a_match_that_starts_behind_its_end_hides_the_whole_text(void)
{
	static const char *const patterns[] = { "(?=ab\\K)a" };
	_cleanup_redactor_ struct redactor *redactor = NULL;
	_cleanup_text_ struct text out = TEXT_INIT;

	/* Newer releases of PCRE2 refuse the pattern itself. */
	if (redactor_new(patterns, 1, &redactor, NULL) < 0)
		return;
	expect_eq(redactor_clean(redactor, "xabx", 4, &out), 1);
	expect_str(text_string(&out), REDACTED);
}

static void a_pattern_that_is_none_is_refused_with_its_place(void)
{
	static const char *const patterns[] = { "fine", "broken(" };
	struct redactor *redactor = NULL;
	struct sbx_error err = { 0 };

	expect_eq(redactor_new(patterns, 2, &redactor, &err), -EINVAL);
	expect(redactor == NULL);
	expect(strstr(err.what, "'broken('") != NULL);
	expect(strstr(err.why, "at character 8") != NULL);
	expect(err.fix[0] != '\0');
}

static void patterns_that_are_empty_or_too_many_are_refused(void)
{
	const char *many[REDACT_PATTERNS_MAX + 1];
	_cleanup_redactor_ struct redactor *fits = NULL;
	struct redactor *redactor = NULL;
	struct sbx_error err = { 0 };
	char *giant = calloc(1, REDACT_PATTERN_BYTES_MAX + 2);

	for (size_t i = 0; i < N_ELEMENTS(many); i++)
		many[i] = "a";
	expect_eq(redactor_new(many, N_ELEMENTS(many), &redactor, &err), -EINVAL);
	expect_eq(redactor_new(many, N_ELEMENTS(many) - 1, &fits, &err), 0);
	many[0] = "";
	expect_eq(redactor_new(many, 1, &redactor, &err), -EINVAL);
	if (giant)
		memset(giant, 'a', REDACT_PATTERN_BYTES_MAX + 1);
	many[0] = giant;
	expect_eq(redactor_new(many, 1, &redactor, NULL), -EINVAL);
	expect(redactor == NULL);
	free(giant);
}

static const struct test tests[] = {
	TEST(every_known_prefix_is_cut_out),
	TEST(secrets_are_found_anywhere_in_random_text),
	TEST(a_prefix_is_suspected_wherever_it_stands),
	TEST(every_secret_of_a_text_is_cut_out),
	TEST(ordinary_words_with_a_prefix_in_them_stay),
	TEST(bytes_beside_the_secret_stay_as_they_are),
	TEST(a_pattern_of_the_users_is_cut_out),
	TEST(a_pattern_that_matches_nothing_at_all_changes_nothing),
	TEST(a_search_that_is_too_expensive_hides_the_whole_text),
	TEST(a_match_that_starts_behind_its_end_hides_the_whole_text),
	TEST(a_pattern_that_is_none_is_refused_with_its_place),
	TEST(patterns_that_are_empty_or_too_many_are_refused),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
