/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The time by which the files of a log age
 *
 * A system clock that is fast for a minute must not delete a log. So the log stores the last time
 * of the clock that it believed, and each retention compares the clock with it. A clock that has
 * jumped by more than CLOCK_JUMP_USEC, in either direction, is doubted: meanwhile files age no
 * further than the believed time. The clock is believed again when it is back, or when it has
 * advanced by CLOCK_DOUBT_USEC while it was doubted. Of the time between two retentions at most
 * CLOCK_STEP_USEC counts for that, so a few more jumps do not suffice.
 *
 * Neither the time of a record counts, because its writer chooses it, nor that of the newest file,
 * which the fast clock may have written.
 */

#include <stdbool.h>
#include <stdint.h>

struct audit_log;
struct segment_list;
struct store;

#define CLOCK_DAY_USEC UINT64_C(86400000000)
/* One day more than a week, so that a log which is retained weekly never doubts the clock. */
#define CLOCK_JUMP_USEC (8 * CLOCK_DAY_USEC)
#define CLOCK_DOUBT_USEC (7 * CLOCK_DAY_USEC)
#define CLOCK_STEP_USEC CLOCK_DAY_USEC

struct audit_clock {
	uint64_t believed_usec;
	uint64_t doubted_usec;	/* what the clock showed when it was doubted last; 0: it is not */
	uint64_t advanced_usec; /* how far it has advanced since it was doubted first */
};

/* Takes what the clock shows: is it believed? @is_trusted: believe it in any case. */
bool clock_take(struct audit_clock *clock, uint64_t now_usec, bool is_trusted);
/* The time by which files age, when the clock shows @now_usec: never later than that. */
uint64_t clock_time(const struct audit_clock *clock, uint64_t now_usec);

/*
 * Reads the clock from @store, the segment that is written to; NULL: there is none. A log that has
 * never stored it, such as one of an earlier version, begins with the time of its oldest file: no
 * file is older.
 */
void clock_load(struct store *store, const struct segment_list *list, struct audit_clock *ret);
/* Stores it, and commits. Negative errno. */
int clock_save(struct audit_log *log, const struct audit_clock *clock);

/*
 * Closing a segment leaves the clock's time as that of its file. A slow clock would make the file
 * old: then gives it the believed time in @store instead. Ignores failures.
 */
void clock_correct_slow(int directory, const char *name, struct store *store);
/* Gives closed files of @list with a time in the future, by a clock that was fast when they were
 * closed, the time @now_usec: they would never be old. Ignores failures. */
void clock_correct_fast(int directory, const struct segment_list *list, uint64_t now_usec);
/* Gives closed files of @list that are older than the one before them its time, if that is not
 * later than the believed one: a crash can prevent clock_correct_slow(). Ignores failures. */
void clock_correct_order(int directory, const struct segment_list *list, uint64_t believed_usec);
