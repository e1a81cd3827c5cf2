/* SPDX-License-Identifier: MIT */

/*
 * Listeners, limits and time-outs of one proxy
 *
 * Deadlines are members of connections, and one timer, which runs only while there are connections,
 * looks at all of them: a timer for each would cost more than the look.
 */

#include "proxy/proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/moment.h"
#include "proxy/policy.h"
#include "proxy/proxy-internal.h"
#include "proxy/report.h"
#include "registry/handover.h"

#define TICK_USEC UINT64_C(250000)
/* With a rate limit, bytes are given out in small portions. */
#define TICKS_PER_SEC_OF_RATE UINT64_C(20)
#define ACCEPTED_PER_TURN 16

/* ---- counters ---- */

static const struct {
	const char *name;
	size_t offset;
} counter_rows[] = {
	{ "accepted", offsetof(struct proxy_counters, n_accepted) },
	{ "open", offsetof(struct proxy_counters, n_open) },
	{ "tunnels", offsetof(struct proxy_counters, n_tunnels) },
	{ "requests", offsetof(struct proxy_counters, n_requests) },
	{ "denied", offsetof(struct proxy_counters, n_denied) },
	{ "malformed", offsetof(struct proxy_counters, n_malformed) },
	{ "failed", offsetof(struct proxy_counters, n_failed) },
	{ "bytes_up", offsetof(struct proxy_counters, bytes_up) },
	{ "bytes_down", offsetof(struct proxy_counters, bytes_down) },
};
_Static_assert(sizeof(struct proxy_counters) == N_ELEMENTS(counter_rows) * sizeof(uint64_t),
	       "each counter has a row");

static uint64_t counter_at(const struct proxy_counters *counters, size_t row)
{
	return *(const uint64_t *)(const void *)((const char *)counters + counter_rows[row].offset);
}

void proxy_counters_add_members(struct json_writer *json, const struct proxy_counters *counters)
{
	for (size_t i = 0; i < N_ELEMENTS(counter_rows); i++)
		json_member_u64(json, counter_rows[i].name, counter_at(counters, i));
}

/* ---- limits ---- */

static bool has_rate(const struct proxy *proxy)
{
	return proxy->with.limits.bytes_per_sec != UINT64_MAX;
}

static uint64_t n_moved(const struct proxy *proxy)
{
	return proxy->with.counters->bytes_up + proxy->with.counters->bytes_down;
}

uint64_t proxy_count_bytes_left(const struct proxy *proxy)
{
	uint64_t n = n_moved(proxy), n_max = proxy->with.limits.n_bytes;

	return n < n_max ? n_max - n : 0;
}

bool proxy_has_bytes_left(const struct proxy *proxy)
{
	return proxy_count_bytes_left(proxy) > 0;
}

size_t proxy_allow(struct proxy *proxy, size_t wanted)
{
	uint64_t left = proxy_count_bytes_left(proxy);

	if (has_rate(proxy) && proxy->n_tokens < left)
		left = proxy->n_tokens;
	return left < wanted ? (size_t)left : wanted;
}

void proxy_spend(struct proxy *proxy, size_t n_bytes)
{
	size_t n_paid = n_bytes < proxy->n_tokens ? n_bytes : (size_t)proxy->n_tokens;

	proxy->n_tokens -= n_paid;
	/* What came before a tunnel was open leaves at once, of many tunnels too. */
	if (has_rate(proxy))
		proxy->n_debts += n_bytes - n_paid;
}

static void add_tokens(struct proxy *proxy)
{
	uint64_t rate = proxy->with.limits.bytes_per_sec;
	uint64_t portion = rate / TICKS_PER_SEC_OF_RATE, paid;

	proxy->n_rest += rate % TICKS_PER_SEC_OF_RATE;
	portion += proxy->n_rest / TICKS_PER_SEC_OF_RATE;
	proxy->n_rest %= TICKS_PER_SEC_OF_RATE;
	paid = portion < proxy->n_debts ? portion : proxy->n_debts;
	proxy->n_debts -= paid;
	proxy->n_tokens = portion - paid;
}

/* ---- listeners ---- */

static void watch(struct proxy *proxy, bool accepts)
{
	for (struct listener *at = proxy->listeners; at; at = at->next)
		(void)ready_wait(proxy->with.ready, &at->socket, accepts ? EPOLLIN : READY_PAUSE);
	proxy->is_full = !accepts;
}

void proxy_make_room(struct proxy *proxy)
{
	if (proxy->is_full && proxy->with.counters->n_open < proxy->with.limits.n_connections)
		watch(proxy, true);
}

/* A connection that waits for its client's next request makes room for a new one. */
static bool close_idle(struct proxy *proxy)
{
	struct connection *found = NULL;

	for (struct connection *at = proxy->connections; at; at = at->next)
		if (connection_is_idle(at) && (!found || at->deadline_usec < found->deadline_usec))
			found = at;
	if (found)
		connection_free(found, "idle");
	return found != NULL;
}

static void accept_some(struct ready_socket *socket, uint32_t events)
{
	struct listener *listener =
		(struct listener *)((char *)socket - offsetof(struct listener, socket));
	struct proxy *proxy = listener->proxy;

	for (int i = 0; i < ACCEPTED_PER_TURN; i++) {
		int fd;

		if (proxy->with.counters->n_open >= proxy->with.limits.n_connections &&
		    !close_idle(proxy)) {
			watch(proxy, false);
			return;
		}
		fd = accept4(socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			/* Without fds or memory the listener would be ready without end. */
			if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR &&
			    !close_idle(proxy))
				watch(proxy, false);
			proxy_tick_later(proxy);
			return;
		}
		if (connection_new(proxy, fd) == 0)
			proxy_tick_later(proxy);
	}
}

int proxy_listen(struct proxy *proxy, int fd)
{
	_cleanup_close_ int owned = fd;
	struct listener *listener = calloc(1, sizeof(*listener));
	int r;

	if (!listener)
		return -ENOMEM;
	*listener = (struct listener){
		.proxy = proxy,
		.next = proxy->listeners,
		.socket = { .fd = fd, .serve = accept_some },
	};
	r = ready_wait(proxy->with.ready, &listener->socket, EPOLLIN);
	if (r < 0) {
		free(listener);
		return r;
	}
	(void)take_fd(&owned);
	proxy->listeners = listener;
	return 0;
}

static void close_listeners(struct proxy *proxy)
{
	while (proxy->listeners) {
		struct listener *listener = proxy->listeners;

		proxy->listeners = listener->next;
		(void)ready_wait(proxy->with.ready, &listener->socket, 0);
		close_fd(&listener->socket.fd);
		free(listener);
	}
}

/* ---- the tick ---- */

static void end_late(struct proxy *proxy, uint64_t now_usec)
{
	struct connection *next;

	/* A time-out frees at most its own connection. */
	for (struct connection *at = proxy->connections; at; at = next) {
		next = at->next;
		if (at->deadline_usec <= now_usec)
			connection_time_out(at);
	}
}

static bool moves_bytes(const struct connection *connection)
{
	return connection->stage == STAGE_EXCHANGE || connection->stage == STAGE_HOLD ||
	       connection->stage == STAGE_TUNNEL;
}

static void resume_all(struct proxy *proxy)
{
	struct connection *next;

	for (struct connection *at = proxy->connections; at; at = next) {
		next = at->next;
		if (moves_bytes(at))
			connection_turn(at);
	}
}

/* No byte may be moved any more: nothing that is open can end by itself. */
static void end_moving(struct proxy *proxy)
{
	struct connection *next;

	for (struct connection *at = proxy->connections; at; at = next) {
		next = at->next;
		if (moves_bytes(at))
			connection_free(at, "limit");
	}
}

static uint64_t tick_usec(const struct proxy *proxy)
{
	return has_rate(proxy) ? 1000000 / TICKS_PER_SEC_OF_RATE : TICK_USEC;
}

static void arm(struct proxy *proxy)
{
	proxy->is_ticking = sd_event_source_set_time_relative(proxy->tick, tick_usec(proxy)) >= 0 &&
			    sd_event_source_set_enabled(proxy->tick, SD_EVENT_ONESHOT) >= 0;
	ready_wake_loop(proxy->with.ready);
}

void proxy_tick_later(struct proxy *proxy)
{
	if (!proxy->is_ticking)
		arm(proxy);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct proxy *proxy = userdata;
	uint64_t now_usec = moment_now(CLOCK_MONOTONIC);

	proxy->is_ticking = false;
	if (has_rate(proxy)) {
		add_tokens(proxy);
		resume_all(proxy);
	}
	if (!proxy_has_bytes_left(proxy))
		end_moving(proxy);
	end_late(proxy, now_usec);
	report_flush(proxy->report, now_usec);
	proxy_make_room(proxy);
	if (proxy->connections || report_has_pending(proxy->report) || proxy->is_full)
		arm(proxy);
	return 0;
}

/* ---- life ---- */

static int start(struct proxy *proxy)
{
	int r = sd_event_add_time_relative(proxy->with.event, &proxy->tick, CLOCK_MONOTONIC,
					   TICK_USEC, 0, on_tick, proxy);

	if (r < 0)
		return r;
	r = sd_event_source_set_enabled(proxy->tick, SD_EVENT_OFF);
	if (r < 0)
		return r;
	r = relay_pool_new(&proxy->pool);
	if (r < 0)
		return r;
	r = report_new(proxy->with.recorder, proxy->with.sandbox, &proxy->report);
	return r < 0 ? r : 0;
}

int proxy_new(const struct proxy_options *options, struct proxy_policy *policy, struct proxy **ret,
	      struct sbx_error *err)
{
	_cleanup_proxy_ struct proxy *proxy = calloc(1, sizeof(*proxy));
	int r;

	if (!proxy) {
		(void)proxy_policy_free(policy);
		return sbx_error_what(err, -ENOMEM, "cannot start the proxy");
	}
	proxy->with = *options;
	proxy->policy = policy;
	proxy->judge.policy = policy;
	proxy->judge.project = options->project;
	add_tokens(proxy);
	r = start(proxy);
	if (r < 0)
		return sbx_error_what(err, r, "cannot start the proxy");
	*ret = take_ptr(proxy);
	return 0;
}

void proxy_stop(struct proxy *proxy)
{
	close_listeners(proxy);
	while (proxy->connections)
		connection_free(proxy->connections, "stop");
	report_flush(proxy->report, UINT64_MAX);
}

void proxy_replace_policy(struct proxy *proxy, struct proxy_policy *policy)
{
	struct connection *next;

	(void)proxy_policy_free(proxy->policy);
	proxy->policy = policy;
	proxy->judge.policy = policy;
	for (struct connection *at = proxy->connections; at; at = next) {
		next = at->next;
		if (!connection_is_allowed(at))
			connection_free(at, "policy");
	}
}

struct proxy *proxy_free(struct proxy *proxy)
{
	if (!proxy)
		return NULL;
	if (proxy->report)
		proxy_stop(proxy);
	(void)sd_event_source_disable_unref(proxy->tick);
	(void)report_free(proxy->report);
	(void)relay_pool_free(proxy->pool);
	(void)proxy_policy_free(proxy->policy);
	free(proxy);
	return NULL;
}

uint64_t proxy_count_lost_records(const struct proxy *proxy)
{
	return report_count_lost(proxy->report);
}

void proxy_get_summary(const struct proxy *proxy, struct handover_summary *ret)
{
	*ret = (struct handover_summary){ .n_counters = N_ELEMENTS(counter_rows) };
	report_get_denials(proxy->report, ret);
	for (size_t i = 0; i < N_ELEMENTS(counter_rows); i++)
		ret->counters[i] = (struct handover_counter){
			.name = counter_rows[i].name,
			.value = counter_at(proxy->with.counters, i),
		};
}
