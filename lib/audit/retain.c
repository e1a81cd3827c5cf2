/* SPDX-License-Identifier: MIT */

/*
 * Decides which file of a log to archive or delete next: one at a time, because the size of an
 * archive is not known before it is made
 */

#include "audit/retain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/clock.h"
#include "audit/retain-work.h"
#include "base/array.h"
#include "base/error.h"
#include "base/moment.h"
#include "base/text.h"

#define SECONDS_PER_DAY 86400
/* 1970-01-01 was a Thursday. */
#define DAYS_BEFORE_MONDAY 3
#define WARNING_PERCENT 80
#define CRITICAL_PERCENT 95

const char *const rotation_names[N_ROTATIONS + 1] = { "none",	"hourly",  "daily",
						      "weekly", "monthly", NULL };

/* Number of the month on an arbitrary but fixed scale. */
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

/* Index of the first closed segment that should be archived; facts->n if there is none. */
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
	/* Divide first: the product could overflow. */
	if (n_bytes > max_bytes / 100 * CRITICAL_PERCENT + max_bytes % 100 * CRITICAL_PERCENT / 100)
		return RETAIN_LEVEL_CRITICAL;
	if (n_bytes > max_bytes / 100 * WARNING_PERCENT + max_bytes % 100 * WARNING_PERCENT / 100)
		return RETAIN_LEVEL_WARNING;
	return RETAIN_LEVEL_FINE;
}

/* ---- levels ---- */

/*
 * How full the directory is, and the records about it
 */

static int say(struct audit_log *log, uint64_t n_bytes, uint64_t max_bytes, enum retain_level level,
	       struct sbx_error *err)
{
	const char *event =
		level == RETAIN_LEVEL_CRITICAL ? "audit_storage_critical" : "audit_storage_warning";
	_cleanup_text_ struct text members = TEXT_INIT;

	text_addf(&members, "\"used_bytes\":%" PRIu64 ",\"max_bytes\":%" PRIu64, n_bytes,
		  max_bytes);
	if (text_status(&members) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot record how full the log is");
	return audit_log_say(log, event, members.data, err);
}

static int say_levels(struct audit_log *log, uint64_t n_bytes, uint64_t max_bytes,
		      enum retain_level before, enum retain_level level, struct sbx_error *err)
{
	uint8_t byte = (uint8_t)level;
	int r;

	for (unsigned i = before + 1U; i <= (unsigned)level; i++) {
		r = say(log, n_bytes, max_bytes, (enum retain_level)i, err);
		if (r < 0)
			return r;
	}
	r = log_begin(log, err);
	return r < 0 ? r : store_set_meta(log->store, META_STORAGE, &byte, sizeof(byte), err);
}

/* Adds a record once when the directory's size exceeds a level. When it shrinks below, the level is
 * reset. */
static int say_level(struct audit_log *log, uint64_t n_bytes, uint64_t max_bytes,
		     enum retain_level *ret, struct sbx_error *err)
{
	enum retain_level level = retain_level_of(n_bytes, max_bytes);
	uint8_t before = RETAIN_LEVEL_FINE;
	int n = store_get_meta(log->store, META_STORAGE, &before, sizeof(before), NULL), r;

	*ret = level;
	if (n != sizeof(before))
		before = RETAIN_LEVEL_FINE;
	if (before == (uint8_t)level)
		return 0;
	r = say_levels(log, n_bytes, max_bytes, (enum retain_level)before, level, err);
	if (r < 0) {
		audit_log_rollback(log);
		return r;
	}
	return before < (uint8_t)level ? audit_log_checkpoint(log, err)
				       : audit_log_commit(log, err);
}

/* ---- carry it out ---- */

/*
 * Retention as a loop: choose the next action, carry it out, choose again
 */

/* An estimate: zstd shrinks records to about an eighth. */
#define PACKED_SHARE 8

static int fail(struct sbx_error *err, int code)
{
	(void)error_fill(err, code, NULL,
			 code == -ENOMEM ? "free some memory" : "check its permissions",
			 "cannot read the directory of the log");
	return code;
}

/* ---- files that cannot be processed ---- */

/* The numbers of such files: the list is read again after each action, so indices change. */
struct held {
	uint64_t *firsts;
	size_t n;
};

static int hold(struct held *held, uint64_t first)
{
	return ARRAY_ADD(held->firsts, held->n, &first);
}

static bool is_held_file(const struct held *held, uint64_t first)
{
	for (size_t i = 0; i < held->n; i++)
		if (held->firsts[i] == first)
			return true;
	return false;
}

/* ---- one after the other ---- */

struct retention {
	struct audit_log *log;
	struct retain_options options;
	struct audit_clock clock;
	struct retain_report report;
	struct held held;
	struct retain_count count;
	struct retain_work work; /* the action in progress */
};

/* A full disk, on which the clock cannot be stored, is a reason to go on. Then the log keeps it, so
 * that the doubt of a process that retains every hour ends. */
static int take_clock(struct retention *retention)
{
	const struct retain_options *options = &retention->options;
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	struct audit_log *log = retention->log;
	int r = segment_list(log->directory, &list);

	if (r < 0)
		return r;
	clock_load(log->store, &list, &retention->clock);
	if (log->unsaved.believed_usec > 0)
		retention->clock = log->unsaved;
	clock_correct_order(log->directory, &list, retention->clock.believed_usec);
	if (clock_take(&retention->clock, options->now_usec, options->trusts_clock))
		clock_correct_fast(log->directory, &list, options->now_usec);
	log->unsaved = clock_save(log, &retention->clock) < 0 ? retention->clock
							      : (struct audit_clock){ 0 };
	return 0;
}

int retention_begin(struct audit_log *log, const struct retain_options *options,
		    struct retention **ret, struct sbx_error *err)
{
	_cleanup_retention_ struct retention *retention = NULL;
	int r = audit_log_commit(log, err);

	if (r < 0)
		return r;
	retention = calloc(1, sizeof(*retention));
	if (!retention)
		return fail(err, -ENOMEM);
	retention->log = log;
	retention->options = *options;
	retention->count = (struct retain_count){ .progress = options->progress,
						  .userdata = options->userdata };
	retain_clean(log->directory);
	r = take_clock(retention);
	if (r < 0)
		return fail(err, r);
	*ret = take_ptr(retention);
	return 0;
}

struct retention *retention_free(struct retention *retention)
{
	if (retention)
		free(retention->held.firsts);
	free(retention);
	return NULL;
}

static int look(int directory, struct segment_list *list, struct retain_facts *facts)
{
	int r = segment_list(directory, list);

	if (r < 0)
		return r;
	facts->files = list->files;
	facts->n = list->n;
	return retain_measure(directory, &facts->n_bytes);
}

static void say_doubt(const struct audit_clock *clock, uint64_t now_usec, struct sbx_error *ret)
{
	_cleanup_text_ struct text now = TEXT_INIT, believed = TEXT_INIT;

	moment_add(&now, now_usec);
	moment_add(&believed, clock->believed_usec);
	(void)sbx_error_what(ret, -ETIME, "some files of the log may be too old, but are kept");
	sbx_error_why(ret, "the clock has jumped: it shows %.10s, and the last known time is %.10s",
		      text_string(&now), text_string(&believed));
	sbx_error_fix(ret, "set the clock if it is wrong; otherwise wait for 7 days, or run: "
			   "sbx-audit retain --trust-clock");
	ret->level = SBX_LEVEL_WARN;
}

/* retain_next() by the believed time. If there is nothing to do by that, but by the clock, fills
 * *@ret_doubt. */
static enum retain_action next_believed(const struct retain_options *options,
					const struct audit_clock *clock, struct retain_facts *facts,
					size_t *ret_index, struct sbx_error *ret_doubt)
{
	enum retain_action action;
	size_t i;

	facts->now_usec = clock_time(clock, options->now_usec);
	action = retain_next(&options->policy, facts, ret_index);
	*ret_doubt = (struct sbx_error){ .code = 0 };
	if (action != RETAIN_NOTHING || facts->now_usec == options->now_usec)
		return action;
	facts->now_usec = options->now_usec;
	if (retain_next(&options->policy, facts, &i) != RETAIN_NOTHING)
		say_doubt(clock, options->now_usec, ret_doubt);
	return RETAIN_NOTHING;
}

static int choose(struct retention *retention, struct sbx_error *err)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	_cleanup_free_ bool *held = NULL;
	struct retain_facts facts = { .n = 0 };
	struct retain_work *work = &retention->work;
	size_t i = 0;
	/* The segment that is written to must be the last one in the list. */
	int r = retention->log->is_closed ? log_go_on(retention->log, err) : 0;

	if (r < 0)
		return r;
	r = look(retention->log->directory, &list, &facts);
	if (r < 0)
		return fail(err, r);
	held = calloc(list.n + 1, sizeof(*held));
	if (!held)
		return fail(err, -ENOMEM);
	for (size_t at = 0; at < list.n; at++)
		held[at] = is_held_file(&retention->held, list.files[at].first);
	facts.is_held = held;
	retention->report.n_bytes = facts.n_bytes;
	*work = (struct retain_work){
		.directory = retention->log->directory,
		.count = &retention->count,
		.action = next_believed(&retention->options, &retention->clock, &facts, &i,
					&retention->report.doubt),
	};
	if (work->action == RETAIN_NOTHING)
		return 0;
	work->file = list.files[i];
	work->behind = list.files[i + 1];
	r = work->action == RETAIN_ARCHIVE ? 0 : retain_read_deleted(retention->log, work, err);
	return r < 0 ? r : 1;
}

int retention_next(struct retention *retention, struct retain_report *ret_report,
		   struct sbx_error *err)
{
	int r = choose(retention, err);

	if (r == 0)
		r = say_level(retention->log, retention->report.n_bytes,
			      retention->options.policy.max_bytes, &retention->report.level, err);
	*ret_report = retention->report;
	return r;
}

void retention_work(struct retention *retention)
{
	struct retain_work *work = &retention->work;

	work->r = work->action == RETAIN_ARCHIVE ? retain_archive(work, &work->problem)
						 : retain_prepare_deletion(work, &work->problem);
}

int retention_end(struct retention *retention, struct sbx_error *err)
{
	struct retain_work *work = &retention->work;
	struct retain_report *report = &retention->report;
	const struct retain_options *options = &retention->options;

	if (work->r == 0 && work->action != RETAIN_ARCHIVE)
		work->r = retain_delete(retention->log, work, &work->problem);
	if (work->r == -ENOMEM)
		return fail(err, work->r);
	if (options->tell)
		options->tell(options->userdata, work->action, &work->file,
			      work->r < 0 ? &work->problem : NULL);
	report->n_archived += work->r == 0 && work->action == RETAIN_ARCHIVE;
	report->n_deleted += work->r == 0 && work->action != RETAIN_ARCHIVE;
	report->n_problems += work->r < 0;
	return work->r < 0 ? hold(&retention->held, work->file.first) : 0;
}

int audit_log_retain(struct audit_log *log, const struct retain_options *options,
		     struct retain_report *ret, struct sbx_error *err)
{
	_cleanup_retention_ struct retention *retention = NULL;
	int r = retention_begin(log, options, &retention, err);

	if (r < 0)
		return r;
	while ((r = retention_next(retention, ret, err)) > 0) {
		retention_work(retention);
		r = retention_end(retention, err);
		if (r < 0)
			return r;
	}
	return r;
}

/* ---- preview ---- */

static void pretend(struct segment_list *list, struct retain_facts *facts,
		    enum retain_action action, size_t i)
{
	struct segment_file *file = &list->files[i];

	facts->n_bytes -= file->n_bytes;
	if (action == RETAIN_ARCHIVE) {
		segment_become_archive(file);
		file->n_bytes /= PACKED_SHARE;
		facts->n_bytes += file->n_bytes;
		return;
	}
	memmove(file, file + 1, (list->n - 1) * sizeof(*file));
	facts->n = --list->n;
}

/* What retention_begin() would believe. */
static int preview_clock(int directory, const struct segment_list *list,
			 const struct retain_options *options, struct audit_clock *ret,
			 struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	int r = list->n > 0 ? segment_open_patiently(directory, &list->files[list->n - 1], &segment,
						     err)
			    : 0;

	if (r < 0)
		return r;
	clock_load(segment ? segment->store : NULL, list, ret);
	(void)clock_take(ret, options->now_usec, options->trusts_clock);
	return 0;
}

int retain_preview(int directory, const struct retain_options *options, struct retain_report *ret,
		   struct sbx_error *err)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	struct retain_facts facts = { .n = 0 };
	struct retain_report report = { .n_archived = 0 };
	struct audit_clock clock;
	enum retain_action action;
	size_t i = 0;
	int r = look(directory, &list, &facts);

	if (r < 0)
		return fail(err, r);
	r = preview_clock(directory, &list, options, &clock, err);
	if (r < 0)
		return r;
	while ((action = next_believed(options, &clock, &facts, &i, &report.doubt)) !=
	       RETAIN_NOTHING) {
		if (options->tell)
			options->tell(options->userdata, action, &list.files[i], NULL);
		report.n_archived += action == RETAIN_ARCHIVE;
		report.n_deleted += action != RETAIN_ARCHIVE;
		pretend(&list, &facts, action, i);
	}
	report.n_bytes = facts.n_bytes;
	report.level = retain_level_of(facts.n_bytes, options->policy.max_bytes);
	*ret = report;
	return 0;
}

/* ---- a new segment ---- */

/* The time of a segment's creation; older segments do not store it: then the time of their first
 * record. */
struct begun {
	struct audit_log *log;
	uint64_t usec;
};

static int keep_time(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct begun *begun = userdata;
	struct audit_entry *entry = &begun->log->entry;

	if (!row->problem && entry_read_stored(entry, row->body, row->n_body, NULL) == 0)
		begun->usec = entry->time_usec;
	return 1;
}

static int read_begun(struct audit_log *log, uint64_t *ret, struct sbx_error *err)
{
	uint8_t bytes[8];
	int n = store_get_meta(log->store, META_BEGUN, bytes, sizeof(bytes), err), r;
	struct begun begun = { log, moment_now(CLOCK_REALTIME) };

	if (n == sizeof(bytes)) {
		*ret = log_get_u64(bytes);
		return 0;
	}
	if (n < 0 && n != -ENOENT)
		return n;
	r = store_each(log->store, 0, UINT64_MAX, keep_time, &begun, err);
	*ret = begun.usec;
	return r < 0 ? r : 0;
}

int audit_log_rotate_if_due(struct audit_log *log, enum rotation rotation, uint64_t max_bytes,
			    struct sbx_error *err)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	uint64_t begun;
	int r = segment_list(log->directory, &list);

	if (r < 0)
		return fail(err, r);
	r = read_begun(log, &begun, err);
	if (r < 0)
		return r;
	if (!rotation_is_over(rotation, begun, moment_now(CLOCK_REALTIME)) &&
	    (list.n == 0 || list.files[list.n - 1].n_bytes <= max_bytes))
		return 0;
	return audit_log_rotate(log, err);
}
