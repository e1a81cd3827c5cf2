/* SPDX-License-Identifier: MIT */

/* The names of system calls: the loader of policies, filter.so and libseccomp agree about them */

#include "base/syscall.h"

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "filter/compile.h"
#include "policy/model.h"
#include "test.h"

/* libseccomp has negative numbers for the calls of other architectures. */
#define LOWEST (-20000)
#define HIGHEST 1100

static bool is_loaded(const char *name, struct sbx_error *err)
{
	_cleanup_policy_ struct policy *policy = NULL;
	char text[256];

	(void)snprintf(text, sizeof(text), "version: 1\ndenySyscalls:\n - read\n - '%s'\n", name);
	return policy_load("p.yaml", text, strlen(text), &policy, err) == 0;
}

static bool is_compiled(const char *name)
{
	const char *const names[] = { name, NULL };
	_cleanup_free_ struct sock_filter *code = NULL;
	size_t n;

	return sbx_filter_compile_denied(names, &code, &n) == 0;
}

static char *name_of(int number)
{
	return seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);
}

static void finds_every_name_with_its_number(void)
{
	size_t n = 0;

	for (int number = LOWEST; number < HIGHEST; number++) {
		_cleanup_free_ char *name = name_of(number);

		if (!name)
			continue;
		expect_eq(syscall_find(name), number < 0 ? -ENOSYS : number);
		expect(is_compiled(name));
		expect(is_loaded(name, NULL));
		n++;
	}
	expect(n > 300);
}

static void knows_calls_of_every_age_and_architecture(void)
{
	static const char *const names[] = { "read", "clone3", "socketcall", "_llseek", "accept4" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		expect(syscall_find(names[i]) != -ENOENT);
}

/* Changes one character, leaves it out, or swaps it with the next one. */
static void misspell(const char *name, char *ret)
{
	size_t len = strlen(name), at = (size_t)random() % len;

	strcpy(ret, name);
	switch (random() % 3) {
	case 0:
		ret[at] = (char)('a' + random() % 26);
		return;
	case 1:
		memmove(ret + at, ret + at + 1, len - at);
		return;
	default:
		if (at + 1 < len) {
			ret[at] = name[at + 1];
			ret[at + 1] = name[at];
		}
		return;
	}
}

static void refuses_what_libseccomp_does_not_know(void)
{
	size_t n = 0;

	srandom(1);
	for (int number = LOWEST; number < HIGHEST; number++) {
		_cleanup_free_ char *name = name_of(number);
		bool is_known;
		char wrong[64];

		if (!name)
			continue;
		misspell(name, wrong);
		is_known = seccomp_syscall_resolve_name(wrong) != __NR_SCMP_ERROR;
		n += !is_known;
		expect_eq(syscall_find(wrong) != -ENOENT, is_known);
		expect_eq(is_compiled(wrong), is_known);
		expect_eq(is_loaded(wrong, NULL), is_known);
	}
	expect(n > 200);
}

static void says_where_and_which_was_meant(void)
{
	static const struct {
		const char *name;
		const char *fix;
	} rows[] = {
		{ "moutn", "did you mean 'mount'?" },
		{ "ptrce", "did you mean 'ptrace'?" },
		{ "PTRACE", "did you mean 'ptrace'?" },
		{ "clone33", "did you mean 'clone3'?" },
		{ "clone*", "did you mean 'clone'?" },
		{ "read write", "leave it out: a call that is newer than sbx answers ENOSYS" },
		{ "", "leave it out: a call that is newer than sbx answers ENOSYS" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct sbx_error err = { .code = 0 };
		char what[128];

		(void)snprintf(what, sizeof(what), "p.yaml:4:4: unknown system call '%s'",
			       rows[i].name);
		expect(!is_loaded(rows[i].name, &err));
		expect_str(err.what, what);
		expect_str(err.why, "no system call has this name");
		expect_str(err.fix, rows[i].fix);
	}
}

static const struct test tests[] = {
	TEST(finds_every_name_with_its_number),
	TEST(knows_calls_of_every_age_and_architecture),
	TEST(refuses_what_libseccomp_does_not_know),
	TEST(says_where_and_which_was_meant),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
