/* SPDX-License-Identifier: MIT */

#include <sys/stat.h>

#include "kernel/probe-internal.h"
#include "probe-place.h"

/*
 * main/ with its repository, its worktree tree/, and a directory secret/ that must stay hidden:
 *
 *   main/.git/{HEAD,objects,worktrees/tree/{gitdir,commondir}}     tree/.git     secret/
 */

struct rig {
	struct arena arena;
	struct place_search search;
	struct host host;
};

static void rig_deinit(struct rig *rig)
{
	arena_deinit(&rig->arena);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

static int probe_at(struct rig *rig, const char *project)
{
	rig->search = (struct place_search){ .arena = &rig->arena, .has_root = -1 };
	rig->host = (struct host){ .n_paths = 0 };
	return probe_git(&rig->search, in_place(project), &rig->host);
}

static void finds_none_where_there_is_none(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(probe_at(&rig, "secret"), 0);
	expect(!rig.host.git_common);
}

static void finds_the_common_directory_of_a_worktree(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(probe_at(&rig, "tree"), 0);
	expect_str(rig.host.git_common, in_place("main/.git"));
	/* The form of worktree.useRelativePaths. */
	make_file("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
	make_file("main/.git/worktrees/tree/gitdir", "../../../../tree/.git\n");
	expect_eq(probe_at(&rig, "tree"), 0);
	expect_str(rig.host.git_common, in_place("main/.git"));
	make_file("tree/.git", "gitdir: @/main/.git/worktrees/tree\n");
	make_file("main/.git/worktrees/tree/gitdir", "@/tree/.git\n");
}

/* Contents of .git that an attacker with write access to the project could write. */
static void opens_nothing_that_does_not_name_the_project(void)
{
	static const char *const pointers[] = {
		"gitdir: @/secret\n",
		"gitdir: @/main/.git\n",
		"gitdir: /\n",
		"gitdir: ../secret",
		"gitdir: @/main/.git/worktrees/other\n",
		"gitdir: @/nothing/worktrees/tree\n",
		"gitdir: @/tree/forged\n",
		"gitdir:\n",
		"gitdir: \n",
		"",
		"@",
	};
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	for (size_t i = 0; i < N_ELEMENTS(pointers); i++) {
		make_file("tree/.git", pointers[i]);
		expect_eq(probe_at(&rig, "tree"), 0);
		expect(!rig.host.git_common);
	}
	make_file("tree/.git", "gitdir: @/main/.git/worktrees/tree\n");
}

/* An attacker controls tree/forged completely, and names secret/ as its common directory. */
static void a_forged_worktree_shows_nothing_else(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	make_file("tree/.git", "gitdir: @/tree/forged/worktrees/tree\n");
	make_file("tree/forged/worktrees/tree/gitdir", "@/tree/.git\n");
	make_file("tree/forged/worktrees/tree/commondir", "@/secret\n");
	expect_eq(probe_at(&rig, "tree"), 0);
	expect(!rig.host.git_common);
	make_file("tree/forged/worktrees/tree/commondir", "../../../..\n");
	expect_eq(probe_at(&rig, "tree"), 0);
	expect(!rig.host.git_common);
	/* A consistent forgery lies within the project anyway. */
	make_file("tree/forged/worktrees/tree/commondir", "../..\n");
	expect_eq(probe_at(&rig, "tree"), 0);
	expect(!rig.host.git_common);
	make_file("tree/.git", "gitdir: @/main/.git/worktrees/tree\n");
}

static void refuses_a_common_directory_of_another_owner(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	NEEDS_ROOT();
	expect_eq(chown(in_place("tree/.git"), ORDINARY, ORDINARY), 0);
	expect_eq(probe_at(&rig, "tree"), 0);
	expect(!rig.host.git_common);
	expect_eq(chown(in_place("tree/.git"), 0, 0), 0);
	expect_eq(probe_at(&rig, "tree"), 0);
	expect(rig.host.git_common);
}

static void refuses_a_common_directory_that_is_no_repository(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(unlink(in_place("main/.git/HEAD")), 0);
	expect_eq(probe_at(&rig, "tree"), 0);
	expect(!rig.host.git_common);
	make_file("main/.git/HEAD", "ref: refs/heads/main\n");
}

static void a_link_is_no_repository(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(symlink("../main/.git", in_place("secret/.git")), 0);
	expect_eq(probe_at(&rig, "secret"), 0);
	expect(!rig.host.git_common);
	expect_eq(unlink(in_place("secret/.git")), 0);
}

static const struct test tests[] = {
	TEST(finds_none_where_there_is_none),
	TEST(finds_the_common_directory_of_a_worktree),
	TEST(opens_nothing_that_does_not_name_the_project),
	TEST(a_forged_worktree_shows_nothing_else),
	TEST(refuses_a_common_directory_of_another_owner),
	TEST(refuses_a_common_directory_that_is_no_repository),
	TEST(a_link_is_no_repository),
	TEST_END,
};

static void make_place(void)
{
	static const char *const directories[] = {
		"secret",
		"tree/forged/objects",
		"tree/forged/worktrees/tree",
		"main/deep/inside",
		"main/.git/objects",
		"main/.git/worktrees/tree",
		"main/.git/worktrees/other",
	};

	for (size_t i = 0; i < N_ELEMENTS(directories); i++)
		make_directory(directories[i]);
	make_file("tree/forged/HEAD", "ref: refs/heads/main\n");
	make_file("main/.git/HEAD", "ref: refs/heads/main\n");
	make_file("main/.git/worktrees/tree/gitdir", "@/tree/.git\n");
	make_file("main/.git/worktrees/tree/commondir", "../..\n");
	make_file("main/.git/worktrees/other/gitdir", "@/other/.git\n");
	make_file("main/.git/worktrees/other/commondir", "../..\n");
	make_file("tree/.git", "gitdir: @/main/.git/worktrees/tree\n");
}

int main(void)
{
	return run_in_place(tests, make_place);
}
