/* SPDX-License-Identifier: MIT */

#include "audit/retain.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

#define DAY RETAIN_USEC_PER_DAY
#define NOW (100 * DAY)
#define KIB UINT64_C(1024)

static const struct retain_policy policy = {
	.archive_usec = 90 * DAY,
	.store_usec = 7 * DAY,
	.max_bytes = 1000 * KIB,
};

/* "d5 a91": a database that is five days old, an archive that is 91 days old. */
static size_t read_files(const char *text, struct segment_file *ret)
{
	size_t n = 0;

	for (int used; *text; text += used) {
		char kind;
		int days;

		if (sscanf(text, " %c%d%n", &kind, &days, &used) != 2)
			break;
		ret[n] = (struct segment_file){
			.kind = kind == 'd' ? SEGMENT_STORE : SEGMENT_ARCHIVE,
			.first = n * 10,
			.mtime_usec = NOW - (uint64_t)days * DAY,
		};
		n++;
	}
	return n;
}

static void the_next_action_follows_from_age_and_size(void)
{
	static const struct {
		const char *files;
		uint64_t kib;
		enum retain_action action;
		size_t index;
	} cases[] = {
		/* The last segment is never archived or deleted. */
		{ "", 0, RETAIN_NOTHING, 0 },
		{ "d99", 10, RETAIN_NOTHING, 0 },
		{ "d99", 9999, RETAIN_NOTHING, 0 },
		{ "a99", 9999, RETAIN_NOTHING, 0 },
		{ "d99 d99", 10, RETAIN_ARCHIVE, 0 },
		/* Archived after seven days, or when more than half of the room is used. */
		{ "d7 d0", 10, RETAIN_NOTHING, 0 },
		{ "d8 d0", 10, RETAIN_ARCHIVE, 0 },
		{ "d0 d0", 500, RETAIN_NOTHING, 0 },
		{ "d0 d0", 501, RETAIN_ARCHIVE, 0 },
		{ "a20 a9 d8 d3 d0", 10, RETAIN_ARCHIVE, 2 },
		{ "a20 a9 d3 d3 d0", 501, RETAIN_ARCHIVE, 2 },
		/* Deleted after ninety days: only archives, the oldest first. */
		{ "a90 d0", 10, RETAIN_NOTHING, 0 },
		{ "a91 d0", 10, RETAIN_DELETE_AGE, 0 },
		{ "a91 d91 d0", 10, RETAIN_DELETE_AGE, 0 },
		{ "d91 a91 d0", 10, RETAIN_ARCHIVE, 0 },
		{ "a20 a91 d0", 10, RETAIN_NOTHING, 0 },
		/* Over the limit: first every segment is archived, then the oldest archive is
		 * deleted. */
		{ "a20 d3 d0", 1001, RETAIN_ARCHIVE, 1 },
		{ "a20 a3 d0", 1001, RETAIN_DELETE_SIZE, 0 },
		{ "a20 a3 d0", 1000, RETAIN_NOTHING, 0 },
		{ "a91 a3 d0", 1001, RETAIN_DELETE_AGE, 0 },
		/* A clock that was set back: times in the future are not old. */
		{ "a-5 d-5 d-5", 10, RETAIN_NOTHING, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct segment_file files[8];
		struct retain_facts facts = { .files = files, .now_usec = NOW };
		size_t index = 99;

		facts.n = read_files(cases[i].files, files);
		facts.n_bytes = cases[i].kib * KIB;
		expect_eq(retain_next(&policy, &facts, &index), cases[i].action);
		if (cases[i].action != RETAIN_NOTHING)
			expect_eq(index, cases[i].index);
	}
}

static void locked_segments_are_skipped(void)
{
	static const struct {
		const char *files;
		const char *held; /* 'x' for each one that is locked */
		enum retain_action action;
		size_t index;
	} cases[] = {
		{ "d20 d20 d0", "x..", RETAIN_ARCHIVE, 1 },
		{ "d20 d20 d0", "xx.", RETAIN_NOTHING, 0 },
		/* Nothing after a locked file is deleted: the gap must begin with record 0. */
		{ "a91 a91 d0", "x..", RETAIN_NOTHING, 0 },
		{ "d91 a91 d0", "x..", RETAIN_NOTHING, 0 },
		{ "a91 d20 d0", "x..", RETAIN_ARCHIVE, 1 },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct segment_file files[8];
		bool held[8] = { false };
		struct retain_facts facts = { .files = files, .now_usec = NOW, .is_held = held };
		size_t index = 99;

		facts.n = read_files(cases[i].files, files);
		for (size_t at = 0; cases[i].held[at]; at++)
			held[at] = cases[i].held[at] == 'x';
		expect_eq(retain_next(&policy, &facts, &index), cases[i].action);
		if (cases[i].action != RETAIN_NOTHING)
			expect_eq(index, cases[i].index);
	}
}

static void levels_are_at_80_and_95_percent(void)
{
	static const struct {
		uint64_t n, max;
		enum retain_level level;
	} cases[] = {
		{ 0, 100, RETAIN_LEVEL_FINE },
		{ 80, 100, RETAIN_LEVEL_FINE },
		{ 81, 100, RETAIN_LEVEL_WARNING },
		{ 95, 100, RETAIN_LEVEL_WARNING },
		{ 96, 100, RETAIN_LEVEL_CRITICAL },
		{ 1, 0, RETAIN_LEVEL_CRITICAL },
		{ 0, 0, RETAIN_LEVEL_FINE },
		{ UINT64_MAX, UINT64_MAX, RETAIN_LEVEL_CRITICAL },
		{ UINT64_MAX / 2, UINT64_MAX, RETAIN_LEVEL_FINE },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		expect_eq(retain_level_of(cases[i].n, cases[i].max), cases[i].level);
}

/* 2026-01-01 was a Thursday. */
static void a_time_is_over_when_another_has_begun(void)
{
	static const uint64_t new_year = UINT64_C(1767225600000000), hour = UINT64_C(3600000000);
	static const struct {
		enum rotation rotation;
		uint64_t begun, now;
		bool is_over;
	} cases[] = {
		{ ROTATION_NONE, 0, UINT64_MAX / 2, false },
		{ ROTATION_HOURLY, new_year, new_year + hour - 1, false },
		{ ROTATION_HOURLY, new_year, new_year + hour, true },
		{ ROTATION_HOURLY, new_year + hour - 1, new_year + hour, true },
		{ ROTATION_DAILY, new_year, new_year + 24 * hour - 1, false },
		{ ROTATION_DAILY, new_year - 1, new_year, true },
		{ ROTATION_DAILY, new_year, new_year - 1, true },
		{ ROTATION_WEEKLY, new_year, new_year + 4 * DAY - 1, false },
		{ ROTATION_WEEKLY, new_year, new_year + 4 * DAY, true },
		{ ROTATION_WEEKLY, new_year - 3 * DAY, new_year, false },
		{ ROTATION_MONTHLY, new_year, new_year + 31 * DAY - 1, false },
		{ ROTATION_MONTHLY, new_year, new_year + 31 * DAY, true },
		{ ROTATION_MONTHLY, new_year - 1, new_year, true },
		{ ROTATION_MONTHLY, new_year, new_year + 365 * DAY, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		expect_eq(rotation_is_over(cases[i].rotation, cases[i].begun, cases[i].now),
			  cases[i].is_over);
}

static const struct test tests[] = {
	TEST(the_next_action_follows_from_age_and_size),
	TEST(locked_segments_are_skipped),
	TEST(levels_are_at_80_and_95_percent),
	TEST(a_time_is_over_when_another_has_begun),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
