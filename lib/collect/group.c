/* SPDX-License-Identifier: MIT */

/*
 * Group commit
 *
 * A packet is added to the open transaction as soon as it arrives, which also tells whether it is a
 * record. A copy stays in the queue until the commit has succeeded: a rollback loses all records of
 * the transaction, and the retry adds the whole queue again from its beginning.
 *
 * A sync event asks for a commit at once, but packets that other clients have already sent should
 * share it: the event sets an eventfd in the same epoll set, whose turn comes after those clients'
 * sockets. So many sync events of many clients cost one commit.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "audit/entry.h"
#include "audit/heads.h"
#include "base/json.h"
#include "base/log.h"
#include "base/moment.h"
#include "collect/collect-internal.h"

/* A packet that has arrived and is not committed yet. */
struct waiting {
	struct waiting *next;
	struct sender *sender; /* NULL: the client has disconnected */
	uint64_t seq;
	bool is_added; /* to the open transaction */
	bool is_sync;
	bool is_expected;    /* counted in the sender's n_expected */
	const char *refusal; /* the answer to a packet that is not a record */
	struct audit_writer writer;
	size_t n_bytes;
	char bytes[];
};

/* ---- the queue ---- */

static struct waiting *waiting_new(struct sender *sender, const void *bytes, size_t n_bytes)
{
	struct waiting *waiting = malloc(sizeof(*waiting) + n_bytes);

	if (!waiting)
		return NULL;
	*waiting =
		(struct waiting){ .sender = sender, .writer = sender->writer, .n_bytes = n_bytes };
	memcpy(waiting->bytes, bytes, n_bytes);
	return waiting;
}

static void waiting_free_ptr(struct waiting **waiting)
{
	free(*waiting);
}

static void queue_add(struct queue *queue, struct waiting *waiting)
{
	waiting->next = NULL;
	*queue->end = waiting;
	queue->end = &waiting->next;
	queue->n++;
	queue->n_bytes += sizeof(*waiting) + waiting->n_bytes;
	waiting->is_expected = waiting->is_sync || waiting->refusal;
	waiting->sender->n_waiting++;
	waiting->sender->n_expected += waiting->is_expected;
	client_hold(waiting->sender->client);
}

static struct waiting *queue_take(struct queue *queue)
{
	struct waiting *waiting = queue->first;

	if (!waiting)
		return NULL;
	queue->first = waiting->next;
	if (!queue->first)
		queue->end = &queue->first;
	queue->n--;
	queue->n_bytes -= sizeof(*waiting) + waiting->n_bytes;
	return waiting;
}

/* ---- when ---- */

static void commit_soon(struct collector *collector)
{
	const uint64_t one = 1;

	if (!collector->group.is_soon)
		collector->group.is_soon =
			write(collector->group.soon.fd, &one, sizeof(one)) == sizeof(one);
}

static void on_soon(struct ready_socket *socket, uint32_t events)
{
	struct collector *collector =
		(struct collector *)((char *)socket - offsetof(struct collector, group.soon));
	uint64_t n;

	(void)!read(socket->fd, &n, sizeof(n));
	collector->group.is_soon = false;
	(void)group_commit(collector, false);
}

static int on_group_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct collector *collector = userdata;

	collector->group.is_open = false;
	(void)group_commit(collector, false);
	return 0;
}

static void commit_later(struct collector *collector)
{
	if (collector->group.is_open)
		return;
	collector->group.is_open = true;
	(void)sd_event_source_set_time_relative(collector->group.timer,
						collector->options.group_usec);
	(void)sd_event_source_set_enabled(collector->group.timer, SD_EVENT_ONESHOT);
	ready_wake_loop(collector->options.ready);
}

static void close_group(struct collector *collector)
{
	if (!collector->group.is_open)
		return;
	collector->group.is_open = false;
	(void)sd_event_source_set_enabled(collector->group.timer, SD_EVENT_OFF);
}

int group_init(struct collector *collector)
{
	int r;

	collector->group.queue.end = &collector->group.queue.first;
	r = sd_event_add_time(collector->options.event, &collector->group.timer, CLOCK_MONOTONIC, 0,
			      1, on_group_timer, collector);

	if (r >= 0)
		r = sd_event_source_set_enabled(collector->group.timer, SD_EVENT_OFF);
	if (r < 0)
		return r;
	collector->group.soon.serve = on_soon;
	collector->group.soon.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (collector->group.soon.fd < 0)
		return -errno;
	return ready_wait(collector->options.ready, &collector->group.soon, EPOLLIN);
}

void group_deinit(struct collector *collector)
{
	for (struct waiting *waiting; (waiting = queue_take(&collector->group.queue));)
		free(waiting);
	(void)sd_event_source_disable_unref(collector->group.timer);
	if (collector->group.soon.fd < 0)
		return;
	(void)ready_wait(collector->options.ready, &collector->group.soon, 0);
	close_fd(&collector->group.soon.fd);
}

/* ---- while the log cannot be written ---- */

static int get_stuck(struct collector *collector, const struct sbx_error *why)
{
	bool is_new = !collector->group.is_stuck;

	for (struct waiting *w = collector->group.queue.first; w; w = w->next)
		w->is_added = false;
	collector->group.is_stuck = collector->is_status_due = true;
	(void)snprintf(collector->group.problem, sizeof(collector->group.problem), "%.250s: %.250s",
		       why->what, why->why[0] != '\0' ? why->why : strerror(-why->code));
	(void)snprintf(collector->group.fix, sizeof(collector->group.fix), "%s", why->fix);
	if (is_new) {
		log_write(collector->options.log, LOG_LEVEL_ERROR, NULL,
			  "%s; tried again every second, %s", collector->group.problem,
			  collector->options.is_shedding
				  ? "records that do not fit into memory are lost"
				  : "clients wait");
		clients_update(collector->clients);
	}
	return why->code;
}

static void get_going(struct collector *collector)
{
	if (!collector->group.is_stuck)
		return;
	collector->group.is_stuck = false;
	collector->is_status_due = true;
	collector->group.problem[0] = '\0';
	log_write(collector->options.log, LOG_LEVEL_NOTICE, NULL, "the log can be written again");
}

/* The log cannot parse the packet now, so only the first member "event" decides. A packet that is
 * not a record has none. */
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
	collector->group.n_to_confess++;
	if (!is_sync)
		return 0;
	(void)sbx_error_what(err, -ENOSPC, "the log cannot be written, and the queue is full");
	return AUDIT_REFUSED;
}

static int take_when_stuck(struct sender *sender, const void *bytes, size_t n_bytes,
			   struct sbx_error *err)
{
	struct collector *collector = sender->collector;
	bool is_sync = is_sync_event(bytes, n_bytes);
	struct waiting *waiting = NULL;

	if (collector->group.queue.n_bytes + n_bytes <= collector->options.queue_bytes_max)
		waiting = waiting_new(sender, bytes, n_bytes);
	if (!waiting)
		return lose(collector, is_sync, err);
	waiting->is_sync = is_sync;
	queue_add(&collector->group.queue, waiting);
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

	if (collector->group.queue.n >= options->group_records ||
	    collector->group.queue.n_bytes >= options->queue_bytes_max)
		(void)group_commit(collector, false);
	else if (is_sync || options->group_usec == 0)
		commit_soon(collector);
	else
		commit_later(collector);
}

int group_take(struct sender *sender, const void *bytes, size_t n_bytes, struct sbx_error *err)
{
	struct collector *collector = sender->collector;
	_cleanup_(waiting_free_ptr) struct waiting *waiting = NULL;
	struct sbx_error why = { .code = 0 };
	bool is_sync;
	int r;

	if (collector->group.is_stuck)
		return take_when_stuck(sender, bytes, n_bytes, err);
	waiting = waiting_new(sender, bytes, n_bytes);
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
	/* The log could not parse the packet: queue it. It may later turn out not to be a
	 * record. */
	if (r < 0)
		waiting->is_sync = is_sync_event(bytes, n_bytes);
	is_sync = waiting->is_sync;
	queue_add(&collector->group.queue, take_ptr(waiting));
	if (r < 0)
		(void)get_stuck(collector, &why);
	else
		commit_in_time(collector, is_sync);
	return 0;
}

void group_refuse(struct sender *sender, const char *text)
{
	struct waiting *waiting;

	if (sender->n_waiting == 0) {
		(void)client_reply(sender->client, text, strlen(text), NULL, 0);
		return;
	}
	waiting = waiting_new(sender, text, strlen(text) + 1);
	/* Out of memory: send no answer, which the client does not take for an acknowledgement. */
	if (!waiting)
		return;
	waiting->refusal = waiting->bytes;
	queue_add(&sender->collector->group.queue, waiting);
}

void group_forget(struct collector *collector, const struct sender *sender)
{
	for (struct waiting *waiting = collector->group.queue.first; waiting;
	     waiting = waiting->next)
		if (waiting->sender == sender)
			waiting->sender = NULL;
}

/* ---- commit ---- */

/* A packet that arrived while the log could not be written may turn out not to be a record. */
static int add_again(struct collector *collector, struct waiting *waiting, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = add(collector, waiting, &why);

	if (r < 0 && err)
		*err = why;
	if (r != AUDIT_REFUSED)
		return r;
	collector->counts.n_refused++;
	waiting->refusal = "{\"refused\":\"it is not a record\"}";
	return 0;
}

static int add_all(struct collector *collector, bool *ret_has_sync, struct sbx_error *err)
{
	int r = 0;

	*ret_has_sync = false;
	for (struct waiting *w = collector->group.queue.first; w && r == 0; w = w->next) {
		if (!w->is_added && !w->refusal)
			r = add_again(collector, w, err);
		*ret_has_sync |= w->is_sync;
	}
	return r;
}

static int confess(struct collector *collector, struct sbx_error *err)
{
	char members[64];

	if (collector->group.n_to_confess == 0)
		return 0;
	(void)snprintf(members, sizeof(members), "\"count\":%llu",
		       (unsigned long long)collector->group.n_to_confess);
	return audit_log_say(collector->options.audit, "records_lost", members, err);
}

/* May close the connection, if the client has hung up. */
static void answer(struct collector *collector, const struct waiting *waiting)
{
	struct sender *sender = waiting->sender;
	char text[40];

	collector->counts.n_records += !waiting->refusal;
	if (!sender)
		return;
	sender->n_waiting--;
	sender->n_expected -= waiting->is_expected;
	(void)snprintf(text, sizeof(text), "{\"seq\":%llu}", (unsigned long long)waiting->seq);
	if (waiting->is_sync || waiting->refusal) {
		const char *answer = waiting->refusal ? waiting->refusal : text;

		(void)client_reply(sender->client, answer, strlen(answer), NULL, 0);
	}
	client_release(sender->client);
}

static void answer_all(struct collector *collector)
{
	for (struct waiting *waiting; (waiting = queue_take(&collector->group.queue));) {
		answer(collector, waiting);
		free(waiting);
	}
}

void group_note_signed(struct collector *collector)
{
	uint64_t signed_size = audit_log_checkpoint_size(collector->options.audit);
	uint64_t now = moment_now(CLOCK_MONOTONIC);

	if (signed_size != collector->group.signed_size) {
		collector->group.signed_size = signed_size;
		collector->group.signed_usec = now;
		collector->group.unsigned_usec = 0;
	}
	if (signed_size == audit_log_size(collector->options.audit))
		collector->group.unsigned_usec = 0;
	else if (collector->group.unsigned_usec == 0)
		collector->group.unsigned_usec = now;
}

static void after_commit(struct collector *collector)
{
	bool was_stuck = collector->group.is_stuck;

	collector->counts.n_commits++;
	collector->group.committed_usec = moment_now(CLOCK_MONOTONIC);
	collector->group.n_to_confess = 0;
	get_going(collector);
	answer_all(collector);
	if (was_stuck)
		clients_update(collector->clients);
	group_note_signed(collector);
	if (collector->options.heads)
		(void)heads_turn(collector->options.heads, collector->group.committed_usec);
}

static int write_all(struct collector *collector, bool is_signed, struct sbx_error *err)
{
	struct audit_log *audit = collector->options.audit;
	bool has_sync;
	int r = add_all(collector, &has_sync, err);

	if (r >= 0)
		r = confess(collector, err);
	if (r < 0)
		return r;
	is_signed |= has_sync &&
		     moment_now(CLOCK_MONOTONIC) >= collector->group.signed_usec + USEC_PER_SEC;
	return is_signed ? audit_log_checkpoint(audit, err) : audit_log_commit(audit, err);
}

int group_commit(struct collector *collector, bool is_signed)
{
	struct sbx_error why = { .code = 0 };
	int r;

	close_group(collector);
	if (collector->group.queue.n == 0 && !collector->group.is_stuck && !is_signed)
		return 0;
	r = write_all(collector, is_signed, &why);
	if (r < 0) {
		why.code = r;
		return get_stuck(collector, &why);
	}
	after_commit(collector);
	return 0;
}
