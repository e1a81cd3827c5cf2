/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"

static void the_few_that_programs_need_are_there(void)
{
	static const char *const paths[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					     "/dev/random", "/dev/urandom", "/dev/tty" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++)
		expect_eq(flags_of(&planning, STEP_BIND, paths[i]),
			  STEP_DEVICES | STEP_READ_ONLY | STEP_NO_EXEC);
	expect_str(the_step(&planning, STEP_LINK, "/dev/fd")->link.points_to, "/proc/self/fd");
	expect_str(the_step(&planning, STEP_LINK, "/dev/ptmx")->link.points_to, "pts/ptmx");
	expect(find_step(&planning, STEP_PTS, "/dev/pts"));
	expect(flags_of(&planning, STEP_TMPFS, "/dev/shm") & STEP_NO_EXEC);
	expect(!find_step(&planning, STEP_BIND, "/dev"));
	expect(!find_step(&planning, STEP_BIND, "/dev/kvm"));
}

static void a_policy_that_names_some_gets_those(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "devices: ['null', urandom]\nversion: 1\n");
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_BIND, "/dev/null")->origin.text,
		   "p.yaml:1 'devices[0]'");
	expect(find_step(&planning, STEP_BIND, "/dev/urandom"));
	expect(!find_step(&planning, STEP_BIND, "/dev/zero"));
	expect(!find_step(&planning, STEP_PTS, NULL));
	expect(!find_step(&planning, STEP_TMPFS, "/dev/shm"));
}

static void a_terminal_step_needs_dev_pts(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "devices: []\nversion: 1\n");
	planning.request.pty = true;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_PTS, "/dev/pts"));
	expect(find_step(&planning, STEP_TERMINAL, NULL));
}

static void bundles_are_what_of_them_is_there(void)
{
	static const char *const names[] = { "nvidia", "kvm" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/dev/nvidiactl", HOST_DEVICE);
	know(&planning, "/dev/nvidia0", HOST_DEVICE);
	know(&planning, "/dev/kvm", HOST_DEVICE);
	planning.request.devices = names;
	planning.request.n_devices = 2;
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/dev/nvidia0") & STEP_DEVICES);
	expect(find_step(&planning, STEP_BIND, "/dev/nvidiactl"));
	expect(find_step(&planning, STEP_BIND, "/dev/kvm"));
	expect(!find_step(&planning, STEP_BIND, "/dev/nvidia1"));
	expect_eq(planning.plan->n_notices, 0);
}

static void a_bundle_may_be_a_directory(void)
{
	static const char *const names[] = { "dri" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/dev/dri", HOST_DIRECTORY);
	planning.request.devices = names;
	planning.request.n_devices = 1;
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, "/dev/dri"),
		  STEP_DEVICES | STEP_READ_ONLY | STEP_NO_EXEC | STEP_IS_DIRECTORY);
}

static void refuses_a_device_that_is_not_there(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "devices: [kvm]\nversion: 1\n");
	expect_refusal(&planning, -ENODEV);
	expect(says(&planning, "no device 'kvm' here",
		    "p.yaml:1 'devices[0]' names it, and '/dev/kvm' does not exist",
		    "leave it out"));
}

/* The names that shells complete: the host has none of them. */
static void knows_every_device_that_is_offered(void)
{
	for (size_t i = 0; plan_device_names[i]; i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning.request.devices = &plan_device_names[i];
		planning.request.n_devices = 1;
		expect_refusal(&planning, -ENODEV);
		expect(strstr(planning.err.what, plan_device_names[i]));
	}
}

static void refuses_a_name_that_is_no_device(void)
{
	static const char *const names[] = { "sda" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.devices = names;
	planning.request.n_devices = 1;
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "no device named 'sda'", "the names are null", "one of them"));
}

/* stdout, stderr and /dev/null are no files of a policy. */
static void a_denial_of_writing_does_not_take_the_devices(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: fixed, match: {syscall: fs.write, path: /}, action: deny}\n");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/dev/null"));
	expect(the_step(&planning, STEP_LANDLOCK_PATH, "/dev")->landlock_path.rights & 2);
	/* /dev/shm is for files, so the denial applies. */
	expect(flags_of(&planning, STEP_TMPFS, "/dev/shm") & STEP_READ_ONLY);
}

static void a_denied_device_is_not_there(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: own, match: {syscall: fs.*, path: /dev/tty}, action: deny}\n");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/dev/tty"));
	expect(find_step(&planning, STEP_BIND, "/dev/null"));
}

static const struct test tests[] = {
	TEST(the_few_that_programs_need_are_there),
	TEST(a_policy_that_names_some_gets_those),
	TEST(a_terminal_step_needs_dev_pts),
	TEST(bundles_are_what_of_them_is_there),
	TEST(a_bundle_may_be_a_directory),
	TEST(refuses_a_device_that_is_not_there),
	TEST(knows_every_device_that_is_offered),
	TEST(refuses_a_name_that_is_no_device),
	TEST(a_denial_of_writing_does_not_take_the_devices),
	TEST(a_denied_device_is_not_there),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
