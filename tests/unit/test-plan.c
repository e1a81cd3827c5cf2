/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "plan-host.h"

/* Policy, host and request may be freed before the plan. */
static void outlives_policy_host_and_request(void)
{
	_cleanup_planning_ struct planning planning;
	_cleanup_free_ char *before = NULL;

	planning_open(&planning);
	planning_load(&planning,
		      "version: 1\n"
		      "denySyscalls: [ptrace]\n"
		      "hostname: box\n"
		      "capabilities:\n"
		      "- {name: all, match: {syscall: [fs.read, exec], path: [/usr, './']},"
		      " action: allow}\n");
	expect_plan(&planning);
	before = strdup(plan_text(&planning));
	planning.policy = policy_free(planning.policy);
	arena_deinit(&planning.arena);
	memset(&planning.host, 0xff, sizeof(planning.host));
	memset(planning.facts, 0xff, sizeof(planning.facts));
	memset(&planning.request, 0xff, sizeof(planning.request));
	memset(planning.paths, 0xff, sizeof(planning.paths));
	expect_str(plan_text(&planning), before ? before : "no memory");
	expect_str(planning.plan->deny_syscalls[0], "ptrace");
	expect(!planning.plan->deny_syscalls[1]);
}

static void the_same_inputs_give_the_same_bytes(void)
{
	_cleanup_planning_ struct planning planning;
	_cleanup_free_ char *first = NULL;
	_cleanup_text_ struct text json = TEXT_INIT, again = TEXT_INIT;

	planning_open(&planning);
	grant(&planning, GRANT_WRITE, "/home/user/p", "--write");
	know(&planning, "/home/user/p/.git/hooks", HOST_DIRECTORY);
	know(&planning, "/home/user/p/.git/config", HOST_FILE);
	expect_plan(&planning);
	first = strdup(plan_text(&planning));
	plan_add_json(&json, planning.plan);
	for (int i = 0; i < 20; i++) {
		expect_plan(&planning);
		expect_str(plan_text(&planning), first ? first : "no memory");
		text_reset(&again);
		plan_add_json(&again, planning.plan);
		expect_str(text_string(&again), text_string(&json));
	}
}

static void steps_come_in_the_order_of_their_kinds(void)
{
	_cleanup_planning_ struct planning planning;
	enum step_kind last = 0;

	planning_open(&planning);
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.controllers = CONTROLLER_MEMORY | CONTROLLER_CPU | CONTROLLER_PIDS;
	planning.request.pty = true;
	planning.request.ports = &(struct request_port){ .port = 5432 };
	planning.request.n_ports = 1;
	expect_plan(&planning);
	for (size_t i = 0; i < planning.plan->n_steps; i++) {
		enum step_kind kind = planning.plan->steps[i].kind;

		if (kind > STEP_BIND && kind <= STEP_PTS)
			kind = STEP_BIND;
		expect(kind >= last);
		last = kind;
	}
	expect_eq(last, STEP_EXEC);
}

/* A step comes after the step that creates the parent of its target. */
static void directories_come_before_what_is_in_them(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/a-b/x", HOST_DIRECTORY);
	know(&planning, "/srv/a/x", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/srv/a-b/x", "--read");
	grant(&planning, GRANT_READ, "/srv/a/x", "--read");
	grant(&planning, GRANT_TMPFS, "/srv/a", "--tmpfs");
	expect_plan(&planning);
	for (size_t i = 0; i < planning.plan->n_steps; i++)
		for (size_t k = 0; k < i; k++) {
			const char *one = step_target(&planning.plan->steps[k]);
			const char *later = step_target(&planning.plan->steps[i]);

			if (planning.plan->steps[i].kind <= STEP_PTS && one && later)
				expect(strncmp(later, one, strlen(later)) != 0 ||
				       one[strlen(later)] != '/');
		}
	expect(find_step(&planning, STEP_TMPFS, "/srv/a"));
	expect(find_step(&planning, STEP_BIND, "/srv/a/x"));
}

static void every_directory_on_the_way_is_made_once(void)
{
	_cleanup_planning_ struct planning planning;
	size_t n = 0;

	planning_open(&planning);
	know(&planning, "/srv/data/one", HOST_DIRECTORY);
	know(&planning, "/srv/data/two", HOST_DIRECTORY);
	know(&planning, "/srv/database", HOST_DIRECTORY);
	grant(&planning, GRANT_READ, "/srv/data/one", "--read");
	grant(&planning, GRANT_READ, "/srv/data/two", "--read");
	grant(&planning, GRANT_READ, "/srv/database", "--read");
	expect_plan(&planning);
	for (size_t i = 0; i < planning.plan->n_steps; i++) {
		const struct step *step = &planning.plan->steps[i];

		n += step->kind == STEP_DIRECTORY &&
		     strncmp(step->directory.target, "/srv", 4) == 0;
	}
	expect_eq(n, 2);
	expect(find_step(&planning, STEP_DIRECTORY, "/srv"));
	expect(find_step(&planning, STEP_DIRECTORY, "/srv/data"));
}

static void without_a_policy_system_and_project_can_be_read(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect_eq(planning.plan->tier, TIER_FULL);
	expect_eq(planning.plan->layers & LAYERS_FULL, LAYERS_FULL);
	expect_eq(flags_of(&planning, STEP_BIND, "/usr"), STEP_READ_ONLY | STEP_IS_DIRECTORY);
	expect_eq(flags_of(&planning, STEP_BIND, "/etc"), STEP_READ_ONLY | STEP_IS_DIRECTORY);
	expect_eq(flags_of(&planning, STEP_BIND, "/home/user/p"),
		  STEP_READ_ONLY | STEP_IS_DIRECTORY);
	expect_str(find_step(&planning, STEP_LINK, "/lib64")->link.points_to, "usr/lib64");
	expect(find_step(&planning, STEP_TMPFS, "/tmp"));
	expect(!find_step(&planning, STEP_BIND, "/home/user"));
	expect(!find_step(&planning, STEP_BIND, "/"));
	expect_str(find_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
		   "/home/user/p");
	expect_str(planning.plan->template, "default");
	expect_str(planning.plan->net_mode, "loopback");
}

static void a_project_in_tmp_lies_in_the_fresh_tmp(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/tmp/build/p", HOST_DIRECTORY);
	planning.request.project = "/tmp/build/p";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_TMPFS, "/tmp"));
	expect(find_step(&planning, STEP_DIRECTORY, "/tmp/build"));
	expect_eq(flags_of(&planning, STEP_BIND, "/tmp/build/p"),
		  STEP_READ_ONLY | STEP_IS_DIRECTORY);
	expect_str(find_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
		   "/tmp/build/p");
}

static void a_project_that_is_the_root_shows_the_usual_directories(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.project = "/";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/home"));
	expect(find_step(&planning, STEP_BIND, "/root"));
	expect(!find_step(&planning, STEP_BIND, "/"));
	expect_str(find_step(&planning, STEP_WORKING_DIRECTORY, NULL)->working_directory.target,
		   "/");
}

static void refuses_a_request_without_a_command_or_a_name(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.argv[0] = NULL;
	expect_refusal(&planning, -EINVAL);
	expect(!planning.plan);
	planning.argv[0] = "true";
	planning.request.id = "../other";
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "not a valid name for a sandbox", "contains '/'", ""));
}

static void refuses_a_name_of_the_machine_that_no_kernel_takes(void)
{
	static char name[] = "sixtyfour-bytes-are-what-a-kernel-keeps-of-the-name-of-a-machine.";
	_cleanup_planning_ struct planning typed, ruled;

	expect_eq(strlen(name), 65);
	planning_open(&typed);
	typed.request.hostname = name;
	expect_refusal(&typed, -EINVAL);
	name[64] = '\0';
	expect_plan(&typed);

	planning_open(&ruled);
	planning_load(&ruled,
		      "version: 1\n"
		      "hostname: "
		      "sixtyfour-bytes-are-what-a-kernel-keeps-of-the-name-of-a-machine.\n");
	expect_refusal(&ruled, -EOPNOTSUPP);
	ruled.request.hostname = name;
	expect_plan(&ruled);
}

static void says_where_the_name_of_the_machine_and_the_directory_come_from(void)
{
	_cleanup_planning_ struct planning typed, ruled;

	planning_open(&typed);
	typed.request.hostname = "typed";
	typed.request.cwd = "/usr";
	expect_plan(&typed);
	expect(strstr(plan_text(&typed), "hostname typed  # --hostname\n"));
	expect(strstr(plan_text(&typed), "working-directory /usr  # --cwd\n"));
	planning_open(&ruled);
	planning_load(
		&ruled,
		"version: 1\nhostname: ruled\nworking_dir: /usr\n"
		"capabilities:\n"
		"- {name: all, match: {syscall: [fs.read, exec], path: /usr}, action: allow}\n");
	expect_plan(&ruled);
	expect(strstr(plan_text(&ruled), "hostname ruled  # p.yaml:2 'hostname'\n"));
	expect(strstr(plan_text(&ruled), "working-directory /usr  # p.yaml:3 'working_dir'\n"));
}

static void says_where_a_forwarded_port_comes_from(void)
{
	static const struct request_port ports[] = { { .port = 5432 }, { .port = 6379 } };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "version: 1\nview: system\n"
				 "net: {mode: loopback, loopback: {connect: [80, 5432]}}\n");
	planning.request.ports = ports;
	planning.request.n_ports = 2;
	expect_plan(&planning);
	expect(strstr(plan_text(&planning), "listen 127.0.0.1:5432 for connect  # p.yaml:3 "
					    "'net.loopback.connect[1]'\n"));
	expect(strstr(plan_text(&planning), "listen 127.0.0.1:6379 for connect  # --connect\n"));
}

static void says_where_the_profile_of_system_calls_comes_from(void)
{
	_cleanup_planning_ struct planning typed, ruled;

	planning_open(&typed);
	typed.request.template = "policy-sandbox";
	expect_plan(&typed);
	expect(strstr(plan_text(&typed), "  # --template\n"));
	planning_open(&ruled);
	planning_load(
		&ruled,
		"version: 1\nisolation: {template: ai-provider,\n  seccomp: strict}\n"
		"capabilities:\n"
		"- {name: all, match: {syscall: [fs.read, exec], path: /usr}, action: allow}\n");
	expect_plan(&ruled);
	expect(strstr(plan_text(&ruled), "  # p.yaml:3 'isolation.seccomp'\n"));
}

static void refuses_a_path_that_the_host_was_not_asked_about(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	plan_free_ptr(&planning.plan);
	grant(&planning, GRANT_READ, "/srv/late", "--read");
	expect_eq(plan_build(NULL, &planning.request, &planning.host, &planning.plan,
			     &planning.err),
		  -EINVAL);
	expect(says(&planning, "/srv/late", "the host was not probed", ""));
}

static void exec_needs_debug_and_an_allow_rule(void)
{
	static const char allows[] = "capabilities:\n"
				     "- {name: debug, match: {op: container.run, mode: debug},"
				     " action: allow}\n";
	static const char explores[] = "capabilities:\n"
				       "- {name: not, match: {op: container.run, mode: explore},"
				       " action: allow}\n";
	static const char asks_more[] = "capabilities:\n"
					"- {name: not, match: {op: container.run, mode: debug,"
					" caller: me}, action: allow}\n";
	static const char denies[] = "capabilities:\n"
				     "- {name: may, match: {op: container.run}, action: allow}\n"
				     "- {name: not, match: {op: container.*}, action: deny}\n";
	static const char shell[] = "capabilities:\n"
				    "- {name: not, match: {op: shell.run, mode: debug},"
				    " action: allow}\n";
	static const char reviews[] = "capabilities:\n"
				      "- {name: may, match: {op: container.run}, action: allow}\n"
				      "- {name: not, match: {op: container.run, mode: debug},"
				      " action: require_review}\n";
	static const struct {
		const char *policy;
		bool debug;
		bool may;
	} cases[] = {
		{ NULL, false, false },	   { NULL, true, true },
		{ allows, true, true },	   { allows, false, false },
		{ explores, true, false }, { asks_more, true, false },
		{ denies, true, false },   { "version: 1\n", true, false },
		{ shell, true, false },	   { reviews, true, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		if (cases[i].policy)
			planning_load(&planning, cases[i].policy);
		planning.request.debug = cases[i].debug;
		expect_plan(&planning);
		expect_eq(planning.plan->may_exec, cases[i].may);
	}
}

static void carries_the_digest_fds_and_name(void)
{
	_cleanup_planning_ struct planning planning;
	const int fds[] = { 7, 9 };

	planning_open(&planning);
	planning.request.fds = fds;
	planning.request.n_fds = 2;
	expect_plan(&planning);
	expect(!planning.plan->has_digest);
	expect_eq(planning.plan->n_fds, 2);
	expect_eq(planning.plan->fds[1], 9);
	expect_str(planning.plan->id, "test");
	planning_load(&planning, "version: 1\n");
	expect_plan(&planning);
	expect(planning.plan->has_digest);
	expect(memcmp(planning.plan->digest, planning.policy->digest, 32) == 0);
}

static void a_plan_of_nothing_is_freed(void)
{
	expect(!plan_free(NULL));
}

static const struct test tests[] = {
	TEST(outlives_policy_host_and_request),
	TEST(the_same_inputs_give_the_same_bytes),
	TEST(steps_come_in_the_order_of_their_kinds),
	TEST(directories_come_before_what_is_in_them),
	TEST(every_directory_on_the_way_is_made_once),
	TEST(without_a_policy_system_and_project_can_be_read),
	TEST(a_project_in_tmp_lies_in_the_fresh_tmp),
	TEST(a_project_that_is_the_root_shows_the_usual_directories),
	TEST(refuses_a_request_without_a_command_or_a_name),
	TEST(refuses_a_name_of_the_machine_that_no_kernel_takes),
	TEST(says_where_the_name_of_the_machine_and_the_directory_come_from),
	TEST(says_where_a_forwarded_port_comes_from),
	TEST(says_where_the_profile_of_system_calls_comes_from),
	TEST(refuses_a_path_that_the_host_was_not_asked_about),
	TEST(exec_needs_debug_and_an_allow_rule),
	TEST(carries_the_digest_fds_and_name),
	TEST(a_plan_of_nothing_is_freed),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
