/* SPDX-License-Identifier: MIT */

#include "spawn/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "test.h"

/* source -> [from -> relay -> to] -> sink */
struct line {
	struct loop loop;
	struct relay relay;
	int source, from, to, sink;
	unsigned n_changes;
};

static void changed(struct relay *relay, void *userdata)
{
	((struct line *)userdata)->n_changes++;
}

static void make_pipe(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	*ret_read = ends[0];
	*ret_write = ends[1];
}

static void line_init(struct line *line)
{
	*line = (struct line){ .loop = LOOP_INIT, .relay = RELAY_INIT };
	make_pipe(&line->from, &line->source);
	make_pipe(&line->sink, &line->to);
	expect_eq(fcntl(line->from, F_SETFL, O_NONBLOCK), 0);
	expect_eq(fcntl(line->to, F_SETFL, O_NONBLOCK), 0);
	expect_eq(fcntl(line->sink, F_SETFL, O_NONBLOCK), 0);
	line->relay.changed = changed;
	line->relay.userdata = line;
	expect_eq(relay_begin(&line->relay, &line->loop, line->from, line->to), 0);
}

static void shut(int *fd)
{
	close_fd(fd);
	*fd = -EBADF;
}

static void line_deinit(struct line *line)
{
	relay_deinit(&line->relay);
	loop_deinit(&line->loop);
	close_fd(&line->source);
	close_fd(&line->from);
	close_fd(&line->to);
	close_fd(&line->sink);
}
#define _cleanup_line_ _cleanup_(line_deinit)

static void turn(struct line *line)
{
	expect_eq(loop_turn(&line->loop, 1), 0);
}

static bool arrives(struct line *line, const char *wanted)
{
	char bytes[256];
	ssize_t n = read(line->sink, bytes, sizeof(bytes));

	return n == (ssize_t)strlen(wanted) && memcmp(bytes, wanted, (size_t)n) == 0;
}

static void say(struct line *line, const char *words)
{
	expect_eq(fd_write_all(line->source, words, strlen(words)), 0);
}

static void bytes_pass_in_one_turn(void)
{
	_cleanup_line_ struct line line;

	line_init(&line);
	say(&line, "hello");
	turn(&line);
	expect(arrives(&line, "hello"));
	expect_eq(line.n_changes, 0);
}

static void the_end_comes_after_the_last_byte(void)
{
	_cleanup_line_ struct line line;

	line_init(&line);
	say(&line, "last");
	shut(&line.source);
	turn(&line);
	turn(&line);
	expect(arrives(&line, "last"));
	expect(line.relay.has_ended && !line.relay.has_failed);
	expect_eq(line.n_changes, 1);
	turn(&line);
	expect_eq(line.n_changes, 1);
}

static void a_full_sink_holds_bytes_back_and_loses_none(void)
{
	_cleanup_line_ struct line line;
	char block[4096];
	size_t n_said = 0, n_heard = 0;
	ssize_t n;

	line_init(&line);
	memset(block, 'x', sizeof(block));
	expect_eq(fcntl(line.source, F_SETFL, O_NONBLOCK), 0);
	do {
		turn(&line);
		n = write(line.source, block, sizeof(block));
		n_said += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	shut(&line.source);
	/* More than both pipes can buffer. */
	expect(n_said > 2 * 65536);
	while (!line.relay.has_ended) {
		n = read(line.sink, block, sizeof(block));
		n_heard += n > 0 ? (size_t)n : 0;
		turn(&line);
	}
	while ((n = read(line.sink, block, sizeof(block))) > 0)
		n_heard += (size_t)n;
	expect_eq(n_heard, n_said);
}

static void a_closed_reader_ends_the_relay(void)
{
	_cleanup_line_ struct line line;

	(void)signal(SIGPIPE, SIG_IGN);
	line_init(&line);
	shut(&line.sink);
	say(&line, "hello");
	turn(&line);
	expect(line.relay.has_failed && line.relay.has_ended);
	expect_eq(line.n_changes, 1);
	say(&line, "more");
	turn(&line);
	expect_eq(line.n_changes, 1);
}

static void paused_it_reads_nothing(void)
{
	_cleanup_line_ struct line line;

	line_init(&line);
	relay_pause(&line.relay, true);
	say(&line, "hello");
	turn(&line);
	expect(!arrives(&line, "hello"));
	relay_pause(&line.relay, false);
	turn(&line);
	expect(arrives(&line, "hello"));
}

static void output_above_the_limit_is_dropped(void)
{
	_cleanup_line_ struct line line;
	uint64_t left = 7;

	line_init(&line);
	line.relay.left = &left;
	say(&line, "hello");
	turn(&line);
	expect(arrives(&line, "hello"));
	expect(!line.relay.is_over);
	say(&line, "world");
	turn(&line);
	expect(arrives(&line, "wo"));
	expect(line.relay.is_over);
	expect_eq(line.n_changes, 1);
	say(&line, "more");
	turn(&line);
	expect(!arrives(&line, "more"));
	expect_eq(line.n_changes, 1);
	/* The relay still reads, so that the writer does not block. */
	expect_eq(read(line.from, &left, 1), -1);
	expect(!line.relay.has_ended);
}

static void exactly_the_limit_is_not_above_it(void)
{
	_cleanup_line_ struct line line;
	uint64_t left = 5;

	line_init(&line);
	line.relay.left = &left;
	say(&line, "hello");
	turn(&line);
	expect(arrives(&line, "hello"));
	expect(!line.relay.is_over);
}

/* Another process keeps the write end open but writes nothing. */
static void draining_takes_what_there_is_and_ends(void)
{
	_cleanup_line_ struct line line;

	line_init(&line);
	say(&line, "hello");
	relay_drain(&line.relay);
	expect(arrives(&line, "hello"));
	expect(line.relay.has_ended);
	expect_eq(line.n_changes, 1);
	relay_drain(&line.relay);
	expect_eq(line.n_changes, 1);
}

static void draining_waits_for_a_slow_sink(void)
{
	_cleanup_line_ struct line line;
	char block[4096];

	line_init(&line);
	memset(block, 'x', sizeof(block));
	while (write(line.to, block, sizeof(block)) > 0)
		;
	say(&line, "hello");
	relay_drain(&line.relay);
	expect(!line.relay.has_ended);
	while (read(line.sink, block, sizeof(block)) > 0)
		;
	turn(&line);
	expect(line.relay.has_ended);
	expect(arrives(&line, "hello"));
}

static void a_blocking_target_gets_small_writes(void)
{
	_cleanup_line_ struct line line;
	char block[10000];
	size_t n = 0;

	line_init(&line);
	line.relay.to_may_block = true;
	memset(block, 'x', sizeof(block));
	expect_eq(fd_write_all(line.source, block, sizeof(block)), 0);
	for (int i = 0; i < 20; i++) {
		turn(&line);

		ssize_t got = read(line.sink, block, sizeof(block));

		expect(got <= 4096);
		n += got > 0 ? (size_t)got : 0;
	}
	expect_eq(n, sizeof(block));
}

static void a_second_open_file_of_a_pipe_does_not_block(void)
{
	_cleanup_close_ int file = memfd_create("file", MFD_CLOEXEC), again = -EBADF;
	int ends[2];

	make_pipe(&ends[0], &ends[1]);
	again = relay_reopen(ends[1]);
	expect(again >= 0);
	expect((fcntl(again, F_GETFL) & O_NONBLOCK) != 0);
	expect((fcntl(ends[1], F_GETFL) & O_NONBLOCK) == 0);
	/* A reopened regular file would have its own file offset. */
	expect_eq(relay_reopen(file), -EBADF);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static const struct test tests[] = {
	TEST(bytes_pass_in_one_turn),
	TEST(the_end_comes_after_the_last_byte),
	TEST(a_full_sink_holds_bytes_back_and_loses_none),
	TEST(a_closed_reader_ends_the_relay),
	TEST(paused_it_reads_nothing),
	TEST(output_above_the_limit_is_dropped),
	TEST(exactly_the_limit_is_not_above_it),
	TEST(draining_takes_what_there_is_and_ends),
	TEST(draining_waits_for_a_slow_sink),
	TEST(a_blocking_target_gets_small_writes),
	TEST(a_second_open_file_of_a_pipe_does_not_block),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
