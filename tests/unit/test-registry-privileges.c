/* SPDX-License-Identifier: MIT */

#include "registry/registry.h"

#include "registry-rig.h"

#include <sys/xattr.h>

#include "base/path.h"

#define DEPTH 3000
#define CAPABILITIES "security.capability"

static void put_program(const struct rig *rig, const char *name, mode_t mode)
{
	rig_put(rig->directory, name, "program");
	expect_eq(fchmodat(rig->directory, name, mode, 0), 0);
}

static mode_t mode_of(const struct rig *rig, const char *name)
{
	struct stat st = { .st_mode = 0 };

	expect_eq(fstatat(rig->directory, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

static void clears_the_bits_and_keeps_the_rest_of_a_mode(void)
{
	RIG;

	expect_eq(mkdirat(rig.directory, "t", 0755), 0);
	expect_eq(mkdirat(rig.directory, "t/a", 0755), 0);
	expect_eq(fchmodat(rig.directory, "t/a", 03751, 0), 0);
	put_program(&rig, "t/user", 04755);
	put_program(&rig, "t/group", 02711);
	put_program(&rig, "t/a/both", 07644);
	put_program(&rig, "t/a/neither", 0640);
	expect_eq(directory_drop_privileges(rig.directory, "t"), 0);
	expect_eq(mode_of(&rig, "t/user"), 0755);
	expect_eq(mode_of(&rig, "t/group"), 0711);
	expect_eq(mode_of(&rig, "t/a/both"), 01644);
	expect_eq(mode_of(&rig, "t/a/neither"), 0640);
	/* A directory gives its group to the files in it, not rights to who executes them. */
	expect_eq(mode_of(&rig, "t/a"), 03751);
}

static void clears_capabilities(void)
{
	/* struct vfs_cap_data: version 2, effective; CAP_NET_ADMIN */
	static const uint8_t value[20] = { 1, 0, 0, 2, 0, 0x10 };
	_cleanup_close_ int fd = -EBADF;
	RIG;

	expect_eq(mkdirat(rig.directory, "t", 0755), 0);
	put_program(&rig, "t/x", 0755);
	fd = openat(rig.directory, "t/x", O_RDONLY | O_CLOEXEC);
	if (fsetxattr(fd, CAPABILITIES, value, sizeof(value), 0) < 0)
		skip("only root can set capabilities");
	expect(fgetxattr(fd, CAPABILITIES, NULL, 0) > 0);
	expect_eq(directory_drop_privileges(rig.directory, "t"), 0);
	expect_eq(fgetxattr(fd, CAPABILITIES, NULL, 0), -1);
	expect_eq(mode_of(&rig, "t/x"), 0755);
}

static void looks_into_closed_directories_and_leaves_them_closed(void)
{
	RIG;

	expect_eq(mkdirat(rig.directory, "t", 0755), 0);
	expect_eq(mkdirat(rig.directory, "t/a", 0755), 0);
	expect_eq(mkdirat(rig.directory, "t/a/b", 0755), 0);
	put_program(&rig, "t/a/b/x", 04111);
	expect_eq(fchmodat(rig.directory, "t/a/b", 0111, 0), 0);
	expect_eq(fchmodat(rig.directory, "t/a", 0, 0), 0);
	expect_eq(fchmodat(rig.directory, "t", 02, 0), 0);
	expect_eq(directory_drop_privileges(rig.directory, "t"), 0);
	expect_eq(mode_of(&rig, "t"), 02);
	expect_eq(fchmodat(rig.directory, "t", 0700, 0), 0);
	expect_eq(mode_of(&rig, "t/a"), 0);
	expect_eq(fchmodat(rig.directory, "t/a", 0700, 0), 0);
	expect_eq(mode_of(&rig, "t/a/b"), 0111);
	expect_eq(mode_of(&rig, "t/a/b/x"), 0111);
}

static int make_deep(int parent)
{
	int directory = dup(parent);

	for (int i = 0; i < DEPTH; i++) {
		const char *name = i == 0 ? "t" : "0123456789";
		int next;

		expect_eq(mkdirat(directory, name, 0700), 0);
		expect_eq(mkdirat(directory, "beside", 0700), 0);
		next = path_open_beneath(directory, name, O_RDONLY | O_DIRECTORY, 0);
		rig_put(next, "x", "x");
		expect_eq(fchmodat(next, "x", 04755, 0), 0);
		close_fd(&directory);
		directory = next;
	}
	return directory;
}

static void does_a_tree_that_is_deeper_than_any_path(void)
{
	RIG;
	_cleanup_close_ int deepest = make_deep(rig.directory);
	struct stat st;
	int n = 0;

	expect_eq(directory_drop_privileges(rig.directory, "t"), 0);
	for (; fstatat(deepest, "x", &st, 0) == 0; n++) {
		int above = openat(deepest, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if ((st.st_mode & 07777) != 0755)
			break;
		close_fd(&deepest);
		deepest = above;
	}
	expect_eq(n, DEPTH);
}

static void follows_no_link_and_opens_no_pipe(void)
{
	RIG;

	expect_eq(mkdirat(rig.directory, "kept", 0755), 0);
	put_program(&rig, "kept/x", 04755);
	expect_eq(mkdirat(rig.directory, "t", 0700), 0);
	expect_eq(symlinkat("../kept", rig.directory, "t/directory"), 0);
	expect_eq(symlinkat("../kept/x", rig.directory, "t/file"), 0);
	expect_eq(symlinkat(".", rig.directory, "t/self"), 0);
	expect_eq(mkfifoat(rig.directory, "t/pipe", 0600), 0);
	put_program(&rig, "t/y", 04755);
	expect_eq(directory_drop_privileges(rig.directory, "t"), 0);
	expect_eq(mode_of(&rig, "kept/x"), 04755);
	expect_eq(mode_of(&rig, "t/y"), 0755);
}

static void refuses_a_link_and_another_users_directory(void)
{
	RIG;

	expect_eq(mkdirat(rig.directory, "kept", 0755), 0);
	put_program(&rig, "kept/x", 04755);
	expect_eq(symlinkat("kept", rig.directory, "t"), 0);
	expect(directory_drop_privileges(rig.directory, "t") < 0);
	if (geteuid() == 0) {
		expect_eq(fchownat(rig.directory, "kept", 1000, 1000, 0), 0);
		expect_eq(directory_drop_privileges(rig.directory, "kept"), -EPERM);
	}
	expect_eq(mode_of(&rig, "kept/x"), 04755);
	expect_eq(directory_drop_privileges(rig.directory, "missing"), 0);
}

static const struct test tests[] = {
	TEST(clears_the_bits_and_keeps_the_rest_of_a_mode),
	TEST(clears_capabilities),
	TEST(looks_into_closed_directories_and_leaves_them_closed),
	TEST(does_a_tree_that_is_deeper_than_any_path),
	TEST(follows_no_link_and_opens_no_pipe),
	TEST(refuses_a_link_and_another_users_directory),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
