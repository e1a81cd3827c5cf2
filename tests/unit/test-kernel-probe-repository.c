/* SPDX-License-Identifier: MIT */

#include <sys/stat.h>

#include "base/path.h"
#include "probe-rig.h"

/*
 * main/ with a repository, a submodule sub/one, a worktree, and things that only look like them:
 *
 *   main/.git/{HEAD,hooks/,config,worktrees/w/{gitdir,commondir},modules/sub/one/{HEAD,config}}
 *   main/files/.git, which leads to the submodule's       plain/       tree/.git, a file
 */

/* Found exactly once, with that kind? */
static bool has(const struct rig *rig, const char *name, enum host_path_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < rig->host.n_repository; i++)
		n += strcmp(rig->host.repository[i].path, in_place(name)) == 0 &&
		     rig->host.repository[i].kind == kind;
	return n == 1;
}

static void finds_what_a_repository_has_and_lacks(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	rig_probe(&rig, "main/.git", HOST_FOLDER, NULL);
	expect(has(&rig, "main/.git/hooks", HOST_FOLDER));
	expect(has(&rig, "main/.git/config", HOST_FILE));
	expect(has(&rig, "main/.git/config.worktree", HOST_MISSING));
	expect(has(&rig, "main/.git/commondir", HOST_MISSING));
	expect_eq(rig.host.n_repository, 4 + 3 + 4 + 1);
}

static void finds_submodules_and_worktrees(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	rig_probe(&rig, "main/.git", HOST_FOLDER, NULL);
	expect(has(&rig, "main/.git/worktrees/w/gitdir", HOST_FILE));
	expect(has(&rig, "main/.git/worktrees/w/commondir", HOST_FILE));
	expect(has(&rig, "main/.git/worktrees/w/config.worktree", HOST_MISSING));
	expect(has(&rig, "main/.git/modules/sub/one/config", HOST_FILE));
	expect(has(&rig, "main/.git/modules/sub/one/hooks", HOST_MISSING));
	/* Where its files are. */
	expect(has(&rig, "main/files/.git", HOST_FILE));
}

static void looks_at_nothing_where_nothing_may_be_written(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	rig_probe(&rig, "plain/.git", HOST_MISSING, NULL);
	expect_eq(rig.host.n_repository, 0);
	/* The project's own, but somewhere else. */
	rig_probe(&rig, "plain/.git", HOST_MISSING, "main/.git");
	expect_eq(rig.host.n_repository, 0);
	rig.host = (struct host){ .n_paths = 0 };
	expect_eq(probe_repositories(&rig.search, in_place("main/.git"), &rig.host), 0);
	expect_eq(rig.host.n_repository, 0);
}

static void finds_the_projects_own_below_what_may_be_written(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	rig_probe(&rig, "tree/.git", HOST_FILE, "tree/.git");
	expect_eq(rig.host.n_repository, 1);
	expect(has(&rig, "tree/.git", HOST_FILE));
	/* With that of the worktree, which lies beside it. */
	rig_probe(&rig, ".git", HOST_MISSING, NULL);
	rig.host.git_folder = in_place("main/.git");
	expect_eq(probe_repositories(&rig.search, rig.host.git_folder, &rig.host), 0);
	expect_eq(rig.host.n_repository, 13);
}

/* What its configuration names may be there, though it is not. */
static void finds_the_one_around_what_may_be_written(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	rig_probe(&rig, "main/files/.git", HOST_FILE, NULL);
	rig.host.git_folder = in_place("main/.git");
	expect_eq(probe_repositories(&rig.search, rig.host.git_folder, &rig.host), 0);
	expect(has(&rig, "main/.git/config", HOST_FILE));
}

static void one_repository_is_looked_at_once(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	rig_probe(&rig, "main/.git", HOST_FOLDER, NULL);
	rig.host.git_folder = in_place("main/.git");
	expect_eq(probe_repositories(&rig.search, rig.host.git_folder, &rig.host), 0);
	expect_eq(rig.host.n_repository, 12);
}

static void what_cannot_be_looked_through_is_one_name(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	make_folder("deep/.git");
	make_folder("deep/.git/modules/1/2/3/4/5/6/7/8/9/10");
	rig_probe(&rig, "deep/.git", HOST_FOLDER, NULL);
	expect(has(&rig, "deep/.git/modules", HOST_FOLDER));
	expect_eq(rename(in_place("deep/.git/modules"), in_place("deep/elsewhere")), 0);
	expect_eq(symlink("../elsewhere", in_place("deep/.git/modules")), 0);
	expect_eq(lchown(in_place("deep/.git/modules"), geteuid() ? geteuid() : ORDINARY, -1), 0);
	rig_probe(&rig, "deep/.git", HOST_FOLDER, NULL);
	expect(has(&rig, "deep/.git/modules", HOST_LINK_REFUSED));
}

static void a_configuration_that_leads_nowhere_is_left_alone(void)
{
	static const char *const configs[] = {
		"[core]\n\tworktree = ../../../../../nothing\n",
		"[core]\n\tworktree = ../../../../../plain\n",
		"[core]\n\tworktree = /\n",
		"[core]\n\tworktree = \n",
		"[core]\n",
		"",
	};
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	for (size_t i = 0; i < N_ELEMENTS(configs); i++) {
		make_file("main/.git/modules/sub/one/config", configs[i]);
		rig_probe(&rig, "main/.git", HOST_FOLDER, NULL);
		/* main/files/.git is found by itself. */
		expect_eq(rig.host.n_repository, 12);
	}
	make_file("main/.git/modules/sub/one/config", "[core]\n\tworktree = ../../../../files\n");
}

static const struct test tests[] = {
	TEST(finds_what_a_repository_has_and_lacks),
	TEST(finds_submodules_and_worktrees),
	TEST(looks_at_nothing_where_nothing_may_be_written),
	TEST(finds_the_projects_own_below_what_may_be_written),
	TEST(finds_the_one_around_what_may_be_written),
	TEST(one_repository_is_looked_at_once),
	TEST(what_cannot_be_looked_through_is_one_name),
	TEST(a_configuration_that_leads_nowhere_is_left_alone),
	TEST_END,
};

static void make_place(void)
{
	make_folder("main/.git/hooks");
	make_folder("main/.git/worktrees/w");
	make_folder("main/.git/modules/sub/one");
	make_folder("main/files");
	make_folder("plain");
	make_folder("tree");
	make_file("main/.git/HEAD", "ref: refs/heads/main\n");
	make_file("main/.git/config", "[core]\n");
	make_file("main/.git/worktrees/w/gitdir", "../../../../tree/.git\n");
	make_file("main/.git/worktrees/w/commondir", "../..\n");
	make_file("main/.git/modules/sub/one/HEAD", "ref: refs/heads/main\n");
	make_file("main/.git/modules/sub/one/config",
		  "[core]\n\tbare = false\n\tworktree = ../../../../files\n[x]\n");
	make_file("main/files/.git", "gitdir: ../.git/modules/sub/one\n");
	make_file("tree/.git", "gitdir: ../main/.git/worktrees/w\n");
}

int main(void)
{
	return run_in_place(tests, make_place);
}
