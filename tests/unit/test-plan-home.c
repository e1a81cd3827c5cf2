/* SPDX-License-Identifier: MIT */

/* The command's home, its line in /etc/passwd, and files that only root may read */

#include "plan-host.h"

#define HOME "/home/user"
#define PROJECT HOME "/p"

static void the_home_is_a_directory_in_memory(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *home, *tmp;

	planning_open(&planning);
	expect_plan(&planning);
	home = the_step(&planning, STEP_TMPFS, HOME);
	tmp = the_step(&planning, STEP_TMPFS, "/tmp");
	expect_eq(home->tmpfs.mode, 0700);
	expect(home->tmpfs.shared && tmp->tmpfs.shared);
	expect_eq(home->tmpfs.size_bytes, tmp->tmpfs.size_bytes);
	expect(flags_of(&planning, STEP_BIND, PROJECT) & STEP_READ_ONLY);
	expect(!has_notice(&planning, PROJECT));
}

static void a_grant_of_the_home_is_the_home(void)
{
	static const enum request_grant grants[] = { GRANT_READ, GRANT_WRITE, GRANT_TMPFS,
						     GRANT_EXEC };
	static const char *const paths[] = { HOME, "/home" };

	for (size_t i = 0; i < 2 * N_ELEMENTS(grants); i++) {
		_cleanup_planning_ struct planning planning;
		const struct step *home;

		planning_open(&planning);
		grant(&planning, grants[i / 2], paths[i % 2], "--grant");
		/* A fresh directory and a grant to execute show nothing of the home. */
		if (i % 2 && grants[i / 2] >= GRANT_EXEC)
			continue;
		(void)planning_build(&planning);
		home = find_step(&planning, STEP_TMPFS, HOME);
		expect(!home || home->origin.kind == ORIGIN_ARGUMENT);
	}
}

static void a_policy_has_no_private_home(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "version: 1\ncapabilities:\n"
				 "- {name: a, action: allow, match: {op: [fs.read, exec], "
				 "path: [/usr, " PROJECT "]}}\n");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_TMPFS, HOME));
}

static void what_is_granted_in_the_home_appears_in_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, HOME "/data", HOST_DIRECTORY);
	know(&planning, HOME "/out", HOST_DIRECTORY);
	know(&planning, HOME "/.gitconfig", HOST_FILE);
	grant(&planning, GRANT_READ, HOME "/data", "--read");
	grant(&planning, GRANT_WRITE, HOME "/out", "--write");
	grant(&planning, GRANT_READ, HOME "/.gitconfig", "--read");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_TMPFS, HOME));
	expect(flags_of(&planning, STEP_BIND, HOME "/data") & STEP_READ_ONLY);
	expect(!(flags_of(&planning, STEP_BIND, HOME "/out") & STEP_READ_ONLY));
	expect_eq(the_step(&planning, STEP_FILE, HOME "/.gitconfig")->file.mode, 0600);
}

static void a_file_is_no_copy_in_a_directory_that_is_shown(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, HOME "/data", HOST_DIRECTORY);
	know(&planning, HOME "/data/file", HOST_FILE);
	grant(&planning, GRANT_READ, HOME "/data", "--read");
	grant(&planning, GRANT_READ, HOME "/data/file", "--read");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_FILE, HOME "/data/file"));
}

static void only_programs_that_are_there_are_shown(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, HOME "/.cargo", HOST_DIRECTORY);
	know(&planning, HOME "/bin", HOST_DIRECTORY);
	know_link(&planning, HOME "/.pyenv", "/srv/x", 1000);
	planning.environment[0] = "PATH=" HOME "/bin:" HOME "/none:/usr/bin";
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, HOME "/.cargo") & STEP_READ_ONLY);
	expect(flags_of(&planning, STEP_BIND, HOME "/bin") & STEP_READ_ONLY);
	expect(!find_step(&planning, STEP_BIND, HOME "/.pyenv"));
	expect(!find_step(&planning, STEP_MASK, HOME "/none"));
	expect(!find_step(&planning, STEP_MASK, HOME "/.nvm"));
}

static void a_home_that_nothing_can_be_kept_in_is_another(void)
{
	static const char *const homes[] = { "HOME=/", "HOME=", "HOME=a/b", "HOME=/dev/null",
					     "NOTHING=" };

	for (size_t i = 0; i < N_ELEMENTS(homes); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning.environment[1] = homes[i];
		expect_plan(&planning);
		expect(find_step(&planning, STEP_TMPFS, "/run/home"));
	}
}

static const struct test tests[] = {
	TEST(the_home_is_a_directory_in_memory),
	TEST(a_grant_of_the_home_is_the_home),
	TEST(a_policy_has_no_private_home),
	TEST(what_is_granted_in_the_home_appears_in_it),
	TEST(a_file_is_no_copy_in_a_directory_that_is_shown),
	TEST(only_programs_that_are_there_are_shown),
	TEST(a_home_that_nothing_can_be_kept_in_is_another),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
