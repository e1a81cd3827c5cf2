/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How long the log is kept, and in which form
 *
 * A segment is closed when its time is over or when it is large. A closed one becomes an archive,
 * which is read again and compared with it before it goes. The oldest archive is deleted when it is
 * too old or when there is no room; a record of the log itself, signed before, says what was
 * deleted (audit/chain.h). A process that is killed on the way leaves a log that verifies, and the
 * next goes on.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/segment.h"

struct audit_log;
struct sbx_error;

/* ---- when ---- */

enum rotation {
	ROTATION_NONE,
	ROTATION_HOURLY,
	ROTATION_DAILY,
	ROTATION_WEEKLY, /* from Monday */
	ROTATION_MONTHLY,
	N_ROTATIONS,
};

/* "none", "hourly" and so on; NULL behind the last. For option tables. */
extern const char *const rotation_names[N_ROTATIONS + 1];

#define RETAIN_SEGMENT_BYTES (UINT64_C(256) << 20)
#define RETAIN_MAX_BYTES (UINT64_C(1) << 30)
#define RETAIN_DAYS 90
#define RETAIN_STORE_DAYS 7
#define RETAIN_USEC_PER_DAY UINT64_C(86400000000)

/* Has another hour, day, week or month begun, in UTC, since @begun_usec? */
bool rotation_is_over(enum rotation rotation, uint64_t begun_usec, uint64_t now_usec);
/*
 * audit_log_rotate() if the present segment was begun in another hour (or day ...) or is larger
 * than @max_bytes.
 */
int audit_log_rotate_if_due(struct audit_log *log, enum rotation rotation, uint64_t max_bytes,
			    struct sbx_error *err);

/* ---- what ---- */

struct retain_policy {
	uint64_t archive_usec; /* an archive that is older is deleted */
	uint64_t store_usec;   /* a closed segment that is older becomes one */
	uint64_t max_bytes;    /* of the directory; from half of it on each closed segment does */
};

enum retain_action {
	RETAIN_NOTHING,
	RETAIN_ARCHIVE,
	RETAIN_DELETE_AGE,
	RETAIN_DELETE_SIZE,
};

struct retain_facts {
	const struct segment_file *files; /* as in a segment_list: the last one is being written */
	const bool *is_held;		  /* those that cannot be dealt with; NULL: none */
	size_t n;
	uint64_t n_bytes; /* of the directory, with everything in it */
	uint64_t now_usec;
};

/* What has to be done next, and with which file. Only the first one is ever deleted. */
enum retain_action retain_next(const struct retain_policy *policy, const struct retain_facts *facts,
			       size_t *ret_index);

enum retain_level {
	RETAIN_LEVEL_FINE,
	RETAIN_LEVEL_WARNING,  /* above 80 % of max_bytes */
	RETAIN_LEVEL_CRITICAL, /* above 95 % */
};
enum retain_level retain_level_of(uint64_t n_bytes, uint64_t max_bytes);

/* ---- do it ---- */

/* One thing that was done (or would be); @problem: that could not be, and why. */
typedef void (*retain_tell)(void *userdata, enum retain_action action,
			    const struct segment_file *file, const struct sbx_error *problem);
/* How many records were read until now. Each one that is archived is read several times. */
typedef void (*retain_progress)(void *userdata, uint64_t n_read);

struct retain_options {
	struct retain_policy policy;
	uint64_t now_usec;
	retain_tell tell;	  /* may be NULL */
	retain_progress progress; /* may be NULL; retention_work() calls it, in its thread */
	void *userdata;
};

struct retain_report {
	size_t n_archived;
	size_t n_deleted;
	size_t n_problems; /* files that were left as they are */
	uint64_t n_bytes;  /* of the directory, afterwards */
	enum retain_level level;
};

/*
 * Commits what is open. 0 also where a file could not be dealt with: that is reported, and the
 * others go on. When the directory has become fuller than a level, a record of the log says so,
 * once.
 */
int audit_log_retain(struct audit_log *log, const struct retain_options *options,
		     struct retain_report *ret, struct sbx_error *err);
/*
 * The same in steps, for a service with clients:
 *
 *   begin, then while next returns 1: work, end; free
 *
 * Only work() takes long: it reads one file to its end, and packs it. It needs nothing of the log
 * but its directory, so another thread may do it; everything else belongs to the log's. Between the
 * steps the log may be written to, and more of its segments may be closed.
 */
struct retention;

/* Commits what is open, as end() and the last next() may. */
int retention_begin(struct audit_log *log, const struct retain_options *options,
		    struct retention **ret, struct sbx_error *err);
/* 1, or 0 where nothing is left to be done and *@ret_report says what was. */
int retention_next(struct retention *retention, struct retain_report *ret_report,
		   struct sbx_error *err);
void retention_work(struct retention *retention);
int retention_end(struct retention *retention, struct sbx_error *err);
struct retention *retention_free(struct retention *retention);
void retention_free_ptr(struct retention **retention);
#define _cleanup_retention_ _cleanup_(retention_free_ptr)

/* What it would do; how small archives become can only be guessed. Without a lock. */
int retain_preview(int directory, const struct retain_options *options, struct retain_report *ret,
		   struct sbx_error *err);
