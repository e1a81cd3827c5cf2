/* SPDX-License-Identifier: MIT */

#include "spawn/door-request.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "test.h"

static int parse(const char *text, char ***ret)
{
	const char *problem = NULL;
	int r = door_parse_request(text, strlen(text), ret, &problem);

	expect((r < 0) == (problem != NULL));
	return r;
}

static void takes_words_as_they_are(void)
{
	_cleanup_free_ char **argv = NULL;

	expect_eq(parse(" {\"exec\" : [\"sh\", \"-c\", \"\", \"a \\\"b\\\" \\u00e4\"]}\n", &argv),
		  0);
	expect_str(argv[0], "sh");
	expect_str(argv[1], "-c");
	expect_str(argv[2], "");
	expect_str(argv[3], "a \"b\" \xc3\xa4");
	expect(argv[4] == NULL);
}

static void refuses(const char *text)
{
	char **argv = (char **)1;

	expect_eq(parse(text, &argv), -EBADMSG);
	expect(argv == (char **)1);
}

static void refuses_what_is_no_request(void)
{
	refuses("");
	refuses("x");
	refuses("[]");
	refuses("{}");
	refuses("{\"exec\"}");
	refuses("{\"exec\":\"sh\"}");
	refuses("{\"exec\":{}}");
	refuses("{\"exec\":null}");
	refuses("{\"exec\":[]}");
	refuses("{\"exec\":[1]}");
	refuses("{\"exec\":[\"sh\",null]}");
	refuses("{\"exec\":[\"sh\",[\"x\"]]}");
	refuses("{\"exec\":[\"sh\"]");
	refuses("{\"exec\":[\"sh\"");
	refuses("{\"exe\":[\"sh\"]}");
	refuses("{\"exec\":[\"sh\"]}x");
}

static void refuses_what_it_would_not_carry_out(void)
{
	refuses("{\"exec\":[\"sh\"],\"user\":0}");
	refuses("{\"exec\":[\"sh\"],\"exec\":[\"sh\"]}");
	refuses("{\"exec\":[\"sh\"]}{\"exec\":[\"sh\"]}");
}

static void refuses_words_that_execve_would_cut(void)
{
	refuses("{\"exec\":[\"sh\",\"a\\u0000b\"]}");
	refuses("{\"exec\":[\"\\ud800\"]}");
}

static void refuses_too_many_words(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add(&text, "{\"exec\":[\"x\"");
	for (int i = 0; i < 4096; i++)
		text_add(&text, ",\"x\"");
	text_add(&text, "]}");
	refuses(text_string(&text));
}

static void expect_answer(int status, const char *error, const char *wanted)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	door_add_answer(&text, status, error, NULL);
	expect_str(text_string(&text), wanted);
}

static void answers_are_one_object(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	expect_answer(0, NULL, "{\"status\":0}");
	expect_answer(127, "cannot execute 'a\"b'",
		      "{\"status\":127,\"error\":\"cannot execute 'a\\\"b'\"}");
	expect_answer(-1, "no", "{\"error\":\"no\"}");
	door_add_answer(&text, -1, "no", "yes");
	expect_str(text_string(&text), "{\"error\":\"no\",\"fix\":\"yes\"}");
}

static const struct test tests[] = {
	TEST(takes_words_as_they_are),
	TEST(refuses_what_is_no_request),
	TEST(refuses_what_it_would_not_carry_out),
	TEST(refuses_words_that_execve_would_cut),
	TEST(refuses_too_many_words),
	TEST(answers_are_one_object),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
