/* SPDX-License-Identifier: MIT */

/*
 * The command's home, its line in /etc/passwd, and what only root may read
 */

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
		/* From a fresh directory or a place to execute from nothing of the home is seen. */
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
	know(&planning, HOME "/data", HOST_FOLDER);
	know(&planning, HOME "/out", HOST_FOLDER);
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
	know(&planning, HOME "/data", HOST_FOLDER);
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
	know(&planning, HOME "/.cargo", HOST_FOLDER);
	know(&planning, HOME "/bin", HOST_FOLDER);
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

static void a_user_without_a_name_gets_one(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_FILE, "/etc/passwd"));
	planning.host.lacks_user = true;
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_FILE, "/etc/passwd")->file.added,
		   "sbx:x:1000:1000::" HOME ":/bin/sh");
	grant(&planning, GRANT_DENY, "/etc/passwd", "--deny");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_FILE, "/etc/passwd"));
}

static void a_policy_that_does_not_show_the_users_gets_none(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "version: 1\ncapabilities:\n"
				 "- {name: a, action: allow, match: {op: [fs.read, exec], "
				 "path: [/usr, " PROJECT "]}}\n");
	planning.host.lacks_user = true;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_FILE, "/etc/passwd"));
}

/* A plan by root in @project, which is root's. */
static void plan_by_root(struct planning *planning, const char *project)
{
	planning->host.uid = planning->host.gid = 0;
	planning->host.is_root = planning->request.is_root = true;
	planning->host.cwd = planning->request.project = project;
	planning->environment[1] = "HOME=/nonexistent";
}

static bool is_mapped(const struct planning *planning, const char *path)
{
	const struct step *step = find_step(planning, STEP_BIND, path);

	expect(step);
	if (!step || !step->bind.owner.is_set)
		return false;
	expect_eq(step->bind.owner.uid, 0);
	expect(step->bind.owner.gid == STEP_NO_GID && step->bind.owner.optional);
	return true;
}

static void root_reads_its_own_closed_directory(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	plan_by_root(&planning, "/srv/own/x");
	know(&planning, "/srv/own", HOST_FOLDER);
	know(&planning, "/srv/own/x", HOST_FOLDER);
	expect_plan(&planning);
	expect(!is_mapped(&planning, "/srv/own/x"));
	planning.known[planning.n_known - 2].mode = 0700;
	expect_plan(&planning);
	expect(is_mapped(&planning, "/srv/own/x"));
	planning.known[planning.n_known - 2].mode = 0755;
	planning.known[planning.n_known - 1].mode = 0700;
	expect_plan(&planning);
	expect(is_mapped(&planning, "/srv/own/x"));
	/* Somebody else's. */
	planning.known[planning.n_known - 1].uid = 1000;
	expect_plan(&planning);
	expect(!is_mapped(&planning, "/srv/own/x"));
}

static void the_system_is_never_mapped(void)
{
	static const char *const paths[] = { "/etc", "/usr", "/etc/keys", "/var", "/home" };

	for (size_t i = 0; i < 2 * N_ELEMENTS(paths); i++) {
		_cleanup_planning_ struct planning planning;
		const char *path = paths[i / 2];
		const struct step *step;

		planning_open(&planning);
		plan_by_root(&planning, i % 2 ? path : PROJECT);
		for (size_t k = 0; k < planning.n_known; k++)
			planning.known[k].mode = 0700;
		know(&planning, "/etc/keys", HOST_FOLDER);
		planning.known[planning.n_known - 1].mode = 0700;
		know(&planning, "/var", HOST_FOLDER);
		planning.known[planning.n_known - 1].mode = 0700;
		if (!(i % 2))
			grant(&planning, GRANT_READ, path, "--read");
		expect_plan(&planning);
		step = find_step(&planning, STEP_BIND, path);
		expect(!step || !step->bind.owner.is_set);
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
	TEST(a_user_without_a_name_gets_one),
	TEST(a_policy_that_does_not_show_the_users_gets_none),
	TEST(root_reads_its_own_closed_directory),
	TEST(the_system_is_never_mapped),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
