/* SPDX-License-Identifier: MIT */

/*
 * Group commit
 *
 * A packet goes into the open transaction as soon as it has come, which tells whether it is a
 * record; a copy waits in the queue for the commit. A sync event wants one at once, but behind all
 * who have said something already: an eventfd in the set of the clients' sockets gets its turn when
 * they have had theirs, so many sync events of many clients cost one commit.
 *
 * When the log cannot be written, the transaction is gone and the queue is not. It is added again,
 * from its beginning, by each further try.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "audit/event.h"
#include "audit/heads.h"
#include "base/json.h"
#include "base/log.h"
#include "collect/collect-internal.h"

/* ---- when ---- */

static void commit_soon(struct collector *collector)
{
	const uint64_t one = 1;

	if (!collector->is_soon)
		collector->is_soon = write(collector->soon.fd, &one, sizeof(one)) == sizeof(one);
}

static void on_soon(struct ready_socket *socket, uint32_t events)
{
	struct collector *collector =
		(struct collector *)((char *)socket - offsetof(struct collector, soon));
	uint64_t n;

	(void)!read(socket->fd, &n, sizeof(n));
	collector->is_soon = false;
	(void)group_commit(collector, false);
}

static int on_group_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct collector *collector = userdata;

	collector->is_group_open = false;
	(void)group_commit(collector, false);
	return 0;
}

static void commit_later(struct collector *collector)
{
	if (collector->is_group_open)
		return;
	collector->is_group_open = true;
	(void)sd_event_source_set_time_relative(collector->group_timer,
						collector->options.group_usec);
	(void)sd_event_source_set_enabled(collector->group_timer, SD_EVENT_ONESHOT);
	ready_wake_loop(collector->options.ready);
}

static void close_group(struct collector *collector)
{
	if (!collector->is_group_open)
		return;
	collector->is_group_open = false;
	(void)sd_event_source_set_enabled(collector->group_timer, SD_EVENT_OFF);
}

int group_init(struct collector *collector)
{
	int r = sd_event_add_time(collector->options.event, &collector->group_timer,
				  CLOCK_MONOTONIC, 0, 1, on_group_timer, collector);

	if (r >= 0)
		r = sd_event_source_set_enabled(collector->group_timer, SD_EVENT_OFF);
	if (r < 0)
		return r;
	collector->soon.serve = on_soon;
	collector->soon.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (collector->soon.fd < 0)
		return -errno;
	return ready_add(collector->options.ready, &collector->soon, EPOLLIN);
}

void group_deinit(struct collector *collector)
{
	(void)sd_event_source_disable_unref(collector->group_timer);
	if (collector->soon.fd < 0)
		return;
	ready_remove(collector->options.ready, &collector->soon);
	close_fd(&collector->soon.fd);
}

/* ---- a log that cannot be written ---- */

static int get_stuck(struct collector *collector, const struct sbx_error *why)
{
	bool is_new = !collector->is_stuck;

	queue_not_added(&collector->queue);
	collector->is_stuck = collector->is_status_due = true;
	(void)snprintf(collector->problem, sizeof(collector->problem), "%.250s: %.250s", why->what,
		       why->why[0] != '\0' ? why->why : strerror(-why->code));
	if (is_new) {
		log_write(collector->options.log, LOG_LEVEL_ERROR, NULL,
			  "%s; tried again every second, %s", collector->problem,
			  collector->options.is_shedding ? "what does not fit into memory is lost"
							 : "clients wait");
		clients_update(collector);
	}
	return why->code;
}

static void get_going(struct collector *collector)
{
	if (!collector->is_stuck)
		return;
	collector->is_stuck = false;
	collector->is_status_due = true;
	collector->problem[0] = '\0';
	log_write(collector->options.log, LOG_LEVEL_NOTICE, NULL, "the log is written again");
}

/* The event of a line that nobody has time to read. What is no record has none. */
static bool is_sync_event(const void *bytes, size_t n_bytes)
{
	struct json_scanner scanner;
	struct json_item item;
	bool is_event = false;

	json_scan(&scanner, bytes, n_bytes);
	while (json_next(&scanner, &item) > 0) {
		const struct audit_event *event;

		if (is_event) {
			event = item.kind == JSON_STRING ? event_of(item.bytes, item.n_bytes)
							 : NULL;
			return event && event->is_sync;
		}
		is_event = item.kind == JSON_NAME && scanner.depth == 1 &&
			   (json_equals(&item, "event") || json_equals(&item, "event_type"));
		if (item.kind != JSON_NAME && scanner.depth > 1 && json_skip(&scanner, &item) < 0)
			return false;
	}
	return false;
}

static int lose(struct collector *collector, bool is_sync, struct sbx_error *err)
{
	collector->counts.n_lost++;
	collector->n_to_confess++;
	if (!is_sync)
		return 0;
	(void)sbx_error_what(err, -ENOSPC, "the log cannot be written, and the queue is full");
	return AUDIT_REFUSED;
}

static int take_when_stuck(struct client *client, const void *bytes, size_t n_bytes,
			   struct sbx_error *err)
{
	struct collector *collector = client->collector;
	bool is_sync = is_sync_event(bytes, n_bytes);
	struct waiting *waiting = NULL;

	if (collector->queue.n_bytes + n_bytes <= collector->options.queue_bytes_max)
		waiting = waiting_new(client, bytes, n_bytes);
	if (!waiting)
		return lose(collector, is_sync, err);
	waiting->is_sync = is_sync;
	queue_add(&collector->queue, waiting);
	client_update(client);
	return 0;
}

/* ---- take ---- */

static int add(struct collector *collector, struct waiting *waiting, struct sbx_error *err)
{
	struct audit_receipt receipt;
	int r = audit_log_add(collector->options.audit, waiting->bytes, waiting->n_bytes,
			      &waiting->writer, &receipt, err);

	if (r != 0)
		return r;
	waiting->is_added = true;
	waiting->is_sync = receipt.is_sync;
	waiting->seq = receipt.seq;
	return 0;
}

static void commit_in_time(struct collector *collector, bool is_sync)
{
	const struct collector_options *options = &collector->options;

	if (collector->queue.n >= options->group_records ||
	    collector->queue.n_bytes >= options->queue_bytes_max)
		(void)group_commit(collector, false);
	else if (is_sync || options->group_usec == 0)
		commit_soon(collector);
	else
		commit_later(collector);
}

int group_take(struct client *client, const void *bytes, size_t n_bytes, struct sbx_error *err)
{
	struct collector *collector = client->collector;
	_cleanup_waiting_ struct waiting *waiting = NULL;
	struct sbx_error why = { .code = 0 };
	int r;

	if (collector->is_stuck)
		return take_when_stuck(client, bytes, n_bytes, err);
	waiting = waiting_new(client, bytes, n_bytes);
	if (!waiting) {
		(void)sbx_error_what(err, -ENOMEM, "there is no memory for it");
		return AUDIT_REFUSED;
	}
	r = add(collector, waiting, &why);
	if (r == AUDIT_REFUSED) {
		if (err)
			*err = why;
		return r;
	}
	/* It has not been looked at whether it is one, but it is not lost. */
	if (r < 0)
		waiting->is_sync = is_sync_event(bytes, n_bytes);
	bool is_sync = waiting->is_sync;

	queue_add(&collector->queue, take_ptr(waiting));
	if (r < 0)
		(void)get_stuck(collector, &why);
	else
		commit_in_time(collector, is_sync);
	return 0;
}

void group_answer(struct client *client, const char *text)
{
	struct waiting *waiting;

	if (client->n_waiting == 0) {
		client_answer(client, text);
		return;
	}
	waiting = waiting_new(client, text, strlen(text) + 1);
	/* Without memory the client hears nothing, which is no acknowledgement. */
	if (!waiting)
		return;
	waiting->refusal = waiting->bytes;
	queue_add(&client->collector->queue, waiting);
	client_update(client);
}

/* ---- commit ---- */

/* What was refused now would have been before, had there been a log to ask. */
static int add_again(struct collector *collector, struct waiting *waiting, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = add(collector, waiting, &why);

	if (r < 0 && err)
		*err = why;
	if (r != AUDIT_REFUSED)
		return r;
	collector->counts.n_refused++;
	waiting->refusal = "{\"refused\":\"it is no record\"}";
	return 0;
}

static int add_all(struct collector *collector, bool *ret_has_sync, struct sbx_error *err)
{
	int r = 0;

	*ret_has_sync = false;
	for (struct waiting *w = collector->queue.first; w && r == 0; w = w->next) {
		if (!w->is_added && !w->refusal)
			r = add_again(collector, w, err);
		*ret_has_sync |= w->is_sync;
	}
	return r;
}

static int confess(struct collector *collector, struct sbx_error *err)
{
	char members[64];

	if (collector->n_to_confess == 0)
		return 0;
	(void)snprintf(members, sizeof(members), "\"count\":%llu",
		       (unsigned long long)collector->n_to_confess);
	return audit_log_say(collector->options.audit, "records_lost", members, err);
}

static void answer(struct collector *collector, const struct waiting *waiting)
{
	struct client *client = waiting->client;
	char text[40];

	collector->counts.n_records += !waiting->refusal;
	if (!client)
		return;
	client->n_waiting--;
	client->n_expected -= waiting->is_expected;
	(void)snprintf(text, sizeof(text), "{\"seq\":%llu}", (unsigned long long)waiting->seq);
	if (waiting->is_sync || waiting->refusal)
		client_answer(client, waiting->refusal ? waiting->refusal : text);
	client_end(client);
}

static void answer_all(struct collector *collector)
{
	for (struct waiting *waiting; (waiting = queue_take(&collector->queue));) {
		answer(collector, waiting);
		waiting_free(waiting);
	}
}

void group_note_signed(struct collector *collector)
{
	uint64_t signed_size = audit_log_checkpoint_size(collector->options.audit);
	uint64_t now = collect_clock_usec();

	if (signed_size != collector->signed_size) {
		collector->signed_size = signed_size;
		collector->signed_usec = now;
		collector->unsigned_usec = 0;
	}
	if (signed_size == audit_log_size(collector->options.audit))
		collector->unsigned_usec = 0;
	else if (collector->unsigned_usec == 0)
		collector->unsigned_usec = now;
}

static void after_commit(struct collector *collector)
{
	collector->counts.n_commits++;
	collector->committed_usec = collect_clock_usec();
	collector->n_to_confess = 0;
	get_going(collector);
	answer_all(collector);
	clients_update(collector);
	group_note_signed(collector);
	if (collector->options.heads)
		(void)heads_turn(collector->options.heads, collector->committed_usec);
}

int group_commit(struct collector *collector, bool is_signed)
{
	struct audit_log *audit = collector->options.audit;
	struct sbx_error why = { .code = 0 };
	bool has_sync;
	int r;

	close_group(collector);
	if (collector->queue.n == 0 && !collector->is_stuck && !is_signed)
		return 0;
	r = add_all(collector, &has_sync, &why);
	if (r == 0)
		r = confess(collector, &why);
	is_signed |= has_sync && collect_clock_usec() >= collector->signed_usec + USEC_PER_SEC;
	if (r == 0)
		r = is_signed ? audit_log_checkpoint(audit, &why) : audit_log_commit(audit, &why);
	if (r < 0) {
		why.code = r;
		return get_stuck(collector, &why);
	}
	after_commit(collector);
	return 0;
}
