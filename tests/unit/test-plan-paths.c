/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan-host.h"

#define PROJECT "/home/user/p"

static bool is_asked(const struct planning *planning, const char *path)
{
	return host_find_path(&planning->host, path) != NULL;
}

static void they_are_sorted_and_each_is_there_once(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: a, match: {syscall: fs.*, path: [/b, /a, ./x, /b]},"
		      " action: allow}\n"
		      "- {name: b, match: {syscall: fs.read, path: [/a, /b]}, action: deny}\n");
	expect_eq(ask_host(&planning), 0);
	expect(planning.host.n_paths > 4);
	for (size_t i = 0; i < planning.host.n_paths; i++) {
		expect(path_is_normal(planning.facts[i].path));
		expect(i == 0 || strcmp(planning.facts[i - 1].path, planning.facts[i].path) < 0);
	}
}

static void everything_that_a_plan_needs_is_asked(void)
{
	static const struct request_secret secret = { "KEY", "/home/user/.key" };
	static const char *const devices[] = { "kvm" };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "working_dir: ./sub\n"
		      "net: {unix: [/run/db.sock]}\n"
		      "mounts: [{source: ./data, target: /data}]\n"
		      "capabilities:\n"
		      "- {name: in, match: {syscall: fs.*, path: /data/deep}, action: deny}\n"
		      "- {name: out, match: {syscall: fs.write, path: ./out}, action: allow}\n");
	planning.request.secrets = &secret;
	planning.request.n_secrets = 1;
	planning.request.devices = devices;
	planning.request.n_devices = 1;
	grant(&planning, GRANT_READ, "/srv/in", "--bind");
	planning.paths[0].target = "/mnt/in";
	expect_eq(ask_host(&planning), 0);
	expect(is_asked(&planning, PROJECT));
	expect(is_asked(&planning, PROJECT "/sub"));
	expect(is_asked(&planning, "/run/db.sock"));
	expect(is_asked(&planning, PROJECT "/data"));
	expect(is_asked(&planning, PROJECT "/data/deep"));
	expect(is_asked(&planning, PROJECT "/out/.git"));
	expect(is_asked(&planning, "/home/user/.key"));
	expect(is_asked(&planning, "/dev/kvm"));
	expect(is_asked(&planning, "/srv/in"));
	expect(is_asked(&planning, "/mnt/in"));
	expect(is_asked(&planning, "/usr/bin/true"));
	expect(!is_asked(&planning, "/"));
}

/* Each path costs a system call at each start. */
static void without_a_policy_few_are_asked(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_eq(ask_host(&planning), 0);
	expect(planning.host.n_paths <= 24);
}

static void unsupported_policies_are_refused_before_probing(void)
{
	_cleanup_planning_ struct planning planning;
	const char *const *paths = NULL, *const *made = NULL;

	planning_open(&planning);
	planning_load(&planning, "capabilities:\n"
				 "- {name: c, match: {syscall: fs.read, path_glob: '*.c'},"
				 " action: allow}\n");
	expect_eq(plan_list_paths(planning.policy, &planning.request, &planning.arena, &paths,
				  &made, &planning.err),
		  -EOPNOTSUPP);
	expect(!paths);
	expect(says(&planning, "p.yaml:2: rule 'c'", "", ""));
}

static void one_that_was_not_asked_about_is_not_found(void)
{
	_cleanup_planning_ struct planning planning;
	const struct host none = { .n_paths = 0 };

	planning_open(&planning);
	expect_eq(ask_host(&planning), 0);
	expect_str(host_find_path(&planning.host, "/usr")->real, "/usr");
	expect_str(host_find_path(&planning.host, "/lib64")->real, "/usr/lib64");
	expect(!host_find_path(&planning.host, "/us"));
	expect(!host_find_path(&planning.host, "/zzz"));
	expect(!host_find_path(&none, "/usr"));
}

static const struct test tests[] = {
	TEST(they_are_sorted_and_each_is_there_once),
	TEST(everything_that_a_plan_needs_is_asked),
	TEST(without_a_policy_few_are_asked),
	TEST(unsupported_policies_are_refused_before_probing),
	TEST(one_that_was_not_asked_about_is_not_found),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
