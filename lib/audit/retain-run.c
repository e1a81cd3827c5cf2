/* SPDX-License-Identifier: MIT */

/*
 * Retention as a whole: look, do the one thing that is next, look again
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/entry-reader.h"
#include "audit/retain-internal.h"
#include "base/text.h"

/* A guess: what records of ours become with zstd. */
#define PACKED_SHARE 8

static int fail(struct sbx_error *err, int code)
{
	(void)sbx_error_what(err, code, "cannot read the directory of the log");
	sbx_error_fix(err, code == -ENOMEM ? "free some memory" : "check who may read it");
	return code;
}

/* ---- what cannot be dealt with ---- */

/* Files are told by their numbers: the list is read again after each of them. */
struct held {
	uint64_t *firsts;
	size_t n;
};

static void held_free(struct held *held)
{
	free(held->firsts);
}
#define _cleanup_held_ _cleanup_(held_free)

static int hold(struct held *held, uint64_t first)
{
	void *grown = reallocarray(held->firsts, held->n + 1, sizeof(*held->firsts));

	if (!grown)
		return -ENOMEM;
	held->firsts = grown;
	held->firsts[held->n++] = first;
	return 0;
}

static bool is_held(const struct held *held, uint64_t first)
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
	struct retain_report report;
	struct held held;
	struct retain_work work; /* the one thing that is being done */
};

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
	retain_clean(log->folder);
	*ret = take_ptr(retention);
	return 0;
}

struct retention *retention_free(struct retention *retention)
{
	if (retention)
		held_free(&retention->held);
	free(retention);
	return NULL;
}

void retention_free_ptr(struct retention **retention)
{
	*retention = retention_free(*retention);
}

static int choose(struct retention *retention, struct sbx_error *err)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	_cleanup_free_ bool *held = NULL;
	struct retain_facts facts = { .now_usec = retention->options.now_usec };
	struct retain_work *work = &retention->work;
	size_t i = 0;
	/* The segment that is written to has to be the last one. */
	int r = retention->log->is_closed ? log_go_on(retention->log, err) : 0;

	if (r < 0)
		return r;
	r = segment_list(retention->log->folder, &list);
	if (r == 0)
		r = retain_measure(retention->log->folder, &facts.n_bytes);
	held = calloc(list.n + 1, sizeof(*held));
	if (r < 0 || !held)
		return fail(err, r < 0 ? r : -ENOMEM);
	for (size_t at = 0; at < list.n; at++)
		held[at] = is_held(&retention->held, list.files[at].first);
	facts.files = list.files;
	facts.n = list.n;
	facts.is_held = held;
	retention->report.n_bytes = facts.n_bytes;
	*work = (struct retain_work){
		.folder = retention->log->folder,
		.action = retain_next(&retention->options.policy, &facts, &i),
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
		r = retain_say_level(retention->log, retention->report.n_bytes,
				     retention->options.policy.max_bytes, &retention->report.level,
				     err);
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

	while (r == 0 && (r = retention_next(retention, ret, err)) > 0) {
		retention_work(retention);
		r = retention_end(retention, err);
	}
	return r;
}

/* ---- what it would do ---- */

static void pretend(struct segment_list *list, struct retain_facts *facts,
		    enum retain_action action, size_t i)
{
	struct segment_file *file = &list->files[i];

	facts->n_bytes -= file->n_bytes;
	if (action == RETAIN_ARCHIVE) {
		file->kind = SEGMENT_ARCHIVE;
		file->n_bytes /= PACKED_SHARE;
		facts->n_bytes += file->n_bytes;
		return;
	}
	memmove(file, file + 1, (list->n - 1) * sizeof(*file));
	facts->n = --list->n;
}

int retain_preview(int folder, const struct retain_options *options, struct retain_report *ret,
		   struct sbx_error *err)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	struct retain_facts facts = { .now_usec = options->now_usec };
	struct retain_report report = { .n_archived = 0 };
	enum retain_action action;
	size_t i = 0;
	int r = segment_list(folder, &list);

	if (r == 0)
		r = retain_measure(folder, &facts.n_bytes);
	if (r < 0)
		return fail(err, r);
	facts.files = list.files;
	facts.n = list.n;
	while ((action = retain_next(&options->policy, &facts, &i)) != RETAIN_NOTHING) {
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

/* When it was made; the first ones do not say, and then their first record does. */
static int keep_time(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	_cleanup_entry_reader_free_ struct entry_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return sbx_error_what(err, -ENOMEM, "cannot read the record");
	if (!row->problem)
		(void)entry_reader_time(reader, row->body, row->n_body, userdata);
	return 1;
}

static int read_begun(struct audit_log *log, uint64_t *ret, struct sbx_error *err)
{
	uint8_t bytes[8];
	int n = store_get_meta(log->store, META_BEGUN, bytes, sizeof(bytes), err), r;

	*ret = log_now_usec();
	if (n == sizeof(bytes)) {
		*ret = log_get_u64(bytes);
		return 0;
	}
	if (n < 0 && n != -ENOENT)
		return n;
	r = store_each(log->store, 0, UINT64_MAX, keep_time, ret, err);
	return r < 0 ? r : 0;
}

int audit_log_rotate_if_due(struct audit_log *log, enum rotation rotation, uint64_t max_bytes,
			    struct sbx_error *err)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	uint64_t begun;
	int r = segment_list(log->folder, &list);

	if (r < 0)
		return fail(err, r);
	r = read_begun(log, &begun, err);
	if (r < 0)
		return r;
	if (!rotation_is_over(rotation, begun, log_now_usec()) &&
	    (list.n == 0 || list.files[list.n - 1].n_bytes <= max_bytes))
		return 0;
	return audit_log_rotate(log, err);
}
