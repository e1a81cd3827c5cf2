/* SPDX-License-Identifier: MIT */

#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "world-rig.h"

#define OWNER 77

/* Creates "lower" with two files, and "upper" and "work" for an overlay at /project. */
static void add_overlay(struct world *world, unsigned flags)
{
	make_directory(world, "lower", 0777);
	make_directory(world, "upper", 0777);
	make_directory(world, "work", 0777);
	make_file(world, "lower/file", "as it was", 0666);
	make_file(world, "lower/other", "as it was", 0666);
	add(world, .kind = STEP_OVERLAY, .overlay.source = outside(world, "lower"),
	    .overlay.target = "/project", .overlay.upper = outside(world, "upper"),
	    .overlay.work = outside(world, "work"), .overlay.attributes = step_attributes(flags),
	    .overlay.owner = { flags & STEP_OWNED, OWNER, OWNER, false, false });
}

/* As root: changes the owner of the layers to @uid, and of the directory around them for OWNER. */
static void give_layers(struct world *world, uid_t uid)
{
	static const char *const names[] = { "lower",	   "upper",	  "work",
					     "lower/file", "lower/other", "." };

	for (size_t i = 0; is_root() && i < N_ELEMENTS(names) - (uid != OWNER); i++)
		expect_eq(chown(outside(world, names[i]), uid, uid), 0);
}

/* The kernel creates work/work with mode 0, which even its owner cannot enter. */
static int run_and_clean(struct world *world, inside_fn *inside)
{
	int r = world_run(world, inside);

	(void)chmod(outside(world, "work/work"), 0700);
	(void)chmod(outside(world, "work2/work"), 0700);
	return r;
}

static void write_new_text(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	expect_eq(write(fd, "from inside", 11), 11);
}

static void change_everything(struct world *world)
{
	struct statvfs st;

	expect(holds("/project/file", "as it was"));
	write_new_text("/project/file");
	write_new_text("/project/new");
	expect_eq(unlink("/project/other"), 0);
	expect(holds("/project/file", "from inside"));
	expect(holds("/project/new", "from inside"));
	expect_eq(access("/project/other", F_OK), -1);
	expect_eq(statvfs("/project", &st), 0);
	expect((st.f_flag & (ST_NOSUID | ST_NODEV)) == (ST_NOSUID | ST_NODEV));
}

static void expect_lower_unchanged(struct world *world)
{
	expect(holds(outside(world, "lower/file"), "as it was"));
	expect(holds(outside(world, "lower/other"), "as it was"));
	expect_eq(access(outside(world, "lower/new"), F_OK), -1);
}

static void expect_changes_in_upper(struct world *world)
{
	struct stat st;

	expect(holds(outside(world, "upper/file"), "from inside"));
	expect(holds(outside(world, "upper/new"), "from inside"));
	expect_eq(lstat(outside(world, "upper/other"), &st), 0);
	expect(S_ISCHR(st.st_mode) && st.st_rdev == 0);
}

EVERYBODY(changes_land_in_the_upper_directory_only)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_overlay(&world, 0);
	give_layers(&world, world.plan.uid);
	add_end(&world);
	expect_eq(run_and_clean(&world, change_everything), 0);
	expect_lower_unchanged(&world);
	expect_changes_in_upper(&world);
}

static void changes_belong_to_the_owner_of_the_directory(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	struct stat st;

	if (!is_root())
		skip("only root gives files to others");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	world_init(&world);
	add_overlay(&world, STEP_OWNED);
	give_layers(&world, OWNER);
	add_end(&world);
	expect_eq(run_and_clean(&world, change_everything), 0);
	expect_lower_unchanged(&world);
	expect_changes_in_upper(&world);
	expect_eq(stat(outside(&world, "upper/new"), &st), 0);
	expect_eq(st.st_uid, OWNER);
	expect_eq(st.st_gid, OWNER);
}

/* As root: upper and work belong to root, lower to another user. */
static void what_lands_belongs_to_the_owner_of_the_upper_directory(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	struct stat st;

	if (!is_root())
		skip("only root gives files to others");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	world_init(&world);
	add_overlay(&world, STEP_OWNED);
	give_layers(&world, OWNER);
	expect_eq(chown(outside(&world, "upper"), 0, 0), 0);
	expect_eq(chown(outside(&world, "work"), 0, 0), 0);
	expect_eq(chmod(outside(&world, "."), 0700), 0);
	add_end(&world);
	expect_eq(run_and_clean(&world, change_everything), 0);
	expect_lower_unchanged(&world);
	expect_changes_in_upper(&world);
	expect_eq(stat(outside(&world, "upper/new"), &st), 0);
	expect_eq(st.st_uid, 0);
	expect_eq(st.st_gid, 0);
}

/* The kernel would mount the overlay read-only, and the command's writes would fail with EROFS. */
static void an_overlay_that_takes_no_changes_is_refused(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	if (!is_root())
		skip("only root gives files to others");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	world_init(&world);
	add_overlay(&world, STEP_OWNED);
	give_layers(&world, OWNER);
	expect_eq(chown(outside(&world, "work"), 0, 0), 0);
	expect_eq(chmod(outside(&world, "work"), 0755), 0);
	add_end(&world);
	expect_failing(&world, STEP_OVERLAY, -EROFS);
}

static void replace_directory(struct world *world)
{
	expect_eq(unlink("/project/folder/file"), 0);
	expect_eq(rmdir("/project/folder"), 0);
	expect_eq(mkdir("/project/folder", 0755), 0);
	expect_eq(access("/project/folder/file", F_OK), -1);
}

/* The opaque xattr: a later comparison must see that the old directory was replaced. */
EVERYBODY(a_directory_that_was_replaced_is_marked)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	char mark = '-';

	world_init(&world);
	add_overlay(&world, 0);
	make_directory(&world, "lower/folder", 0777);
	make_file(&world, "lower/folder/file", "", 0666);
	give_layers(&world, world.plan.uid);
	if (is_root())
		expect_eq(chown(outside(&world, "lower/folder"), COMMAND_USER, COMMAND_USER), 0);
	if (setxattr(outside(&world, "upper"), "user.test", "", 0, 0) < 0)
		skip("the file system of /tmp has no attributes");
	add_end(&world);
	expect_eq(run_and_clean(&world, replace_directory), 0);
	expect_eq(getxattr(outside(&world, "upper/folder"), "user.overlay.opaque", &mark, 1), 1);
	expect_eq(mark, 'y');
}

static void change_and_fill(struct world *world)
{
	struct stat st;

	expect_eq(stat("/project", &st), 0);
	expect_eq(st.st_mode, S_IFDIR | 0777);
	change_everything(world);

	_cleanup_close_ int fd = open("/project/large", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	expect_eq(posix_fallocate(fd, 0, 2 * MIB), ENOSPC);
}

EVERYBODY(changes_may_be_thrown_away)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_overlay(&world, 0);
	give_layers(&world, world.plan.uid);
	world.steps[4].overlay.upper = NULL;
	world.steps[4].overlay.work = NULL;
	world.steps[4].overlay.size_bytes = MIB;
	add_end(&world);
	expect_eq(world_run(&world, change_and_fill), 0);
	expect_lower_unchanged(&world);
	expect_eq(access(outside(&world, "upper/new"), F_OK), -1);
}

EVERYBODY(room_for_what_is_thrown_away_has_a_limit)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_overlay(&world, 0);
	world.steps[4].overlay.upper = NULL;
	add_end(&world);
	expect_failing(&world, STEP_OVERLAY, -EINVAL);
}

static void change_two(struct world *world)
{
	write_new_text("/project/new");
	write_new_text("/second/new");
}

EVERYBODY(there_may_be_two_of_them)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_overlay(&world, 0);
	make_directory(&world, "upper2", 0777);
	make_directory(&world, "work2", 0777);
	if (is_root()) {
		expect_eq(chown(outside(&world, "upper2"), COMMAND_USER, COMMAND_USER), 0);
		expect_eq(chown(outside(&world, "work2"), COMMAND_USER, COMMAND_USER), 0);
	}
	give_layers(&world, world.plan.uid);
	add(&world, .kind = STEP_OVERLAY, .overlay.source = outside(&world, "lower"),
	    .overlay.target = "/second", .overlay.upper = outside(&world, "upper2"),
	    .overlay.work = outside(&world, "work2"));
	add_end(&world);
	expect_eq(run_and_clean(&world, change_two), 0);
	expect(holds(outside(&world, "upper/new"), "from inside"));
	expect(holds(outside(&world, "upper2/new"), "from inside"));
	expect_lower_unchanged(&world);
}

static void expect_read_only(struct world *world)
{
	expect(holds("/project/file", "as it was"));
	expect_eq(open("/project/file", O_WRONLY | O_CLOEXEC), -1);
	expect_eq(errno, EROFS);
}

EVERYBODY(an_overlay_may_be_read_only_itself)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_overlay(&world, STEP_READ_ONLY);
	give_layers(&world, world.plan.uid);
	add_end(&world);
	expect_eq(run_and_clean(&world, expect_read_only), 0);
}

/* xattrs that an attacker who can write the lower directory could set. */
static void expect_no_redirection(struct world *world)
{
	expect_eq(access("/project/trap/passwd", F_OK), -1);
	expect_eq(access("/project/trap/file", F_OK), -1);
}

EVERYBODY(an_attribute_of_a_layer_leads_nowhere)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_overlay(&world, 0);
	give_layers(&world, world.plan.uid);
	make_directory(&world, "upper/trap", 0755);
	if (setxattr(outside(&world, "upper/trap"), "user.overlay.redirect", "/", 1, 0) < 0)
		skip("the file system of /tmp has no attributes");
	add_end(&world);
	expect_eq(run_and_clean(&world, expect_no_redirection), 0);
}

EVERYBODY(layers_that_are_links_are_refused)
{
	static const char *const names[] = { "lower", "upper", "work" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		_cleanup_world_ struct world world = WORLD_INIT;

		world_init(&world);
		add_overlay(&world, 0);
		add_end(&world);
		expect_eq(rename(outside(&world, names[i]), outside(&world, "real")), 0);
		expect_eq(symlink("real", outside(&world, names[i])), 0);
		expect_failing(&world, STEP_OVERLAY, -ELOOP);
	}
}

EVERYBODY(layers_that_are_gone_are_refused)
{
	static const char *const names[] = { "lower", "upper", "work" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		_cleanup_world_ struct world world = WORLD_INIT;

		world_init(&world);
		add_overlay(&world, 0);
		add_end(&world);
		expect_eq(rename(outside(&world, names[i]), outside(&world, "elsewhere")), 0);
		expect_failing(&world, STEP_OVERLAY, -ENOENT);
	}
}

static void root_needs_upper_and_work_in_one_directory(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	if (!is_root())
		skip("only root copies the mounts of layers");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	world_init(&world);
	add_overlay(&world, 0);
	make_directory(&world, "lower/work", 0777);
	world.steps[4].overlay.work = outside(&world, "lower/work");
	add_end(&world);
	expect_failing(&world, STEP_OVERLAY, -EXDEV);
}

static void make_own_mounts(void)
{
	expect_eq(unshare(CLONE_NEWNS), 0);
	expect_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

static void overlay_with_a_mounted_upper_directory(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_overlay(&world, 0);
	expect_eq(mount("tmpfs", outside(&world, "upper"), "tmpfs", 0, NULL), 0);
	add_end(&world);
	expect_failing(&world, STEP_OVERLAY, -EXDEV);
	expect_eq(umount2(outside(&world, "upper"), MNT_DETACH), 0);
}

/* The clone of the mount around it would contain the directory below the mount point, and changes
 * would be lost there. */
static void root_refuses_an_upper_directory_that_is_a_mount(void)
{
	if (!is_root())
		skip("only root copies the mounts of layers");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	in_child(make_own_mounts, overlay_with_a_mounted_upper_directory);
}

static const struct test tests[] = {
	TEST(changes_land_in_the_upper_directory_only),
	TEST(changes_belong_to_the_owner_of_the_directory),
	TEST(what_lands_belongs_to_the_owner_of_the_upper_directory),
	TEST(an_overlay_that_takes_no_changes_is_refused),
	TEST(a_directory_that_was_replaced_is_marked),
	TEST(changes_may_be_thrown_away),
	TEST(room_for_what_is_thrown_away_has_a_limit),
	TEST(there_may_be_two_of_them),
	TEST(an_overlay_may_be_read_only_itself),
	TEST(an_attribute_of_a_layer_leads_nowhere),
	TEST(layers_that_are_links_are_refused),
	TEST(layers_that_are_gone_are_refused),
	TEST(root_needs_upper_and_work_in_one_directory),
	TEST(root_refuses_an_upper_directory_that_is_a_mount),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
