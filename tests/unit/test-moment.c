/* SPDX-License-Identifier: MIT */

#include "base/moment.h"

#include <errno.h>

#include "base/text.h"
#include "test.h"

static void times_are_written_as_they_are_read(void)
{
	static const uint64_t times[] = { 0, 1, UINT64_C(1767323045678901),
					  UINT64_C(253402300799999999) };
	uint64_t usec = 7;

	for (size_t i = 0; i < N_ELEMENTS(times); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		moment_add(&text, times[i]);
		expect_eq(moment_parse(text.data, text.len, &usec), 0);
		expect_eq(usec, times[i]);
	}
	expect_eq(moment_parse("2000-02-29T00:00:00.5Z", 22, &usec), 0);
	expect_eq(usec, UINT64_C(951782400500000));
	expect_eq(moment_parse("2000-02-29T00:00:00.123456789Z", 30, &usec), 0);
	expect_eq(usec % 1000000, 123456);
}

static void days_are_those_of_the_calendar(void)
{
	static const struct {
		uint64_t sec;
		const char *text;
	} rows[] = {
		{ UINT64_C(951782399), "2000-02-28T23:59:59.000000Z" },
		{ UINT64_C(951868800), "2000-03-01T00:00:00.000000Z" },
		{ UINT64_C(1709164800), "2024-02-29T00:00:00.000000Z" },
		{ UINT64_C(4107542400), "2100-03-01T00:00:00.000000Z" },
		{ UINT64_C(1798761599), "2026-12-31T23:59:59.000000Z" },
		{ UINT64_C(14574556800), "2431-11-07T00:00:00.000000Z" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		moment_add(&text, rows[i].sec * 1000000);
		expect_str(text_string(&text), rows[i].text);
	}
}

static void other_forms_are_no_time(void)
{
	static const char *const texts[] = {
		"",
		"2026-01-02",
		"2026-01-02T03:04:05",
		"2026-01-02T03:04:05+00:00",
		"2026-01-02t03:04:05Z",
		"2026-01-02T03:04:05.Z",
		"2026-01-02T03:04:05.1234567890Z",
		"2026-01-02T24:00:00Z",
		"2026-01-02T03:04:60Z",
		"2026-02-29T03:04:05Z",
		"2026-13-01T03:04:05Z",
		"1969-12-31T23:59:59Z",
		"2026-01-02T03:04:05Z ",
	};
	uint64_t usec = 7;

	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		expect_eq(moment_parse(texts[i], strlen(texts[i]), &usec), -EINVAL);
	expect_eq(usec, 7);
}

static const struct test tests[] = {
	TEST(times_are_written_as_they_are_read),
	TEST(days_are_those_of_the_calendar),
	TEST(other_forms_are_no_time),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
