/* SPDX-License-Identifier: MIT */

#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "test.h"

struct pipe_rig {
	struct line_reader reader;
	int write_fd;
};

static void rig_deinit(struct pipe_rig *rig)
{
	lines_close(&rig->reader);
	(void)close(rig->reader.fd);
	if (rig->write_fd >= 0)
		(void)close(rig->write_fd);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

static struct pipe_rig rig_new(void)
{
	int fds[2] = { -1, -1 };

	expect_eq(pipe2(fds, O_CLOEXEC), 0);
	return (struct pipe_rig){ .reader = { .fd = fds[0], .max = 16 }, .write_fd = fds[1] };
}

static void put(struct pipe_rig *rig, const char *text)
{
	expect_eq(fd_write_all(rig->write_fd, text, strlen(text)), 0);
}

static void put_end(struct pipe_rig *rig)
{
	(void)close(rig->write_fd);
	rig->write_fd = -1;
}

static void expect_line(struct pipe_rig *rig, const char *wanted)
{
	char *line = NULL;
	size_t n = 0;

	expect_eq(lines_next(&rig->reader, &line, &n), LINE_READY);
	expect_eq(n, strlen(wanted));
	expect(line && memcmp(line, wanted, strlen(wanted)) == 0);
}

static void expect_state(struct pipe_rig *rig, int state)
{
	char *line;
	size_t n;

	expect_eq(lines_next(&rig->reader, &line, &n), state);
}

static void lines_come_in_their_order_and_with_their_number(void)
{
	_cleanup_rig_ struct pipe_rig rig = rig_new();

	put(&rig, "one\n\ntwo");
	put_end(&rig);
	expect_line(&rig, "one");
	expect_line(&rig, "");
	expect_line(&rig, "two");
	expect_eq(rig.reader.number, 3);
	expect_state(&rig, LINE_END);
	expect_state(&rig, LINE_END);
}

static void a_line_that_is_too_long_is_passed_over(void)
{
	_cleanup_rig_ struct pipe_rig rig = rig_new();

	put(&rig, "0123456789abcdef\n0123456789abcdefg\nshort\n");
	put_end(&rig);
	expect_line(&rig, "0123456789abcdef");
	expect_state(&rig, LINE_TOO_LONG);
	expect_line(&rig, "short");
	expect_eq(rig.reader.number, 3);
}

static void lines_at_hand_reads_a_pipe_without_blocking(void)
{
	_cleanup_rig_ struct pipe_rig rig = rig_new();

	/* Each of these must return without waiting for more input. */
	expect(!lines_at_hand(&rig.reader));
	put(&rig, "a\nb");
	expect(!lines_ready(&rig.reader));
	expect(lines_at_hand(&rig.reader));
	expect_line(&rig, "a");
	expect(!lines_at_hand(&rig.reader));
	put(&rig, "c\n");
	expect(lines_at_hand(&rig.reader));
	expect_line(&rig, "bc");
}

static void the_end_is_at_hand_too(void)
{
	_cleanup_rig_ struct pipe_rig rig = rig_new();

	put(&rig, "rest");
	expect(!lines_at_hand(&rig.reader));
	put_end(&rig);
	expect(lines_at_hand(&rig.reader));
	expect_line(&rig, "rest");
	expect(lines_at_hand(&rig.reader));
	expect_state(&rig, LINE_END);
}

static void lines_next_reports_a_read_error(void)
{
	_cleanup_rig_ struct pipe_rig rig = rig_new();

	(void)close(rig.reader.fd);
	rig.reader.fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect(!lines_at_hand(&rig.reader));
	expect_state(&rig, -EISDIR);
}

static void a_long_line_can_be_an_error_before_it_ends(void)
{
	_cleanup_rig_ struct pipe_rig rig = rig_new();

	rig.reader.refuses_long = true;
	put(&rig, "0123456789abcdef\n0123456789abcdef0");
	expect_line(&rig, "0123456789abcdef");
	expect_state(&rig, -EMSGSIZE);
}

static const struct test tests[] = {
	TEST(lines_come_in_their_order_and_with_their_number),
	TEST(a_line_that_is_too_long_is_passed_over),
	TEST(lines_at_hand_reads_a_pipe_without_blocking),
	TEST(the_end_is_at_hand_too),
	TEST(lines_next_reports_a_read_error),
	TEST(a_long_line_can_be_an_error_before_it_ends),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
