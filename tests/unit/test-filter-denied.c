/* SPDX-License-Identifier: MIT */

/* Denied system calls: the program that is put before a filter */

#include "filter/compile.h"

#include "filter-rig.h"
#include "test.h"

#define NUMBERS 1100

struct denied {
	struct sock_filter *code;
	size_t n;
};
#define _cleanup_denied_ _cleanup_(denied_deinit)

static void denied_deinit(struct denied *denied)
{
	free(denied->code);
}

static uint32_t ask(const struct denied *denied, int number)
{
	struct seccomp_data data = { .nr = number, .arch = seccomp_arch_native() };

	return answer_of(denied->code, denied->n, &data);
}

static void expect_only_refused(const char *const *names)
{
	_cleanup_denied_ struct denied denied = { .code = NULL };

	expect_eq(sbx_filter_compile_denied(names, &denied.code, &denied.n), 0);
	for (int number = 0; number < NUMBERS; number++) {
		_cleanup_free_ char *name =
			seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);
		uint32_t want = ALLOW;

		for (size_t i = 0; name && names[i]; i++)
			if (strcmp(name, names[i]) == 0)
				want = NO(EPERM);
		expect_eq(ask(&denied, number), want);
	}
}

static void refuses_what_is_named_and_nothing_else(void)
{
	static const char *const one[] = { "ptrace", NULL };
	static const char *const twice[] = { "mkdir", "ptrace", "mkdir", NULL };
	static const char *const neighbours[] = { "read", "write", "open", "futex_waitv", NULL };

	expect_only_refused(one);
	expect_only_refused(twice);
	expect_only_refused(neighbours);
}

static void refuses_every_call_where_every_one_is_named(void)
{
	_cleanup_denied_ struct denied denied = { .code = NULL };
	char *names[NUMBERS] = { NULL };
	size_t n = 0;

	for (int number = 0; number < NUMBERS; number++) {
		names[n] = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);
		n += n + 1 < NUMBERS && names[n];
	}
	names[n] = NULL;
	expect(n > 300);
	expect_eq(sbx_filter_compile_denied((const char *const *)names, &denied.code, &denied.n),
		  0);
	for (size_t i = 0; i < n; i++)
		expect(ask(&denied, seccomp_syscall_resolve_name(names[i])) != ALLOW);
	for (size_t i = 0; i < n; i++)
		free(names[i]);
}

static void a_denied_clone3_does_not_exist(void)
{
	static const char *const names[] = { "clone3", "clone", NULL };
	_cleanup_denied_ struct denied denied = { .code = NULL };

	expect_eq(sbx_filter_compile_denied(names, &denied.code, &denied.n), 0);
	expect_eq(ask(&denied, seccomp_syscall_resolve_name("clone3")), NO(ENOSYS));
	expect_eq(ask(&denied, seccomp_syscall_resolve_name("clone")), NO(EPERM));
}

static void a_call_of_another_architecture_is_nothing_to_deny(void)
{
	static const char *const names[] = { "socketcall", NULL };

	if (seccomp_syscall_resolve_name("socketcall") >= 0)
		skip("this architecture has it");
	expect_only_refused(names);
}

static void refuses_a_name_that_is_no_system_call(void)
{
	static const char *const wrong[] = {
		"ptrce", "PTRACE", "clone33", "read ", "read write", ""
	};

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		const char *const names[] = { "unlink", wrong[i], NULL };
		struct sock_filter *code = NULL;
		size_t n = 77;

		expect_eq(sbx_filter_compile_denied(names, &code, &n), -EINVAL);
		expect(!code && n == 77);
	}
}

static const struct test tests[] = {
	TEST(refuses_what_is_named_and_nothing_else),
	TEST(refuses_every_call_where_every_one_is_named),
	TEST(a_denied_clone3_does_not_exist),
	TEST(a_call_of_another_architecture_is_nothing_to_deny),
	TEST(refuses_a_name_that_is_no_system_call),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
