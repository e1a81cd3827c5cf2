/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>

#include "test.h"

static void take_ptr_moves_the_value_out(void)
{
	char *owner = strdup("x"), *moved = take_ptr(owner);

	expect(owner == NULL);
	expect_str(moved, "x");
	free(moved);
}

static void take_fd_leaves_a_number_that_cannot_be_closed_twice(void)
{
	int owner = open("/dev/null", O_RDONLY | O_CLOEXEC), moved = take_fd(&owner);

	expect_eq(owner, -EBADF);
	expect(fcntl(moved, F_GETFD) >= 0);
	close_fd(&moved);
	expect_eq(moved, -EBADF);
}

static int open_in_a_scope(void)
{
	_cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return fd;
}

static void leaving_a_scope_closes_its_fd(void)
{
	int number = open_in_a_scope();

	expect(number >= 0);
	expect_eq(fcntl(number, F_GETFD), -1);
}

static void every_cleanup_keeps_errno_and_accepts_nothing(void)
{
	int none = -EBADF;
	void *pointer = NULL;
	FILE *stream = NULL;
	DIR *dir = NULL;

	errno = EXDEV;
	close_fd(&none);
	free_ptr(&pointer);
	close_stream(&stream);
	close_dir(&dir);
	expect_eq(errno, EXDEV);
}

static void a_failing_close_does_not_change_errno(void)
{
	int closed = 987654;

	errno = ENOENT;
	close_fd(&closed);
	expect_eq(errno, ENOENT);
}

static const struct test tests[] = {
	TEST(take_ptr_moves_the_value_out),
	TEST(take_fd_leaves_a_number_that_cannot_be_closed_twice),
	TEST(leaving_a_scope_closes_its_fd),
	TEST(every_cleanup_keeps_errno_and_accepts_nothing),
	TEST(a_failing_close_does_not_change_errno),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
