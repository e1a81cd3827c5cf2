/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/progress.h"
#include "test.h"

#define MSEC UINT64_C(1000)

struct shown {
	int fds[2];
	struct progress progress;
};

static void begin(struct shown *shown)
{
	expect_eq(pipe2(shown->fds, O_CLOEXEC | O_NONBLOCK), 0);
	progress_begin(&shown->progress, shown->fds[1], "verifying", "records");
}

static void end(struct shown *shown)
{
	(void)close(shown->fds[0]);
	(void)close(shown->fds[1]);
}

/* Expects the output since the last call. */
static void expect_shown(const struct shown *shown, const char *wanted)
{
	char got[256] = "";
	ssize_t n = read(shown->fds[0], got, sizeof(got) - 1);

	got[n > 0 ? n : 0] = '\0';
	expect_str(got, wanted);
}

static void step(struct shown *shown, uint64_t msec, uint64_t done, uint64_t total)
{
	progress_show_at(&shown->progress, shown->progress.begin_usec + msec * MSEC, done, total);
}

static void the_first_second_shows_nothing(void)
{
	struct shown shown;

	begin(&shown);
	step(&shown, 0, 1, 10);
	step(&shown, 999, 5, 10);
	expect_shown(&shown, "");
	progress_clear(&shown.progress);
	expect_shown(&shown, "");
	end(&shown);
}

static void the_line_changes_every_200_ms_at_most(void)
{
	struct shown shown;

	begin(&shown);
	step(&shown, 1000, 5, 10);
	expect_shown(&shown, "\r\033[Kverifying: 5 of 10 records (50%)");
	step(&shown, 1199, 6, 10);
	expect_shown(&shown, "");
	step(&shown, 1200, 7, 10);
	expect_shown(&shown, "\r\033[Kverifying: 7 of 10 records (70%)");
	end(&shown);
}

static void a_total_that_is_not_known_is_not_shown(void)
{
	struct shown shown;

	begin(&shown);
	step(&shown, 2000, 12345, 0);
	expect_shown(&shown, "\r\033[Kverifying: 12345 records");
	end(&shown);
}

static void more_than_the_total_is_all_of_it(void)
{
	struct shown shown;

	begin(&shown);
	step(&shown, 2000, UINT64_MAX, UINT64_MAX - 1);
	expect_shown(&shown, "\r\033[Kverifying: 18446744073709551615 of 18446744073709551614 "
			     "records (100%)");
	end(&shown);
}

static void the_line_is_cleared_once(void)
{
	struct shown shown;

	begin(&shown);
	step(&shown, 1000, 5, 10);
	expect_shown(&shown, "\r\033[Kverifying: 5 of 10 records (50%)");
	progress_clear(&shown.progress);
	expect_shown(&shown, "\r\033[K");
	progress_clear(&shown.progress);
	expect_shown(&shown, "");
	end(&shown);
}

static void nothing_is_shown_without_a_terminal(void)
{
	struct progress none = PROGRESS_INIT, progress;

	progress_show(&none, 1, 2);
	progress_clear(&none);
	progress_begin(&progress, -EBADF, "verifying", "records");
	progress_show_at(&progress, UINT64_MAX, 1, 2);
	expect(!progress.is_shown);
}

static const struct test tests[] = {
	TEST(the_first_second_shows_nothing),
	TEST(the_line_changes_every_200_ms_at_most),
	TEST(a_total_that_is_not_known_is_not_shown),
	TEST(more_than_the_total_is_all_of_it),
	TEST(the_line_is_cleared_once),
	TEST(nothing_is_shown_without_a_terminal),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
