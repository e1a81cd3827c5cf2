/* SPDX-License-Identifier: MIT */

/*
 * Whole plans, byte for byte, so that every change is reviewed. GOLDEN_UPDATE=1 in the environment
 * rewrites the files.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "plan-host.h"

#define PROJECT "/home/user/p"

/* The path of @name in the source tree, in the planning's arena. */
static const char *source_path(struct planning *planning, const char *directory, const char *name)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	text_addf(&path, "%s/%s/%s", getenv("SBX_SOURCE"), directory, name);
	return arena_copy(&planning->arena, text_string(&path), path.len);
}

static void update(const char *path, const struct text *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(text_string(text), 1, text->len, file) != text->len)
		printf("Bail out! cannot write %s\n", path);
	if (file)
		(void)fclose(file);
}

/* Prints the first line that differs. */
static void expect_same(const char *name, const char *got, const char *want)
{
	unsigned line = 1;
	size_t i = 0, start = 0;

	if (strcmp(got, want) == 0)
		return;
	for (; got[i] == want[i]; i++)
		if (got[i] == '\n') {
			start = i + 1;
			line++;
		}
	printf("# %s:%u:\n#   is  %.*s\n#   was %.*s\n", name, line,
	       (int)strcspn(got + start, "\n"), got + start, (int)strcspn(want + start, "\n"),
	       want + start);
	test_failures++;
}

static void compare(struct planning *planning, const char *name, const struct text *text)
{
	const char *path = source_path(planning, "tests/golden/plans", name);
	_cleanup_free_ char *want = NULL;
	size_t len = 0;

	if (getenv("GOLDEN_UPDATE"))
		update(path, text);
	if (file_read(AT_FDCWD, path, 1 << 20, &want, &len, &planning->err) < 0) {
		printf("# %s: %s\n", planning->err.what, planning->err.why);
		test_failures++;
		return;
	}
	expect_same(name, text_string(text), want);
}

static void load_shipped(struct planning *planning, const char *name)
{
	const char *path = source_path(planning, "policies", name);
	_cleanup_free_ char *bytes = NULL;
	size_t len = 0;

	expect_eq(file_read(AT_FDCWD, path, 1 << 20, &bytes, &len, NULL), 0);
	expect_eq(policy_load(name, bytes, len, &planning->policy, NULL), 0);
}

static void check(struct planning *planning, const char *name)
{
	_cleanup_text_ struct text text = TEXT_INIT, json = TEXT_INIT;
	char file[64];

	expect_plan(planning);
	if (!planning->plan)
		return;
	plan_add_summary(&text, planning->plan);
	text_add_char(&text, '\n');
	plan_add_text(&text, planning->plan);
	(void)snprintf(file, sizeof(file), "%s.txt", name);
	compare(planning, file, &text);
	plan_add_json(&json, planning->plan);
	(void)snprintf(file, sizeof(file), "%s.json", name);
	compare(planning, file, &json);
}

static void the_plan_without_a_policy(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	check(&planning, "default");
}

/* A startup file, a directory of keys with one exception, a token, and a socket. */
static void the_plan_of_a_writable_home(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/home/user", HOST_DIRECTORY);
	know(&planning, "/home/user/.bashrc", HOST_FILE);
	know(&planning, "/home/user/.config/gh", HOST_DIRECTORY);
	know(&planning, "/home/user/.config/sbx", HOST_DIRECTORY);
	know(&planning, "/home/user/.local/state/sbx", HOST_DIRECTORY);
	know(&planning, "/home/user/.ssh/known_hosts", HOST_FILE);
	know(&planning, "/run", HOST_DIRECTORY);
	know(&planning, "/run/docker.sock", HOST_SOCKET);
	grant(&planning, GRANT_WRITE, "/home/user", "--write");
	grant(&planning, GRANT_READ, "/home/user/.ssh/known_hosts", "--read");
	grant(&planning, GRANT_READ, "/run", "--read");
	check(&planning, "home");
}

static void the_plan_of_the_mode_proxy(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.net_mode = "proxy";
	check(&planning, "proxy");
}

static void the_plan_of_python(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	load_shipped(&planning, "python.yaml");
	know(&planning, PROJECT "/out", HOST_DIRECTORY);
	know(&planning, PROJECT "/.env", HOST_FILE);
	know(&planning, PROJECT "/.venv", HOST_DIRECTORY);
	planning.argv[0] = "python3";
	planning.argv[1] = "main.py";
	check(&planning, "python");
}

static void the_plan_of_code_executor_in_a_cgroup(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	load_shipped(&planning, "code-executor.yaml");
	know(&planning, PROJECT "/out", HOST_DIRECTORY);
	planning.host.cgroup = "/sys/fs/cgroup/user.slice/app.service";
	planning.host.controllers = CONTROLLER_MEMORY | CONTROLLER_CPU | CONTROLLER_PIDS;
	planning.host.has_cgroup_kill = true;
	check(&planning, "code-executor");
}

static void the_plan_of_strict(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	load_shipped(&planning, "strict.yaml");
	know(&planning, PROJECT "/input", HOST_DIRECTORY);
	check(&planning, "strict");
}

#define FOUND(name, what)                                                                          \
	{                                                                                          \
		.path = PROJECT name, .real = PROJECT name, .kind = what, .uid = 1000, .gid = 1000 \
	}
/* The probed paths of a repository with a submodule. */
static const struct host_path repository[] = {
	FOUND("/.git", HOST_DIRECTORY),	      FOUND("/.husky", HOST_DIRECTORY),
	FOUND("/.gitmodules", HOST_FILE),     FOUND("/vendor/lib", HOST_DIRECTORY),
	FOUND("/vendor/lib/.git", HOST_FILE),
};

static void the_plan_of_denials_in_a_repository(void)
{
	static const char policy[] =
		"capabilities:\n"
		"- name: system\n"
		"  match: {syscall: [fs.read, fs.list], path: [/usr, /lib, /lib64, /etc]}\n"
		"  action: allow\n"
		"- {name: project, match: {syscall: [fs.*, exec], path: ./}, action: allow}\n"
		"- {name: programs, match: {syscall: exec, path: /usr/bin}, action: allow}\n"
		"- {name: no-sudo, match: {syscall: exec, path: /usr/bin/sudo}, action: deny}\n"
		"- {name: keys, match: {syscall: fs.*, path: [/etc/shadow, ./secrets]}, action: deny}\n"
		"- {name: pipeline, match: {syscall: fs.write, path: ./ci/run.yml}, action: deny}\n"
		"- {name: team, match: {syscall: fs.read, path: /srv, caller: me}, action: allow}\n"
		"isolation: {seccomp: standard}\n"
		"net: {loopback: {connect: [5432], bind: [8000]}}\n"
		"limits: {mode: best-effort, memory: 2GiB, files: 512}\n"
		"denySyscalls: [ptrace]\n"
		"hostname: builder\n";
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, policy);
	know(&planning, PROJECT "/.git/hooks", HOST_DIRECTORY);
	know(&planning, PROJECT "/.git/config", HOST_FILE);
	know(&planning, PROJECT "/secrets", HOST_DIRECTORY);
	know(&planning, PROJECT "/ci/run.yml", HOST_FILE);
	planning.host.repository = repository;
	planning.host.n_repository = N_ELEMENTS(repository);
	check(&planning, "denials");
}

static void the_plan_of_roots_sandbox_with_options(void)
{
	static const struct request_secret secret = { "API_KEY", "/root/key" };
	static const int fds[] = { 5 };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.uid = planning.host.gid = 0;
	planning.host.is_root = true;
	know(&planning, "/root/key", HOST_FILE);
	know(&planning, "/srv/data", HOST_DIRECTORY);
	know(&planning, "/srv/out", HOST_DIRECTORY);
	know(&planning, "/dev/kvm", HOST_DEVICE);
	grant(&planning, GRANT_READ, "/srv/data", "--bind");
	planning.paths[0].target = "/data";
	grant(&planning, GRANT_TMPFS, "/cache", "--tmpfs");
	planning.request.out_directory = "/srv/out";
	planning.request.out_work = "/srv/.out-work";
	planning.request.secrets = &secret;
	planning.request.n_secrets = 1;
	planning.request.fds = fds;
	planning.request.n_fds = 1;
	planning.request.pty = true;
	planning.request.devices = (const char *const[]){ "kvm" };
	planning.request.n_devices = 1;
	planning.host.landlock_abi = 3;
	check(&planning, "root");
}

static void the_plan_of_the_reduced_tier(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.has_userns = false;
	planning.host.cgroup = "/sys/fs/cgroup/user.slice/app.service";
	planning.host.has_cgroup_kill = true;
	planning.request.tier = "reduced";
	check(&planning, "reduced");
}

static const struct test tests[] = {
	TEST(the_plan_without_a_policy),
	TEST(the_plan_of_a_writable_home),
	TEST(the_plan_of_the_mode_proxy),
	TEST(the_plan_of_python),
	TEST(the_plan_of_code_executor_in_a_cgroup),
	TEST(the_plan_of_strict),
	TEST(the_plan_of_denials_in_a_repository),
	TEST(the_plan_of_roots_sandbox_with_options),
	TEST(the_plan_of_the_reduced_tier),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
