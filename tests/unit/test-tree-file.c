/* SPDX-License-Identifier: MIT */
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/error.h>

#include "test.h"

static void reads_a_file_and_names_it(void)
{
	struct sbx_error err = { .code = 0 };
	_cleanup_close_ int fd = memfd_create("tree", MFD_CLOEXEC);
	_cleanup_tree_ struct tree *tree = NULL;
	struct tree *none = NULL;
	char path[64];

	expect_eq(write(fd, "a: 1\n", 5), 5);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	expect_eq(tree_read_file(AT_FDCWD, path, &tree, &err), 0);
	expect_str(tree_name(tree), path);
	expect_eq(write(fd, "a: 2\n", 5), 5);
	expect_eq(tree_read_file(AT_FDCWD, path, &none, &err), -EINVAL);
	expect(strncmp(err.what, path, strlen(path)) == 0);
	expect_eq(tree_read_file(AT_FDCWD, "/nowhere/p.yaml", &none, &err), -ENOENT);
	expect(strstr(err.what, "/nowhere/p.yaml") != NULL);
	expect(!none);
}

static void reads_standard_input_as_a_dash(void)
{
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_close_ int saved = dup(STDIN_FILENO);
	int ends[2];

	expect_eq(pipe2(ends, O_CLOEXEC), 0);
	expect_eq(write(ends[1], "{\"a\":1}", 7), 7);
	expect_eq(close(ends[1]), 0);
	expect_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close_fd(&ends[0]);
	expect_eq(tree_read_file(AT_FDCWD, "-", &tree, NULL), 0);
	if (saved >= 0)
		expect_eq(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	expect_str(tree_name(tree), "<stdin>");
}

static const struct test tests[] = {
	TEST(reads_a_file_and_names_it),
	TEST(reads_standard_input_as_a_dash),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
