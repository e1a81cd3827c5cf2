/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How long the log is kept, and in which form
 *
 * A segment is closed when its period is over or when it is large. A closed segment becomes an
 * archive and is deleted after the archive was read again and compared with it. The oldest archive
 * is deleted when it is too old or when space runs short; a record of the log itself, signed
 * before, says what was deleted (audit/chain.h). A process that is killed meanwhile leaves a log
 * that verifies, and the next run continues.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

#include "audit/segment.h"

struct audit_log;

/* ---- rotation ---- */

enum rotation {
	ROTATION_NONE,
	ROTATION_HOURLY,
	ROTATION_DAILY,
	ROTATION_WEEKLY, /* from Monday */
	ROTATION_MONTHLY,
	N_ROTATIONS,
};

/* "none", "hourly" and so on; NULL after the last. For option tables. */
extern const char *const rotation_names[N_ROTATIONS + 1];

#define RETAIN_SEGMENT_BYTES (UINT64_C(256) << 20)
#define RETAIN_MAX_BYTES (UINT64_C(1) << 30)
#define RETAIN_DAYS 90
#define RETAIN_STORE_DAYS 7
#define RETAIN_USEC_PER_DAY UINT64_C(86400000000)

/* Is @now_usec in another hour, day, week or month (UTC) than @begun_usec? */
bool rotation_is_over(enum rotation rotation, uint64_t begun_usec, uint64_t now_usec);
/*
 * Calls audit_log_rotate() if the current segment was begun in another period or is larger than
 * @max_bytes.
 */
int audit_log_rotate_if_due(struct audit_log *log, enum rotation rotation, uint64_t max_bytes,
			    struct sbx_error *err);

/* ---- policy ---- */

struct retain_policy {
	uint64_t archive_usec; /* older archives are deleted */
	uint64_t store_usec;   /* older closed segments are archived */
	uint64_t max_bytes;    /* limit for the directory; above half of it every closed segment is
				  archived */
};

enum retain_action {
	RETAIN_NOTHING,
	RETAIN_ARCHIVE,
	RETAIN_DELETE_AGE,
	RETAIN_DELETE_SIZE,
};

struct retain_facts {
	const struct segment_file *files; /* as in a segment_list; the last one is being written */
	const bool *is_held;		  /* files that cannot be processed; NULL: none */
	size_t n;
	uint64_t n_bytes;  /* total size of the directory */
	uint64_t now_usec; /* the time by which files age: that of the clock, if it is believed */
};

/* Chooses the next action and its file. Only the first file is ever deleted. */
enum retain_action retain_next(const struct retain_policy *policy, const struct retain_facts *facts,
			       size_t *ret_index);

enum retain_level {
	RETAIN_LEVEL_FINE,
	RETAIN_LEVEL_WARNING,  /* above 80 % of max_bytes */
	RETAIN_LEVEL_CRITICAL, /* above 95 % */
};
enum retain_level retain_level_of(uint64_t n_bytes, uint64_t max_bytes);

/* ---- retention ---- */

/* Reports an action that was carried out (or would be); @problem: why it failed, or NULL. */
typedef void (*retain_tell)(void *userdata, enum retain_action action,
			    const struct segment_file *file, const struct sbx_error *problem);
/* How many records were read until now. Each one that is archived is read several times. */
typedef void (*retain_progress)(void *userdata, uint64_t n_read);

struct retain_options {
	struct retain_policy policy;
	uint64_t now_usec;	  /* what the clock shows (audit/clock.h) */
	bool trusts_clock;	  /* believe it, though it has jumped */
	retain_tell tell;	  /* may be NULL */
	retain_progress progress; /* may be NULL; retention_work() calls it, in its thread */
	void *userdata;
};

struct retain_report {
	size_t n_archived;
	size_t n_deleted;
	size_t n_problems; /* files that could not be processed */
	uint64_t n_bytes;  /* size of the directory afterwards */
	enum retain_level level;
	struct sbx_error doubt; /* a warning: files stay because the clock is doubted; or code 0 */
};

/*
 * Commits the open transaction, then archives and deletes files as the policy says. Returns 0 even
 * if a file could not be processed: that is reported, and the others are processed. If the
 * directory's size exceeds a new level, adds a record of it, once.
 */
int audit_log_retain(struct audit_log *log, const struct retain_options *options,
		     struct retain_report *ret, struct sbx_error *err);
/*
 * The same in steps, for a service with clients:
 *
 *   begin, then while next returns 1: work, end; free
 *
 * Only work() takes long: it reads one file to its end, and archives it. It uses nothing of the log
 * but its directory, so another thread may run it; everything else must run in the log's thread.
 * Between the steps records may be added to the log, and segments closed.
 */
struct retention;

/* Commits the open transaction, as may end() and the last next(). */
int retention_begin(struct audit_log *log, const struct retain_options *options,
		    struct retention **ret, struct sbx_error *err);
/* 1, or 0 if nothing is left to do and *@ret_report is final. */
int retention_next(struct retention *retention, struct retain_report *ret_report,
		   struct sbx_error *err);
void retention_work(struct retention *retention);
int retention_end(struct retention *retention, struct sbx_error *err);
struct retention *retention_free(struct retention *retention);
CLEANUP_BY(struct retention, retention_free)
#define _cleanup_retention_ _cleanup_(retention_free_ptr)

/* Reports what audit_log_retain() would do, without the lock; sizes of archives are estimates. */
int retain_preview(int directory, const struct retain_options *options, struct retain_report *ret,
		   struct sbx_error *err);
