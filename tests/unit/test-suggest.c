/* SPDX-License-Identifier: MIT */
#include "base/suggest.h"

#include <sbx/error.h>

#include "base/cleanup.h"

#include "base/text.h"
#include "test.h"

static const char *const words[] = { "policy", "print-plan",	    "quiet", "json",
				     "p",      "network_whitelist", NULL };

static void finds_the_word_that_was_meant(void)
{
	static const struct {
		const char *typed, *meant;
	} rows[] = {
		{ "polcy", "policy" },
		{ "policyy", "policy" },
		{ "ploicy", "policy" },
		{ "POLICY", "policy" },
		{ "print_plan", "print-plan" },
		{ "quite", "quiet" },
		{ "jsn", "json" },
		{ "network_whitelst", "network_whitelist" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		expect_str(suggest_from(rows[i].typed, words), rows[i].meant);
}

static void does_not_guess_wildly(void)
{
	static const char *const typed[] = { "", "x", "memory", "zzzzzz", "no", "netw" };

	for (size_t i = 0; i < N_ELEMENTS(typed); i++)
		expect(suggest_from(typed[i], words) == NULL);
}

static void prefers_the_nearest(void)
{
	static const char *const near[] = { "reads", "read", "red", NULL };

	expect_str(suggest_from("raed", near), "read");
	expect_str(suggest_from("readss", near), "reads");
}

static void words_that_are_too_long_have_no_neighbours(void)
{
	char typed[200];

	memset(typed, 'a', sizeof(typed));
	typed[sizeof(typed) - 1] = '\0';
	expect(suggest_from(typed, words) == NULL);
	typed[65] = '\0';
	expect(suggest_from(typed, (const char *const[]){ typed, NULL }) == NULL);
	typed[64] = '\0';
	expect_str(suggest_from(typed, (const char *const[]){ typed, NULL }), typed);
}

static void an_empty_list_has_no_answer(void)
{
	expect(suggest_from("policy", (const char *const[]){ NULL }) == NULL);
}

static void a_near_word_is_the_fix_of_an_error(void)
{
	static const char *const verbs[] = { "read", "write", NULL };
	struct sbx_error err = { .code = 0 };

	expect(!suggest_fix_from(&err, "q", verbs));
	expect_str(err.fix, "");
	expect(suggest_fix_from(&err, "raed", verbs));
	expect_str(err.fix, "did you mean 'read'?");
}

static void lists_all_words(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	suggest_add_all_from(&text, (const char *const[]){ NULL });
	expect_str(text_string(&text), "");
	suggest_add_all_from(&text, (const char *const[]){ "a", NULL });
	suggest_add_all_from(&text, (const char *const[]){ "b", "c", "d", NULL });
	expect_str(text_string(&text), "ab, c, d");
}

static const struct test tests[] = {
	TEST(finds_the_word_that_was_meant),
	TEST(does_not_guess_wildly),
	TEST(prefers_the_nearest),
	TEST(words_that_are_too_long_have_no_neighbours),
	TEST(an_empty_list_has_no_answer),
	TEST(a_near_word_is_the_fix_of_an_error),
	TEST(lists_all_words),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
