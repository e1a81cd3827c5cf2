/* SPDX-License-Identifier: MIT */

/*
 * The collector: what it does whether or not somebody writes
 *
 * Once a second it looks what is due: a try to write a log that could not be written, a checkpoint
 * for what nobody has signed yet, the spool, another key, another segment, a head that still has to
 * leave the machine, the status. Everything happens in one thread between two packets, but for
 * reading and packing closed segments.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "audit/checkpoint.h"
#include "audit/heads.h"
#include "audit/key.h"
#include "base/log.h"
#include "collect/collect-internal.h"
#include "record/record.h"

#define TICK_USEC USEC_PER_SEC
#define IMPORT_USEC (5 * USEC_PER_SEC)
/* Nobody is served while a lock is waited for. What could not be written is tried again. */
#define PATIENCE_MSEC 100

static uint64_t clock_usec(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

uint64_t collect_clock_usec(void)
{
	return clock_usec(CLOCK_MONOTONIC);
}

void collect_trouble(struct collector *collector, const struct sbx_error *err)
{
	char text[SBX_ERROR_TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "%.250s: %.250s", err->what,
		       err->why[0] != '\0' ? err->why : strerror(-err->code));
	if (strcmp(text, collector->other) == 0)
		return;
	memcpy(collector->other, text, sizeof(text));
	collector->is_status_due = true;
	log_write(collector->options.log, LOG_LEVEL_ERROR, NULL, "%s", text);
}

/* ---- what is due every second ---- */

static void sign(struct collector *collector)
{
	uint64_t since = collector->unsigned_usec;

	/* Before it is older than it may be, which the next tick would be too late for. */
	if (since != 0 && collect_clock_usec() + TICK_USEC >= since + CHECKPOINT_INTERVAL_USEC)
		(void)group_commit(collector, true);
}

static void import(struct collector *collector)
{
	struct sbx_error err = { .code = 0 };
	struct audit_import taken;

	if (collector->options.spool < 0 ||
	    collect_clock_usec() < collector->imported_usec + IMPORT_USEC)
		return;
	collector->imported_usec = collect_clock_usec();
	/* It commits, and nobody else may commit what is waited for here. */
	if (group_commit(collector, false) < 0)
		return;
	if (collector->options.gather &&
	    collector->options.gather(collector->options.userdata, &err) < 0)
		collect_trouble(collector, &err);
	if (audit_log_import(collector->options.audit, collector->options.spool, &taken, &err) < 0)
		collect_trouble(collector, &err);
	if (taken.n_records > 0)
		collector->is_status_due = true;
	group_note_signed(collector);
}

static void change_key(struct collector *collector)
{
	const struct collector_options *options = &collector->options;
	uint64_t now = clock_usec(CLOCK_REALTIME);
	struct sbx_error err = { .code = 0 };

	if (options->epoch_usec == 0 || !audit_log_can_change_key(options->audit) ||
	    now < collector->epoch_began_usec + options->epoch_usec)
		return;
	collector->epoch_began_usec = now;
	/* A key that has signed nothing may stay. */
	if (audit_log_size(options->audit) == collector->epoch_began_size ||
	    group_commit(collector, false) < 0)
		return;
	if (audit_log_change_key(options->audit, &err) < 0)
		collect_trouble(collector, &err);
	collector->epoch_began_size = audit_log_size(options->audit);
	group_note_signed(collector);
}

static void turn_heads(struct collector *collector)
{
	struct heads *heads = collector->options.heads;
	struct heads_state state;

	if (!heads)
		return;
	(void)heads_turn(heads, collect_clock_usec());
	heads_get_state(heads, &state);
	if (state.n_failed != collector->n_heads_failed && state.problem[0] != '\0')
		log_write(collector->options.log, LOG_LEVEL_WARNING, NULL, "%s", state.problem);
	collector->is_status_due |= state.n_failed != collector->n_heads_failed;
	collector->n_heads_failed = state.n_failed;
}

static void look_around(struct collector *collector)
{
	if (collector->is_stuck)
		(void)group_commit(collector, false);
	if (!collector->is_stuck) {
		sign(collector);
		import(collector);
		change_key(collector);
		collect_keep(collector);
	}
	turn_heads(collector);
	if (collector->is_status_due || collector->is_stuck)
		collect_status(collector);
	/* Once more when nothing happens any longer, so that the last one is no old one. */
	collector->is_status_due = collector->unsigned_usec != 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)sd_event_source_set_time_relative(source, TICK_USEC);
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	look_around(userdata);
	return 0;
}

static int on_heads(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	turn_heads(userdata);
	return 0;
}

/* ---- life ---- */

struct collector *collector_free(struct collector *collector)
{
	if (!collector)
		return NULL;
	collect_keep_no_more(collector);
	clients_free_all(collector);
	group_deinit(collector);
	(void)sd_event_source_disable_unref(collector->tick);
	(void)sd_event_source_disable_unref(collector->heads_source);
	queue_clear(&collector->queue);
	free(collector->packet);
	free(collector);
	return NULL;
}

void collector_free_ptr(struct collector **collector)
{
	*collector = collector_free(*collector);
}

/* When this key's time began: the file is as old as its key. A credential begins with us. */
static uint64_t find_epoch(const struct collector *collector)
{
	uint64_t now = clock_usec(CLOCK_REALTIME), then;
	struct stat st;

	if (fstatat(collector->options.folder, KEY_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return now;
	then = (uint64_t)st.st_mtim.tv_sec * USEC_PER_SEC;
	return then < now ? then : now;
}

static int add_sources(struct collector *collector)
{
	const struct collector_options *options = &collector->options;
	int r = sd_event_add_time_relative(options->event, &collector->tick, CLOCK_MONOTONIC, 0, 0,
					   on_tick, collector);

	if (r >= 0 && options->heads)
		r = sd_event_add_io(options->event, &collector->heads_source,
				    heads_fd(options->heads), EPOLLIN, on_heads, collector);
	return r < 0 ? r : group_init(collector);
}

int collector_new(const struct collector_options *options, struct collector **ret,
		  struct sbx_error *err)
{
	_cleanup_collector_ struct collector *collector = calloc(1, sizeof(*collector));
	int r;

	if (!collector)
		return sbx_error_what(err, -ENOMEM, "cannot start the service");
	collector->options = *options;
	collector->soon.fd = -EBADF;
	queue_init(&collector->queue);
	clients_init(&collector->limits, options->n_clients_max, options->log, client_drop);
	collector->packet = malloc(RECORD_BYTES_MAX + 1);
	if (!collector->packet)
		return sbx_error_what(err, -ENOMEM, "cannot start the service");
	collector->epoch_began_usec = find_epoch(collector);
	collector->signed_size = audit_log_checkpoint_size(options->audit);
	audit_log_set_patience(options->audit, PATIENCE_MSEC);
	group_note_signed(collector);
	r = add_sources(collector);
	if (r < 0)
		return sbx_error_what(err, r, "cannot prepare the service's timers");
	*ret = take_ptr(collector);
	return 0;
}

int collector_checkpoint(struct collector *collector)
{
	return group_commit(collector, true);
}

int collector_finish(struct collector *collector, struct sbx_error *err)
{
	int r;

	clients_drain(collector);
	r = group_commit(collector, true);
	collect_status(collector);
	if (r == 0)
		return 0;
	(void)sbx_error_what(err, r, "%zu records that were taken are not in the log",
			     collector->queue.n);
	sbx_error_why(err, "%s", collector->problem);
	sbx_error_fix(err, "make room for the log, and start the service again");
	return r;
}
