/* SPDX-License-Identifier: MIT */

#include "token/scope.h"

#include <errno.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/decide.h"
#include "test.h"

static void parse(enum operation_argument argument, const char *glob, struct scope *ret)
{
	expect_eq(scope_parse(argument, glob, "/srv/p", ret, NULL), 0);
}

static bool covers(const char *glob, const char *path)
{
	struct scope scope;
	struct policy_request request = { .operation = "fs.read", .path = path };

	parse(ARGUMENT_PATH, glob, &scope);
	return scope_covers(&scope, &request);
}

static void covers_paths_as_a_policy_would(void)
{
	static const struct {
		const char *glob, *path;
		bool is_covered;
	} rows[] = {
		{ "/srv/a", "/srv/a", true },
		{ "/srv/a", "/srv/a/b", false },
		{ "/srv/a", "/srv/ab", false },
		{ "/srv/a/", "/srv/a", true },
		{ "/srv/a/", "/srv/a/b/c", true },
		{ "/srv/a/**", "/srv/a", false },
		{ "/srv/a/**", "/srv/a/b", true },
		{ "/srv/a/**", "/srv/a/b/c/d", true },
		{ "/srv/*/c", "/srv/b/c", true },
		{ "/srv/*/c", "/srv/b/x/c", false },
		{ "/srv/**/c", "/srv/c", true },
		{ "/srv/**/c", "/srv/a/b/c", true },
		{ "/srv/**/c", "/srv/a/b/cd", false },
		{ "/**", "/", true },
		{ "/**", "/a/b", true },
		{ "/srv/a*.c", "/srv/ab.c", true },
		{ "/srv/a*.c", "/srv/ab.h", false },
		{ "src/**", "/srv/p/src/a.c", true },
		{ "src/**", "/srv/src/a.c", false },
		{ "./a", "/srv/p/a", true },
		{ "./a", "/srv/p/b/a", false },
		{ "Makefile", "/srv/p/x/y/Makefile", true },
		{ "Makefile", "/srv/Makefile", false },
		{ "/srv/a", "/srv/a/", false },
		{ "/srv/a/**", "/srv/a/../../etc/passwd", false },
		{ "/srv/a/**", "/srv/a//b", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		bool is_covered = covers(rows[i].glob, rows[i].path);

		if (is_covered != rows[i].is_covered)
			printf("# %s and %s\n", rows[i].glob, rows[i].path);
		expect_eq(is_covered, rows[i].is_covered);
	}
}

static bool is_within(const char *inner, const char *outer)
{
	struct scope in, out;

	parse(ARGUMENT_PATH, inner, &in);
	parse(ARGUMENT_PATH, outer, &out);
	return scope_is_within(&in, &out);
}

static void knows_which_globs_lie_within_which(void)
{
	static const struct {
		const char *inner, *outer;
		bool is_within;
	} rows[] = {
		{ "/srv/a", "/srv/a", true },
		{ "/srv/a/b", "/srv/a", false },
		{ "/srv/a/b", "/srv/a/", true },
		{ "/srv/a", "/srv/a/", true },
		{ "/srv/a/", "/srv/a", false },
		{ "/srv/a/", "/srv/a/**", false },
		{ "/srv/a/**", "/srv/a/", true },
		{ "/srv/a/b/**", "/srv/a/**", true },
		{ "/srv/a/**", "/srv/a/b/**", false },
		{ "/srv/a/*", "/srv/a/**", true },
		{ "/srv/a/*.c", "/srv/a/*", true },
		{ "/srv/a/*", "/srv/a/*.c", false },
		{ "/srv/a/*.c", "/srv/a/*.c", true },
		{ "/srv/a/a*.c", "/srv/a/*.c",
		  false }, /* it is within, but scope_is_within() does not detect it */
		{ "/srv/**/c", "/srv/**", true },
		{ "/srv/**", "/srv/**/c", false },
		{ "/srv/**/c", "/srv/**/c", true },
		{ "/srv/a/**/c", "/srv/**/c", true },
		{ "/srv/**/c", "/srv/a/**/c", false },
		{ "/srv/*/*/c", "/srv/**/c", true },
		{ "/srv/**/c", "/srv/*/c", false },
		{ "src/*.c", "/srv/p/src/**", true },
		{ "/srv/p/src/a.c", "src/**", true },
		{ "/srv/src/a.c", "src/**", false },
		{ "/etc/**", "/**", true },
		{ "/**", "/etc/**", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		bool within = is_within(rows[i].inner, rows[i].outer);

		if (within != rows[i].is_within)
			printf("# %s in %s\n", rows[i].inner, rows[i].outer);
		expect_eq(within, rows[i].is_within);
	}
}

/* All small scopes and paths: an inner scope never covers a path that the outer one does not. */
static void never_calls_within_what_covers_more(void)
{
	static const char *const globs[] = {
		"/a",	    "/a/",     "/a/b",	  "/a/**",   "/a/*",   "/*",	  "/**",
		"/*/b",	    "/**/b",   "/a/**/b", "/**/a/b", "/*/*",   "/**/*",	  "/a/*/**",
		"/**/a/**", "/*/**/b", "/a*",	  "/**/a*",  "/*b/**", "/**/*b/", "/a/**/",
	};
	static const char *const paths[] = {
		"/",	    "/a",	"/b",	    "/a/a",	"/a/b",	  "/b/a",
		"/b/b",	    "/ab",	"/a/ab",    "/ab/b",	"/a/a/a", "/a/a/b",
		"/a/b/a",   "/a/b/b",	"/b/a/a",   "/b/a/b",	"/b/b/a", "/b/b/b",
		"/a/a/a/b", "/b/a/b/a", "/ab/ab/b", "/a/b/a/b",
	};

	for (size_t i = 0; i < N_ELEMENTS(globs); i++)
		for (size_t k = 0; k < N_ELEMENTS(globs); k++) {
			if (!is_within(globs[i], globs[k]))
				continue;
			for (size_t p = 0; p < N_ELEMENTS(paths); p++)
				if (covers(globs[i], paths[p]) && !covers(globs[k], paths[p])) {
					printf("# %s, %s: %s\n", globs[i], globs[k], paths[p]);
					expect(false);
				}
		}
}

static bool covers_host(const char *glob, const char *host, int port)
{
	struct scope scope;
	struct policy_request request = { .operation = "net.connect",
					  .host = host,
					  .has_port = port >= 0,
					  .port = (uint16_t)port };

	parse(ARGUMENT_HOST, glob, &scope);
	return scope_covers(&scope, &request);
}

static void covers_hosts_and_ports(void)
{
	expect(covers_host("example.com", "example.com", 443));
	expect(covers_host("example.com", "EXAMPLE.com", -1));
	expect(!covers_host("example.com", "www.example.com", 443));
	expect(!covers_host("example.com", "badexample.com", 443));
	expect(covers_host("*.example.com", "www.example.com", 443));
	expect(covers_host("*.example.com", "a.b.example.com", 443));
	expect(!covers_host("*.example.com", "example.com", 443));
	expect(!covers_host("*.example.com", "badexample.com", 443));
	expect(covers_host("example.com:443", "example.com", 443));
	expect(!covers_host("example.com:443", "example.com", 80));
	expect(!covers_host("example.com:443", "example.com", -1));
	expect(!covers_host("example.com", NULL, 443));
	expect(!covers_host("*.example.com", "*.example.com", 443));
}

static void hosts_lie_within_their_domain(void)
{
	struct scope all, one, other, any;

	parse(ARGUMENT_HOST, "*.example.com", &all);
	parse(ARGUMENT_HOST, "www.example.com:443", &one);
	parse(ARGUMENT_HOST, "example.com:443", &other);
	parse(ARGUMENT_HOST, NULL, &any);
	expect(scope_is_within(&one, &all));
	expect(!scope_is_within(&other, &all));
	expect(!scope_is_within(&all, &one));
	expect(scope_is_within(&all, &any));
	expect(!scope_is_within(&any, &all));
}

static void refuses_what_names_nothing(void)
{
	struct sbx_error err = { .code = 0 };
	struct scope scope;

	expect_eq(scope_parse(ARGUMENT_PATH, "src/**", NULL, &scope, &err), -EINVAL);
	expect(strstr(err.fix, "project") != NULL);
	expect_eq(scope_parse(ARGUMENT_PATH, "src/**", "srv/p", &scope, NULL), -EINVAL);
	expect_eq(scope_parse(ARGUMENT_PATH, "!/a", NULL, &scope, NULL), -EINVAL);
	expect_eq(scope_parse(ARGUMENT_PATH, "", NULL, &scope, NULL), -EINVAL);
	expect_eq(scope_parse(ARGUMENT_PATH, "/a/[b", NULL, &scope, NULL), -EINVAL);
	expect_eq(scope_parse(ARGUMENT_HOST, "http://example.com", NULL, &scope, NULL), -EINVAL);
	expect_eq(scope_parse(ARGUMENT_NONE, "x", NULL, &scope, NULL), -EINVAL);
	expect_eq(scope_parse(ARGUMENT_NONE, NULL, NULL, &scope, NULL), 0);
}

static void its_example_is_one_that_it_covers(void)
{
	static const char *const globs[] = {
		"/a",	  "/a/",    "/a/**",   "/a/*/b", "/**/b",
		"/a/*.c", "src/**", "/a?c/x*", "/**",	 "/a/**/b/**"
	};

	for (size_t i = 0; i < N_ELEMENTS(globs); i++) {
		_cleanup_text_ struct text example = TEXT_INIT;
		struct scope scope;

		parse(ARGUMENT_PATH, globs[i], &scope);
		expect_eq(scope_add_example(&scope, &example), 0);
		if (!covers(globs[i], text_string(&example)))
			printf("# %s: %s\n", globs[i], text_string(&example));
		expect(covers(globs[i], text_string(&example)));
	}
}

static void says_where_it_has_no_example(void)
{
	_cleanup_text_ struct text example = TEXT_INIT;
	struct scope scope;

	parse(ARGUMENT_PATH, "/a/[b-d]", &scope);
	expect_eq(scope_add_example(&scope, &example), -ENOENT);
	parse(ARGUMENT_PATH, NULL, &scope);
	expect_eq(scope_add_example(&scope, &example), -ENOENT);
}

static const struct test tests[] = {
	TEST(covers_paths_as_a_policy_would),
	TEST(knows_which_globs_lie_within_which),
	TEST(never_calls_within_what_covers_more),
	TEST(covers_hosts_and_ports),
	TEST(hosts_lie_within_their_domain),
	TEST(refuses_what_names_nothing),
	TEST(its_example_is_one_that_it_covers),
	TEST(says_where_it_has_no_example),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
