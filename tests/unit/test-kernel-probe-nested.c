/* SPDX-License-Identifier: MIT */

#include <sys/stat.h>

#include "probe-rig.h"

/*
 * Repositories below src/, and src/mirror, which is one itself:
 *
 *   src/one/.git/   src/a/b/two/.git/   src/a/b/c/three/.git/   src/file/.git, which leads to
 * apart/
 */

/* As if @folder might be written. */
static void probe(struct rig *rig, const char *folder)
{
	char git[128];

	(void)snprintf(git, sizeof(git), "%s/.git", folder);
	rig_probe(rig, git, HOST_MISSING, NULL);
}

static bool has(const struct rig *rig, const char *name)
{
	for (size_t i = 0; i < rig->host.n_repository; i++)
		if (strcmp(rig->host.repository[i].path, in_place(name)) == 0)
			return true;
	return false;
}

static void finds_repositories_below(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, "src");
	expect(has(&rig, "src/one/.git/config"));
	expect(has(&rig, "src/a/b/two/.git/hooks"));
	expect(has(&rig, "src/mirror/config"));
	expect(!has(&rig, "src/a/b/c/three/.git/config"));
	expect(!rig.host.git_is_cut);
}

static void finds_what_a_file_leads_to(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, "src");
	expect(has(&rig, "src/file/.git"));
	expect(has(&rig, "apart/config"));
}

static void finds_a_bare_one_that_is_the_folder_itself(void)
{
	static const char *const parts[] = { "HEAD", "objects", "refs" };
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, "src/mirror");
	expect(has(&rig, "src/mirror/hooks"));
	expect(has(&rig, "src/mirror/config"));
	expect(has(&rig, "src/mirror/commondir"));
	expect_eq(rig.host.n_repository, 4);
	for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "src/mirror/%s", parts[i]);
		expect_eq(rename(in_place(path), in_place("src/away")), 0);
		probe(&rig, "src/mirror");
		expect_eq(rig.host.n_repository, 0);
		expect_eq(rename(in_place("src/away"), in_place(path)), 0);
	}
}

static void does_not_follow_links(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(symlink("../src/one", in_place("plain/link")), 0);
	probe(&rig, "plain");
	expect_eq(rig.host.n_repository, 0);
	expect_eq(unlink(in_place("plain/link")), 0);
}

static void a_file_has_nothing_below_it(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	probe(&rig, "src/one/.git/config");
	expect_eq(rig.host.n_repository, 0);
	probe(&rig, "nothing");
	expect_eq(rig.host.n_repository, 0);
}

static void too_many_folders_are_told(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	for (int i = 0; i < 1100; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "many/deep/%d", i);
		make_folder(name);
	}
	make_folder("many/one/.git");
	probe(&rig, "many");
	expect(rig.host.git_is_cut);
	expect(has(&rig, "many/one/.git/config"));
}

static void too_many_repositories_are_told(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	for (int i = 0; i < 140; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "all/%d/.git", i);
		make_folder(name);
	}
	probe(&rig, "all");
	expect(rig.host.git_is_cut);
	expect_eq(rig.host.n_repository, 128 * 4);
}

static const struct test tests[] = {
	TEST(finds_repositories_below),
	TEST(finds_what_a_file_leads_to),
	TEST(finds_a_bare_one_that_is_the_folder_itself),
	TEST(does_not_follow_links),
	TEST(a_file_has_nothing_below_it),
	TEST(too_many_folders_are_told),
	TEST(too_many_repositories_are_told),
	TEST_END,
};

static void make_repository(const char *folder)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/objects", folder);
	make_folder(path);
	(void)snprintf(path, sizeof(path), "%s/refs", folder);
	make_folder(path);
	(void)snprintf(path, sizeof(path), "%s/HEAD", folder);
	make_file(path, "ref: refs/heads/main\n");
	(void)snprintf(path, sizeof(path), "%s/config", folder);
	make_file(path, "[core]\n");
}

static void make_place(void)
{
	make_repository("src/one/.git");
	make_repository("src/a/b/two/.git");
	make_repository("src/a/b/c/three/.git");
	make_repository("src/mirror");
	make_repository("apart");
	make_folder("src/file");
	make_folder("plain");
	make_file("src/file/.git", "gitdir: ../../apart\n");
}

int main(void)
{
	return run_in_place(tests, make_place);
}
