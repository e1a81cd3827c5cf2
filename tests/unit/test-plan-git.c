/* SPDX-License-Identifier: MIT */

/* Files from which git runs programs, wherever probing has found them */

#include <errno.h>
#include <string.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"
#define SUB PROJECT "/vendor/lib"
#define PROTECTION "the protection of repositories"
#define FOUND(at, what)                                                                            \
	{                                                                                          \
		.path = at, .real = at, .kind = what, .uid = 1000, .gid = 1000                     \
	}

static const struct host_path found[] = {
	FOUND(PROJECT "/.git", HOST_DIRECTORY),
	FOUND(PROJECT "/.husky", HOST_DIRECTORY),
	FOUND(PROJECT "/.git/hooks", HOST_DIRECTORY),
	FOUND(PROJECT "/.git/config", HOST_FILE),
	FOUND(PROJECT "/.gitmodules", HOST_FILE),
	FOUND(SUB, HOST_DIRECTORY),
	FOUND(SUB "/.git", HOST_FILE),
};
static struct host_top tops[] = {
	{ PROJECT, HOST_HAS_GIT },
	{ PROJECT "/.git", HOST_IS_REPOSITORY },
};

static void find(struct planning *planning, const struct host_path *names, size_t n)
{
	planning->host.repository = names;
	planning->host.n_repository = n;
}

static void open_repository(struct planning *planning)
{
	planning_open(planning);
	know(planning, PROJECT "/.git", HOST_DIRECTORY);
	know(planning, PROJECT "/.git/hooks", HOST_DIRECTORY);
	find(planning, found, N_ELEMENTS(found));
	planning->host.tops = tops;
	planning->host.n_tops = N_ELEMENTS(tops);
}

static bool is_read_only(const struct planning *planning, const char *path)
{
	const struct step *step = find_step(planning, STEP_BIND, path);

	return step && (step_flags(step) & STEP_READ_ONLY) &&
	       strcmp(step->origin.text, PROTECTION) == 0;
}

static void a_repository_is_read_only_as_a_whole(void)
{
	static const char *const names[] = { "/.git", "/.husky", "/.gitmodules", "/vendor/lib" };
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		text_reset(&planning.text);
		text_addf(&planning.text, PROJECT "%s", names[i]);
		expect(is_read_only(&planning, text_string(&planning.text)));
	}
	/* .git/hooks is inside the read-only .git and needs no mount, and no directory above it can
	 * be renamed. */
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.git/hooks"));
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/vendor"), STEP_IS_DIRECTORY);
	expect_str(planning.plan->git, PROJECT "/.git");
	expect_str(planning.plan->git_argument, PROJECT "/.git");
	expect(has_notice(&planning, "'" PROJECT "/.git' is read-only"));
}

/* The plan itself has asked about this one, so probing was not needed. */
static void a_repository_that_only_the_plan_knows_is_read_only(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/.git", HOST_FILE);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect(is_read_only(&planning, PROJECT "/.git"));
}

static void a_readable_repository_needs_no_protection(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.git"));
	expect(!planning.plan->git);
	expect_eq(planning.plan->n_tops, 0);
}

static void a_policy_that_writes_protects_too(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	planning_load(&planning, "capabilities:\n"
				 "- {name: p, match: {syscall: fs.*, path: ./}, action: allow}\n");
	expect_plan(&planning);
	expect(is_read_only(&planning, PROJECT "/.git"));
}

static void a_repository_that_is_granted_keeps_hooks_and_configuration(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	grant(&planning, GRANT_WRITE, PROJECT "/.git", "--write");
	expect_plan(&planning);
	expect(!is_read_only(&planning, PROJECT "/.git"));
	expect(is_read_only(&planning, PROJECT "/.git/hooks"));
	expect(is_read_only(&planning, PROJECT "/.git/config"));
	expect(!planning.plan->git);
	expect(has_notice(&planning, "protection of all of '" PROJECT "/.git'"));
	grant(&planning, GRANT_WRITE, PROJECT "/.git/hooks", "--write");
	expect_plan(&planning);
	expect(!is_read_only(&planning, PROJECT "/.git/hooks"));
}

static void refuses_hooks_that_are_missing_in_a_granted_repository(void)
{
	static const struct host_path hooks[] = { FOUND(PROJECT "/.git/hooks", HOST_MISSING) };
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	find(&planning, hooks, 1);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	grant(&planning, GRANT_WRITE, PROJECT "/.git", "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, PROJECT "/.git/hooks", "does not exist", "create it"));
}

static void refuses_what_is_missing_and_would_be_taken(void)
{
	static const struct host_path names[] = { FOUND(PROJECT "/.git", HOST_DIRECTORY),
						  FOUND(PROJECT "/tools/hooks", HOST_MISSING) };
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	find(&planning, names, N_ELEMENTS(names));
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, PROJECT "/tools/hooks", "does not exist", "create it"));
}

static void refuses_a_part_of_a_repository_beside_what_is_around_it(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	know(&planning, PROJECT "/.git/objects", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, PROJECT "/.git/objects", "--write");
	expect_plan(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EACCES);
	expect(says(&planning, PROJECT "/.git/objects", PROTECTION, "--write " PROJECT "/.git,"));
	/* What the message says to type works. */
	grant(&planning, GRANT_WRITE, PROJECT "/.git", "--write");
	expect_plan(&planning);
	expect(is_read_only(&planning, PROJECT "/.git/hooks"));
}

static void refuses_a_part_of_hooks_and_names_them(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	know(&planning, PROJECT "/.git/hooks/own", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, PROJECT "/.git", "--write");
	grant(&planning, GRANT_TMPFS, PROJECT "/.git/hooks/own", "--tmpfs");
	expect_refusal(&planning, -EACCES);
	expect(says(&planning, PROJECT "/.git/hooks/own", PROTECTION,
		    "--write " PROJECT "/.git/hooks,"));
	grant(&planning, GRANT_WRITE, PROJECT "/.git/hooks", "--write");
	expect_plan(&planning);
}

/* The fix for another denial in a protected directory is to change that denial. */
static void a_denial_in_a_repository_is_named_itself(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	know(&planning, PROJECT "/.git/objects", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	grant(&planning, GRANT_WRITE, PROJECT "/.git/objects", "--write");
	grant(&planning, GRANT_DENY_WRITE, PROJECT "/.git/objects", "--deny-write");
	expect_refusal(&planning, -EACCES);
	expect(says(&planning, PROJECT "/.git/objects", "--deny-write", "change the rule"));
}

static void a_submodule_is_writable_where_a_grant_names_it(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	know(&planning, SUB "/src", HOST_DIRECTORY);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	grant(&planning, GRANT_WRITE, SUB "/src", "--write");
	expect_plan(&planning);
	expect(!is_read_only(&planning, SUB));
	expect(is_read_only(&planning, SUB "/.git"));
	expect(is_read_only(&planning, PROJECT "/.git"));
}

static void refuses_the_file_that_names_a_repository(void)
{
	static const struct host_path file[] = { FOUND(PROJECT "/.git", HOST_FILE) };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/.git", HOST_FILE);
	find(&planning, file, 1);
	planning.host.git_common = "/home/user/main/.git";
	grant(&planning, GRANT_WRITE, PROJECT "/.git", "--write");
	expect_refusal(&planning, -EISDIR);
	expect(says(&planning, PROJECT "/.git", "names the repository",
		    "--write /home/user/main/.git"));
}

static void the_common_directory_of_a_worktree_is_shown_read_only(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/.git", HOST_FILE);
	planning.host.git_common = "/home/user/main/.git";
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, "/home/user/main/.git"),
		  STEP_READ_ONLY | STEP_IS_DIRECTORY);
	expect(!find_step(&planning, STEP_BIND, "/home/user/main"));
}

static void a_project_that_is_not_visible_shows_no_common_directory(void)
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

static void what_was_found_is_protected_where_a_bind_shows_it(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect(is_read_only(&planning, "/mnt/.git"));
	expect_str(the_step(&planning, STEP_BIND, "/mnt/vendor/lib")->bind.source, SUB);
	expect_eq(flags_of(&planning, STEP_BIND, "/mnt/vendor"), STEP_IS_DIRECTORY);
}

/* The second grant names a path in the first one's source. */
static void what_was_found_is_protected_where_a_grant_in_a_bind_writes(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_READ, "/home/user", "--bind");
	planning.paths[0].target = "/mnt";
	grant(&planning, GRANT_WRITE, "/mnt/p", "--write");
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, "/mnt/p"), STEP_IS_DIRECTORY);
	expect(is_read_only(&planning, "/mnt/p/.git"));
	expect_str(the_step(&planning, STEP_BIND, "/mnt/p/vendor/lib")->bind.source, SUB);
}

/* The mount has no repository, and the host's is not visible. */
static void what_a_mount_covers_needs_no_protection(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	know(&planning, "/srv/new", HOST_DIRECTORY);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: home, match: {syscall: fs.*, path: /home/user/}, action: allow}\n"
		      "mounts: [{source: /srv/new, target: /home/user/p, mode: rw}]\n");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.git"));
	expect(!(flags_of(&planning, STEP_BIND, PROJECT) & STEP_READ_ONLY));
}

static void on_an_overlay_nothing_is_protected(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	planning.host.has_overlay = true;
	know(&planning, "/home/user/out", HOST_DIRECTORY);
	know(&planning, "/home/user/work", HOST_DIRECTORY);
	planning.request.out_directory = "/home/user/out";
	planning.request.out_work = "/home/user/work";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_OVERLAY, PROJECT));
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.git"));
}

static void what_was_found_elsewhere_is_left_alone(void)
{
	static const struct host_path elsewhere[] = {
		FOUND("/srv/r/.git", HOST_DIRECTORY),
		FOUND(PROJECT "2/.git", HOST_DIRECTORY),
		FOUND("/home/user", HOST_DIRECTORY),
	};
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	find(&planning, elsewhere, N_ELEMENTS(elsewhere));
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/srv/r/.git"));
	expect(!(flags_of(&planning, STEP_BIND, PROJECT) & STEP_READ_ONLY));
}

static void refuses_a_repository_behind_a_link(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know_link(&planning, PROJECT "/.git", "/srv/elsewhere", 1000);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, PROJECT "/.git", "it is a symbolic link", "name its target"));
}

static void refuses_what_probing_could_not_tell(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	planning.host.git_unclear = PROJECT "/.git/config";
	planning.host.git_unclear_why = "it cannot be read";
	planning.host.git_unclear_fix = "correct it";
	expect_plan(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EBADMSG);
	expect(says(&planning, "'" PROJECT "/.git/config'", "cannot be read", "correct it"));
}

static void the_plan_remembers_what_was_no_repository(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect_eq(planning.plan->n_tops, 1);
	expect_str(planning.plan->tops[0].path, "/mnt");
	expect_str(planning.plan->tops[0].source, PROJECT);
	expect_eq(planning.plan->tops[0].signs, HOST_HAS_GIT);
}

static const struct test tests[] = {
	TEST(a_repository_is_read_only_as_a_whole),
	TEST(a_repository_that_only_the_plan_knows_is_read_only),
	TEST(a_readable_repository_needs_no_protection),
	TEST(a_policy_that_writes_protects_too),
	TEST(a_repository_that_is_granted_keeps_hooks_and_configuration),
	TEST(refuses_hooks_that_are_missing_in_a_granted_repository),
	TEST(refuses_what_is_missing_and_would_be_taken),
	TEST(refuses_a_part_of_a_repository_beside_what_is_around_it),
	TEST(refuses_a_part_of_hooks_and_names_them),
	TEST(a_denial_in_a_repository_is_named_itself),
	TEST(a_submodule_is_writable_where_a_grant_names_it),
	TEST(refuses_the_file_that_names_a_repository),
	TEST(the_common_directory_of_a_worktree_is_shown_read_only),
	TEST(a_project_that_is_not_visible_shows_no_common_directory),
	TEST(what_was_found_is_protected_where_a_bind_shows_it),
	TEST(what_was_found_is_protected_where_a_grant_in_a_bind_writes),
	TEST(what_a_mount_covers_needs_no_protection),
	TEST(on_an_overlay_nothing_is_protected),
	TEST(what_was_found_elsewhere_is_left_alone),
	TEST(refuses_a_repository_behind_a_link),
	TEST(refuses_what_probing_could_not_tell),
	TEST(the_plan_remembers_what_was_no_repository),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
