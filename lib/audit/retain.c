/* SPDX-License-Identifier: MIT */

/*
 * What has to be done with the files of a log: decisions from facts, one at a time, because nobody
 * knows how small an archive becomes before it is made
 */

#include "audit/retain.h"

#include <time.h>

#define USEC_PER_SEC UINT64_C(1000000)
#define SECONDS_PER_DAY 86400
/* 1970 began on a Thursday. */
#define DAYS_BEFORE_MONDAY 3
#define WARNING_PERCENT 80
#define CRITICAL_PERCENT 95

const char *const rotation_names[N_ROTATIONS + 1] = { "none",	"hourly",  "daily",
						      "weekly", "monthly", NULL };

/* The number of the month, counted from any. */
static uint64_t month_of(time_t seconds)
{
	struct tm tm = { .tm_year = 0 };

	(void)gmtime_r(&seconds, &tm);
	return (uint64_t)tm.tm_year * 12 + (uint64_t)tm.tm_mon;
}

static uint64_t period_of(enum rotation rotation, uint64_t usec)
{
	uint64_t seconds = usec / USEC_PER_SEC;

	if (rotation == ROTATION_HOURLY)
		return seconds / 3600;
	if (rotation == ROTATION_DAILY)
		return seconds / SECONDS_PER_DAY;
	if (rotation == ROTATION_WEEKLY)
		return (seconds / SECONDS_PER_DAY + DAYS_BEFORE_MONDAY) / 7;
	return rotation == ROTATION_MONTHLY ? month_of((time_t)seconds) : 0;
}

bool rotation_is_over(enum rotation rotation, uint64_t begun_usec, uint64_t now_usec)
{
	return period_of(rotation, begun_usec) != period_of(rotation, now_usec);
}

static bool is_older(const struct retain_facts *facts, const struct segment_file *file,
		     uint64_t usec)
{
	return file->mtime_usec < facts->now_usec && facts->now_usec - file->mtime_usec > usec;
}

static bool is_held(const struct retain_facts *facts, size_t i)
{
	return facts->is_held && facts->is_held[i];
}

/* The first closed segment that has to become an archive; or facts->n. */
static size_t find_store(const struct retain_policy *policy, const struct retain_facts *facts)
{
	bool is_tight = facts->n_bytes > policy->max_bytes / 2;

	for (size_t i = 0; i + 1 < facts->n; i++)
		if (facts->files[i].kind == SEGMENT_STORE && !is_held(facts, i) &&
		    (is_tight || is_older(facts, &facts->files[i], policy->store_usec)))
			return i;
	return facts->n;
}

enum retain_action retain_next(const struct retain_policy *policy, const struct retain_facts *facts,
			       size_t *ret_index)
{
	size_t store = find_store(policy, facts);

	*ret_index = 0;
	if (facts->n < 2)
		return RETAIN_NOTHING;
	if (facts->files[0].kind == SEGMENT_ARCHIVE && !is_held(facts, 0) &&
	    is_older(facts, &facts->files[0], policy->archive_usec))
		return RETAIN_DELETE_AGE;
	if (store < facts->n) {
		*ret_index = store;
		return RETAIN_ARCHIVE;
	}
	if (facts->files[0].kind == SEGMENT_ARCHIVE && !is_held(facts, 0) &&
	    facts->n_bytes > policy->max_bytes)
		return RETAIN_DELETE_SIZE;
	return RETAIN_NOTHING;
}

enum retain_level retain_level_of(uint64_t n_bytes, uint64_t max_bytes)
{
	/* Divided first, so that no size is too large. */
	if (n_bytes > max_bytes / 100 * CRITICAL_PERCENT + max_bytes % 100 * CRITICAL_PERCENT / 100)
		return RETAIN_LEVEL_CRITICAL;
	if (n_bytes > max_bytes / 100 * WARNING_PERCENT + max_bytes % 100 * WARNING_PERCENT / 100)
		return RETAIN_LEVEL_WARNING;
	return RETAIN_LEVEL_FINE;
}
