/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The test framework: a table of named tests, printed as TAP
 *
 *     static void refuses_an_empty_path(void) { expect(!path_is_normal("")); }
 *     static const struct test tests[] = { TEST(refuses_an_empty_path), TEST_END };
 *     int main(void) { return test_run(tests); }
 *
 * A test continues after a failed expectation, so that one run shows all failures. TEST_ONLY=text
 * in the environment runs the tests whose name contains the text. TEST_SLOW=1 selects the long form
 * of tests that have one.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>
#include <sys/stat.h>

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(function)                                                                             \
	{                                                                                          \
#function, function                                                                \
	}
#define TEST_END                                                                                   \
	{                                                                                          \
		NULL, NULL                                                                         \
	}

static unsigned test_failures;
static const char *test_skip_reason;

#define expect(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# %s:%d: %s: expected %s\n", __FILE__, __LINE__, __func__,         \
			       #condition);                                                        \
			test_failures++;                                                           \
		}                                                                                  \
	} while (0)

#define expect_eq(got, want)                                                                       \
	do {                                                                                       \
		long long _got = (long long)(got), _want = (long long)(want);                      \
		if (_got != _want) {                                                               \
			printf("# %s:%d: %s: %s is %lld, expected %lld\n", __FILE__, __LINE__,     \
			       __func__, #got, _got, _want);                                       \
			test_failures++;                                                           \
		}                                                                                  \
	} while (0)

#define expect_str(got, want)                                                                      \
	do {                                                                                       \
		const char *_got = (got), *_want = (want);                                         \
		if (!_got || strcmp(_got, _want) != 0) {                                           \
			printf("# %s:%d: %s: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__, \
			       __func__, #got, _got ? _got : "(null)", _want);                     \
			test_failures++;                                                           \
		}                                                                                  \
	} while (0)

/* Ends the running test as skipped: the host lacks something that the test needs. Not for anything
 * that should work everywhere. */
#define skip(reason)                                                                               \
	do {                                                                                       \
		test_skip_reason = (reason);                                                       \
		return;                                                                            \
	} while (0)

static inline bool test_is_slow(void)
{
	const char *slow = getenv("TEST_SLOW");

	return slow && strcmp(slow, "1") == 0;
}

static inline int test_run(const struct test *tests)
{
	const char *only = getenv("TEST_ONLY");
	unsigned n = 0, n_failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* The umask of the caller may be stricter, but other users must be able to read the tests'
	 * files. */
	(void)umask(022);
	for (const struct test *t = tests; t->name; t++) {
		unsigned before = test_failures;

		if (only && !strstr(t->name, only))
			continue;
		test_skip_reason = NULL;
		t->run();
		n_failed += test_failures != before;
		printf("%s %u - %s%s%s\n", test_failures != before ? "not ok" : "ok", ++n, t->name,
		       test_skip_reason ? " # SKIP " : "",
		       test_skip_reason ? test_skip_reason : "");
	}
	printf("1..%u\n", n);
	return n_failed ? 1 : 0;
}
