/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <linux/landlock.h>
#include <stdio.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"
#define READ LANDLOCK_ACCESS_FS_READ_FILE
#define LIST LANDLOCK_ACCESS_FS_READ_DIR
#define WRITE LANDLOCK_ACCESS_FS_WRITE_FILE
#define EXECUTE LANDLOCK_ACCESS_FS_EXECUTE
/* Missing in the headers of Debian 12. */
#define TRUNCATE (UINT64_C(1) << 14)
#define IOCTL_DEV (UINT64_C(1) << 15)

static uint64_t rights_at(const struct planning *planning, const char *path)
{
	const struct step *step = find_step(planning, STEP_LANDLOCK_PATH, path);

	return step ? step->landlock_path.rights : 0;
}

static void open_policy(struct planning *planning, const char *rules)
{
	char policy[2048];

	planning_open(planning);
	(void)snprintf(policy, sizeof(policy), "capabilities:\n%s", rules);
	planning_load(planning, policy);
}

static void the_numbers_are_the_kernels(void)
{
	_cleanup_planning_ struct planning planning;
	uint64_t all;

	planning_open(&planning);
	planning.host.landlock_abi = 1;
	expect_plan(&planning);
	all = the_step(&planning, STEP_LANDLOCK, NULL)->landlock.file_rights;
	expect_eq(all, (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1);
	expect_eq(rights_at(&planning, "/"), READ | LIST | EXECUTE);
	expect_eq(rights_at(&planning, "/tmp"),
		  all & ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK));
}

static void an_abi_gets_what_it_knows_and_the_rest_is_told(void)
{
	static const struct {
		int abi;
		uint64_t files;
		uint64_t missing;
		uint64_t ports;
		uint64_t scopes;
	} cases[] = {
		{ 1, 0x1fff, 0xe000, 0, 0 }, { 2, 0x3fff, 0xc000, 0, 0 },
		{ 3, 0x7fff, 0x8000, 0, 0 }, { 4, 0x7fff, 0x8000, 3, 0 },
		{ 5, 0xffff, 0, 3, 0 },	     { 6, 0xffff, 0, 3, 3 },
		{ 12, 0xffff, 0, 3, 3 },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;
		const struct step *step;

		planning_open(&planning);
		planning.host.landlock_abi = cases[i].abi;
		planning.request.net_mode = "none";
		expect_plan(&planning);
		step = the_step(&planning, STEP_LANDLOCK, NULL);
		expect_eq(step->landlock.file_rights, cases[i].files);
		expect_eq(step->landlock.port_rights, cases[i].ports);
		expect_eq(step->landlock.scopes, cases[i].scopes);
		expect_eq(planning.plan->unenforced_landlock, cases[i].missing);
		for (size_t k = 0; k < planning.plan->n_steps; k++)
			if (planning.plan->steps[k].kind == STEP_LANDLOCK_PATH)
				expect(!(planning.plan->steps[k].landlock_path.rights &
					 ~cases[i].files));
	}
}

static void ports_are_only_for_an_abi_that_has_them(void)
{
	static const struct request_port port = { .port = 5432 };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.ports = &port;
	planning.request.n_ports = 1;
	planning.host.landlock_abi = 3;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_LANDLOCK_PORT, NULL));
}

static void rules_of_a_policy_are_said_again(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(
		&planning,
		"- {name: lib, match: {syscall: fs.read, path: /usr}, action: allow}\n"
		"- {name: in, match: {syscall: [fs.read, fs.list], path: ./in}, action: allow}\n"
		"- {name: out, match: {syscall: fs.write, path: ./out}, action: allow}\n"
		"- {name: run, match: {syscall: exec, path: /usr/bin/true}, action: allow}\n");
	know(&planning, PROJECT "/in", HOST_DIRECTORY);
	know(&planning, PROJECT "/out", HOST_DIRECTORY);
	expect_plan(&planning);
	expect_eq(rights_at(&planning, "/usr"), READ);
	expect_eq(rights_at(&planning, PROJECT "/in"), READ | LIST);
	expect(rights_at(&planning, PROJECT "/out") & WRITE);
	expect(!(rights_at(&planning, PROJECT "/out") & (READ | LIST | EXECUTE)));
	expect_eq(rights_at(&planning, "/usr/bin/true"), READ | EXECUTE);
	/* Without its loader no program starts. */
	expect_eq(rights_at(&planning, "/usr/lib/ld.so"), READ | EXECUTE);
	expect_eq(rights_at(&planning, "/usr/lib"), 0);
	expect_eq(rights_at(&planning, "/"), 0);
}

static void a_file_gets_no_rights_of_directories(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: one, match: {syscall: fs.*, path: ./one}, action: allow}\n");
	know(&planning, PROJECT "/one", HOST_FILE);
	expect_plan(&planning);
	expect_eq(rights_at(&planning, PROJECT "/one"), READ | WRITE | TRUNCATE);
}

static void what_is_allowed_above_is_not_said_again(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(
		&planning,
		"- {name: usr, match: {syscall: fs.read, path: [/usr, /usr/lib]}, action: allow}\n");
	expect_plan(&planning);
	expect(rights_at(&planning, "/usr"));
	expect(!rights_at(&planning, "/usr/lib"));
}

static void devices_may_be_written_and_asked(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect(rights_at(&planning, "/dev") & IOCTL_DEV);
	expect(rights_at(&planning, "/dev") & WRITE);
	expect(!(rights_at(&planning, "/tmp") & IOCTL_DEV));
}

static void open_reduced(struct planning *planning)
{
	planning_open(planning);
	planning->host.has_userns = false;
	planning->host.cgroup = "/sys/fs/cgroup/user";
	planning->host.has_cgroup_kill = true;
	planning->request.tier = "reduced";
}

static void alone_it_holds_the_same_paths(void)
{
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect_eq(rights_at(&planning, "/"), 0);
	expect_eq(rights_at(&planning, "/usr"), READ | LIST | EXECUTE);
	expect(rights_at(&planning, PROJECT) & WRITE);
	expect(rights_at(&planning, "/dev/null") & WRITE);
	expect_eq(rights_at(&planning, "/tmp"), 0);
	expect_eq(rights_at(&planning, "/proc"), 0);
	expect_str(the_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
		   PROJECT);
}

static void alone_it_refuses_what_only_a_mount_could_hold(void)
{
	static const struct {
		enum request_grant grant;
		const char *path;
		const char *target;
		const char *what;
	} cases[] = {
		{ GRANT_DENY, "/etc/shadow", NULL,
		  "cannot enforce what --it denies at '/etc/shadow'" },
		{ GRANT_TMPFS, "/srv", NULL, "cannot mount anything at '/srv'" },
		{ GRANT_READ, "/etc", "/mnt", "cannot mount anything at '/mnt'" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		open_reduced(&planning);
		grant(&planning, cases[i].grant, cases[i].path, "--it");
		planning.paths[0].target = cases[i].target;
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, cases[i].what, "the reduced tier",
			    "a host with user namespaces"));
	}
}

/* The kernel refuses a rule that grants nothing (ENOMSG), and a file cannot be listed. */
static void alone_it_has_no_rule_for_a_file_that_may_only_be_listed(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "  - name: a\n"
			       "    match: {syscall: fs.list, path: [/etc/passwd, /srv]}\n"
			       "    action: allow\n");
	planning.host.has_userns = false;
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.has_cgroup_kill = true;
	planning.request.tier = "reduced";
	know(&planning, "/etc/passwd", HOST_FILE);
	know(&planning, "/srv", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_LANDLOCK_PATH, "/etc/passwd"));
	expect_eq(rights_at(&planning, "/srv"), LIST);
}

static void without_mounts_a_denied_write_in_a_writable_directory_is_refused(void)
{
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	know(&planning, PROJECT "/.git/hooks", HOST_DIRECTORY);
	know(&planning, PROJECT "/.git/config", HOST_FILE);
	expect_plan(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "the protection of repositories", "cannot hide parts", ""));
}

/* The command gets the pseudo-terminal instead of the streams of sbx-spawn. */
static void streams_get_a_rule_only_if_the_command_has_them(void)
{
	_cleanup_planning_ struct planning planning, typed;

	planning_open(&planning);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_LANDLOCK_STREAMS, NULL));
	planning_open(&typed);
	typed.request.pty = true;
	expect_plan(&typed);
	expect(!find_step(&typed, STEP_LANDLOCK_STREAMS, NULL));
}

static const struct test tests[] = {
	TEST(streams_get_a_rule_only_if_the_command_has_them),
	TEST(the_numbers_are_the_kernels),
	TEST(an_abi_gets_what_it_knows_and_the_rest_is_told),
	TEST(ports_are_only_for_an_abi_that_has_them),
	TEST(rules_of_a_policy_are_said_again),
	TEST(a_file_gets_no_rights_of_directories),
	TEST(what_is_allowed_above_is_not_said_again),
	TEST(devices_may_be_written_and_asked),
	TEST(alone_it_holds_the_same_paths),
	TEST(alone_it_refuses_what_only_a_mount_could_hold),
	TEST(alone_it_has_no_rule_for_a_file_that_may_only_be_listed),
	TEST(without_mounts_a_denied_write_in_a_writable_directory_is_refused),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
