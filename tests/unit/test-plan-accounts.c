/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "plan/plan-internal.h"
#include "plan-host.h"

static void open_without_lines(struct planning *planning)
{
	planning_open(planning);
	know(planning, "/etc/passwd", HOST_FILE);
	know(planning, "/etc/group", HOST_FILE);
	planning->host.lacks_user = planning->host.lacks_group = true;
}

static void a_user_without_a_line_gets_one(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *passwd, *group;

	open_without_lines(&planning);
	expect_plan(&planning);
	passwd = the_step(&planning, STEP_FILE, "/etc/passwd");
	group = the_step(&planning, STEP_FILE, "/etc/group");
	expect_str(passwd->file.added, "sbx:x:1000:1000::/home/user:/bin/sh");
	expect_str(passwd->file.source, "/etc/passwd");
	expect_eq(passwd->file.mode, 0444);
	expect_str(group->file.added, "sbx:x:1000:");
}

static void what_is_there_stays(void)
{
	_cleanup_planning_ struct planning planning;

	open_without_lines(&planning);
	planning.host.lacks_user = planning.host.lacks_group = false;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_FILE, NULL));
	planning.host.lacks_user = true;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_FILE, "/etc/passwd"));
	expect(!find_step(&planning, STEP_FILE, "/etc/group"));
}

/* A colon or newline would begin another field or line of /etc/passwd. */
static void a_home_that_is_no_field_is_left_out(void)
{
	static const char *const homes[] = { "HOME=/a:b", "HOME=/a\nroot:x:0:0::/:/bin/sh" };

	for (size_t i = 0; i < N_ELEMENTS(homes); i++) {
		_cleanup_planning_ struct planning planning;

		open_without_lines(&planning);
		planning.environment[1] = homes[i];
		expect_plan(&planning);
		expect_str(the_step(&planning, STEP_FILE, "/etc/passwd")->file.added,
			   "sbx:x:1000:1000::/:/bin/sh");
	}
}

/* A generated file would show what a rule hides, or replace a file that was asked for. */
static void only_the_hosts_own_file_that_can_be_read_is_covered(void)
{
	static const struct {
		enum request_grant grant;
		const char *path;
		const char *target;
	} cases[] = {
		{ GRANT_DENY, "/etc", NULL },
		{ GRANT_DENY, "/etc/passwd", NULL },
		{ GRANT_TMPFS, "/etc", NULL },
		{ GRANT_READ, "/srv/etc", "/etc" },
		{ GRANT_READ, "/srv/etc/passwd", "/etc/passwd" },
		{ GRANT_WRITE, "/etc/passwd", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		open_without_lines(&planning);
		know(&planning, "/srv/etc/passwd", HOST_FILE);
		grant(&planning, cases[i].grant, cases[i].path, "--it");
		planning.paths[0].target = cases[i].target;
		expect_plan(&planning);
		expect(!find_step(&planning, STEP_FILE, "/etc/passwd"));
	}
}

static void a_policy_that_does_not_show_them_gets_none(void)
{
	_cleanup_planning_ struct planning planning;

	open_without_lines(&planning);
	planning_load(&planning, "capabilities: [{name: a, action: allow, match: {op: [fs.read, "
				 "fs.list, exec], path: /usr}}]\n");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_FILE, NULL));
}

static void open_with_hosts(struct planning *planning)
{
	planning_open(planning);
	know(planning, "/etc/hosts", HOST_FILE);
	planning->host.has_hosts = true;
}

static void the_host_name_has_an_address(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	open_with_hosts(&planning);
	expect_plan(&planning);
	step = the_step(&planning, STEP_FILE, "/etc/hosts");
	expect_str(step->file.added, "127.0.0.1 sandbox");
	expect_str(step->file.source, "/etc/hosts");
	expect_eq(step->file.mode, 0444);
	planning.request.hostname = "build-1.example";
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_FILE, "/etc/hosts")->file.added,
		   "127.0.0.1 build-1.example");
	planning.host.has_hosts = false;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_FILE, "/etc/hosts"));
}

/* It could add other names, or a line for another address. */
static void a_host_name_of_several_words_gets_none(void)
{
	static const char *const names[] = { "a b", "a\n10.0.0.1 b", "a\tb", "a#b" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		_cleanup_planning_ struct planning planning;

		open_with_hosts(&planning);
		planning.request.hostname = names[i];
		expect_plan(&planning);
		expect(!find_step(&planning, STEP_FILE, "/etc/hosts"));
	}
}

static void a_hidden_or_writable_hosts_file_gets_none(void)
{
	static const struct {
		enum request_grant grant;
		const char *path;
	} cases[] = {
		{ GRANT_DENY, "/etc" },
		{ GRANT_DENY, "/etc/hosts" },
		{ GRANT_TMPFS, "/etc" },
		{ GRANT_WRITE, "/etc/hosts" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		open_with_hosts(&planning);
		grant(&planning, cases[i].grant, cases[i].path, "--it");
		expect_plan(&planning);
		expect(!find_step(&planning, STEP_FILE, "/etc/hosts"));
	}
}

/* Without Landlock only mounts forbid writing: that of a copy over a file is read-only, and so is
 * the root, but a tmpfs is not. */
static void copies_are_written_only_in_a_tmpfs(void)
{
	static const struct request_secret secret = { "KEY", "/srv/key" };
	_cleanup_planning_ struct planning planning, home;
	_cleanup_text_ struct text summary = TEXT_INIT;
	const struct plan *plan;

	open_without_lines(&planning);
	know(&planning, "/srv/key", HOST_FILE);
	planning_load(
		&planning,
		"isolation: {nested: true}\ndefaults: {exec: allow}\n"
		"capabilities: [{name: a, action: allow, match: {op: [fs.read, fs.list, exec],"
		" path: [/usr, /etc]}}]\n");
	planning.request.secrets = &secret;
	planning.request.n_secrets = 1;
	expect_plan(&planning);
	plan = planning.plan;
	expect(the_step(&planning, STEP_FILE, "/etc/passwd")->file.added);
	expect_eq(plan_permits(plan, "/etc/passwd", HOST_FILE) & RIGHT_WRITE, 0);
	expect(plan_permits(plan, "/etc/passwd", HOST_FILE) & RIGHT_READ);
	expect(find_step(&planning, STEP_FILE, "/run/secrets/KEY"));
	expect_eq(plan_permits(plan, "/run/secrets/KEY", HOST_FILE) & RIGHT_WRITE, 0);
	plan_add_summary(&summary, plan);
	expect(!strstr(text_string(&summary), "/etc/passwd"));

	planning_open(&home);
	know(&home, "/home/user/.gitconfig", HOST_FILE);
	grant(&home, GRANT_READ, "/home/user/.gitconfig", "--read");
	expect_plan(&home);
	expect(find_step(&home, STEP_FILE, "/home/user/.gitconfig"));
	expect(plan_permits(home.plan, "/home/user/.gitconfig", HOST_FILE) & RIGHT_WRITE);
}

static const struct test tests[] = {
	TEST(copies_are_written_only_in_a_tmpfs),
	TEST(a_user_without_a_line_gets_one),
	TEST(the_host_name_has_an_address),
	TEST(a_host_name_of_several_words_gets_none),
	TEST(a_hidden_or_writable_hosts_file_gets_none),
	TEST(what_is_there_stays),
	TEST(a_home_that_is_no_field_is_left_out),
	TEST(only_the_hosts_own_file_that_can_be_read_is_covered),
	TEST(a_policy_that_does_not_show_them_gets_none),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
