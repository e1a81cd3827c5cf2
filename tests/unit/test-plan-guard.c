/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"

static void what_is_guarded_is_so_where_a_bind_shows_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/home/user", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, "/home/user", "--bind");
	planning.paths[0].target = "/mnt";
	know(&planning, "/home/user/.config/sbx", HOST_DIRECTORY);
	know(&planning, "/home/user/.config/systemd", HOST_DIRECTORY);
	know(&planning, "/home/user/.local/share/systemd", HOST_DIRECTORY);
	know(&planning, "/home/user/.local/state/sbx", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/mnt/.config/sbx") & STEP_READ_ONLY);
}

/* A project's own policy can only narrow, so writing it gives no rights. */
static void a_projects_own_directory_is_content(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/.sbx", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.sbx"));
}

static void the_policy_in_force_is_read_only_in_a_writable_project(void)
{
	static const char *const policies[] = { PROJECT "/conf/p.yaml",
						PROJECT "/conf/p.yaml.previous" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, policies[0], HOST_FILE);
	know(&planning, policies[1], HOST_FILE);
	planning.places.policies = policies;
	planning.places.n_policies = N_ELEMENTS(policies);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	for (size_t i = 0; i < N_ELEMENTS(policies); i++)
		expect_eq(flags_of(&planning, STEP_BIND, policies[i]), STEP_READ_ONLY);
	/* A mount point, so that the command cannot rename the directory and create another one. */
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/conf"), STEP_IS_DIRECTORY);
	expect_str(the_step(&planning, STEP_BIND, policies[0])->origin.text,
		   "builtin:policy-files");
}

static void the_policy_in_force_is_read_only_where_a_bind_shows_it(void)
{
	static const char *const policies[] = { PROJECT "/p.yaml" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, policies[0], HOST_FILE);
	planning.places.policies = policies;
	planning.places.n_policies = 1;
	grant(&planning, GRANT_WRITE, PROJECT, "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, "/mnt/p.yaml"), STEP_READ_ONLY);
}

static void refuses_a_policy_behind_a_link_that_the_command_could_replace(void)
{
	static const char *const policies[] = { PROJECT "/p.yaml", "/home/user/shared.yaml" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, PROJECT "/p.yaml", "../shared.yaml", 1000);
	know(&planning, policies[1], HOST_FILE);
	planning.places.policies = policies;
	planning.places.n_policies = N_ELEMENTS(policies);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "builtin:policy-files denies at '" PROJECT "/p.yaml'",
		    "a symbolic link", "name its target"));
}

/* The directory belongs to the user, who can rename a link in it even if root made the link. */
static void refuses_a_policy_behind_a_link_of_roots_in_a_writable_directory(void)
{
	static const char *const policies[] = { PROJECT "/p.yaml", "/srv/shared.yaml" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, PROJECT "/p.yaml", "/srv/shared.yaml", 0);
	know(&planning, policies[1], HOST_FILE);
	planning.places.policies = policies;
	planning.places.n_policies = N_ELEMENTS(policies);
	expect_plan(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "denies at '" PROJECT "/p.yaml'", "a symbolic link",
		    "name its target"));
}

static void refuses_to_write_what_the_built_in_rules_protect(void)
{
	static const struct {
		const char *path;
		const char *why;
	} cases[] = {
		{ "/etc/sbx", "builtin:policy-files" },
		{ "/usr/bin/sbx-spawn", "builtin:programs" },
		{ "/bin/sbx-policy", "builtin:programs" },
		{ "/home/user/.config/sbx/policy.yaml", "builtin:policy-files" },
		{ "/var/lib/sbx/state", "builtin:state-database" },
		{ "/etc/systemd/system/sbx-audit.service.d", "builtin:units" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		know(&planning, cases[i].path, HOST_FILE);
		know(&planning, "/usr/bin/sbx-policy", HOST_FILE);
		grant(&planning, GRANT_WRITE, cases[i].path, "--write");
		expect_refusal(&planning, -EACCES);
		expect(says(&planning, "cannot make writable", cases[i].why, "leave it out"));
	}
}

static void other_packages_programs_and_units_are_not_guarded(void)
{
	static const char *const paths[] = { "/usr/bin/true", "/etc/systemd/system/a.service",
					     "/home/user/.config/systemd/user" };

	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		know(&planning, paths[i], HOST_FILE);
		grant(&planning, GRANT_WRITE, paths[i], "--write");
		expect_plan(&planning);
	}
}

static bool is_made(const struct planning *planning, const char *path)
{
	for (const char *const *at = planning->made; *at; at++)
		if (strcmp(*at, path) == 0)
			return true;
	return false;
}

static void what_is_missing_below_a_writable_home_is_made_before_the_plan(void)
{
	static const char *const paths[] = { "/home/user/.config/sbx",
					     "/home/user/.local/state/sbx" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/home/user", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!planning.made[0]);
	grant(&planning, GRANT_READ, "/home/user", "--read");
	expect_plan(&planning);
	expect(!planning.made[0]);
	planning.paths[0].grant = GRANT_WRITE;
	expect_plan(&planning);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		expect(is_made(&planning, paths[i]));
		expect(flags_of(&planning, STEP_BIND, paths[i]) & STEP_READ_ONLY);
	}
	expect(flags_of(&planning, STEP_BIND, "/home/user/.config") == STEP_IS_DIRECTORY);
}

static void what_is_missing_elsewhere_is_refused_where_the_command_could_make_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/cfg", HOST_DIRECTORY);
	planning.places.config = "/srv/cfg";
	grant(&planning, GRANT_WRITE, "/srv/cfg", "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(!planning.made[0]);
	expect(says(&planning, "builtin:policy-files denies at '/srv/cfg/sbx'",
		    "the command could create it", "create it"));
	know(&planning, "/srv/cfg/sbx", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/srv/cfg/sbx") & STEP_READ_ONLY);
}

/* Only root can create files in /etc, and the command never runs as root. */
static void what_only_root_could_make_may_be_missing(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	grant(&planning, GRANT_WRITE, "/etc", "--write");
	grant(&planning, GRANT_WRITE, "/usr", "--write");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/etc/sbx"));
	planning.known[planning.n_known++] =
		(struct known){ .path = "/etc/systemd", .kind = HOST_DIRECTORY, .uid = 1000 };
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "builtin:units denies at '/etc/systemd/system/",
		    "the command could create it", ""));
}

/* A sandbox of root writes as the owner of what is granted. */
static void a_sandbox_of_roots_could_make_what_only_root_can(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.uid = planning.host.gid = 0;
	planning.host.is_root = true;
	grant(&planning, GRANT_WRITE, "/etc", "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "builtin:policy-files denies at '/etc/sbx'",
		    "the command could create it", ""));
}

static void guarded_paths_are_protected_in_a_bind(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/home/user/.config/sbx", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, "/home/user/.config", "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/mnt/sbx") & STEP_READ_ONLY);
	planning.paths[0].path = "/home/user/.config/sbx";
	expect_refusal(&planning, -EACCES);
	know(&planning, "/home/user/.config/sbx/sub", HOST_DIRECTORY);
	planning.paths[0].path = "/home/user/.config/sbx/sub";
	expect_refusal(&planning, -EACCES);
}

/* A command that sees the directory can connect to its sockets. */
static void no_sandbox_sees_the_directory_of_the_services(void)
{
	static const struct {
		const char *granted;
		const char *hidden;
	} cases[] = {
		{ "/run", "/run/sbx" },
		{ "/tmp", "/tmp/sbx-1000" },
		{ "/srv/run", "/srv/run/sbx" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		for (enum request_grant how = GRANT_READ; how <= GRANT_WRITE; how++) {
			_cleanup_planning_ struct planning planning;

			planning_open(&planning);
			know(&planning, cases[i].granted, HOST_DIRECTORY);
			planning.known[planning.n_known - 1].uid = 0;
			know(&planning, cases[i].hidden, HOST_DIRECTORY);
			planning.places.runtime = "/srv/run";
			planning.places.fallback = "/tmp/sbx-1000";
			grant(&planning, how, cases[i].granted, "--read");
			expect_plan(&planning);
			expect_eq(flags_of(&planning, STEP_MASK, cases[i].hidden),
				  STEP_IS_DIRECTORY);
		}
}

static bool is_listed(const char *const *paths, const char *path)
{
	for (; *paths; paths++)
		if (strcmp(*paths, path) == 0)
			return true;
	return false;
}

/* A process outside could create it while the sandbox runs; a mask needs an existing file. */
static void what_must_not_be_seen_is_made_before_it_is_hidden(void)
{
	for (enum request_grant how = GRANT_READ; how <= GRANT_WRITE; how++) {
		_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
		_cleanup_planning_ struct planning planning;
		const char *const *paths, *const *made;

		planning_open(&planning);
		planning.places.fallback = "/tmp/sbx-1000";
		grant(&planning, how, "/tmp", "--read");
		expect_plan(&planning);
		expect_eq(flags_of(&planning, STEP_MASK, "/tmp/sbx-1000"), STEP_IS_DIRECTORY);
		expect_eq(plan_list_paths(planning.policy, &planning.request, &arena, &paths, &made,
					  NULL),
			  0);
		expect(is_listed(made, "/tmp/sbx-1000"));
	}
}

static void no_option_shows_what_lies_in_the_directory_of_the_services(void)
{
	static const struct {
		enum request_grant how;
		const char *path;
		const char *target;
		enum host_path_kind kind;
	} cases[] = {
		{ GRANT_READ, "/run/sbx", NULL, HOST_DIRECTORY },
		{ GRANT_READ, "/run/sbx/sandboxes/other", "/mnt", HOST_DIRECTORY },
		{ GRANT_READ, "/var/run/sbx", NULL, HOST_DIRECTORY },
		{ GRANT_UNIX, "/run/sbx/policy.sock", NULL, HOST_SOCKET },
		{ GRANT_UNIX, "/run/user/1000/sbx/audit.sock", NULL, HOST_SOCKET },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		know(&planning, "/run/sbx", HOST_DIRECTORY);
		know(&planning, cases[i].path, cases[i].kind);
		planning.places.runtime = "/run/user/1000";
		grant(&planning, cases[i].how, cases[i].path, "--option");
		planning.paths[0].target = cases[i].target;
		expect_refusal(&planning, -EACCES);
		expect(says(&planning, "cannot show", "builtin:daemon-files", "leave it out"));
	}
}

static void the_directory_of_the_services_is_hidden_where_a_bind_shows_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/run/sbx", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/run", "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_MASK, "/mnt/sbx"), STEP_IS_DIRECTORY);
}

static void where_there_are_no_services_nothing_is_hidden(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/run", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/run", "--read");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, "/run/sbx"));
}

static void a_read_only_path_needs_no_guard(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/etc/sbx", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/etc/sbx"));
}

static const struct test tests[] = {
	TEST(a_projects_own_directory_is_content),
	TEST(the_policy_in_force_is_read_only_in_a_writable_project),
	TEST(the_policy_in_force_is_read_only_where_a_bind_shows_it),
	TEST(refuses_a_policy_behind_a_link_that_the_command_could_replace),
	TEST(refuses_a_policy_behind_a_link_of_roots_in_a_writable_directory),
	TEST(what_is_guarded_is_so_where_a_bind_shows_it),
	TEST(refuses_to_write_what_the_built_in_rules_protect),
	TEST(other_packages_programs_and_units_are_not_guarded),
	TEST(what_is_missing_below_a_writable_home_is_made_before_the_plan),
	TEST(what_is_missing_elsewhere_is_refused_where_the_command_could_make_it),
	TEST(what_only_root_could_make_may_be_missing),
	TEST(a_sandbox_of_roots_could_make_what_only_root_can),
	TEST(guarded_paths_are_protected_in_a_bind),
	TEST(no_sandbox_sees_the_directory_of_the_services),
	TEST(what_must_not_be_seen_is_made_before_it_is_hidden),
	TEST(no_option_shows_what_lies_in_the_directory_of_the_services),
	TEST(the_directory_of_the_services_is_hidden_where_a_bind_shows_it),
	TEST(where_there_are_no_services_nothing_is_hidden),
	TEST(a_read_only_path_needs_no_guard),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
