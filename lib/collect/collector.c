/* SPDX-License-Identifier: MIT */

/*
 * The collector: its clients, and the work that is due by time
 *
 * A one-second timer retries a failed commit, signs records that no checkpoint covers yet, imports
 * the spool, changes the key, closes the segment, publishes heads, and updates the status.
 * Everything runs in one thread between two packets; only reading and packing closed segments has a
 * thread of its own.
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
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/moment.h"
#include "base/text.h"
#include "base/units.h"
#include "collect/collect-internal.h"
#include "record/record.h"
#include "service/peer.h"
#include "service/service.h"

#define TICK_USEC USEC_PER_SEC
/* A recv() that returns EAGAIN is cheaper than one more loop turn for each queued packet. */
#define PACKETS_PER_TURN 16
#define IMPORT_USEC (5 * USEC_PER_SEC)
/* Of all files of the spool. The loop serves no client meanwhile. */
#define IMPORT_BYTES (UINT64_C(4) << 20)
/* The loop serves no client while SQLite waits for a lock: give up soon, retry at the next tick. */
#define PATIENCE_MSEC 100

void collect_trouble(struct collector *collector, enum trouble what, const struct sbx_error *err)
{
	char text[SBX_ERROR_TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "%.250s: %.250s", err->what,
		       err->why[0] != '\0' ? err->why : strerror(-err->code));
	if (strcmp(text, collector->troubles[what]) == 0)
		return;
	memcpy(collector->troubles[what], text, sizeof(text));
	collector->is_status_due = true;
	log_write(collector->options.log,
		  err->level == SBX_LEVEL_WARN ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, NULL, "%s",
		  text);
}

void collect_no_trouble(struct collector *collector, enum trouble what)
{
	if (collector->troubles[what][0] == '\0')
		return;
	collector->troubles[what][0] = '\0';
	collector->is_status_due = true;
}

/* ---- clients ---- */

static void refuse(void *data, const struct sbx_error *err)
{
	struct sender *sender = data;
	_cleanup_text_ struct text why = TEXT_INIT, answer = TEXT_INIT;
	struct json_writer json;

	sender->collector->counts.n_refused++;
	text_addf(&why, "%s%s%s", err->what, err->why[0] != '\0' ? ": " : "", err->why);
	json_begin_object(&json, &answer);
	json_member_string(&json, "refused", text_string(&why));
	json_end_object(&json);
	group_refuse(sender, text_status(&answer) == 0 ? answer.data : "{\"refused\":\"\"}");
}

static void take(void *data, const struct client_message *message)
{
	struct sender *sender = data;
	struct sbx_error err = { .code = 0 };

	sender->collector->is_status_due = true;
	if (group_take(sender, message->bytes, message->n_bytes, &err) == AUDIT_REFUSED)
		refuse(sender, &err);
}

/* While the log cannot be written, no client is read. With is_shedding all are, except those that
 * still wait for an answer to a sync event. */
static bool may_read(const void *data)
{
	const struct sender *sender = data;
	const struct collector *collector = sender->collector;

	return !collector->group.is_stuck ||
	       (collector->options.is_shedding && sender->n_expected == 0);
}

static int open_sender(void *service, struct client *client, const struct client_origin *origin,
		       void **ret_data)
{
	struct collector *collector = service;
	struct sender *sender = malloc(sizeof(*sender));

	if (!sender)
		return -ENOMEM;
	*sender = (struct sender){ .collector = collector,
				   .client = client,
				   .writer = { .uid = origin->peer->uid,
					       .pid = origin->peer->pid,
					       .confined = peer_place_name(origin->peer->place) } };
	collector->is_status_due = true;
	*ret_data = sender;
	return 0;
}

static void close_sender(void *data)
{
	struct sender *sender = data;

	group_forget(sender->collector, sender);
	sender->collector->is_status_due = true;
	free(sender);
}

static const struct client_protocol protocol = {
	.trusted_listener = COLLECT_SOCKET,
	.is_one_way = true,
	.opened = open_sender,
	.message = take,
	.refuse = refuse,
	.may_read = may_read,
	.closed = close_sender,
};

struct clients *collector_clients(const struct collector *collector)
{
	return collector->clients;
}

/* ---- its status ---- */

static void add_commit(struct text *out, const struct collector *collector)
{
	uint64_t ago = moment_now(CLOCK_MONOTONIC) - collector->group.committed_usec;

	if (collector->group.committed_usec == 0)
		return;
	text_add(out, ", last commit ");
	units_add_time(out, ago - ago % 1000);
	text_add(out, " ago");
}

static void add_heads(struct text *out, const struct collector *collector)
{
	struct heads_state state;

	if (!collector->options.heads)
		return;
	heads_get_state(collector->options.heads, &state);
	if (state.n_witnessed > 0)
		text_addf(out, "; witnessed up to %llu", (unsigned long long)state.witnessed_size);
	if (state.problem[0] != '\0')
		text_addf(out, "; %s", state.problem);
}

static void tell_status(struct collector *collector)
{
	const struct audit_log *audit = collector->options.audit;
	const struct counts *counts = &collector->counts;
	_cleanup_text_ struct text line = TEXT_INIT;

	if (!collector->options.service)
		return;
	text_addf(&line, "log of %llu records, %llu unsigned",
		  (unsigned long long)audit_log_size(audit),
		  (unsigned long long)(audit_log_size(audit) - audit_log_checkpoint_size(audit)));
	text_addf(&line, "; %zu waiting", collector->group.queue.n);
	add_commit(&line, collector);
	text_addf(&line, "; %zu clients, %llu taken, %llu refused, %llu lost",
		  clients_count(collector->clients), (unsigned long long)counts->n_records,
		  (unsigned long long)counts->n_refused, (unsigned long long)counts->n_lost);
	add_heads(&line, collector);
	if (collector->group.problem[0] != '\0')
		text_addf(&line, "; %s", collector->group.problem);
	for (size_t i = 0; i < N_TROUBLES; i++)
		if (collector->troubles[i][0] != '\0')
			text_addf(&line, "; %s", collector->troubles[i]);
	if (text_status(&line) == 0)
		service_status(collector->options.service, "%s", text_string(&line));
}

/* ---- what is due every second ---- */

static void sign(struct collector *collector)
{
	uint64_t since = collector->group.unsigned_usec;

	/* Sign now if the interval ends before the next tick: that would be too late. */
	if (since != 0 &&
	    moment_now(CLOCK_MONOTONIC) + TICK_USEC >= since + CHECKPOINT_INTERVAL_USEC)
		(void)group_commit(collector, true);
}

/* The first failure is returned, and what else can be imported is. */
static int take_spool(struct collector *collector, struct audit_import *ret, struct sbx_error *err)
{
	const struct collector_options *options = &collector->options;
	int gathered = options->gather ? options->gather(options->userdata, err) : 0;
	int r = audit_log_import_some(options->audit, options->spool, IMPORT_BYTES, ret,
				      gathered < 0 ? NULL : err);

	return gathered < 0 ? gathered : r;
}

static void import(struct collector *collector)
{
	struct sbx_error err = { .code = 0 };
	struct audit_import taken;

	if (collector->options.spool < 0 ||
	    moment_now(CLOCK_MONOTONIC) < collector->imported_usec + IMPORT_USEC)
		return;
	collector->imported_usec = moment_now(CLOCK_MONOTONIC);
	/* audit_log_import() commits, but only group_commit() may commit what is in the queue. */
	if (group_commit(collector, false) < 0)
		return;
	if (take_spool(collector, &taken, &err) < 0)
		collect_trouble(collector, TROUBLE_IMPORT, &err);
	else
		collect_no_trouble(collector, TROUBLE_IMPORT);
	if (taken.has_more)
		collector->imported_usec = 0;
	if (taken.n_records > 0)
		collector->is_status_due = true;
	group_note_signed(collector);
}

static void change_key(struct collector *collector)
{
	const struct collector_options *options = &collector->options;
	uint64_t now = moment_now(CLOCK_BOOTTIME);
	struct sbx_error err = { .code = 0 };

	if (options->epoch_usec == 0 || !audit_log_can_change_key(options->audit) ||
	    now < collector->epoch_ends_usec)
		return;
	collector->epoch_ends_usec = now + options->epoch_usec;
	/* Do not replace a key that has signed nothing. */
	if (audit_log_size(options->audit) == collector->epoch_began_size ||
	    group_commit(collector, false) < 0)
		return;
	if (audit_log_change_key(options->audit, &err) < 0)
		collect_trouble(collector, TROUBLE_KEY, &err);
	else
		collect_no_trouble(collector, TROUBLE_KEY);
	collector->epoch_began_size = audit_log_size(options->audit);
	group_note_signed(collector);
}

static void turn_heads(struct collector *collector)
{
	struct heads *heads = collector->options.heads;
	struct heads_state state;

	if (!heads)
		return;
	(void)heads_turn(heads, moment_now(CLOCK_MONOTONIC));
	heads_get_state(heads, &state);
	if (state.n_failed != collector->n_heads_failed && state.problem[0] != '\0')
		log_write(collector->options.log, LOG_LEVEL_WARNING, NULL, "%s", state.problem);
	collector->is_status_due |= state.n_failed != collector->n_heads_failed;
	collector->n_heads_failed = state.n_failed;
}

static void look_around(struct collector *collector)
{
	if (collector->group.is_stuck)
		(void)group_commit(collector, false);
	if (!collector->group.is_stuck) {
		sign(collector);
		import(collector);
		change_key(collector);
		keeping_turn(collector);
	}
	turn_heads(collector);
	if (collector->is_status_due || collector->group.is_stuck)
		tell_status(collector);
	/* Update once more after the last record: the status would show the old size otherwise. */
	collector->is_status_due = collector->group.unsigned_usec != 0;
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
	keeping_deinit(collector);
	(void)clients_free(collector->clients);
	group_deinit(collector);
	(void)sd_event_source_disable_unref(collector->tick);
	(void)sd_event_source_disable_unref(collector->heads_source);
	free(collector);
	return NULL;
}

/* The age of the current key, by its file's modification time. A key from a systemd credential has
 * no file; its time begins with the service. */
static uint64_t find_age_of_key(const struct collector *collector)
{
	uint64_t now = moment_now(CLOCK_REALTIME), then;
	struct stat st;

	if (fstatat(collector->options.directory, KEY_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	then = moment_usec(&st.st_mtim);
	return then < now ? now - then : 0;
}

static uint64_t find_end_of_epoch(const struct collector *collector)
{
	uint64_t age = find_age_of_key(collector), epoch = collector->options.epoch_usec;

	return moment_now(CLOCK_BOOTTIME) + (age < epoch ? epoch - age : 0);
}

static int add_sources(struct collector *collector)
{
	const struct collector_options *options = &collector->options;
	int r = sd_event_add_time_relative(options->event, &collector->tick, CLOCK_MONOTONIC, 0, 0,
					   on_tick, collector);

	if (r < 0)
		return r;
	if (options->heads)
		r = sd_event_add_io(options->event, &collector->heads_source,
				    heads_fd(options->heads), EPOLLIN, on_heads, collector);
	return r < 0 ? r : group_init(collector);
}

int collector_new(const struct collector_options *options, struct collector **ret,
		  struct sbx_error *err)
{
	_cleanup_collector_ struct collector *collector = calloc(1, sizeof(*collector));
	const struct client_limits limits = { .n_clients = options->n_clients_max,
					      .idle_usec = CLIENTS_IDLE_USEC,
					      .n_bytes = RECORD_BYTES_MAX,
					      .n_in_work = SIZE_MAX,
					      .n_per_turn = PACKETS_PER_TURN };
	int r;

	if (!collector)
		return sbx_error_what(err, -ENOMEM, "cannot start the service");
	collector->options = *options;
	collector->group.soon.fd = -EBADF;
	r = clients_new(options->ready, options->log, &protocol, &limits, collector,
			&collector->clients);
	if (r < 0)
		return sbx_error_what(err, r, "cannot start the service");
	collector->epoch_ends_usec = find_end_of_epoch(collector);
	collector->group.signed_size = audit_log_checkpoint_size(options->audit);
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

	/* No client is read while the log could not be written, but that may be over. */
	if (collector->group.is_stuck)
		(void)group_commit(collector, false);
	clients_read_all(collector->clients);
	r = group_commit(collector, true);
	tell_status(collector);
	if (r == 0)
		return 0;
	(void)error_fill(err, r, collector->group.problem, NULL,
			 "%zu accepted records are not in the log", collector->group.queue.n);
	sbx_error_fix(err, "%s, and start the service again",
		      collector->group.fix[0] ? collector->group.fix : error_fix_of_write(r));
	return r;
}
