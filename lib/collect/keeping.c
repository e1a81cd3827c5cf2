/* SPDX-License-Identifier: MIT */

/*
 * Rotation, archiving and deletion of segments while the service has the log open
 *
 * Only this process can do it, because it holds the log's lock. Packing a segment takes seconds and
 * so runs in a thread; the loop starts the next one when that thread has ended.
 */

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/moment.h"
#include "collect/collect-internal.h"

#define ROTATE_USEC (60 * USEC_PER_SEC)
#define RETAIN_USEC (3600 * USEC_PER_SEC)

void collector_set_keeping(struct collector *collector, const struct collector_keeping *keeping)
{
	collector->options.keeping = *keeping;
	collector->keeping.rotated_usec = collector->keeping.retained_usec = 0;
	collector->keeping.is_old = collector->keeping.retention != NULL;
}

static void tell(void *userdata, enum retain_action action, const struct segment_file *file,
		 const struct sbx_error *problem)
{
	struct collector *collector = userdata;

	if (problem)
		collect_trouble(collector, TROUBLE_RETENTION, problem);
	else
		log_write(collector->options.log, LOG_LEVEL_NOTICE, NULL, "%s %s",
			  action == RETAIN_ARCHIVE ? "archived" : "deleted", file->name);
}

/* ---- the worker ---- */

static void *work(void *userdata)
{
	struct collector *collector = userdata;

	retention_work(collector->keeping.retention);
	atomic_store(&collector->keeping.is_worked, true);
	return NULL;
}

/* If no thread can be created, pack in the loop's thread. */
static void begin_work(struct collector *collector)
{
	atomic_store(&collector->keeping.is_worked, false);
	collector->keeping.has_worker =
		pthread_create(&collector->keeping.worker, NULL, work, collector) == 0;
	if (!collector->keeping.has_worker)
		(void)work(collector);
}

static void end_worker(struct collector *collector)
{
	if (collector->keeping.has_worker)
		(void)pthread_join(collector->keeping.worker, NULL);
	collector->keeping.has_worker = false;
}

/* ---- retention ---- */

void keeping_deinit(struct collector *collector)
{
	end_worker(collector);
	collector->keeping.retention = retention_free(collector->keeping.retention);
	collector->keeping.is_old = false;
}

/* The caller has committed the queue. */
static void take_next(struct collector *collector)
{
	struct sbx_error err = { .code = 0 };
	struct retain_report report;
	int r = retention_next(collector->keeping.retention, &report, &err);

	if (r > 0) {
		begin_work(collector);
		return;
	}
	if (r == 0 && report.doubt.code < 0)
		collect_trouble(collector, TROUBLE_CLOCK, &report.doubt);
	else if (r == 0)
		collect_no_trouble(collector, TROUBLE_CLOCK);
	if (r < 0)
		collect_trouble(collector, TROUBLE_RETENTION, &err);
	keeping_deinit(collector);
}

static void begin_retention(struct collector *collector)
{
	const struct retain_options options = {
		.policy = collector->options.keeping.policy,
		.now_usec = moment_now(CLOCK_REALTIME),
		.tell = tell,
		.userdata = collector,
	};
	struct sbx_error err = { .code = 0 };

	/* What fails again in this pass is told again. */
	collect_no_trouble(collector, TROUBLE_RETENTION);
	if (retention_begin(collector->options.audit, &options, &collector->keeping.retention,
			    &err) == 0)
		take_next(collector);
	else
		collect_trouble(collector, TROUBLE_RETENTION, &err);
}

static void continue_retention(struct collector *collector)
{
	struct sbx_error err = { .code = 0 };

	if (!atomic_load(&collector->keeping.is_worked) || group_commit(collector, false) < 0)
		return;
	/* The pass was planned under the old policy: it might delete a segment that the new one
	 * keeps. */
	if (collector->keeping.is_old) {
		keeping_deinit(collector);
		return;
	}
	end_worker(collector);
	if (retention_end(collector->keeping.retention, &err) == 0) {
		take_next(collector);
	} else {
		collect_trouble(collector, TROUBLE_RETENTION, &err);
		keeping_deinit(collector);
	}
	group_note_signed(collector);
}

/* ---- when ---- */

void keeping_turn(struct collector *collector)
{
	const struct collector_keeping *keeping = &collector->options.keeping;
	uint64_t now = moment_now(CLOCK_MONOTONIC);
	struct sbx_error err = { .code = 0 };
	int r;

	if (collector->keeping.retention)
		continue_retention(collector);
	/* Without max_bytes nothing is rotated or deleted. */
	if (keeping->policy.max_bytes == 0 || (collector->keeping.rotated_usec != 0 &&
					       now < collector->keeping.rotated_usec + ROTATE_USEC))
		return;
	collector->keeping.rotated_usec = now;
	if (group_commit(collector, false) < 0)
		return;
	r = audit_log_rotate_if_due(collector->options.audit, keeping->rotation,
				    keeping->segment_bytes, &err);
	if (r < 0)
		collect_trouble(collector, TROUBLE_ROTATION, &err);
	else
		collect_no_trouble(collector, TROUBLE_ROTATION);
	if (!collector->keeping.retention &&
	    (r > 0 || collector->keeping.retained_usec == 0 ||
	     now >= collector->keeping.retained_usec + RETAIN_USEC)) {
		collector->keeping.retained_usec = now;
		begin_retention(collector);
	}
	group_note_signed(collector);
}
