/* SPDX-License-Identifier: MIT */

#include <sys/mount.h>
#include <sys/stat.h>

#include "world-rig.h"

static void expect_masked(struct world *world)
{
	expect_eq(open("/bound/file", O_RDONLY | O_CLOEXEC), -1);
	expect_eq(errno, EACCES);
	expect_eq(open("/bound/folder", O_RDONLY | O_CLOEXEC), -1);
	expect_eq(errno, EACCES);
	expect_eq(access("/bound/folder/secret", F_OK), -1);
	expect_eq(errno, EACCES);
	expect_eq(chmod("/bound/folder", 0777), -1);
	expect_eq(errno, EROFS);
	expect_eq(chmod("/bound/file", 0666), -1);
	expect_eq(errno, EROFS);
	expect_eq(rename("/bound/folder", "/bound/elsewhere"), -1);
	expect_eq(errno, EBUSY);
	expect_eq(umount2("/bound/folder", MNT_DETACH), -1);
	expect_eq(errno, EPERM);
	expect(holds("/bound/other", "to be seen"));
}

EVERYBODY(a_masked_path_cannot_be_read)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0777);
	make_directory(&world, "bound/folder", 0777);
	make_file(&world, "bound/folder/secret", "secret", 0666);
	make_file(&world, "bound/file", "secret", 0666);
	make_file(&world, "bound/other", "to be seen", 0666);
	expect_eq(chmod(outside(&world, "bound"), 0777), 0);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_MASK, .mask.target = "/bound/file");
	add(&world, .kind = STEP_MASK, .mask.target = "/bound/folder", .mask.is_directory = true);
	add_end(&world);
	expect_eq(world_run(&world, expect_masked), 0);
	expect(holds(outside(&world, "bound/file"), "secret"));
}

EVERYBODY(a_mask_on_a_link_is_refused)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	make_file(&world, "bound/real", "", 0644);
	expect_eq(symlink("real", outside(&world, "bound/file")), 0);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_MASK, .mask.target = "/bound/file");
	add_end(&world);
	expect_failing(&world, STEP_MASK, -ELOOP);
}

static void expect_masked_where_it_is(struct world *world)
{
	expect_eq(open("/bound/file", O_RDONLY | O_CLOEXEC), -1);
	expect_eq(errno, EACCES);
	expect_eq(access("/bound/none", F_OK), -1);
	expect_eq(errno, ENOENT);
}

/* For a file of /proc that not every kernel has. */
EVERYBODY(a_mask_that_is_optional_needs_no_target)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	make_file(&world, "bound/file", "secret", 0666);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_MASK, .mask.target = "/bound/file", .mask.optional = true);
	add(&world, .kind = STEP_MASK, .mask.target = "/bound/none", .mask.optional = true);
	add_end(&world);
	expect_eq(world_run(&world, expect_masked_where_it_is), 0);
}

EVERYBODY(a_mask_without_a_target_is_refused)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_MASK, .mask.target = "/bound/none");
	add_end(&world);
	expect_failing(&world, STEP_MASK, -EXDEV);
}

static const struct test tests[] = {
	TEST(a_masked_path_cannot_be_read),
	TEST(a_mask_on_a_link_is_refused),
	TEST(a_mask_that_is_optional_needs_no_target),
	TEST(a_mask_without_a_target_is_refused),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
