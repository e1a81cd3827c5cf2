/* SPDX-License-Identifier: MIT */

/*
 * A worker trusts neither side: the hand-over may come from any user, and the sandbox speaks to its
 * listeners. So every fault ends this worker, and with it the network of this sandbox alone.
 */

#include "proxy/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/moment.h"
#include "policy/request.h"
#include "record/record.h"
#include "registry/handover.h"
#include "service/ready.h"

struct worker {
	struct worker_options options;
	struct ready_socket socket;
	sd_event_source *deadline;
	struct arena arena;
	struct handover handover; /* its texts; the fds are the proxy's */
	struct proxy *proxy;
	uint64_t began_usec;
	bool has_ended;
};

/* ---- records ---- */

static void add_listeners(struct json_writer *json, const struct handover *handover)
{
	json_member_array(json, "listeners");
	for (size_t i = 0; i < handover->n_listeners; i++) {
		const struct handover_listener *listener = &handover->listeners[i];

		json_add_object(json);
		json_member_string(json, "kind", "http");
		json_member_string(json, listener->port > 0 ? "address" : "path",
				   listener->address);
		if (listener->port > 0)
			json_member_u64(json, "port", listener->port);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_limit(struct json_writer *json, const char *name, uint64_t limit)
{
	if (limit != UINT64_MAX)
		json_member_u64(json, name, limit);
}

static void add_limits(struct json_writer *json, const struct proxy_limits *limits)
{
	json_member_object(json, "limits");
	add_limit(json, "connections", limits->n_connections);
	add_limit(json, "bytes", limits->n_bytes);
	add_limit(json, "rate", limits->bytes_per_sec);
	json_end_object(json);
}

static void add_layers(struct json_writer *json, const char *const *layers)
{
	json_member_array(json, "layers");
	for (; layers && *layers; layers++)
		json_add_string(json, *layers);
	json_end_array(json);
}

static void begin_record(const struct worker *worker, struct text *record, struct json_writer *json,
			 const char *event)
{
	record_begin(worker->options.recorder, record, json, event, worker->options.tool);
	json_member_if_set(json, "sandbox_id", worker->handover.sandbox);
}

static int record_start(const struct worker *worker, const struct proxy_limits *limits,
			const uint8_t digest[32], struct sbx_error *err)
{
	const struct handover *handover = &worker->handover;
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	begin_record(worker, &record, &json, "proxy_start");
	json_member_if_set(&json, "project", handover->project);
	json_member_u64(&json, "uid", worker->options.uid);
	json_member_hex(&json, "policy", digest, 32);
	json_member_string(&json, "policy_name", handover->policy);
	add_listeners(&json, handover);
	add_limits(&json, limits);
	add_layers(&json, worker->options.layers);
	return record_send(worker->options.recorder, &record, &json, err);
}

/* The proxy has done what the record tells, so a record that cannot be written is only logged. */
static void record_or_log(const struct worker *worker, struct text *record,
			  struct json_writer *json)
{
	struct sbx_error err = { .code = 0 };

	if (record_send(worker->options.recorder, record, json, &err) < 0)
		log_write(worker->options.log, LOG_LEVEL_ERROR, NULL, "%s: %s", err.what,
			  strerror(-err.code));
}

static void record_stop(const struct worker *worker, const char *cause)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	uint64_t n_lost = proxy_count_lost_records(worker->proxy);
	struct json_writer json;

	if (n_lost > 0)
		log_write(worker->options.log, LOG_LEVEL_ERROR, NULL,
			  "%llu records of connections and denials could not be written",
			  (unsigned long long)n_lost);
	begin_record(worker, &record, &json, "proxy_stop");
	json_member_string(&json, "cause", cause);
	json_member_u64(&json, "usec", moment_now(CLOCK_MONOTONIC) - worker->began_usec);
	json_member_object(&json, "counters");
	proxy_counters_add_members(&json, &worker->options.page->counters);
	json_end_object(&json);
	if (n_lost > 0)
		json_member_u64(&json, "records_lost", n_lost);
	/* Every connection is closed by now, so there is nothing left to refuse. */
	record_or_log(worker, &record, &json);
}

/* ---- begin ---- */

static uint64_t lower(uint64_t ours, const struct handover_limit *asked)
{
	return asked->is_set && asked->value < ours ? asked->value : ours;
}

static struct proxy_limits limits_of(const struct worker *worker, const struct handover *handover)
{
	const struct proxy_limits *ours = &worker->options.limits;

	return (struct proxy_limits){
		.n_connections = lower(ours->n_connections, &handover->limits.connections),
		.n_bytes = lower(ours->n_bytes, &handover->limits.bytes),
		.bytes_per_sec = lower(ours->bytes_per_sec, &handover->limits.rate),
	};
}

static int check_digest(const struct proxy_policy *policy, const char *digest,
			struct sbx_error *err)
{
	_cleanup_text_ struct text hex = TEXT_INIT;

	text_add_hex(&hex, proxy_policy_digest(policy), DIGEST_SIZE);
	if (strcmp(text_string(&hex), digest) == 0)
		return 0;
	return error_fill(err, -EBADMSG, "its digest is not the one that was announced", NULL,
			  "cannot take the policy");
}

/* NULL stays NULL. */
static int copy(struct worker *worker, const char *from, const char **ret)
{
	*ret = from ? arena_copy(&worker->arena, from, strlen(from)) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

/* LISTENERS of the socket are in the arena already, those of the tool are not. */
static int copy_texts(struct worker *worker, const struct handover *from)
{
	struct handover *to = &worker->handover;
	int r = copy(worker, from->sandbox, &to->sandbox);

	if (r < 0)
		return r;
	r = copy(worker, from->project, &to->project);
	if (r < 0)
		return r;
	r = copy(worker, from->policy, &to->policy);
	if (r < 0)
		return r;
	for (size_t i = 0; i < from->n_listeners; i++) {
		to->listeners[i] = (struct handover_listener){
			.kind = from->listeners[i].kind,
			.port = from->listeners[i].port,
			.fd = -EBADF,
		};
		r = copy(worker, from->listeners[i].address, &to->listeners[i].address);
		if (r < 0)
			return r;
	}
	to->n_listeners = from->n_listeners;
	return 0;
}

static void show(struct worker *worker)
{
	struct worker_page *page = worker->options.page;
	const char *sandbox = worker->handover.sandbox;

	(void)snprintf(page->sandbox, sizeof(page->sandbox), "%s", sandbox ? sandbox : "");
	(void)snprintf(page->policy, sizeof(page->policy), "%s", worker->handover.policy);
}

static int listen_on_all(struct worker *worker, struct handover *handover, struct sbx_error *err)
{
	for (size_t i = 0; i < handover->n_listeners; i++) {
		int r = proxy_listen(worker->proxy, take_fd(&handover->listeners[i].fd));

		if (r < 0)
			return sbx_error_what(err, r, "cannot accept connections at '%s'",
					      handover->listeners[i].address);
	}
	return 0;
}

static int start(struct worker *worker, struct proxy_policy *policy,
		 const struct proxy_limits *limits, struct handover *handover,
		 struct sbx_error *err)
{
	const struct proxy_options options = {
		.event = worker->options.event,
		.ready = worker->options.ready,
		.resolver = worker->options.resolver,
		.recorder = worker->options.recorder,
		.sandbox = worker->handover.sandbox,
		.project = worker->handover.project,
		.timeouts = worker->options.timeouts,
		.limits = *limits,
		.counters = &worker->options.page->counters,
	};
	uint8_t digest[32];
	int r;

	memcpy(digest, proxy_policy_digest(policy), sizeof(digest));
	r = proxy_new(&options, policy, &worker->proxy, err);
	if (r < 0)
		return r;
	r = listen_on_all(worker, handover, err);
	if (r == 0)
		r = record_start(worker, limits, digest, err);
	if (r < 0)
		worker->proxy = proxy_free(worker->proxy);
	return r;
}

int worker_begin(struct worker *worker, struct handover *handover, struct sbx_error *err)
{
	const struct proxy_limits limits = limits_of(worker, handover);
	_cleanup_proxy_policy_ struct proxy_policy *policy = NULL;
	int r = copy_texts(worker, handover);

	if (r < 0)
		return sbx_error_what(err, r, "cannot start the proxy");
	r = proxy_policy_map(handover->artefact, &policy, err);
	if (r < 0)
		return r;
	r = check_digest(policy, handover->digest, err);
	if (r < 0)
		return r;
	r = start(worker, take_ptr(policy), &limits, handover, err);
	if (r < 0)
		return r;
	worker->began_usec = moment_now(CLOCK_MONOTONIC);
	show(worker);
	return 0;
}

void worker_record_error(const struct worker *worker, const struct sbx_error *what)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	begin_record(worker, &record, &json, "policy_error");
	json_member_i64(&json, "code", what->code);
	json_member_string(&json, "what", what->what);
	json_member_string(&json, "why", what->why[0] != '\0' ? what->why : strerror(-what->code));
	record_or_log(worker, &record, &json);
}

void worker_replace_policy(struct worker *worker, struct proxy_policy *policy)
{
	_cleanup_proxy_policy_ struct proxy_policy *owned = policy;
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	begin_record(worker, &record, &json, "policy_update");
	json_member_string(&json, "stage", "loaded");
	json_member_string(&json, "cause", "signal");
	json_member_hex(&json, "policy", proxy_policy_digest(owned), 32);
	proxy_replace_policy(worker->proxy, take_ptr(owned));
	/* The new policy may be stricter: it is in force even if the record cannot be written. */
	record_or_log(worker, &record, &json);
}

/* ---- end ---- */

static void finish(struct worker *worker, const char *cause)
{
	if (!worker->proxy || worker->has_ended)
		return;
	worker->has_ended = true;
	proxy_stop(worker->proxy);
	record_stop(worker, cause);
}

static void leave(struct worker *worker)
{
	(void)ready_wait(worker->options.ready, &worker->socket, 0);
	(void)sd_event_exit(worker->options.event, 0);
	ready_wake_loop(worker->options.ready);
}

static void send_summary(struct worker *worker)
{
	_cleanup_free_ struct handover_summary *summary = calloc(1, sizeof(*summary));

	if (!summary)
		return;
	if (worker->proxy)
		proxy_get_summary(worker->proxy, summary);
	(void)handover_send_summary(worker->socket.fd, summary);
}

/* ---- the hand-over socket ---- */

static void refuse(struct worker *worker, const struct sbx_error *why)
{
	log_write(worker->options.log, LOG_LEVEL_WARNING, NULL, "%s: %s", why->what,
		  why->why[0] != '\0' ? why->why : strerror(-why->code));
	(void)handover_send_error(worker->socket.fd, why);
	finish(worker, "error");
	leave(worker);
}

static void take_listeners(struct worker *worker, struct handover *handover)
{
	struct sbx_error err = { .code = 0 };
	int r;

	if (worker->proxy) {
		(void)sbx_error_what(&err, -EALREADY, "the proxy has its listeners already");
		refuse(worker, &err);
		return;
	}
	(void)sd_event_source_set_enabled(worker->deadline, SD_EVENT_OFF);
	r = worker_begin(worker, handover, &err);
	if (r < 0)
		refuse(worker, &err);
	else if (handover_send_ok(worker->socket.fd) < 0)
		leave(worker);
}

static void on_packet(struct ready_socket *socket, uint32_t events)
{
	struct worker *worker = (struct worker *)((char *)socket - offsetof(struct worker, socket));
	_cleanup_handover_ struct handover handover = HANDOVER_INIT;
	struct sbx_error err = { .code = 0 };
	int kind = handover_receive(socket->fd, &worker->arena, &handover, &err);

	(void)events;
	if (kind == -EAGAIN)
		return;
	if (kind == HANDOVER_LISTENERS) {
		take_listeners(worker, &handover);
		return;
	}
	if (kind < 0) {
		refuse(worker, &err);
		return;
	}
	finish(worker, kind == HANDOVER_END ? "end" : "hangup");
	if (kind == HANDOVER_END)
		send_summary(worker);
	leave(worker);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct worker *worker = userdata;
	struct sbx_error err = { .code = 0 };

	(void)source;
	(void)usec;
	(void)sbx_error_what(&err, -ETIMEDOUT, "no listeners were handed over");
	refuse(worker, &err);
	return 0;
}

static int wait_for_packets(struct worker *worker)
{
	int flags = fcntl(worker->socket.fd, F_GETFL), r;

	if (flags < 0 || fcntl(worker->socket.fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	worker->socket.serve = on_packet;
	r = ready_wait(worker->options.ready, &worker->socket, EPOLLIN);
	return r < 0 ? r
		     : sd_event_add_time_relative(worker->options.event, &worker->deadline,
						  CLOCK_MONOTONIC, WORKER_WAIT_USEC, 0, on_deadline,
						  worker);
}

/* ---- life ---- */

struct worker *worker_free(struct worker *worker)
{
	if (!worker)
		return NULL;
	finish(worker, "signal");
	worker->proxy = proxy_free(worker->proxy);
	(void)sd_event_source_disable_unref(worker->deadline);
	if (worker->socket.fd >= 0)
		(void)ready_wait(worker->options.ready, &worker->socket, 0);
	close_fd(&worker->socket.fd);
	arena_deinit(&worker->arena);
	free(worker);
	return NULL;
}

int worker_new(const struct worker_options *options, struct worker **ret, struct sbx_error *err)
{
	_cleanup_close_ int fd = options->fd;
	_cleanup_worker_ struct worker *worker = calloc(1, sizeof(*worker));
	int r;

	if (!worker)
		return sbx_error_what(err, -ENOMEM, "cannot start the proxy");
	worker->options = *options;
	worker->arena = (struct arena)ARENA_INIT;
	worker->handover = (struct handover)HANDOVER_INIT;
	worker->socket.fd = take_fd(&fd);
	r = worker->socket.fd >= 0 ? wait_for_packets(worker) : 0;
	if (r < 0)
		return sbx_error_what(err, r, "cannot wait for the listeners");
	*ret = take_ptr(worker);
	return 0;
}
