/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdio.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"

static const char reads[] =
	"capabilities:\n"
	"- {name: files, match: {syscall: [fs.read, fs.list], path: [/usr, ./]},"
	" action: allow}\n";

static void open_with(struct planning *planning, const char *command, const char *more)
{
	char policy[1024];

	planning_open(planning);
	(void)snprintf(policy, sizeof(policy), "%s%s", reads, more);
	planning_load(planning, policy);
	planning->argv[0] = command;
}

static bool may_start(const struct planning *planning, const char *path)
{
	const struct step *bind = find_step(planning, STEP_BIND, path);
	const struct step *rule = find_step(planning, STEP_LANDLOCK_PATH, path);

	return bind && !bind->bind.attributes.no_exec && rule && (rule->landlock_path.rights & 1);
}

static void where_no_rule_names_programs_the_command_is_the_only_one(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, "true", "");
	expect_plan(&planning);
	expect(may_start(&planning, "/usr/bin/true"));
	expect(!find_step(&planning, STEP_BIND, "/usr/bin/cat"));
	expect(flags_of(&planning, STEP_BIND, "/usr") & STEP_NO_EXEC);
}

static void a_command_is_found_through_links_of_root(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, "python3", "");
	expect_plan(&planning);
	expect(may_start(&planning, "/usr/bin/python3.11"));
}

static void a_command_with_a_slash_is_a_path(void)
{
	static const char *const names[] = { "./run.sh", PROJECT "/run.sh", "././run.sh" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		_cleanup_planning_ struct planning planning;

		open_with(&planning, names[i], "");
		know(&planning, PROJECT "/run.sh", HOST_FILE);
		expect_plan(&planning);
		expect(may_start(&planning, PROJECT "/run.sh"));
	}
}

static void where_rules_name_programs_the_command_is_one_of_them(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, "cat",
		  "- {name: tools, match: {syscall: exec, path: /usr/bin/cat}, action: allow}\n");
	expect_plan(&planning);
	expect(may_start(&planning, "/usr/bin/cat"));
	planning.argv[0] = "true";
	expect_refusal(&planning, -ENOEXEC);
	expect(says(&planning, "cannot execute '/usr/bin/true' in the sandbox",
		    "this is not one of them", "--exec /usr/bin/true"));
	grant(&planning, GRANT_EXEC, "/usr/bin/true", "--exec");
	expect_plan(&planning);
	expect(may_start(&planning, "/usr/bin/true"));
}

static void a_rule_that_cannot_be_seen_names_programs_too(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, "true",
		  "- {name: tools, match: {syscall: exec, path: /usr/bin/true, caller: me},"
		  " action: allow}\n");
	expect_refusal(&planning, -ENOEXEC);
}

static void refuses_a_command_that_a_rule_denies(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, "sudo",
		  "- {name: no-sudo, match: {syscall: exec, path: /usr/bin/sudo}, action: deny}\n");
	expect_refusal(&planning, -ENOEXEC);
	expect(says(&planning, "cannot execute '/usr/bin/sudo'", "p.yaml:3 'no-sudo' denies it",
		    "run another program"));
}

/* execvp() reports it, with exit status 127. */
static void a_command_that_is_not_there_is_left_to_exec(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, "absent", "");
	expect_plan(&planning);
	planning.policy = policy_free(planning.policy);
	expect_plan(&planning);
}

static void a_command_in_a_directory_that_is_hidden_is_not_found(void)
{
	_cleanup_planning_ struct planning planning;

	open_with(&planning, "tool",
		  "- {name: tools, match: {syscall: exec, path: /usr/bin}, action: allow}\n");
	planning.environment[0] = "PATH=/opt/bin:relative::/usr/bin";
	know(&planning, "/opt/bin/tool", HOST_FILE);
	know(&planning, "/usr/bin/tool", HOST_FILE);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/opt/bin/tool"));
}

static void the_command_starts_where_it_was_told(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/sub", HOST_DIRECTORY);
	planning_load(&planning,
		      "working_dir: ./sub\n"
		      "capabilities:\n"
		      "- {name: p, match: {syscall: fs.read, path: ./}, action: allow}\n");
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
		   PROJECT "/sub");
	planning.request.cwd = PROJECT;
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
		   PROJECT);
}

static void refuses_to_start_in_a_directory_that_is_not_visible(void)
{
	static const struct {
		const char *path, *why, *fix;
	} cases[] = {
		{ "/srv", "not shown in the sandbox", "add --read /srv, or name another one" },
		{ PROJECT "/absent", "does not exist", "create it, or name another one" },
		{ PROJECT "/file", "it is not a directory", "name a directory with --cwd" },
		/* The sandbox's private /tmp does not contain it. */
		{ "/tmp/outside", "not shown in the sandbox", "add --read /tmp/outside, or name" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		know(&planning, "/srv", HOST_DIRECTORY);
		know(&planning, PROJECT "/absent", HOST_MISSING);
		know(&planning, PROJECT "/file", HOST_FILE);
		know(&planning, "/tmp/outside", HOST_DIRECTORY);
		planning.request.cwd = cases[i].path;
		expect_refusal(&planning, -ENOENT);
		expect(says(&planning, "cannot start the command in", cases[i].why, cases[i].fix));
	}
}

/* To create it outside would not help. */
static void a_directory_in_a_private_one_must_be_made_inside(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	grant(&planning, GRANT_TMPFS, "/scratch", "--tmpfs");
	know(&planning, "/scratch/sub", HOST_MISSING);
	planning.request.cwd = "/scratch/sub";
	expect_refusal(&planning, -ENOENT);
	expect(says(&planning, "cannot start the command in", "'/scratch', which is private",
		    "--cwd /scratch, and let it create the directory"));
}

/* --read would not show it. */
static void what_denies_the_directory_to_start_in_is_named(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/sub", HOST_DIRECTORY);
	grant(&planning, GRANT_DENY, PROJECT "/sub", "--deny");
	planning.request.cwd = PROJECT "/sub";
	expect_refusal(&planning, -ENOENT);
	expect(says(&planning, "cannot start the command in '" PROJECT "/sub'", "--deny denies it",
		    "name another one with --cwd, or change what denies it"));
}

static void directories_of_the_sandbox_can_be_started_in(void)
{
	static const char *const directories[] = { "/", "/tmp", "/home/user", "/usr/lib", "/proc" };

	for (size_t i = 0; i < N_ELEMENTS(directories); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning.request.cwd = directories[i];
		expect_plan(&planning);
		expect_str(
			the_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
			directories[i]);
	}
}

static void a_project_that_is_not_visible_is_not_started_in(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "version: 1\n");
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
		   "/");
}

/* The directory exists, because a file in it is visible. */
static void a_project_of_which_a_part_is_visible_is_started_in(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: in, match: {syscall: fs.read, path: ./in}, action: allow}\n");
	know(&planning, PROJECT "/in", HOST_DIRECTORY);
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
		   PROJECT);
	expect(find_step(&planning, STEP_DIRECTORY, PROJECT));
}

static void a_denied_program_with_other_names_is_said(void)
{
	static const struct {
		uint64_t n_links;
		bool is_said;
	} cases[] = { { 1, false }, { 2, true } };

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		open_with(
			&planning, "true",
			"- {name: run, match: {syscall: exec, path: /usr/bin}, action: allow}\n"
			"- {name: held, match: {syscall: exec, path: /usr/bin/cat}, action: deny}\n");
		know(&planning, "/usr/bin/cat", HOST_FILE);
		planning.known[planning.n_known - 1].n_links = cases[i].n_links;
		expect_plan(&planning);
		expect_eq(has_notice(&planning,
				     "'/usr/bin/cat' has 2 hard links, and p.yaml:4 'held' "
				     "denies one"),
			  cases[i].is_said);
	}
}

static void a_channel_whose_memory_can_be_executed_is_told(void)
{
	static const char what[] = "can execute what it writes into the memory of its channel";
	static const struct {
		bool limits, has_ring, has_seal, is_told;
	} cases[] = {
		{ true, true, false, true },
		{ true, true, true, false },
		{ true, false, false, false },
		{ false, true, false, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		if (cases[i].limits)
			planning_load(&planning, "version: 1\n");
		planning.request.has_ring = cases[i].has_ring;
		planning.request.ring_fd = 5;
		planning.host.has_memfd_seal = cases[i].has_seal;
		expect_plan(&planning);
		expect_eq(has_notice(&planning, what), cases[i].is_told);
	}
}

static const struct test tests[] = {
	TEST(a_denied_program_with_other_names_is_said),
	TEST(where_no_rule_names_programs_the_command_is_the_only_one),
	TEST(a_command_is_found_through_links_of_root),
	TEST(a_command_with_a_slash_is_a_path),
	TEST(where_rules_name_programs_the_command_is_one_of_them),
	TEST(a_rule_that_cannot_be_seen_names_programs_too),
	TEST(refuses_a_command_that_a_rule_denies),
	TEST(a_command_that_is_not_there_is_left_to_exec),
	TEST(a_command_in_a_directory_that_is_hidden_is_not_found),
	TEST(the_command_starts_where_it_was_told),
	TEST(refuses_to_start_in_a_directory_that_is_not_visible),
	TEST(a_directory_in_a_private_one_must_be_made_inside),
	TEST(what_denies_the_directory_to_start_in_is_named),
	TEST(directories_of_the_sandbox_can_be_started_in),
	TEST(a_project_that_is_not_visible_is_not_started_in),
	TEST(a_project_of_which_a_part_is_visible_is_started_in),
	TEST(a_channel_whose_memory_can_be_executed_is_told),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
