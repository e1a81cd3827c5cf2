/* SPDX-License-Identifier: MIT */

/*
 * When the clock is believed, and the times of files that a wrong clock has written
 */

#include "audit/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/log-internal.h"
#include "audit/segment.h"
#include "base/array.h"
#include "base/moment.h"

#define CLOCK_SIZE 24

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* ---- the clock ---- */

static void doubt(struct audit_clock *clock, uint64_t now_usec)
{
	bool was_behind = clock->doubted_usec < clock->believed_usec;
	bool is_behind = now_usec < clock->believed_usec;
	bool has_gone_back =
		now_usec < clock->doubted_usec && clock->doubted_usec - now_usec > CLOCK_JUMP_USEC;
	uint64_t step = now_usec > clock->doubted_usec ? now_usec - clock->doubted_usec : 0;

	if (clock->doubted_usec == 0 || was_behind != is_behind || has_gone_back)
		clock->advanced_usec = 0;
	else
		clock->advanced_usec += step < CLOCK_STEP_USEC ? step : CLOCK_STEP_USEC;
	clock->doubted_usec = now_usec;
}

bool clock_take(struct audit_clock *clock, uint64_t now_usec, bool is_trusted)
{
	if (!is_trusted && distance(now_usec, clock->believed_usec) > CLOCK_JUMP_USEC) {
		doubt(clock, now_usec);
		if (clock->advanced_usec < CLOCK_DOUBT_USEC)
			return false;
	}
	*clock = (struct audit_clock){ .believed_usec = now_usec };
	return true;
}

uint64_t clock_time(const struct audit_clock *clock, uint64_t now_usec)
{
	return now_usec < clock->believed_usec ? now_usec : clock->believed_usec;
}

/* ---- in the log ---- */

static bool read_stored(struct store *store, struct audit_clock *ret)
{
	uint8_t bytes[CLOCK_SIZE];

	if (!store ||
	    store_get_meta(store, META_CLOCK, bytes, sizeof(bytes), NULL) != (int)sizeof(bytes))
		return false;
	*ret = (struct audit_clock){
		.believed_usec = log_get_u64(bytes),
		.doubted_usec = log_get_u64(bytes + 8),
		.advanced_usec = log_get_u64(bytes + 16),
	};
	return true;
}

void clock_load(struct store *store, const struct segment_list *list, struct audit_clock *ret)
{
	if (!read_stored(store, ret))
		*ret = (struct audit_clock){
			.believed_usec = list->n > 0 ? list->files[0].mtime_usec : 0,
		};
}

int clock_save(struct audit_log *log, const struct audit_clock *clock)
{
	uint8_t bytes[CLOCK_SIZE];
	int r = log_begin(log, NULL);

	if (r < 0)
		return r;
	log_put_u64(bytes, clock->believed_usec);
	log_put_u64(bytes + 8, clock->doubted_usec);
	log_put_u64(bytes + 16, clock->advanced_usec);
	r = store_set_meta(log->store, META_CLOCK, bytes, sizeof(bytes), NULL);
	if (r < 0)
		return log_failed(log, r);
	return audit_log_commit(log, NULL);
}

/* ---- the times of files ---- */

static void set_time(int directory, const char *name, uint64_t usec)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, moment_timespec(usec) };
	static const char *const suffixes[] = { "", "-wal" };

	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		char path[SEGMENT_FILE_SIZE + 8];

		(void)snprintf(path, sizeof(path), "%s%s", name, suffixes[i]);
		(void)utimensat(directory, path, times, AT_SYMLINK_NOFOLLOW);
	}
}

void clock_correct_slow(int directory, const char *name, struct store *store)
{
	struct audit_clock clock;

	if (read_stored(store, &clock) && moment_now(CLOCK_REALTIME) < clock.believed_usec)
		set_time(directory, name, clock.believed_usec);
}

void clock_correct_fast(int directory, const struct segment_list *list, uint64_t now_usec)
{
	for (size_t i = 0; i + 1 < list->n; i++)
		if (list->files[i].mtime_usec > now_usec)
			set_time(directory, list->files[i].name, now_usec);
}

void clock_correct_order(int directory, const struct segment_list *list, uint64_t believed_usec)
{
	uint64_t least = 0;

	for (size_t i = 0; i + 1 < list->n; i++) {
		const struct segment_file *file = &list->files[i];

		if (file->mtime_usec < least)
			set_time(directory, file->name, least);
		else if (file->mtime_usec <= believed_usec)
			least = file->mtime_usec;
	}
}
