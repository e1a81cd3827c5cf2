/* SPDX-License-Identifier: MIT */

/* Joined programs: no prefix can allow what the filter after it refuses */

#include "filter/prefix.h"

#include <linux/audit.h>

#include "filter-rig.h"
#include "test.h"

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, value)
#define IF(test, value, yes, no) BPF_JUMP(BPF_JMP | BPF_K | (test), value, yes, no)
#define GO(distance) BPF_STMT(BPF_JMP | BPF_JA, distance)
#define NR 0

/* Refuses call 5 with EACCES, and every call from 100 on. */
static struct sock_filter program_code[] = {
	LOAD(NR),	    IF(BPF_JEQ, 5, 1, 0), IF(BPF_JGE, 100, 1, 2),
	ANSWER(NO(EACCES)), ANSWER(NO(EPERM)),	  ANSWER(ALLOW),
};
static const struct sock_fprog program = { .len = N_ELEMENTS(program_code),
					   .filter = program_code };

static uint32_t ask(const struct sock_filter *code, size_t n, int number)
{
	struct seccomp_data data = { .nr = number, .arch = AUDIT_ARCH_X86_64 };

	return answer_of(code, n, &data);
}

static void the_first_that_refuses_answers(void)
{
	static const struct sock_filter prefix[] = {
		LOAD(NR),      IF(BPF_JEQ, 7, 2, 0), IF(BPF_JEQ, 5, 1, 0),
		ANSWER(ALLOW), ANSWER(NO(ENOSYS)),
	};
	_cleanup_free_ struct sock_filter *code = NULL;
	size_t n = 0;

	expect_eq(prefix_join(prefix, N_ELEMENTS(prefix), &program, &code, &n), 0);
	expect_eq(n, N_ELEMENTS(prefix) + program.len);
	expect_eq(ask(code, n, 7), NO(ENOSYS));
	expect_eq(ask(code, n, 5), NO(ENOSYS));
	expect_eq(ask(code, n, 6), ALLOW);
	expect_eq(ask(code, n, 100), NO(EPERM));
}

static void without_a_prefix_it_is_the_program(void)
{
	_cleanup_free_ struct sock_filter *code = NULL;
	size_t n = 0;

	expect_eq(prefix_join(NULL, 0, &program, &code, &n), 0);
	expect_eq(n, program.len);
	expect(memcmp(code, program_code, sizeof(program_code)) == 0);
}

static void a_prefix_that_allows_everything_allows_nothing_more(void)
{
	static const struct sock_filter prefix[] = { ANSWER(ALLOW) };
	_cleanup_free_ struct sock_filter *code = NULL;
	size_t n = 0;

	expect_eq(prefix_join(prefix, 1, &program, &code, &n), 0);
	for (int number = 0; number < 200; number++)
		expect_eq(ask(code, n, number), ask(program_code, program.len, number));
}

static void expect_refused(const struct sock_filter *prefix, size_t n)
{
	struct sock_filter *code = NULL;
	size_t n_code = 77;

	expect_eq(prefix_join(prefix, n, &program, &code, &n_code), -EBADMSG);
	expect(!code && n_code == 77);
}

static void refuses_a_prefix_that_jumps_into_the_program(void)
{
	static const struct sock_filter hop[] = { GO(1), ANSWER(ALLOW) };
	static const struct sock_filter yes[] = { IF(BPF_JEQ, 0, 1, 0), ANSWER(ALLOW) };
	static const struct sock_filter no[] = { IF(BPF_JGT, 0, 0, 6), ANSWER(ALLOW) };
	static const struct sock_filter round[] = { GO(UINT32_MAX), ANSWER(ALLOW) };

	expect_refused(hop, N_ELEMENTS(hop));
	expect_refused(yes, N_ELEMENTS(yes));
	expect_refused(no, N_ELEMENTS(no));
	expect_refused(round, N_ELEMENTS(round));
}

static void refuses_a_prefix_that_runs_into_the_program(void)
{
	static const struct sock_filter load[] = { LOAD(NR) };
	static const struct sock_filter mask[] = { LOAD(NR),
						   BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1) };

	expect_refused(load, N_ELEMENTS(load));
	expect_refused(mask, N_ELEMENTS(mask));
}

static void refuses_verdicts_that_are_no_refusals(void)
{
	static const uint32_t answers[] = {
		SECCOMP_RET_USER_NOTIF,
		SECCOMP_RET_TRACE,
		SECCOMP_RET_LOG,
		SECCOMP_RET_TRAP,
		SECCOMP_RET_ERRNO /* errno 0 */,
		ALLOW | 1,
	};

	for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
		const struct sock_filter prefix[] = { ANSWER(answers[i]) };

		expect_refused(prefix, 1);
	}
}

static void refuses_instructions_that_it_does_not_know(void)
{
	static const uint16_t codes[] = {
		BPF_RET | BPF_A,	  BPF_LD | BPF_MEM,	     BPF_ST,
		BPF_LDX | BPF_IMM,	  BPF_MISC | BPF_TAX,	     BPF_JMP | BPF_JSET | BPF_K,
		BPF_LD | BPF_B | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_X, UINT16_MAX,
	};
	static const struct sock_filter outside[] = { LOAD(sizeof(struct seccomp_data)),
						      ANSWER(ALLOW) };
	static const struct sock_filter between[] = { LOAD(2), ANSWER(ALLOW) };

	for (size_t i = 0; i < N_ELEMENTS(codes); i++) {
		const struct sock_filter prefix[] = { { .code = codes[i] }, ANSWER(ALLOW) };

		expect_refused(prefix, N_ELEMENTS(prefix));
	}
	expect_refused(outside, N_ELEMENTS(outside));
	expect_refused(between, N_ELEMENTS(between));
}

static void refuses_more_than_the_kernel_takes(void)
{
	struct sock_filter *prefix = calloc(BPF_MAXINSNS, sizeof(*prefix));
	struct sock_filter *code = NULL;
	size_t n = 77;

	for (size_t i = 0; prefix && i < BPF_MAXINSNS; i++)
		prefix[i] = (struct sock_filter)ANSWER(ALLOW);
	expect_eq(prefix_join(prefix, BPF_MAXINSNS - program.len, &program, &code, &n), 0);
	free(code);
	code = NULL;
	expect_eq(prefix_join(prefix, BPF_MAXINSNS - program.len + 1, &program, &code, &n), -E2BIG);
	expect(!code);
	free(prefix);
}

static const struct test tests[] = {
	TEST(the_first_that_refuses_answers),
	TEST(without_a_prefix_it_is_the_program),
	TEST(a_prefix_that_allows_everything_allows_nothing_more),
	TEST(refuses_a_prefix_that_jumps_into_the_program),
	TEST(refuses_a_prefix_that_runs_into_the_program),
	TEST(refuses_verdicts_that_are_no_refusals),
	TEST(refuses_instructions_that_it_does_not_know),
	TEST(refuses_more_than_the_kernel_takes),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
