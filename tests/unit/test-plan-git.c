/* SPDX-License-Identifier: MIT */

/*
 * What git takes programs from, wherever probing has found it
 */

#include "plan-host.h"

#define PROJECT "/home/user/p"
#define FOUND(at, what)                                                                            \
	{                                                                                          \
		.path = at, .real = at, .kind = what, .uid = 1000, .gid = 1000                     \
	}

static const struct host_path found[] = {
	FOUND(PROJECT "/.git/hooks", HOST_FOLDER),
	FOUND(PROJECT "/.git/config", HOST_FILE),
	FOUND(PROJECT "/.git/config.worktree", HOST_FILE),
	FOUND(PROJECT "/.git/commondir", HOST_MISSING),
	FOUND(PROJECT "/.git/worktrees/w/gitdir", HOST_FILE),
	FOUND(PROJECT "/.git/modules/a/b/config", HOST_FILE),
	FOUND(PROJECT "/.git/modules/a/b/hooks", HOST_MISSING),
	FOUND(PROJECT "/a/b/.git", HOST_FILE),
};

static void open_repository(struct planning *planning)
{
	planning_open(planning);
	know(planning, PROJECT "/.git/hooks", HOST_FOLDER);
	know(planning, PROJECT "/.git/config", HOST_FILE);
	planning->host.git_folder = PROJECT "/.git";
	planning->host.repository = found;
	planning->host.n_repository = N_ELEMENTS(found);
}

static bool is_absent(const struct planning *planning, const char *path, const char *outside)
{
	size_t n = 0;

	for (size_t i = 0; i < planning->plan->n_absent; i++)
		n += strcmp(planning->plan->absent[i].target, path) == 0 &&
		     strcmp(planning->plan->absent[i].source, outside) == 0;
	return n == 1;
}

static void whatever_was_found_is_read_only(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	for (size_t i = 0; i < N_ELEMENTS(found); i++)
		if (found[i].kind != HOST_MISSING)
			expect(flags_of(&planning, STEP_BIND, found[i].path) & STEP_READ_ONLY);
	/* And none of the folders on the way can be renamed. */
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/.git/modules/a"), STEP_IS_FOLDER);
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/.git/worktrees/w"), STEP_IS_FOLDER);
	expect_eq(flags_of(&planning, STEP_BIND, PROJECT "/a/b"), STEP_IS_FOLDER);
}

static void what_is_missing_must_not_appear(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect_eq(planning.plan->n_absent, 2);
	expect(is_absent(&planning, PROJECT "/.git/commondir", PROJECT "/.git/commondir"));
	expect(is_absent(&planning, PROJECT "/.git/modules/a/b/hooks",
			 PROJECT "/.git/modules/a/b/hooks"));
}

/* Not found by probing, but asked about by the plan itself. */
static void hooks_that_are_missing_must_not_appear(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/.git/config", HOST_FILE);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect_eq(planning.plan->n_absent, 1);
	expect(is_absent(&planning, PROJECT "/.git/hooks", PROJECT "/.git/hooks"));
}

static void where_nothing_can_be_written_nothing_can_appear(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	expect_plan(&planning);
	expect_eq(planning.plan->n_absent, 0);
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.git"));
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	grant(&planning, GRANT_DENY_WRITE, PROJECT "/.git", "--deny-write");
	expect_plan(&planning);
	expect_eq(planning.plan->n_absent, 0);
}

static void on_an_overlay_it_may_appear(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	planning.host.has_overlay = true;
	know(&planning, "/home/user/out", HOST_FOLDER);
	know(&planning, "/home/user/work", HOST_FOLDER);
	planning.request.out_folder = "/home/user/out";
	planning.request.out_work = "/home/user/work";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_OVERLAY, PROJECT));
	expect_eq(planning.plan->n_absent, 0);
}

/* Itself, not only a folder above it. */
static void whoever_names_what_was_found_may_write_it(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	know(&planning, PROJECT "/.git/modules/a/b/config", HOST_FILE);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	grant(&planning, GRANT_WRITE, PROJECT "/.git/modules", "--write");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, PROJECT "/.git/modules/a/b/config"));
	grant(&planning, GRANT_WRITE, PROJECT "/.git/modules/a/b/config", "--write");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, PROJECT "/.git/modules/a/b/config"));
}

static void what_was_found_is_protected_where_a_bind_shows_it(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--bind");
	planning.paths[0].target = "/mnt";
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/mnt/.git/modules/a/b/config") & STEP_READ_ONLY);
	expect_str(the_step(&planning, STEP_BIND, "/mnt/a/b/.git")->bind.source,
		   PROJECT "/a/b/.git");
	expect(is_absent(&planning, "/mnt/.git/commondir", PROJECT "/.git/commondir"));
}

/* Its ".git" is a file, and lies higher than what was granted. */
static void a_worktree_in_a_writable_folder_is_protected(void)
{
	static const struct host_path file[] = { FOUND("/home/user/src/w/.git", HOST_FILE) };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/home/user/src/w", HOST_FOLDER);
	planning.request.project = "/home/user/src/w";
	planning.host.repository = file;
	planning.host.n_repository = 1;
	grant(&planning, GRANT_WRITE, "/home/user/src", "--write");
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, "/home/user/src/w/.git"), STEP_READ_ONLY);
	expect_eq(flags_of(&planning, STEP_BIND, "/home/user/src/w"), STEP_IS_FOLDER);
}

static void what_was_found_elsewhere_is_left_alone(void)
{
	static const struct host_path elsewhere[] = {
		FOUND("/srv/r/.git/config", HOST_FILE),
		FOUND("/srv/r/.git/hooks", HOST_MISSING),
		FOUND(PROJECT "2/.git/hooks", HOST_FOLDER),
	};
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.repository = elsewhere;
	planning.host.n_repository = N_ELEMENTS(elsewhere);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/srv/r/.git/config"));
	expect_eq(planning.plan->n_absent, 0);
}

static void refuses_a_found_name_that_is_somebodys_link(void)
{
	static const struct host_path link[] = {
		{ .path = PROJECT "/.git/modules",
		  .real = PROJECT "/.git/modules",
		  .kind = HOST_LINK_REFUSED,
		  .uid = 1000 },
	};
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	planning.host.repository = link;
	planning.host.n_repository = 1;
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, PROJECT "/.git/modules", "it is a link", "name what it leads to"));
}

static void the_plan_tells_what_must_not_appear(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	text_reset(&planning.text);
	plan_add_text(&planning.text, planning.plan);
	expect(strstr(text_string(&planning.text), "\nabsent " PROJECT "/.git/commondir  # the "
						   "protection of repositories\n"));
	text_reset(&planning.text);
	plan_add_json(&planning.text, planning.plan);
	expect(strstr(text_string(&planning.text), "\"absent\":[\"" PROJECT "/.git/commondir\""));
}

static void refuses_a_repository_that_nobody_understands(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	planning.host.git_unclear = PROJECT "/.git";
	planning.host.git_unclear_why = "its configuration is none";
	expect_plan(&planning);
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_refusal(&planning, -EBADMSG);
	expect(says(&planning, "protect the repository '" PROJECT "/.git'", "is none", "--out"));
}

static void tells_that_there_were_too_many_to_look_for(void)
{
	_cleanup_planning_ struct planning planning;

	open_repository(&planning);
	planning.host.git_is_cut = true;
	expect_plan(&planning);
	expect(!has_notice(&planning, "not all repositories"));
	grant(&planning, GRANT_WRITE, PROJECT, "--write");
	expect_plan(&planning);
	expect(has_notice(&planning, "not all repositories"));
}

static const struct test tests[] = {
	TEST(whatever_was_found_is_read_only),
	TEST(what_is_missing_must_not_appear),
	TEST(hooks_that_are_missing_must_not_appear),
	TEST(where_nothing_can_be_written_nothing_can_appear),
	TEST(on_an_overlay_it_may_appear),
	TEST(whoever_names_what_was_found_may_write_it),
	TEST(what_was_found_is_protected_where_a_bind_shows_it),
	TEST(a_worktree_in_a_writable_folder_is_protected),
	TEST(what_was_found_elsewhere_is_left_alone),
	TEST(refuses_a_found_name_that_is_somebodys_link),
	TEST(refuses_a_repository_that_nobody_understands),
	TEST(tells_that_there_were_too_many_to_look_for),
	TEST(the_plan_tells_what_must_not_appear),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
