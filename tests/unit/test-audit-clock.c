/* SPDX-License-Identifier: MIT */

#include "audit/clock.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

#define DAY CLOCK_DAY_USEC
#define HOUR (DAY / 24)
#define START (1000 * DAY)

/* The days that the clock shows, one for each retention; then: is it believed, and the day by which
 * files age? */
static void a_clock_that_jumps_is_doubted(void)
{
	static const struct {
		int days[16]; /* after START, which is believed; ends with 0 after the first */
		bool is_believed;
		int time;
	} cases[] = {
		{ { 1 }, true, 1 },
		{ { 8 }, true, 8 },
		{ { 9 }, false, 0 },
		{ { 90 }, false, 0 },
		{ { 999999 }, false, 0 },
		/* It is back. */
		{ { 90, 1 }, true, 1 },
		{ { 90, 91, 92, 93, 94, 95, 96, 1, 97 }, false, 1 },
		{ { -3 }, true, -3 },
		/* It stays. */
		{ { 30, 31, 32, 33, 34, 35, 36 }, false, 0 },
		{ { 30, 31, 32, 33, 34, 35, 36, 37 }, true, 37 },
		/* A retention each week, each month, and one that was forgotten. */
		{ { 7, 14, 21, 28 }, true, 28 },
		{ { 30, 60, 90, 120, 150, 180, 210 }, false, 0 },
		{ { 30, 60, 90, 120, 150, 180, 210, 240 }, true, 240 },
		/* Many jumps, there and back, are no progress. */
		{ { 90, 200, 300 }, false, 0 },
		{ { 90, 50, 90, 50, 90, 50, 90, 50, 90, 50, 90, 50, 90, 50, 90 }, false, 0 },
		{ { 90, -90, 90, -90, 90, -90, 90, -90, 90, -90, 90, -90, 90 }, false, 0 },
		/* A little back, as when the time is synchronized, begins nothing anew. */
		{ { 30, 31, 32, 33, 34, 33, 34, 35, 36 }, true, 36 },
		/* A clock that was set back makes files younger, until it has advanced by a week.
		 */
		{ { -900 }, false, -900 },
		{ { -900, 1 }, true, 1 },
		{ { -900, -899, -898, -897, -896, -895, -894, -893 }, true, -893 },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct audit_clock clock = { .believed_usec = START };
		bool is_believed = false;
		uint64_t now = START;

		for (size_t at = 0; at < 16 && (at == 0 || cases[i].days[at]); at++) {
			now = START + (uint64_t)cases[i].days[at] * DAY;
			is_believed = clock_take(&clock, now, false);
		}
		expect_eq(is_believed, cases[i].is_believed);
		expect_eq(clock_time(&clock, now), START + (uint64_t)cases[i].time * DAY);
	}
}

/* However often retention runs, and however fast the clock jumps meanwhile. */
static void it_takes_seven_days_and_more_than_seven_retentions(void)
{
	struct audit_clock clock = { .believed_usec = START };
	unsigned n;

	for (n = 0; !clock_take(&clock, START + 90 * DAY + n * HOUR, false) && n < 1000;)
		n++;
	expect_eq(n, 7 * 24);
	clock = (struct audit_clock){ .believed_usec = START };
	for (n = 0; !clock_take(&clock, START + (n + 1) * 100 * DAY, false) && n < 1000;)
		n++;
	expect_eq(n, 7);
	for (n = 0; !clock_take(&clock, START + 5000 * DAY, false) && n < 1000;)
		n++;
	expect_eq(n, 1000);
}

static void a_clock_that_is_trusted_is_believed_at_once(void)
{
	struct audit_clock clock = { .believed_usec = START };

	expect(clock_take(&clock, START + 900 * DAY, true));
	expect_eq(clock_time(&clock, UINT64_MAX), START + 900 * DAY);
	expect(clock_take(&clock, START + 901 * DAY, false));
	expect(!clock_take(&clock, START, false));
	expect(clock_take(&clock, 0, true));
	expect(!clock_take(&clock, UINT64_MAX, false));
	expect(clock_take(&clock, UINT64_MAX, true));
	expect(!clock_take(&clock, 0, false));
}

static const struct test tests[] = {
	TEST(a_clock_that_jumps_is_doubted),
	TEST(it_takes_seven_days_and_more_than_seven_retentions),
	TEST(a_clock_that_is_trusted_is_believed_at_once),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
