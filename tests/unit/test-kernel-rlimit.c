/* SPDX-License-Identifier: MIT */

#include <sys/resource.h>

#include "kernel-rig.h"

static int set(int resource, uint64_t limit)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step step = { .kind = STEP_RLIMIT,
				   .rlimit.resource = resource,
				   .rlimit.limit = limit };

	return rlimit_set(&kernel, &step, 0);
}

static bool is_limit(uint64_t limit)
{
	struct rlimit got;

	return getrlimit(RLIMIT_NOFILE, &got) == 0 && got.rlim_cur == limit &&
	       got.rlim_max == limit;
}

static int set_both(void)
{
	check(set(RLIMIT_NOFILE, 20) == 0 && is_limit(20));
	while (dup(STDOUT_FILENO) >= 0)
		;
	check(errno == EMFILE && fcntl(19, F_GETFD) >= 0 && fcntl(20, F_GETFD) < 0);
	return 0;
}

static void sets_the_hard_limit_with_the_soft_one(void)
{
	expect_eq(in_child(set_both), 0);
}

/* Root could raise them, but the plan has the lower ones. */
static int ask_for_more_as_starter(void)
{
	check(set(RLIMIT_NOFILE, 20) == 0);
	check(set(RLIMIT_NOFILE, 30) == 0 && is_limit(20));
	check(set(RLIMIT_NOFILE, RLIM_INFINITY) == 0 && is_limit(20));
	check(set(RLIMIT_NOFILE, 10) == 0 && is_limit(10));
	return 0;
}

static int ask_for_more(void)
{
	check(become_ordinary() == 0);
	return ask_for_more_as_starter();
}

static void a_limit_that_is_lower_already_stays(void)
{
	expect_eq(in_child(ask_for_more), 0);
	expect_eq(in_child(ask_for_more_as_starter), 0);
}

static void refuses_a_resource_that_is_none(void)
{
	expect_eq(set(RLIM_NLIMITS, 1), -EINVAL);
	expect_eq(set(-1, 1), -EINVAL);
}

static const struct test tests[] = {
	TEST(sets_the_hard_limit_with_the_soft_one),
	TEST(a_limit_that_is_lower_already_stays),
	TEST(refuses_a_resource_that_is_none),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
