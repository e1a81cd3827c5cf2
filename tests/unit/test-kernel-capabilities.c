/* SPDX-License-Identifier: MIT */

#include <sys/capability.h>

#include <linux/securebits.h>

#include "kernel-rig.h"

static const struct step step;

/* The value of the line @name in /proc/self/status. */
static unsigned long long set_of(const char *name)
{
	char text[8192];
	const char *line = strstr(read_text("/proc/self/status", text, sizeof(text)), name);

	return line ? strtoull(line + strlen(name), NULL, 16) : ~0ull;
}

static int drop(enum tier tier)
{
	struct plan plan = { .tier = tier };
	struct kernel kernel = KERNEL_INIT;

	kernel.plan = &plan;
	return capabilities_drop(&kernel, &step, 0);
}

static int expect_none(void)
{
	check(set_of("CapInh:\t") == 0);
	check(set_of("CapPrm:\t") == 0);
	check(set_of("CapEff:\t") == 0);
	check(set_of("CapBnd:\t") == 0);
	check(set_of("CapAmb:\t") == 0);
	check((prctl(PR_GET_SECUREBITS) & SECBIT_NOROOT_LOCKED) != 0);
	/* As setpriv does first. It keeps nothing, because there is nothing. */
	check(prctl(PR_SET_KEEPCAPS, 1) == 0);
	return 0;
}

static int drop_in_namespace(void)
{
	struct kernel kernel = KERNEL_INIT;

	check(become_ordinary() == 0);
	check(enter_namespaces(&kernel, 0) == 0);
	check(set_of("CapEff:\t") != 0 && set_of("CapBnd:\t") != 0);
	check(drop(TIER_FULL) == 0);
	return expect_none();
}

static void leaves_no_capability_in_any_set(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(drop_in_namespace), 0);
}

static int drop_as_root(void)
{
	cap_value_t value = CAP_KILL;
	cap_t set = cap_get_proc();

	/* The inheritable and ambient sets are usually empty; add a capability to both. */
	check(set && cap_set_flag(set, CAP_INHERITABLE, 1, &value, CAP_SET) == 0);
	check(cap_set_proc(set) == 0 && cap_set_ambient(value, CAP_SET) == 0);
	check(set_of("CapAmb:\t") == 1ull << CAP_KILL);
	(void)cap_free(set);
	check(drop(TIER_FULL) == 0);
	return expect_none();
}

static void empties_the_ambient_and_inheritable_sets_too(void)
{
	NEEDS_ROOT();
	expect_eq(in_child(drop_as_root), 0);
}

static int be_root_again(void)
{
	check(drop(TIER_FULL) == 0);
	/* Without capabilities uid 0 cannot change its uid. */
	check(setresuid(ORDINARY, ORDINARY, 0) < 0 && errno == EPERM);
	check(prctl(PR_SET_SECUREBITS, 0) < 0 && errno == EPERM);
	execl("/bin/sh", "sh", "-c",
	      "test $(id -u) = 0 && grep -q '^CapEff:.0*$' /proc/self/status", (char *)NULL);
	return -errno;
}

static void uid_0_gets_nothing_back_by_executing(void)
{
	NEEDS_ROOT();
	expect_eq(in_child(be_root_again), 0);
}

static int drop_as_user(void)
{
	check(become_ordinary() == 0);
	return drop(TIER_FULL);
}

static void fails_where_the_bounding_set_cannot_be_emptied(void)
{
	expect_eq(in_child(drop_as_user), -EPERM);
}

static int drop_as_user_of_tier_reduced(void)
{
	check(become_ordinary() == 0);
	check(drop(TIER_REDUCED) == 0);
	check(set_of("CapPrm:\t") == 0 && set_of("CapInh:\t") == 0 && set_of("CapAmb:\t") == 0);
	check(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	return 0;
}

static void tier_reduced_leaves_the_bounding_set_to_no_new_privs(void)
{
	expect_eq(in_child(drop_as_user_of_tier_reduced), 0);
}

static int lock(void)
{
	struct kernel kernel = KERNEL_INIT;

	check(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	check(capabilities_lock(&kernel, &step, 0) == 0);
	check(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	return 0;
}

static void locks_what_execve_could_give(void)
{
	expect_eq(in_child(lock), 0);
}

static const struct test tests[] = {
	TEST(leaves_no_capability_in_any_set),
	TEST(empties_the_ambient_and_inheritable_sets_too),
	TEST(uid_0_gets_nothing_back_by_executing),
	TEST(fails_where_the_bounding_set_cannot_be_emptied),
	TEST(tier_reduced_leaves_the_bounding_set_to_no_new_privs),
	TEST(locks_what_execve_could_give),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
