/* SPDX-License-Identifier: MIT */

#include "plan-host.h"

#define PROJECT "/home/user/p"

static void open_repository(struct planning *planning)
{
	planning_open(planning);
	know(planning, PROJECT "/.git/hooks", HOST_FOLDER);
	know(planning, PROJECT "/.git/config", HOST_FILE);
	planning->host.git_folder = PROJECT "/.git";
}

static void hooks_and_config_of_a_writable_repository_stay(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/.git/hooks"),
		  STEP_READ_ONLY | STEP_IS_FOLDER);
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/.git/config"), STEP_READ_ONLY);
	/* Otherwise ".git" could be renamed, and another one put at its place. */
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/.git"), STEP_IS_FOLDER);
	expect_str(the_step(&planning, STEP_BIND, PROJECT "/.git/hooks")->origin.text,
		   "the protection of repositories");
}

static void a_readable_repository_needs_no_protection(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.git"));
}

static void a_policy_that_writes_protects_too(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	planning_load(&planning, "capabilities:\n"
				 "- {name: p, match: {syscall: fs.*, path: ./}, action: allow}\n");
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, PROJECT "/.git/hooks") & STEP_READ_ONLY);
}

static void whoever_names_the_hooks_may_write_them(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	grant(&planning, GRANT_WRITE, PROJECT "/.git/hooks", "--write");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.git/hooks"));
	expect(flags_of(&planning, STEP_BIND, PROJECT "/.git/config") & STEP_READ_ONLY);
}

static void refuses_a_repository_behind_somebodys_link(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, PROJECT "/.git", "/srv/elsewhere", 1000);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -ELOOP);
	expect(says(&planning, "protect the repository", "may lead anywhere",
		    "be the folder itself"));
}

static void the_common_folder_of_a_worktree_is_as_the_project(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/.git", HOST_FILE);
	planning.host.git_common = "/home/user/main/.git";
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, "/home/user/main/.git"),
		  STEP_READ_ONLY | STEP_IS_FOLDER);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, "/home/user/main/.git"), STEP_IS_FOLDER);
	expect(flags_of(&planning, STEP_BIND, "/home/user/main/.git/hooks") & STEP_READ_ONLY);
	expect(flags_of(&planning, STEP_BIND, "/home/user/main/.git/config") & STEP_READ_ONLY);
	/* It says where the repository is. */
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/.git"), STEP_READ_ONLY);
	expect(!find_step(&planning, STEP_BIND, "/home/user/main"));
}

static void a_project_that_is_not_visible_shows_no_common_folder(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: usr, match: {syscall: fs.read, path: /usr}, action: allow}\n");
	planning.host.git_common = "/home/user/main/.git";
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/home/user/main/.git"));
}

static void a_repository_above_the_project_is_protected_where_it_is_writable(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/home/user/src/repo/.git/hooks", HOST_FOLDER);
	know(&planning, "/home/user/src/repo/sub", HOST_FOLDER);
	planning.request.project = "/home/user/src/repo/sub";
	planning.host.git_folder = "/home/user/src/repo/.git";
	grant(&planning, GRANT_WRITE, "/home/user/src", "--write");
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/home/user/src/repo/.git/hooks") & STEP_READ_ONLY);
	expect(flags_of(&planning, STEP_BIND, "/home/user/src/repo/.git/config") & STEP_READ_ONLY);
	expect(find_step(&planning, STEP_BIND, "/home/user/src/repo"));
}

static void a_repository_is_protected_where_a_bind_shows_it(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	know(&planning, "/home/user", HOST_FOLDER);
	grant(&planning, GRANT_WRITE, "/home/user", "--bind");
	planning.paths[0].target = "/mnt";
	know(&planning, "/home/user/.config/sbx", HOST_FOLDER);
	know(&planning, "/home/user/.config/systemd", HOST_FOLDER);
	know(&planning, "/home/user/.local/share/systemd", HOST_FOLDER);
	know(&planning, "/home/user/.local/state/sbx", HOST_FOLDER);
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/mnt/p/.git/hooks") & STEP_READ_ONLY);
	expect(find_step(&planning, STEP_BIND, "/mnt/p"));
	expect(flags_of(&planning, STEP_BIND, "/mnt/.config/sbx") & STEP_READ_ONLY);
}

static void policies_cannot_be_written(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/.sbx", HOST_FOLDER);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, PROJECT "/.sbx") & STEP_READ_ONLY);
	expect_str(the_step(&planning, STEP_BIND, PROJECT "/.sbx")->origin.text,
		   "builtin:policy-files");
}

/* A project's policy can only narrow, so a new one is no way out. */
static void a_project_without_a_policy_may_get_one(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
}

static void refuses_to_write_what_the_built_in_rules_protect(void)
{
	static const struct {
		const char *path;
		const char *why;
	} cases[] = {
		{ "/etc/sbx", "builtin:policy-files" },
		{ "/usr/bin", "builtin:programs" },
		{ "/usr/bin/true", "builtin:programs" },
		{ "/bin", "builtin:programs" },
		{ "/home/user/.config/sbx/policy.yaml", "builtin:policy-files" },
		{ "/var/lib/sbx/state", "builtin:state-database" },
		{ "/etc/systemd/system", "builtin:units" },
		{ "/run/user/1000/sbx", "builtin:daemon-files" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		know(&planning, cases[i].path, HOST_FILE);
		grant(&planning, GRANT_WRITE, cases[i].path, "--write");
		expect_refusal(&planning, -EACCES);
		expect(says(&planning, "cannot make writable", cases[i].why, "leave it out"));
	}
}

static void a_writable_home_keeps_what_the_built_in_rules_protect(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/home/user", HOST_FOLDER);
	grant(&planning, GRANT_WRITE, "/home/user", "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "builtin:policy-files denies at '/home/user/.config/sbx'",
		    "could make it", "create it"));
	know(&planning, "/home/user/.config/sbx", HOST_FOLDER);
	know(&planning, "/home/user/.config/systemd", HOST_FOLDER);
	know(&planning, "/home/user/.local/share/systemd", HOST_FOLDER);
	know(&planning, "/home/user/.local/state/sbx", HOST_FOLDER);
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/home/user/.config/sbx") & STEP_READ_ONLY);
	expect(flags_of(&planning, STEP_BIND, "/home/user/.config") == STEP_IS_FOLDER);
	expect(flags_of(&planning, STEP_BIND, "/home/user/.config/systemd") & STEP_READ_ONLY);
}

static void what_a_bind_shows_is_protected_too(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/home/user/.config/sbx", HOST_FOLDER);
	know(&planning, "/home/user/.config/systemd", HOST_FOLDER);
	grant(&planning, GRANT_WRITE, "/home/user/.config", "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/mnt/sbx") & STEP_READ_ONLY);
	planning.paths[0].path = "/home/user/.config/sbx";
	expect_refusal(&planning, -EACCES);
	know(&planning, "/home/user/.config/sbx/sub", HOST_FOLDER);
	planning.paths[0].path = "/home/user/.config/sbx/sub";
	expect_refusal(&planning, -EACCES);
}

/* They move with the user's variables, and so does what guards them. */
static void our_own_files_are_protected_wherever_they_lie(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/run", HOST_FOLDER);
	planning.environment[1] = "XDG_RUNTIME_DIR=/srv/run";
	grant(&planning, GRANT_WRITE, "/srv/run", "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "builtin:daemon-files denies at '/srv/run/sbx'", "could make it",
		    ""));
	know(&planning, "/srv/run/sbx", HOST_FOLDER);
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/srv/run/sbx") & STEP_READ_ONLY);
	planning.environment[1] = "HOME=/home/user";
	planning.request.registry = "/srv/run/sbx";
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/srv/run/sbx") & STEP_READ_ONLY);
}

/* To see a folder is to be able to connect to the sockets in it. */
static void no_sandbox_sees_where_others_are_talked_to(void)
{
	static const struct {
		const char *granted;
		const char *registry;
		const char *variable;
	} cases[] = {
		{ "/run", "/run/sbx/sandboxes", "HOME=/home/user" },
		{ "/tmp/sbx-1000", "/tmp/sbx-1000/sandboxes", "HOME=/home/user" },
		{ "/srv/run", "/srv/run/sbx/sandboxes", "XDG_RUNTIME_DIR=/srv/run" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		for (enum request_grant how = GRANT_READ; how <= GRANT_WRITE; how++) {
			_cleanup_planning_ struct planning planning;

			planning_open(&planning);
			know(&planning, cases[i].granted, HOST_FOLDER);
			know(&planning, cases[i].registry, HOST_FOLDER);
			planning.environment[1] = cases[i].variable;
			planning.request.registry = "/tmp/sbx-1000";
			grant(&planning, how, cases[i].granted, "--read");
			if (i != 1 || how == GRANT_READ)
				expect_plan(&planning);
			else
				expect_refusal(&planning, -EACCES); /* all of it is guarded */
			if (!planning.plan)
				continue;
			expect_eq(flags_of(&planning, STEP_MASK, cases[i].registry),
				  STEP_IS_FOLDER);
		}
}

static void the_registry_is_hidden_where_a_bind_shows_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/run/sbx/sandboxes/other", HOST_FOLDER);
	grant(&planning, GRANT_READ, "/run", "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_MASK, "/mnt/sbx/sandboxes"), STEP_IS_FOLDER);
	planning.paths[0].path = "/run/sbx/sandboxes/other";
	expect_refusal(&planning, -EACCES);
	expect(says(&planning, "cannot show '/mnt' as --bind says", "builtin:daemon-files",
		    "leave it out"));
}

static void where_there_is_no_registry_nothing_is_hidden(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/run", HOST_FOLDER);
	grant(&planning, GRANT_READ, "/run", "--read");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, "/run/sbx/sandboxes"));
}

static void what_nobody_writes_needs_no_guard(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/etc/sbx", HOST_FOLDER);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/etc/sbx"));
}

static const struct test tests[] = {
	TEST(hooks_and_config_of_a_writable_repository_stay),
	TEST(a_readable_repository_needs_no_protection),
	TEST(a_policy_that_writes_protects_too),
	TEST(whoever_names_the_hooks_may_write_them),
	TEST(refuses_a_repository_behind_somebodys_link),
	TEST(the_common_folder_of_a_worktree_is_as_the_project),
	TEST(a_project_that_is_not_visible_shows_no_common_folder),
	TEST(a_repository_above_the_project_is_protected_where_it_is_writable),
	TEST(a_repository_is_protected_where_a_bind_shows_it),
	TEST(policies_cannot_be_written),
	TEST(a_project_without_a_policy_may_get_one),
	TEST(refuses_to_write_what_the_built_in_rules_protect),
	TEST(a_writable_home_keeps_what_the_built_in_rules_protect),
	TEST(what_a_bind_shows_is_protected_too),
	TEST(our_own_files_are_protected_wherever_they_lie),
	TEST(no_sandbox_sees_where_others_are_talked_to),
	TEST(the_registry_is_hidden_where_a_bind_shows_it),
	TEST(where_there_is_no_registry_nothing_is_hidden),
	TEST(what_nobody_writes_needs_no_guard),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
