/* SPDX-License-Identifier: MIT */

#include "server/facts.h"

#include <errno.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "test.h"

#define _cleanup_facts_ _cleanup_(facts_free_all)

static void replaces_every_claim_of_a_request_by_the_facts(void)
{
	static const char claims[] =
		"{\"op\":\"fs.write\",\"path\":\"/a\",\"project\":\"/\",\"caller\":\"c\","
		"\"tags\":[\"t\"],\"state\":\"s\",\"mode\":\"m\",\"sandbox\":\"L2\","
		"\"sandbox_id\":\"box9\",\"size\":3}";
	_cleanup_facts_ struct facts *list = NULL;
	_cleanup_request_ struct request_buffer buffer = { .id = NULL };
	_cleanup_text_ struct text input = TEXT_INIT;
	struct facts *facts = NULL;

	expect_eq(facts_add(&list, "box1", &facts, NULL), 0);
	expect_eq(facts_set(facts, "project=/srv/p", NULL), 0);
	expect_eq(facts_set(facts, "tag=one", NULL), 0);
	expect_eq(facts_set(facts, "tag=two", NULL), 0);
	expect_eq(facts_set(facts, "sandbox=L1", NULL), 0);
	expect_eq(request_parse(claims, strlen(claims), &buffer, NULL), 0);
	facts_overrule(facts, &buffer);
	request_add_json(&input, &buffer);
	expect_str(text_string(&input),
		   "{\"op\":\"fs.write\",\"path\":\"/a\",\"project\":\"/srv/p\","
		   "\"tags\":[\"one\",\"two\"],\"sandbox\":\"L1\",\"sandbox_id\":\"box1\","
		   "\"size\":3}");
	text_reset(&input);
	facts_overrule(NULL, &buffer);
	request_add_json(&input, &buffer);
	expect_str(text_string(&input), "{\"op\":\"fs.write\",\"path\":\"/a\",\"size\":3}");
}

static void refuses_ids_that_could_be_something_else(void)
{
	static const char *const ids[] = { "", "a/b", "..", "a b", "a:b", "a=b", "ü", "a\nb" };
	_cleanup_facts_ struct facts *list = NULL;
	char longest[66];
	struct facts *facts;

	for (size_t i = 0; i < N_ELEMENTS(ids); i++)
		expect_eq(facts_add(&list, ids[i], &facts, NULL), -EINVAL);
	memset(longest, 'a', 65);
	longest[65] = '\0';
	expect_eq(facts_add(&list, longest, &facts, NULL), -EINVAL);
	longest[64] = '\0';
	expect_eq(facts_add(&list, longest, &facts, NULL), 0);
	expect_eq(facts_add(&list, longest, &facts, NULL), -EEXIST);
}

static void finds_a_sandbox_by_its_whole_id(void)
{
	_cleanup_facts_ struct facts *list = NULL;
	struct facts *one, *two;

	expect_eq(facts_add(&list, "box", &one, NULL), 0);
	expect_eq(facts_add(&list, "box1", &two, NULL), 0);
	expect(facts_find(list, "box1", 4) == two);
	expect(facts_find(list, "box1", 3) == one);
	expect(facts_find(list, "bo", 2) == NULL);
}

static void refuses_facts_that_are_none(void)
{
	static const struct {
		const char *word, *why;
	} rows[] = {
		{ "project=srv", "absolute" }, { "project=/srv/", "absolute" },
		{ "caller=", "no value" },     { "callr=x", "no fact has this name" },
		{ "caller", "no fact has" },   { "mode=b", "twice" },
	};
	_cleanup_facts_ struct facts *list = NULL;
	struct facts *facts = NULL;

	expect_eq(facts_add(&list, "box", &facts, NULL), 0);
	expect_eq(facts_set(facts, "mode=a", NULL), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct sbx_error err = { .code = 0 };

		expect(facts_set(facts, rows[i].word, &err) < 0);
		expect(strstr(err.why, rows[i].why) != NULL && err.fix[0] != '\0');
	}
	expect(facts->texts[FACT_CALLER] == NULL && facts->texts[FACT_PROJECT] == NULL);
}

static void takes_as_many_tags_as_a_request(void)
{
	_cleanup_facts_ struct facts *list = NULL;
	struct facts *facts = NULL;

	expect_eq(facts_add(&list, "box", &facts, NULL), 0);
	for (int i = 0; i < REQUEST_TAGS_MAX; i++)
		expect_eq(facts_set(facts, "tag=x", NULL), 0);
	expect_eq(facts_set(facts, "tag=x", NULL), -E2BIG);
	expect(facts->tags[REQUEST_TAGS_MAX] == NULL);
}

static const struct test tests[] = {
	TEST(replaces_every_claim_of_a_request_by_the_facts),
	TEST(refuses_ids_that_could_be_something_else),
	TEST(finds_a_sandbox_by_its_whole_id),
	TEST(refuses_facts_that_are_none),
	TEST(takes_as_many_tags_as_a_request),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
