/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <sys/statvfs.h>

#include "world-rig.h"

static unsigned count_names(const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	return dir ? n - 2 : 0; /* . and .. */
}

static void expect_empty_root(struct world *world)
{
	char directory[64];

	expect_str(getcwd(directory, sizeof(directory)), "/");
	expect_eq(count_names("/"), 0);
	expect_eq(count_names(".."), 0);
	expect_eq(getpid(), 1);
}

EVERYBODY(begins_with_nothing)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_empty_root), 0);
}

static void expect_only_our_mounts(struct world *world)
{
	_cleanup_fclose_ FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[512], at[256];
	unsigned n = 0;

	for (; mounts && fgets(line, sizeof(line), mounts); n++) {
		expect_eq(sscanf(line, "%*s %*s %*s %*s %255s", at), 1);
		expect(strcmp(at, "/") == 0 || strcmp(at, "/proc") == 0 ||
		       strcmp(at, "/bound") == 0);
		expect(!strstr(line, "shared:") && !strstr(line, "master:"));
	}
	expect_eq(n, 3);
	expect_eq(access(world->directory, F_OK), -1);
	expect_eq(errno, ENOENT);
}

EVERYBODY(nothing_of_the_old_tree_is_left)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add_proc(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_only_our_mounts), 0);
}

static char *read_mounts(void)
{
	char *text = NULL;
	size_t n = 0;

	expect_eq(file_read(AT_FDCWD, "/proc/self/mountinfo", MIB, &text, &n, NULL), 0);
	return text;
}

static void nothing_to_see(struct world *world) {}

EVERYBODY(the_host_has_the_same_mounts_afterwards)
{
	_cleanup_free_ char *before = read_mounts();
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/tmp", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 01777);
	add_proc(&world);
	add_end(&world);
	expect_eq(world_run(&world, nothing_to_see), 0);

	_cleanup_free_ char *after = read_mounts();

	expect_str(after, before);
}

static void expect_sealed(struct world *world)
{
	struct statvfs st;

	expect_eq(mkdir("/new", 0755), -1);
	expect_eq(errno, EROFS);
	expect_eq(unlink("/lib"), -1);
	expect_eq(errno, EROFS);
	expect_eq(chmod("/home", 0777), -1);
	expect_eq(errno, EROFS);
	expect_eq(statvfs("/", &st), 0);
	expect((st.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC)) ==
	       (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC));
}

EVERYBODY(a_sealed_root_cannot_be_changed)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add(&world, .kind = STEP_DIRECTORY, .directory.target = "/home", .directory.mode = 0755);
	add(&world, .kind = STEP_LINK, .link.target = "/lib", .link.points_to = "usr/lib");
	add_end(&world);
	expect_eq(world_run(&world, expect_sealed), 0);
}

static void expect_names(struct world *world)
{
	char link[64] = "";
	struct stat st;

	expect_eq(readlink("/deep/down/lib64", link, sizeof(link) - 1), 9);
	expect_str(link, "usr/lib64");
	expect_eq(stat("/deep/down", &st), 0);
	expect_eq(st.st_mode, S_IFDIR | 0755);
	expect_eq(stat("/open", &st), 0);
	expect_eq(st.st_mode, S_IFDIR | 01777);
	expect_eq(stat("/secret", &st), 0);
	expect_eq(st.st_mode, S_IFREG | 0400);
	expect_eq(st.st_uid, world->plan.uid);
	expect(holds("/secret", "the copy"));
}

EVERYBODY(names_get_their_own_modes_whatever_the_umask)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	mode_t mask = umask(077);

	world_init(&world);
	make_file(&world, "secret", "the copy", 0600);
	add(&world, .kind = STEP_LINK, .link.target = "/deep/down/lib64",
	    .link.points_to = "usr/lib64");
	add(&world, .kind = STEP_DIRECTORY, .directory.target = "/open", .directory.mode = 01777);
	add(&world, .kind = STEP_FILE, .file.source = outside(&world, "secret"),
	    .file.target = "/secret", .file.mode = 0400);
	add_end(&world);
	expect_eq(world_run(&world, expect_names), 0);
	expect_eq(umask(mask), 077);
}

static void expect_umask(struct world *world)
{
	expect_eq(umask(0), 027);
}

EVERYBODY(the_command_gets_our_umask)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	mode_t mask = umask(027);

	world_init(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_umask), 0);
	(void)umask(mask);
}

EVERYBODY(a_copy_that_does_not_fit_is_refused)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_file(&world, "large", "", 0600);
	expect_eq(truncate(outside(&world, "large"), 2 * MIB), 0);
	add(&world, .kind = STEP_FILE, .file.source = outside(&world, "large"),
	    .file.target = "/large", .file.mode = 0400);
	add_end(&world);
	expect_failing(&world, STEP_FILE, -ENOSPC);
}

EVERYBODY(only_files_are_copied)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add(&world, .kind = STEP_FILE, .file.source = "/dev/null", .file.target = "/file",
	    .file.mode = 0400);
	add_end(&world);
	expect_failing(&world, STEP_FILE, -EINVAL);
	expect_eq(mkfifo(outside(&world, "fifo"), 0600), 0);
	world.steps[4].file.source = outside(&world, "fifo");
	expect_failing(&world, STEP_FILE, -EINVAL);
}

EVERYBODY(a_link_is_not_followed_to_what_is_copied)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	expect_eq(symlink("/etc/passwd", outside(&world, "link")), 0);
	add(&world, .kind = STEP_FILE, .file.source = outside(&world, "link"),
	    .file.target = "/file", .file.mode = 0400);
	add_end(&world);
	expect_failing(&world, STEP_FILE, -ELOOP);
}

#define NEW "/bound/new"

/* The step must not create anything in a writable directory of the host. */
static void expect_nothing_made(struct step step, int code)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0777);
	make_file(&world, "file", "", 0644);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	if (step.kind == STEP_FILE)
		step.file.source = outside(&world, "file");
	if (step.kind == STEP_BIND)
		step.bind.source = world.directory;
	add_step(&world, step);
	add_end(&world);
	expect_failing(&world, step.kind, code);
	expect_eq(access(outside(&world, "bound/new"), F_OK), -1);
}

EVERYBODY(nothing_is_made_in_what_is_bound)
{
	static const struct step steps[] = {
		{ .kind = STEP_BIND, .bind = { NEW, .is_directory = true } },
		{ .kind = STEP_TMPFS, .tmpfs = { NEW, .size_bytes = MIB, .mode = 0755 } },
		{ .kind = STEP_MASK, .mask = { NEW, .is_directory = false } },
		{ .kind = STEP_MASK, .mask = { NEW, .is_directory = true } },
		{ .kind = STEP_LINK, .link = { NEW, .points_to = "x" } },
		{ .kind = STEP_DIRECTORY, .directory = { NEW, .mode = 0755 } },
		{ .kind = STEP_FILE, .file = { NEW, .mode = 0400 } },
		{ .kind = STEP_PTS, .pts = { NEW } },
	};

	for (size_t i = 0; i < N_ELEMENTS(steps); i++)
		expect_nothing_made(steps[i], -EXDEV);
}

EVERYBODY(a_link_in_the_sandbox_is_resolved_inside)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0777);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_LINK, .link.target = "/link", .link.points_to = "bound");
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/link/new", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 0755);
	add_end(&world);
	expect_failing(&world, STEP_TMPFS, -ELOOP);
	expect_eq(access(outside(&world, "bound/new"), F_OK), -1);
}

EVERYBODY(a_link_outside_is_not_followed_to_a_target)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0777);
	make_directory(&world, "bound/real", 0777);
	expect_eq(symlink("real", outside(&world, "bound/link")), 0);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/bound/link", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 0755);
	add_end(&world);
	expect_failing(&world, STEP_TMPFS, -ELOOP);
}

static const struct test tests[] = {
	TEST(begins_with_nothing),
	TEST(nothing_of_the_old_tree_is_left),
	TEST(the_host_has_the_same_mounts_afterwards),
	TEST(a_sealed_root_cannot_be_changed),
	TEST(names_get_their_own_modes_whatever_the_umask),
	TEST(the_command_gets_our_umask),
	TEST(a_copy_that_does_not_fit_is_refused),
	TEST(only_files_are_copied),
	TEST(a_link_is_not_followed_to_what_is_copied),
	TEST(nothing_is_made_in_what_is_bound),
	TEST(a_link_in_the_sandbox_is_resolved_inside),
	TEST(a_link_outside_is_not_followed_to_a_target),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
