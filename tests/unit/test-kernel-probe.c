/* SPDX-License-Identifier: MIT */

#include <linux/landlock.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/text.h"
#include "kernel/probe-internal.h"
#include "kernel/probe.h"
#include "probe-place.h"

struct rig {
	struct arena arena;
	struct host host;
	struct sbx_error err;
};

static void rig_deinit(struct rig *rig)
{
	arena_deinit(&rig->arena);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

/* ---- the whole probe ---- */

static int probe_all(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	const char *const paths[] = { "/bin", "/etc", "/usr", NULL };
	const struct host *host = &rig.host;

	check(chdir("/usr") == 0);
	check(host_probe(paths, NULL, &rig.arena, &rig.host, &rig.err) == 0);
	check(host->uid == geteuid() && host->gid == getegid());
	check(host->n_paths == 3 && host->paths[2].kind == HOST_DIRECTORY);
	check(strcmp(host->cwd, "/usr") == 0);
	/* The test itself is a dynamically linked program of the host. */
	check(host->loader && access(host->loader, X_OK) == 0);
	check(!host->git_common && host->n_repository == 0);
	check(host->cgroup || host->cgroup_why);
	check(host->has_seccomp && !host->userns_why);
	return 0;
}

static int probe_as_user(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	check(become_ordinary() == 0);
	check(probe_all() == 0);
	check(host_probe(NULL, NULL, &rig.arena, &rig.host, &rig.err) == 0);
	check(!rig.host.is_root);
	return 0;
}

static int probe_as_root(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	check(probe_all() == 0);
	check(host_probe(NULL, NULL, &rig.arena, &rig.host, &rig.err) == 0);
	check(rig.host.is_root);
	return 0;
}

static void tells_what_an_ordinary_user_can_do(void)
{
	expect_eq(in_child(probe_as_user), 0);
}

static void tells_what_root_can_do(void)
{
	NEEDS_ROOT();
	expect_eq(in_child(probe_as_root), 0);
}

static int probe_as_weak_root(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	struct plan plan = { .tier = TIER_FULL };
	struct kernel kernel = KERNEL_INIT;
	const struct step step = { .kind = STEP_CAPABILITIES };

	kernel.plan = &plan;
	check(capabilities_drop(&kernel, &step, 0) == 0 && geteuid() == 0);
	check(host_probe(NULL, NULL, &rig.arena, &rig.host, &rig.err) == 0);
	return rig.host.is_root ? -EPERM : 0;
}

static void uid_0_without_capabilities_is_not_root(void)
{
	NEEDS_ROOT();
	expect_eq(in_child(probe_as_weak_root), 0);
}

static int probe_in_a_removed_directory(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	int r;

	make_directory("gone");
	check(chdir(in_place("gone")) == 0 && rmdir(in_place("gone")) == 0);
	r = host_probe(NULL, NULL, &rig.arena, &rig.host, &rig.err);
	check(strcmp(rig.err.what, "cannot find the working directory") == 0 && rig.err.fix[0]);
	check(!rig.host.cwd);
	return r;
}

static void fails_in_a_directory_that_is_gone(void)
{
	expect_eq(in_child(probe_in_a_removed_directory), -ENOENT);
}

static int probe_a_project(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	check(host_probe(NULL, in_place("project/inside"), &rig.arena, &rig.host, &rig.err) == 0);
	check(rig.host.git_common && strcmp(rig.host.git_common, in_place("main/.git")) == 0);
	check(rig.host.n_links == 0 && rig.host.n_paths == 0);
	/* A missing directory has no repository; another check reports that it is missing. */
	check(host_probe(NULL, in_place("nothing"), &rig.arena, &rig.host, &rig.err) == 0);
	check(!rig.host.git_common);
	return 0;
}

static void looks_for_the_repository_of_the_project_that_is_named(void)
{
	make_directory("project/inside");
	make_directory("main/.git/objects");
	make_directory("main/.git/worktrees/w");
	make_file("main/.git/HEAD", "ref: refs/heads/main\n");
	make_file("main/.git/worktrees/w/gitdir", "@/project/.git\n");
	make_file("main/.git/worktrees/w/commondir", "../..\n");
	make_file("project/.git", "gitdir: @/main/.git/worktrees/w\n");
	expect_eq(in_child(probe_a_project), 0);
}

/* System calls of the probe: each start makes them. */
#define QUESTIONS_MAX 90

static _Noreturn void be_counted(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	const char *const paths[] = { "/bin",	"/etc",	 "/lib", "/lib32",
				      "/lib64", "/sbin", "/usr", NULL };

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
		_exit(2);
	_exit(host_probe(paths, NULL, &rig.arena, &rig.host, NULL) < 0);
}

static void asks_the_kernel_no_more_than_it_has_to(void)
{
	unsigned n_stops = 0;
	int status;
	pid_t child;

	if (chdir("/usr") < 0)
		abort();
	child = fork();
	if (child == 0)
		be_counted();
	expect_eq(waitpid(child, &status, 0), child);
	if (!WIFSTOPPED(status))
		skip("nothing can be traced here");
	while (ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0 &&
	       waitpid(child, &status, 0) == child && WIFSTOPPED(status))
		n_stops++;
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	/* Each system call stops at its entry and its exit. */
	printf("# %u system calls\n", n_stops / 2);
	expect(n_stops / 2 <= QUESTIONS_MAX);
}

/* ---- by trying ---- */

static int try_all(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	check(host_probe_deeply(&rig.arena, &rig.host, &rig.err) == 0);
	check(rig.host.has_userns && rig.host.has_seccomp && !rig.host.userns_why);
	check(rig.host.landlock_abi ==
	      syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION));
	rig.host.has_userns = false;
	check(host_try_userns(&rig.arena, &rig.host, &rig.err) == 0 && rig.host.has_userns);
	/* The trial runs in a child: this process is not restricted. */
	check(prctl(PR_GET_SECCOMP) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	return waitpid(-1, NULL, 0) < 0 && errno == ECHILD ? 0 : -ECHILD;
}

static int try_all_as_user(void)
{
	int r = become_ordinary();

	return r < 0 ? r : try_all();
}

static void finds_by_trying_what_works(void)
{
	NEEDS_USERNS();
	if (geteuid() == 0)
		expect_eq(in_child(try_all), 0);
	expect_eq(in_child(try_all_as_user), 0);
}

/* As on a host with the limit 0: the limit of a user namespace applies to those created in it. */
static int try_without_namespaces(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	struct kernel kernel = KERNEL_INIT;
	_cleanup_fclose_ FILE *limit = NULL;

	check(become_ordinary() == 0);
	check(enter_namespaces(&kernel, 0) == 0);
	limit = fopen("/proc/sys/user/max_user_namespaces", "we");
	check(limit && fputs("0\n", limit) >= 0 && fflush(limit) == 0);
	check(host_probe_deeply(&rig.arena, &rig.host, &rig.err) == 0);
	check(!rig.host.has_userns && !rig.host.has_proc && !rig.host.has_overlay);
	check(strstr(rig.host.userns_why, "user.max_user_namespaces"));
	check(strstr(rig.host.userns_fix, "sysctl"));
	/* seccomp needs no namespace. */
	check(rig.host.has_seccomp);
	check(host_probe(NULL, NULL, &rig.arena, &rig.host, &rig.err) == 0);
	check(rig.host.has_userns);
	check(host_try_userns(&rig.arena, &rig.host, &rig.err) == 0);
	check(!rig.host.has_userns && rig.host.userns_why && rig.host.userns_fix);
	return 0;
}

static void tells_why_there_are_no_user_namespaces(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(try_without_namespaces), 0);
}

static int cover_proc(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	struct kernel kernel = KERNEL_INIT;

	check(become_ordinary() == 0);
	check(enter_namespaces(&kernel, CLONE_NEWNS) == 0);
	check(host_probe(NULL, NULL, &rig.arena, &rig.host, &rig.err) == 0);
	check(rig.host.has_proc);
	check(mount("/proc/sys", "/proc/sys", NULL, MS_BIND | MS_REC, NULL) == 0);
	check(mount("tmpfs", "/proc/sys/kernel", "tmpfs", 0, NULL) == 0);
	check(host_probe(NULL, NULL, &rig.arena, &rig.host, &rig.err) == 0);
	return rig.host.has_proc ? -EPROTO : 0;
}

static void a_covered_proc_is_noticed_without_being_asked(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(cover_proc), 0);
}

/* ---- reasons ---- */

static struct sbx_error explain(bool is_filtered, int code)
{
	_cleanup_close_ int sysctl = open(in_place("sysctl"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sbx_error err = { 0 };

	probe_explain_userns(sysctl, is_filtered, code, &err);
	return err;
}

static void expect_reason(int code, bool is_filtered, const char *why, const char *fix)
{
	struct sbx_error err = explain(is_filtered, code);

	expect(strstr(err.why, why));
	expect(strstr(err.fix, fix));
}

static void explains_each_switch_with_what_to_type(void)
{
	make_directory("sysctl");
	make_directory("sysctl/user");
	make_directory("sysctl/kernel");
	make_file("sysctl/user/max_user_namespaces", "100\n");
	expect_reason(-EPERM, true, "filter", "seccomp=unconfined");
	expect_reason(-EPERM, false, "chroot", "dmesg");
	expect_reason(-ENOSPC, false, "limit of user namespaces", "max_user_namespaces=");
	expect_reason(-ENOSYS, false, "no user namespaces", "CONFIG_USER_NS");

	make_file("sysctl/kernel/apparmor_restrict_unprivileged_userns", "0\n");
	make_file("sysctl/kernel/unprivileged_userns_clone", "1\n");
	expect_reason(-EPERM, false, "chroot", "dmesg");
	make_file("sysctl/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	expect_reason(-EACCES, false, "AppArmor", "apparmor_parser -r");
	make_file("sysctl/kernel/unprivileged_userns_clone", "0\n");
	expect_reason(-EPERM, true, "unprivileged_userns_clone", "unprivileged_userns_clone=1");
	make_file("sysctl/user/max_user_namespaces", "0\n");
	expect_reason(-ENOSPC, false, "is 0", "max_user_namespaces=");
}

static void explains_without_a_proc(void)
{
	struct sbx_error err = { 0 };

	probe_explain_userns(-EBADF, false, -EPERM, &err);
	expect(err.why[0] && err.fix[0]);
	probe_explain_userns(-EBADF, false, -EPERM, NULL);
	host_explain_userns(-EPERM, NULL);
}

/* ---- cgroups ---- */

/* A directory with the files of a cgroup. */
static void make_cgroup(const char *name, const char *controllers, const char *subtree,
			const char *processes)
{
	static const char *const files[] = { "controllers", "subtree_control", "procs", "type",
					     "kill" };
	const char *const texts[] = { controllers, subtree, processes, "domain\n", "" };
	char path[128];

	make_directory(name);
	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/cgroup.%s", name, files[i]);
		make_file(path, texts[i]);
	}
}

static int probe_cgroups(struct rig *rig, const char *own)
{
	rig->host = (struct host){ .uid = geteuid() };
	return probe_cgroup_at(&rig->arena, in_place("cgroup"), own, &rig->host);
}

static void make_cgroups(void)
{
	make_cgroup("cgroup", "cpu memory pids\n", "cpu memory pids\n", "");
	make_cgroup("cgroup/unit", "cpuset cpu memory pids\n", "memory pids\n", "");
	make_cgroup("cgroup/unit/us", "memory pids\n", "", "17\n");
	make_cgroup("cgroup/empty", "cpu io memory\n", "", "");
}

static void the_callers_cgroup_contains_processes_so_has_no_limits(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	make_cgroups();
	expect_eq(probe_cgroups(&rig, "/unit/us"), 0);
	expect_str(rig.host.cgroup, in_place("cgroup/unit/us"));
	expect_eq(rig.host.controllers, 0);
	expect(rig.host.has_cgroup_kill);
	expect(rig.host.owns_cgroup);
	expect(strstr(rig.host.cgroup_why, "without processes"));
}

static void an_empty_one_can_hand_down_what_it_has(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	make_cgroups();
	expect_eq(probe_cgroups(&rig, "/empty"), 0);
	expect_str(rig.host.cgroup, in_place("cgroup/empty"));
	expect_eq(rig.host.controllers, CONTROLLER_MEMORY | CONTROLLER_CPU);
}

static void one_above_that_was_handed_over_is_better(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	const char *unit;

	make_cgroups();
	unit = in_place("cgroup/unit");
	if (setxattr(unit, "user.delegate", "1", 1, 0) < 0 &&
	    setxattr(unit, "trusted.delegate", "1", 1, 0) < 0)
		skip("this file system keeps no attributes");
	expect_eq(probe_cgroups(&rig, "/unit/us"), 0);
	expect_str(rig.host.cgroup, in_place("cgroup/unit"));
	expect_eq(rig.host.controllers, CONTROLLER_MEMORY | CONTROLLER_PIDS | CONTROLLER_CPU);
	expect(!rig.host.cgroup_why);
	unit = in_place("cgroup/unit");
	(void)removexattr(unit, "user.delegate");
	(void)removexattr(unit, "trusted.delegate");
}

static int look_at_somebody_elses(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	check(become_ordinary() == 0);
	check(chdir("/") == 0);
	check(probe_cgroups(&rig, "/unit/us") == 0);
	check(!rig.host.cgroup && rig.host.controllers == 0 && !rig.host.has_cgroup_kill);
	check(!rig.host.owns_cgroup);
	check(strstr(rig.host.cgroup_why, "owned by another user"));
	return 0;
}

static void takes_no_cgroup_that_it_may_not_write(void)
{
	NEEDS_ROOT();
	make_cgroups();
	expect_eq(in_child(look_at_somebody_elses), 0);
}

/* The command of root can be the user to whom it belongs. */
static void the_cgroup_of_another_user_may_be_that_of_roots_command(void)
{
	static const char *const files[] = { "", "/cgroup.procs", "/cgroup.kill" };
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	char path[64];

	NEEDS_ROOT();
	make_cgroups();
	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		(void)snprintf(path, sizeof(path), "cgroup/unit/us%s", files[i]);
		expect_eq(chown(in_place(path), 1000, 1000), 0);
	}
	expect_eq(probe_cgroups(&rig, "/unit/us"), 0);
	expect(rig.host.owns_cgroup);
}

static int look_at_a_read_only_one(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	const char *tree = in_place("cgroup");

	check(unshare(CLONE_NEWNS) == 0);
	check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	check(mount(tree, tree, NULL, MS_BIND, NULL) == 0);
	check(mount(NULL, tree, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0);
	check(probe_cgroups(&rig, "/unit/us") == 0);
	check(!rig.host.cgroup && strstr(rig.host.cgroup_why, "mounted read-only"));
	/* It could be mounted again. */
	check(rig.host.owns_cgroup);
	return 0;
}

static void says_that_the_cgroups_are_mounted_read_only(void)
{
	NEEDS_ROOT();
	make_cgroups();
	expect_eq(in_child(look_at_a_read_only_one), 0);
}

static void takes_no_cgroup_that_is_out_of_sight(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	make_cgroups();
	/* /proc/self/cgroup of a process outside of the cgroup namespace begins with "/..". */
	expect_eq(probe_cgroups(&rig, "/../unit"), 0);
	expect(!rig.host.cgroup);
	expect_eq(probe_cgroups(&rig, "/nothing"), 0);
	expect(!rig.host.cgroup);
	expect(rig.host.owns_cgroup);
	expect(strstr(rig.host.cgroup_why, "not visible"));
}

/* ---- printing ---- */

static void every_no_has_a_why(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct host nothing = { .cgroup_why = "there is no cgroup",
				      .userns_why = "it is so" };
	unsigned n_no = 0, n_why = 0;

	host_add_text(&text, &nothing);
	for (const char *at = text_string(&text); (at = strstr(at, " no")); at++)
		n_no += at[3] == '\n' || at[3] == ':';
	for (const char *at = text_string(&text); (at = strstr(at, "\n    why: ")); at++)
		n_why++;
	expect(!strstr(text_string(&text), " yes"));
	expect(n_no > 10);
	/* Four rows have the reason of the row above: overlays, that of /proc; three limits, that
	 * of the cgroup. */
	expect_eq(n_why, n_no - 4);
}

static void a_host_that_can_do_it_all_is_told_in_one_screen(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct host all = { .has_userns = true,
				  .has_proc = true,
				  .has_overlay = true,
				  .landlock_abi = 6,
				  .has_seccomp = true,
				  .has_notify = true,
				  .has_memfd_seal = true,
				  .cgroup = "/sys/fs/cgroup/a\nb",
				  .controllers =
					  CONTROLLER_MEMORY | CONTROLLER_CPU | CONTROLLER_PIDS,
				  .has_cgroup_kill = true,
				  .has_scope = true };
	unsigned n_lines = 0;

	host_add_text(&text, &all);
	for (const char *at = text_string(&text); (at = strchr(at, '\n')); at++)
		n_lines++;
	expect(n_lines <= 24);
	expect(!strstr(text_string(&text), "why:"));
	expect(strstr(text_string(&text), "ABI 6 (files, moves, truncate, TCP ports, devices, "));
	expect(strstr(text_string(&text), "/sys/fs/cgroup/a\\x0ab"));
}

static void without_a_new_proc_it_is_ready(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct host host = { .has_userns = true, .landlock_abi = 6, .has_seccomp = true };

	host_add_text(&text, &host);
	expect(strstr(text_string(&text), "tier full                 yes"));
	expect(strstr(text_string(&text), "private /proc             no"));
	expect(strstr(text_string(&text), "\nready, without /proc"));
}

static void the_same_is_one_object(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct host host = { .landlock_abi = 3, .uid = 7, .cgroup_why = "\"quoted\"" };
	const char *newline;

	host_add_json(&text, &host);
	expect_eq(json_validate(text_string(&text), text.len, NULL, NULL), 0);
	newline = strchr(text_string(&text), '\n');
	expect(newline && newline[1] == '\0');
	expect(strstr(text_string(&text), "\"landlock\":{\"holds\":true,\"abi\":3}"));
	expect(strstr(text_string(&text), "\"full\":{\"holds\":false"));
	expect(strstr(text_string(&text), "\"uid\":7"));
}

static const struct test tests[] = {
	TEST(tells_what_an_ordinary_user_can_do),
	TEST(tells_what_root_can_do),
	TEST(uid_0_without_capabilities_is_not_root),
	TEST(fails_in_a_directory_that_is_gone),
	TEST(looks_for_the_repository_of_the_project_that_is_named),
	TEST(asks_the_kernel_no_more_than_it_has_to),
	TEST(finds_by_trying_what_works),
	TEST(tells_why_there_are_no_user_namespaces),
	TEST(a_covered_proc_is_noticed_without_being_asked),
	TEST(explains_each_switch_with_what_to_type),
	TEST(explains_without_a_proc),
	TEST(the_callers_cgroup_contains_processes_so_has_no_limits),
	TEST(an_empty_one_can_hand_down_what_it_has),
	TEST(one_above_that_was_handed_over_is_better),
	TEST(takes_no_cgroup_that_it_may_not_write),
	TEST(the_cgroup_of_another_user_may_be_that_of_roots_command),
	TEST(says_that_the_cgroups_are_mounted_read_only),
	TEST(takes_no_cgroup_that_is_out_of_sight),
	TEST(every_no_has_a_why),
	TEST(a_host_that_can_do_it_all_is_told_in_one_screen),
	TEST(without_a_new_proc_it_is_ready),
	TEST(the_same_is_one_object),
	TEST_END,
};

int main(void)
{
	return run_in_place(tests, NULL);
}
