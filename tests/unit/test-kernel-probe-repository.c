/* SPDX-License-Identifier: MIT */

/*
 * Files from which git runs programs, in and around a directory whose ".git" a plan has asked about
 */

#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "kernel/probe-internal.h"
#include "kernel/probe.h"
#include "probe-place.h"

struct rig {
	struct arena arena;
	struct place_search search;
	struct host_path asked;
	struct host host;
};

static void rig_deinit(struct rig *rig)
{
	arena_deinit(&rig->arena);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

/* Probes for a plan in which @directory is writable. */
static void probe(struct rig *rig, const char *directory)
{
	char path[300];

	arena_deinit(&rig->arena);
	(void)snprintf(path, sizeof(path), "%s/.git", in_place(directory));
	rig->search = (struct place_search){ .arena = &rig->arena, .has_root = -1 };
	rig->asked.path = arena_copy(&rig->arena, path, strlen(path));
	rig->host = (struct host){ .paths = &rig->asked, .n_paths = 1 };
	expect_eq(probe_repositories(&rig->search, &rig->host), 0);
}

static bool has(const struct rig *rig, const char *name, enum host_path_kind kind)
{
	for (size_t i = 0; i < rig->host.n_repository; i++)
		if (strcmp(rig->host.repository[i].path, in_place(name)) == 0 &&
		    rig->host.repository[i].kind == kind)
			return true;
	return false;
}

/* The same with @config as the content of .git/config. */
static void probe_with(struct rig *rig, const char *directory, const char *config)
{
	make_file("main/.git/config", config);
	probe(rig, directory);
	make_file("main/.git/config", "");
}

static void finds_nothing_where_there_is_no_repository(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, "plain");
	expect_eq(rig.host.n_repository, 0);
	expect_eq(rig.host.n_tops, 1);
	expect_eq(rig.host.tops[0].signs, 0);
	probe(&rig, "nothing");
	expect_eq(rig.host.n_tops, 0);
}

static void finds_a_repository_its_submodules_and_its_worktrees(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, "main");
	expect(has(&rig, "main/.git", HOST_DIRECTORY));
	expect(has(&rig, "main/.gitmodules", HOST_FILE));
	expect(has(&rig, "main/libs/one", HOST_DIRECTORY));
	expect(has(&rig, "main/libs/one/.git", HOST_FILE));
	expect(has(&rig, "main/.git/modules/one", HOST_DIRECTORY));
	/* A submodule that was not initialised, and one whose directory is missing. */
	expect(has(&rig, "main/libs/empty", HOST_DIRECTORY));
	expect(has(&rig, "main/libs/gone", HOST_MISSING));
	expect(has(&rig, "main/tree/.git", HOST_FILE));
	expect(!rig.host.git_unclear);
	expect_eq(rig.host.tops[0].signs, HOST_HAS_GIT);
}

static void finds_it_around_what_may_be_written(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, "main/libs");
	expect(has(&rig, "main/.git", HOST_DIRECTORY));
	expect(has(&rig, "main/libs/empty", HOST_DIRECTORY));
}

static void finds_the_repository_of_a_worktree(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe_with(&rig, "main/tree", "[core]\n\thooksPath = .hooks\n");
	expect(has(&rig, "main/tree/.git", HOST_FILE));
	/* A submodule's git directory is inside .git of the superproject, which is granted as a
	 * whole. */
	expect(has(&rig, "main/.git", HOST_DIRECTORY));
	expect(!has(&rig, "main/.git/worktrees/w", HOST_DIRECTORY));
	/* A relative core.hooksPath begins at the root of the working tree. */
	expect(has(&rig, "main/tree/.hooks", HOST_MISSING));
	expect(has(&rig, "main/.hooks", HOST_DIRECTORY));
}

static void finds_what_the_main_worktree_of_a_worktree_executes(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	make_file("plain/.git", "gitdir: @/main/.git/worktrees/w\n");
	probe_with(&rig, "plain", "[core]\n\thooksPath = .hooks\n");
	expect(has(&rig, "main/.git", HOST_DIRECTORY));
	expect(has(&rig, "plain/.hooks", HOST_MISSING));
	expect(has(&rig, "main/.hooks", HOST_DIRECTORY));
	expect_eq(unlink(in_place("plain/.git")), 0);
}

static void finds_those_one_level_below(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, ".");
	expect_eq(rig.host.n_repository, 0);
	probe(&rig, "src");
	expect(has(&rig, "src/r1/.git", HOST_DIRECTORY));
	expect(has(&rig, "src/bare", HOST_DIRECTORY));
	expect(!has(&rig, "src/deep/r2/.git", HOST_DIRECTORY));
}

/* Such as a worktree of another repository. */
static void finds_what_is_in_a_bare_repository_that_is_granted(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	make_directory("src/bare/tree");
	make_file("src/bare/tree/.git", "gitdir: /nowhere\n");
	probe(&rig, "src/bare");
	expect(has(&rig, "src/bare/tree/.git", HOST_FILE));
}

static void a_repository_that_is_granted_keeps_what_names_programs(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, "main/.git");
	expect(has(&rig, "main/.git/config", HOST_FILE));
	expect(has(&rig, "main/.git/hooks", HOST_MISSING));
	expect(has(&rig, "main/.git/modules", HOST_DIRECTORY));
	expect(has(&rig, "main/.git/worktrees/w/gitdir", HOST_FILE));
	expect(has(&rig, "main/.git/worktrees/w/commondir", HOST_FILE));
	expect(!has(&rig, "main/.git/commondir", HOST_MISSING));
	expect_eq(rig.host.tops[0].signs, HOST_IS_REPOSITORY);
	probe(&rig, "src/bare");
	expect(has(&rig, "src/bare/config", HOST_MISSING));
}

static void finds_what_configuration_names(void)
{
	static const struct {
		const char *config;
		const char *name;
		enum host_path_kind kind;
	} cases[] = {
		{ "[core]\n\thooksPath = .hooks\n", "main/.hooks", HOST_DIRECTORY },
		{ "[core]\n\thooksPath = @/main/.hooks/\n", "main/.hooks", HOST_DIRECTORY },
		{ "[core]\n\thooksPath = .husky/_\n", "main/.husky", HOST_DIRECTORY },
		{ "[core]\n\thooksPath = a/b\n", "main/a/b", HOST_MISSING },
		{ "[core]\n\tfsmonitor = ./program --now\n", "main/program", HOST_FILE },
		{ "[core]\n\tfsmonitor = tools/missing\n", "main/tools/missing", HOST_MISSING },
		{ "[core]\n\tfsmonitor = sh program\n", "main/program", HOST_FILE },
		{ "[filter \"x\"]\n\tclean = sh -c 'exec \"./program\" %f'\n", "main/program",
		  HOST_FILE },
		{ "[filter \"x\"]\n\tprocess = program\n\tsmudge = ./program\n", "main/program",
		  HOST_FILE },
		{ "[alias]\n\tx = \"!./program\"\n", "main/program", HOST_FILE },
		{ "[submodule \"x\"]\n\tupdate = !./program\n", "main/program", HOST_FILE },
		{ "[difftool \"x\"]\n\tcmd = ./program $LOCAL\n", "main/program", HOST_FILE },
		{ "[remote \"x\"]\n\tuploadpack = ./program\n", "main/program", HOST_FILE },
		{ "[sendemail \"x\"]\n\tccCmd = ./program\n", "main/program", HOST_FILE },
		{ "[sendemail]\n\tsendmailCmd = ./program\n", "main/program", HOST_FILE },
		{ "[trailer \"x\"]\n\tcommand = ./program\n", "main/program", HOST_FILE },
		/* The hooks of another worktree, wherever in the file it is named. */
		{ "[core]\n\tworktree = ../a\n\thooksPath = b\n", "main/a/b", HOST_MISSING },
		{ "[core]\n\thooksPath = b\n\tworktree = @/main/a\n", "main/a/b", HOST_MISSING },
		{ "[include]\n\tpath = ../shared\n", "main/shared", HOST_FILE },
		/* And the file that an included file names. */
		{ "[include]\n\tpath = ../shared\n", "main/.shared-hooks", HOST_MISSING },
		{ "[includeIf \"onbranch:main\"]\n\tpath = ../shared\n", "main/shared", HOST_FILE },
		{ "[extensions]\n\tworktreeConfig = true\n", "main/.git/config.worktree",
		  HOST_MISSING },
		/* The link could be replaced, so it counts, too. */
		{ "[core]\n\thooksPath = link\n", "main/link", HOST_LINK_REFUSED },
		{ "[core]\n\thooksPath = link\n", "main/.hooks", HOST_DIRECTORY },
	};
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(symlink(".hooks", in_place("main/link")), 0);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		probe_with(&rig, "main", cases[i].config);
		expect(has(&rig, cases[i].name, cases[i].kind));
		expect(!rig.host.git_unclear);
	}
	expect_eq(unlink(in_place("main/link")), 0);
}

static void words_that_name_nothing_are_no_names(void)
{
	static const char *const configs[] = {
		"[core]\n\tfsmonitor = true\n",
		"[core]\n\tfsmonitor\n",
		"[core]\n\thooksPath =\n",
		"[alias]\n\tx = log a/b\n",
		"[alias]\n\tx = !sed s/a/b/ c\n",
		"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n",
		"[remote \"o\"]\n\turl = ./program\n",
	};
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	size_t n;

	probe(&rig, "main");
	n = rig.host.n_repository;
	for (size_t i = 0; i < N_ELEMENTS(configs); i++) {
		probe_with(&rig, "main", configs[i]);
		expect_eq(rig.host.n_repository, n);
		expect(!rig.host.git_unclear);
	}
}

static void gives_up_where_it_cannot_tell(void)
{
	static const char *const configs[] = {
		"[core\n",
		"[core]\n\thooksPath = ~nobody/hooks\n",
		"[core]\n\thooksPath = .\n",
		"[core]\n\thooksPath = @\n",
		"[include]\n\tpath = %(prefix)/x\n",
	};
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	for (size_t i = 0; i < N_ELEMENTS(configs); i++) {
		probe_with(&rig, "main", configs[i]);
		expect(rig.host.git_unclear && rig.host.git_unclear_why &&
		       rig.host.git_unclear_fix);
	}
}

static void an_include_of_itself_ends(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe_with(&rig, "main", "[include]\n\tpath = config\n\tpath = ../.git/config\n");
	expect(!rig.host.git_unclear);
}

static void the_target_of_a_link_in_a_repository_is_reported(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(symlink("../../plain", in_place("main/.git/hooks")), 0);
	probe(&rig, "main");
	expect(has(&rig, "plain", HOST_DIRECTORY));
	expect_eq(unlink(in_place("main/.git/hooks")), 0);
}

static void a_missing_path_in_a_configuration_is_still_reported(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	make_file("plain/.git", "gitdir: elsewhere/git\n");
	probe(&rig, "plain");
	expect(has(&rig, "plain/elsewhere/git", HOST_MISSING));
	expect_eq(unlink(in_place("plain/.git")), 0);
}

static void a_link_in_the_place_of_a_repository_is_told(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(symlink("../main/.git", in_place("plain/.git")), 0);
	probe(&rig, "plain");
	expect(has(&rig, "plain/.git", HOST_LINK_REFUSED));
	expect(has(&rig, "main/.git", HOST_DIRECTORY));
	expect_eq(unlink(in_place("plain/.git")), 0);
}

static void more_directories_than_it_looks_at_are_told(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	char name[64];

	for (int i = 0; i < 4096; i++) {
		(void)snprintf(name, sizeof(name), "many/%d", i);
		make_directory(name);
	}
	make_file("many/file", "");
	probe(&rig, "many");
	expect(!rig.host.git_unclear);
	make_directory("many/more");
	probe(&rig, "many");
	expect(rig.host.git_unclear);
}

static void a_directory_that_is_closed_is_told(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	if (geteuid() == 0)
		skip("root reads everything");
	expect_eq(chmod(in_place("src/r1"), 0), 0);
	probe(&rig, "src");
	expect(has(&rig, "src/r1/.git", HOST_UNREACHABLE));
	expect_eq(chmod(in_place("src/r1"), 0755), 0);
	expect_eq(chmod(in_place("src"), 0300), 0);
	probe(&rig, "src");
	expect(rig.host.git_unclear);
	expect_eq(chmod(in_place("src"), 0755), 0);
}

static void a_new_repository_is_detected(void)
{
	expect_eq(host_find_signs(in_place("plain")), 0);
	expect_eq(host_find_signs(in_place("nothing")), 0);
	expect_eq(host_find_signs(in_place("main")), HOST_HAS_GIT);
	expect_eq(host_find_signs(in_place("src/bare")), HOST_IS_REPOSITORY);
	expect_eq(host_find_signs(in_place("main/.git/worktrees/w")), HOST_HAS_COMMONDIR);
}

static const struct test tests[] = {
	TEST(finds_nothing_where_there_is_no_repository),
	TEST(finds_a_repository_its_submodules_and_its_worktrees),
	TEST(finds_it_around_what_may_be_written),
	TEST(finds_the_repository_of_a_worktree),
	TEST(finds_what_the_main_worktree_of_a_worktree_executes),
	TEST(finds_those_one_level_below),
	TEST(finds_what_is_in_a_bare_repository_that_is_granted),
	TEST(a_repository_that_is_granted_keeps_what_names_programs),
	TEST(finds_what_configuration_names),
	TEST(words_that_name_nothing_are_no_names),
	TEST(gives_up_where_it_cannot_tell),
	TEST(an_include_of_itself_ends),
	TEST(the_target_of_a_link_in_a_repository_is_reported),
	TEST(a_missing_path_in_a_configuration_is_still_reported),
	TEST(a_link_in_the_place_of_a_repository_is_told),
	TEST(more_directories_than_it_looks_at_are_told),
	TEST(a_directory_that_is_closed_is_told),
	TEST(a_new_repository_is_detected),
	TEST_END,
};

static void make_place(void)
{
	static const char *const directories[] = {
		"plain",
		"main/.git/objects",
		"main/.git/refs",
		"main/.git/worktrees/w",
		"main/.git/modules/one",
		"main/libs/one",
		"main/libs/empty",
		"main/tree",
		"main/.hooks",
		"main/.husky/_",
		"main/tools",
		"src/r1/.git",
		"src/deep/r2/.git",
		"src/bare/objects",
		"src/bare/refs",
	};

	for (size_t i = 0; i < N_ELEMENTS(directories); i++)
		make_directory(directories[i]);
	make_file("main/.git/HEAD", "ref: refs/heads/main\n");
	make_file("main/.git/config", "");
	make_file("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
	make_file("main/.git/worktrees/w/gitdir", "../../../tree/.git\n");
	make_file("main/.git/worktrees/w/commondir", "../..\n");
	make_file("main/tree/.git", "gitdir: ../.git/worktrees/w\n");
	make_file("main/libs/one/.git", "gitdir: ../../.git/modules/one\n");
	make_file("main/.gitmodules", "[submodule \"1\"]\n\tpath = libs/one\n\turl = x\n"
				      "[submodule \"2\"]\n\tpath = libs/empty\n"
				      "[submodule \"3\"]\n\tpath = libs/gone\n");
	make_file("main/program", "");
	make_file("main/shared", "[core]\n\thooksPath = .shared-hooks\n");
	make_file("src/bare/HEAD", "ref: refs/heads/main\n");
}

int main(void)
{
	return run_in_place(tests, make_place);
}
