/* SPDX-License-Identifier: MIT */

#include "registry/registry.h"

#include "registry-rig.h"

#include "base/path.h"

#define DEPTH 3000

static bool is_there(const struct rig *rig, const char *name)
{
	return faccessat(rig->directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void removes_files_and_directories(void)
{
	RIG;

	expect_eq(mkdirat(rig.directory, "t", 0755), 0);
	expect_eq(mkdirat(rig.directory, "t/a", 0755), 0);
	expect_eq(mkdirat(rig.directory, "t/a/b", 0755), 0);
	expect_eq(mkdirat(rig.directory, "t/c", 0755), 0);
	rig_put(rig.directory, "t/x", "x");
	rig_put(rig.directory, "t/a/b/y", "y");
	expect_eq(mkfifoat(rig.directory, "t/a/pipe", 0600), 0);
	expect_eq(directory_discard(rig.directory, "t"), 0);
	expect(!is_there(&rig, "t"));
}

static void what_is_gone_already_is_removed(void)
{
	RIG;

	expect_eq(directory_discard(rig.directory, "t"), 0);
}

static void removes_a_tree_that_is_deeper_than_any_path(void)
{
	RIG;
	int directory = dup(rig.directory);

	for (int i = 0; i < DEPTH; i++) {
		int next;

		if (mkdirat(directory, i == 0 ? "t" : "0123456789", 0700) < 0)
			break;
		next = path_open_beneath(directory, i == 0 ? "t" : "0123456789",
					 O_RDONLY | O_DIRECTORY, 0);
		rig_put(next, "file", "x");
		close_fd(&directory);
		directory = next;
	}
	close_fd(&directory);
	expect_eq(directory_discard(rig.directory, "t"), 0);
	expect(!is_there(&rig, "t"));
}

static void removes_directories_that_their_maker_has_closed(void)
{
	RIG;

	expect_eq(mkdirat(rig.directory, "t", 0700), 0);
	expect_eq(mkdirat(rig.directory, "t/work", 0700), 0);
	expect_eq(mkdirat(rig.directory, "t/work/work", 0700), 0);
	rig_put(rig.directory, "t/work/work/x", "x");
	expect_eq(fchmodat(rig.directory, "t/work/work", 0, 0), 0);
	expect_eq(fchmodat(rig.directory, "t/work", 0500, 0), 0);
	expect_eq(fchmodat(rig.directory, "t", 0, 0), 0);
	expect_eq(directory_discard(rig.directory, "t"), 0);
	expect(!is_there(&rig, "t"));
}

static void follows_no_link(void)
{
	struct stat st;
	RIG;

	expect_eq(mkdirat(rig.directory, "kept", 0500), 0);
	expect_eq(mkdirat(rig.directory, "t", 0700), 0);
	expect_eq(symlinkat("../kept", rig.directory, "t/link"), 0);
	expect_eq(symlinkat("/", rig.directory, "t/root"), 0);
	expect_eq(symlinkat(".", rig.directory, "t/self"), 0);
	expect_eq(directory_discard(rig.directory, "t"), 0);
	expect_eq(fstatat(rig.directory, "kept", &st, 0), 0);
	expect_eq(st.st_mode & 0777, 0500);
	expect(!is_there(&rig, "t"));
}

static void refuses_to_remove_through_a_link(void)
{
	RIG;

	expect_eq(mkdirat(rig.directory, "kept", 0700), 0);
	rig_put(rig.directory, "kept/x", "x");
	expect_eq(symlinkat("kept", rig.directory, "t"), 0);
	expect_eq(directory_discard(rig.directory, "t"), -ELOOP);
	expect(is_there(&rig, "kept/x"));
}

static void names_that_look_like_its_own_do_not_disturb_it(void)
{
	RIG;

	expect_eq(mkdirat(rig.directory, "t", 0700), 0);
	rig_put(rig.directory, "t/.discard-1", "x");
	expect_eq(mkdirat(rig.directory, "t/.discard-2", 0700), 0);
	expect_eq(mkdirat(rig.directory, "t/.discard-2/.discard-1", 0700), 0);
	rig_put(rig.directory, "t/.discard-2/.discard-1/.discard-3", "x");
	expect_eq(mkdirat(rig.directory, "t/.discard-2/.discard-2", 0700), 0);
	rig_put(rig.directory, "t/.discard-2/.discard-2/x", "x");
	expect_eq(directory_discard(rig.directory, "t"), 0);
	expect(!is_there(&rig, "t"));
}

static void removes_the_rest_where_something_must_stay(void)
{
	RIG;

	if (geteuid() == 0)
		skip("root can remove everything");
	expect_eq(mkdirat(rig.directory, "t", 0700), 0);
	rig_put(rig.directory, "t/x", "x");
	expect_eq(fchmod(rig.directory, 0500), 0);
	expect_eq(directory_discard(rig.directory, "t"), -EACCES);
	expect(!is_there(&rig, "t/x"));
	expect_eq(fchmod(rig.directory, 0700), 0);
}

static const struct test tests[] = {
	TEST(removes_files_and_directories),
	TEST(what_is_gone_already_is_removed),
	TEST(removes_a_tree_that_is_deeper_than_any_path),
	TEST(removes_directories_that_their_maker_has_closed),
	TEST(follows_no_link),
	TEST(refuses_to_remove_through_a_link),
	TEST(names_that_look_like_its_own_do_not_disturb_it),
	TEST(removes_the_rest_where_something_must_stay),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
