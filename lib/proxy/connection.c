/* SPDX-License-Identifier: MIT */

/*
 * A connection of a client, from accept() to its end
 *
 * Each stage is a function that does what it can without blocking, then says for which events it
 * waits. The host is decided before its name is resolved and every address before connect(); the
 * address that was decided is the one in the sockaddr, so no second resolution can change it.
 */

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/text.h"
#include "proxy/hello.h"
#include "proxy/proxy-internal.h"
#include "proxy/report.h"

/* How long a client may take to read the last answer, and how much of what it still sends is
 * dropped: with unread bytes close() sends a reset, which can overtake the answer. */
#define CLOSE_USEC UINT64_C(2000000)
#define DROPPED_MAX (1024 * 1024)

void connection_wait(struct connection *connection, uint32_t client, uint32_t server)
{
	struct ready *ready = connection->proxy->with.ready;

	(void)ready_wait(ready, &connection->client, client | EPOLLHUP);
	if (connection->server.fd >= 0)
		(void)ready_wait(ready, &connection->server, server | EPOLLHUP);
}

void connection_set_deadline(struct connection *connection, uint64_t usec)
{
	connection->deadline_usec = moment_now(CLOCK_MONOTONIC) + usec;
}

void connection_no_delay(int fd)
{
	const int yes = 1;

	/* Fails for a Unix socket, which has no delay. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

struct proxy_counters *connection_counters(const struct connection *connection)
{
	return connection->proxy->with.counters;
}

/* ---- the server ---- */

static struct target *target_free(struct target *target)
{
	if (!target)
		return NULL;
	free(target->rule);
	free(target->server_name);
	free(target);
	return NULL;
}

void connection_record_server(const struct connection *connection, const char *cause)
{
	const struct target *target = connection->target;
	const struct exchange *exchange = connection->exchange;
	char host[HOSTNAME_TEXT_SIZE], address[HOSTNAME_TEXT_SIZE];

	(void)hostname_print(&target->authority.host, host);
	if (target->next > 0)
		judge_print_address(&target->addresses[target->next - 1], address);
	report_connected(connection->proxy->report,
			 &(const struct report_connection){
				 .host = host,
				 .port = target->authority.port,
				 .address = target->next > 0 ? address : NULL,
				 .rule = target->rule ? target->rule : "",
				 .kind = exchange && !exchange->asked.is_connect ? "http"
										 : "tunnel",
				 .cause = cause,
				 .n_requests = target->n_requests,
				 .bytes_up = target->bytes_up,
				 .bytes_down = target->bytes_down,
				 .usec = target->is_connected
						 ? moment_now(CLOCK_MONOTONIC) - target->since_usec
						 : 0,
			 });
}

void connection_close_socket(struct connection *connection)
{
	if (connection->server.fd < 0)
		return;
	(void)ready_wait(connection->proxy->with.ready, &connection->server, 0);
	close_fd(&connection->server.fd);
}

void connection_close_server(struct connection *connection, const char *cause)
{
	if (connection->query)
		resolver_cancel(take_ptr(connection->query));
	if (connection->target && connection->target->is_connected)
		connection_record_server(connection, cause);
	connection_close_socket(connection);
	connection->target = target_free(connection->target);
}

void connection_moved(struct connection *connection, enum relay_direction direction, size_t n)
{
	struct proxy *proxy = connection->proxy;
	struct target *target = connection->target;

	if (direction == RELAY_UP) {
		target->bytes_up += n;
		proxy->with.counters->bytes_up += n;
	} else {
		target->bytes_down += n;
		proxy->with.counters->bytes_down += n;
	}
	proxy_spend(proxy, n);
	connection_set_deadline(connection, proxy->with.timeouts.idle_usec);
}

/* ---- answers of our own ---- */

/* The whole head has one deadline, which begins with its first byte. */
static void begin_head(struct connection *connection)
{
	connection_set_deadline(connection, connection->proxy->with.timeouts.head_usec);
}

void connection_wait_for_request(struct connection *connection)
{
	if (connection->stage == STAGE_CLOSE)
		connection_set_deadline(connection, CLOSE_USEC);
	else if (connection->from_client.end > connection->from_client.at)
		begin_head(connection);
	else
		connection_set_deadline(connection, connection->proxy->with.timeouts.idle_usec);
}

static bool can_continue(const struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;

	return exchange->keeps_client && exchange->request_body.is_done &&
	       !connection->client_ended;
}

static enum turn answer(struct connection *connection, unsigned status,
			const struct http_refusal *refusal, bool is_read)
{
	struct exchange *exchange = connection->exchange;
	bool continues = is_read && can_continue(connection);

	http_add_error(&exchange->answer, status, refusal, is_read ? &exchange->asked : NULL,
		       continues);
	connection_close_server(connection, "error");
	/* The end of a body that the server did not take must not be read as a request. */
	connection->from_client.at = connection->from_client.passed;
	connection->stage = continues ? STAGE_HEAD : STAGE_CLOSE;
	connection_wait_for_request(connection);
	return TURN_AGAIN;
}

enum turn connection_refuse(struct connection *connection, unsigned status, const char *reason)
{
	const struct target *target = connection->target;
	const struct http_refusal refusal = {
		.reason = reason,
		.host = target ? &target->authority.host : NULL,
		.port = target ? target->authority.port : 0,
		.why = status == 502 || status == 504
			       ? "the policy allows it, but its server cannot be used"
			       : NULL,
	};

	/* A connection that was made gets its record when it is closed. */
	if (target && !target->is_connected)
		connection_record_server(connection, reason);
	return answer(connection, status, &refusal, true);
}

enum turn connection_refuse_name(struct connection *connection, unsigned status, const char *reason)
{
	const struct target *target = connection->target;
	char host[HOSTNAME_TEXT_SIZE];

	(void)hostname_print(&target->authority.host, host);
	connection_counters(connection)->n_failed++;
	report_unresolved(connection->proxy->report, host, target->authority.port, reason);
	return connection_refuse(connection, status, reason);
}

/* The request could not be read: its connection has no message boundary any more. */
static enum turn refuse_head(struct connection *connection, unsigned status, const char *reason)
{
	const struct http_refusal refusal = { .reason = reason };

	connection->exchange->keeps_client = false;
	return answer(connection, status, &refusal, false);
}

/* Counts and records a denial, of which the last judgement has the texts. */
static void report(struct connection *connection, const char *reason, const char *rule,
		   const char *why, const char *fix, const char *decision)
{
	struct proxy *proxy = connection->proxy;
	char host[HOSTNAME_TEXT_SIZE];

	(void)hostname_print(&connection->target->authority.host, host);
	connection_counters(connection)->n_denied++;
	report_denied(proxy->report,
		      &(const struct report_denial){
			      .host = host,
			      .port = connection->target->authority.port,
			      .reason = reason,
			      .rule = rule,
			      .why = why,
			      .fix = fix,
			      .decision = decision,
		      },
		      moment_now(CLOCK_MONOTONIC));
	proxy_tick_later(proxy);
}

enum turn connection_refuse_denied(struct connection *connection)
{
	_cleanup_text_ struct text rule = TEXT_INIT, why = TEXT_INIT, fix = TEXT_INIT,
				   decision = TEXT_INIT;
	const struct judge *judge = &connection->proxy->judge;
	const struct target *target = connection->target;
	struct http_refusal refusal = { .reason = "denied",
					.host = &target->authority.host,
					.port = target->authority.port };

	judge_add_rule(&rule, judge);
	judge_add_why(&why, judge);
	judge_add_fix(&fix, judge);
	judge_add_json(&decision, judge);
	report(connection, "denied", text_string(&rule), text_string(&why), text_string(&fix),
	       text_string(&decision));
	refusal.rule = rule.len > 0 ? text_string(&rule) : NULL;
	refusal.address = judge->request.request.address;
	refusal.why = text_string(&why);
	refusal.fix = text_string(&fix);
	return answer(connection, 403, &refusal, true);
}

/* ---- tunnels ---- */

static size_t tunnel_allow(void *userdata, size_t wanted)
{
	struct connection *connection = userdata;
	size_t n = proxy_allow(connection->proxy, wanted);

	if (n == 0)
		proxy_tick_later(connection->proxy);
	return n;
}

static void tunnel_moved(void *userdata, enum relay_direction direction, size_t n_bytes)
{
	connection_moved(userdata, direction, n_bytes);
}

static void tunnel_ended(void *userdata, int error)
{
	connection_free(userdata, error ? "error" : "end");
}

static const struct relay_hooks tunnel_hooks = { .allow = tunnel_allow,
						 .moved = tunnel_moved,
						 .ended = tunnel_ended };

static int add_buffer(struct connection *connection, enum relay_direction direction,
		      const struct buffer *buffer)
{
	size_t n = buffer->end - buffer->at;

	connection_moved(connection, direction, n);
	return n > 0 ? relay_add(&connection->relay, direction, buffer->data + buffer->at, n) : 0;
}

/* Hands over what was read ahead of the tunnel, in both directions. */
static int fill_relay(struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;
	const struct text *pending = &exchange->answer;
	int r = text_status(pending);

	if (r < 0)
		return r;
	if (pending->len > exchange->n_answer_sent) {
		r = relay_add(&connection->relay, RELAY_DOWN,
			      pending->data + exchange->n_answer_sent,
			      pending->len - exchange->n_answer_sent);
		if (r < 0)
			return r;
	}
	r = add_buffer(connection, RELAY_DOWN, &exchange->from_server);
	return r < 0 ? r : add_buffer(connection, RELAY_UP, &connection->from_client);
}

static enum turn hold_tunnel(struct connection *connection)
{
	if (connection->stage != STAGE_HOLD)
		connection_set_deadline(connection, connection->proxy->with.timeouts.idle_usec);
	connection->stage = STAGE_HOLD;
	connection_wait(connection, 0, 0);
	proxy_tick_later(connection->proxy);
	return TURN_WAIT;
}

static enum turn open_tunnel(struct connection *connection)
{
	struct proxy *proxy = connection->proxy;
	int r;

	(void)ready_wait(proxy->with.ready, &connection->client, 0);
	(void)ready_wait(proxy->with.ready, &connection->server, 0);
	connection->stage = STAGE_TUNNEL;
	connection_counters(connection)->n_tunnels++;
	connection_set_deadline(connection, proxy->with.timeouts.idle_usec);
	r = relay_init(&connection->relay, proxy->pool, proxy->with.ready, connection->client.fd,
		       connection->server.fd, &tunnel_hooks, connection);
	if (r == 0)
		r = fill_relay(connection);
	connection->from_client = (struct buffer){ .data = NULL };
	connection->exchange = exchange_free(connection->exchange);
	if (r == 0)
		r = relay_start(&connection->relay);
	if (r < 0) {
		connection_free(connection, "error");
		return TURN_GONE;
	}
	return TURN_WAIT;
}

/* Bytes that came before the tunnel leave at once, and count: else many short tunnels would have
 * no limit. */
enum turn connection_begin_tunnel(struct connection *connection)
{
	const struct buffer *up = &connection->from_client;
	const struct buffer *down = &connection->exchange->from_server;
	size_t n_early = up->end - up->at + down->end - down->at;

	if (n_early > proxy_count_bytes_left(connection->proxy)) {
		connection_free(connection, "limit");
		return TURN_GONE;
	}
	if (n_early > 0 && proxy_allow(connection->proxy, 1) == 0)
		return hold_tunnel(connection);
	return open_tunnel(connection);
}

/* ---- the ClientHello ---- */

/* TLS shows its user this alert (access_denied); a closed connection explains nothing. */
static const char alert[] = "\x15\x03\x03\x00\x02\x02\x31";

static enum turn refuse_hello(struct connection *connection, const char *reason, const char *name,
			      bool is_tls)
{
	_cleanup_text_ struct text rule = TEXT_INIT, fix = TEXT_INIT, decision = TEXT_INIT;
	struct proxy *proxy = connection->proxy;

	judge_add_rule(&rule, &proxy->judge);
	text_add(&fix, "if bytes other than TLS with this server name may pass, ");
	if (rule.len > 0)
		text_addf(&fix, "add to the rule %s:", text_string(&rule));
	else
		text_add(&fix, "allow the host by a rule of its own, with:");
	text_add(&fix, "\n  constraints: { tls: any }");
	judge_add_constraint_json(&decision, &proxy->judge, reason, name, text_string(&fix));
	report(connection, reason, text_string(&rule), "", text_string(&fix),
	       text_string(&decision));
	if (is_tls)
		text_add_bytes(&connection->exchange->answer, alert, sizeof(alert) - 1);
	connection_close_server(connection, "policy");
	connection->stage = STAGE_CLOSE;
	connection_set_deadline(connection, CLOSE_USEC);
	return TURN_AGAIN;
}

static enum judgement judge_again(struct connection *connection, const struct hostname *host)
{
	const struct target *target = connection->target;
	const struct resolver_address *address =
		target->next > 0 ? &target->addresses[target->next - 1] : NULL;

	/* A request about an address has no other one. */
	if (host->kind != HOSTNAME_DNS)
		address = NULL;
	return judge_host(&connection->proxy->judge, host, target->authority.port, address);
}

/* A tunnel to an address carries any name that the policy allows there, or none. */
static bool is_name_allowed(struct connection *connection, const char *name)
{
	struct target *target = connection->target;
	struct hostname host;

	if (hostname_read(name, strlen(name), &host) != HOSTNAME_OK)
		return false;
	if (target->authority.host.kind == HOSTNAME_DNS || host.kind != HOSTNAME_DNS)
		return hostname_equal(&host, &target->authority.host);
	if (judge_again(connection, &host) != JUDGED_ALLOWED)
		return false;
	free(target->server_name);
	target->server_name = strdup(name);
	return target->server_name != NULL;
}

static enum turn judge_hello(struct connection *connection, enum hello_kind kind, const char *name)
{
	bool is_named = connection->target->authority.host.kind == HOSTNAME_DNS;
	const char *reason = NULL;

	if (kind == HELLO_NAMED && !is_name_allowed(connection, name))
		reason = "server-name-differs";
	else if (kind == HELLO_NAMELESS && is_named)
		reason = "server-name-missing";
	else if (kind == HELLO_NO_TLS)
		reason = "not-tls";
	else if (kind == HELLO_INVALID)
		reason = "client-hello-invalid";
	if (!reason)
		return connection_begin_tunnel(connection);
	(void)judge_again(connection, &connection->target->authority.host);
	return refuse_hello(connection, reason, kind == HELLO_NAMED ? name : NULL,
			    kind != HELLO_NO_TLS);
}

static enum turn hello_turn(struct connection *connection)
{
	struct buffer *buffer = &connection->from_client;
	int pending = exchange_send_answer(connection->exchange, connection->client.fd);
	struct hello hello;

	while (pending == 0 || pending == -EAGAIN) {
		enum hello_kind kind = buffer->end > buffer->at
					       ? hello_read(buffer->data + buffer->at,
							    buffer->end - buffer->at, &hello)
					       : HELLO_INCOMPLETE;
		long n;

		if (kind != HELLO_INCOMPLETE)
			return judge_hello(connection, kind, hello.name);
		n = buffer_receive(buffer, connection->client.fd, BUFFER_SIZE);
		if (n == -ENOBUFS)
			return judge_hello(connection, HELLO_INVALID, NULL);
		if (n == -EAGAIN) {
			connection_wait(connection, EPOLLIN | (pending < 0 ? EPOLLOUT : 0), 0);
			return TURN_WAIT;
		}
		if (n <= 0)
			break;
	}
	connection_free(connection, "end");
	return TURN_GONE;
}

/* ---- a request ---- */

static int set_target(struct connection *connection, const struct http_authority *authority)
{
	connection_close_server(connection, "end");
	connection->target = calloc(1, sizeof(*connection->target));
	if (!connection->target)
		return -ENOMEM;
	connection->target->authority = *authority;
	return 0;
}

/* Bytes that an idle server has sent answer no request, and its end leaves no connection. */
static bool is_server_quiet(const struct connection *connection)
{
	char byte;

	return recv(connection->server.fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

/* The next request of a client for the same server uses the open connection, if its address is
 * still allowed. */
static bool can_reuse(struct connection *connection, const struct http_request *request)
{
	const struct target *target = connection->target;

	return target && target->is_connected && connection->server.fd >= 0 &&
	       !request->is_connect && is_server_quiet(connection) &&
	       http_authority_equal(&target->authority, &request->authority);
}

static enum turn reuse(struct connection *connection)
{
	if (judge_again(connection, &connection->target->authority.host) != JUDGED_ALLOWED)
		return connection_refuse_denied(connection);
	connection->target->n_requests++;
	connection->stage = STAGE_EXCHANGE;
	connection_set_deadline(connection, connection->proxy->with.timeouts.idle_usec);
	return TURN_AGAIN;
}

static enum turn judge_request(struct connection *connection, const struct http_request *request)
{
	struct proxy *proxy = connection->proxy;
	enum judgement judgement;

	if (can_reuse(connection, request))
		return reuse(connection);
	if (set_target(connection, &request->authority) < 0)
		return connection_refuse(connection, 503, "no-memory");
	judgement =
		judge_host(&proxy->judge, &request->authority.host, request->authority.port, NULL);
	if (judgement == JUDGED_DENIED)
		return connection_refuse_denied(connection);
	return request->authority.host.kind == HOSTNAME_DNS ? dial_name(connection)
							    : dial_literal(connection);
}

static enum turn begin_request(struct connection *connection, const struct http_request *request)
{
	struct proxy *proxy = connection->proxy;

	connection_counters(connection)->n_requests++;
	connection->n_requests++;
	exchange_begin(connection->exchange, request);
	if (text_status(&connection->exchange->head) < 0)
		return connection_refuse(connection, 503, "no-memory");
	if (report_is_lost(proxy->report))
		return connection_refuse(connection, 503, "records-lost");
	if (!proxy_has_bytes_left(proxy))
		return connection_refuse(connection, 403, "byte-limit");
	return judge_request(connection, request);
}

/* ---- reading a head ---- */

static enum turn read_request(struct connection *connection)
{
	struct buffer *buffer = &connection->from_client;
	struct http_request request;
	long n = http_request_read(&connection->reader, buffer->data + buffer->at,
				   buffer->end - buffer->at, HTTP_PROXY, &request);

	if (n < 0) {
		connection_counters(connection)->n_malformed++;
		return refuse_head(connection, http_fault_status(connection->reader.fault),
				   http_fault_word(connection->reader.fault));
	}
	if (n == 0)
		return TURN_WAIT;
	buffer->at += (size_t)n;
	buffer->passed = buffer->at;
	return begin_request(connection, &request);
}

static enum turn head_turn(struct connection *connection)
{
	struct buffer *buffer = &connection->from_client;
	int pending = exchange_send_answer(connection->exchange, connection->client.fd);
	long n = 0;

	if (pending == -EAGAIN) {
		connection_wait(connection, EPOLLOUT, EPOLLIN);
		return TURN_WAIT;
	}
	while (pending == 0) {
		bool is_first = buffer->end == buffer->at;
		enum turn turn = is_first ? TURN_WAIT : read_request(connection);

		if (turn != TURN_WAIT || connection->stage != STAGE_HEAD)
			return turn;
		n = buffer_receive(buffer, connection->client.fd, BUFFER_SIZE);
		if (n == -EAGAIN) {
			connection_wait(connection, EPOLLIN, EPOLLIN);
			return TURN_WAIT;
		}
		if (n <= 0)
			break;
		buffer->passed = buffer->at;
		/* The first head has its deadline since accept(). */
		if (is_first && connection->n_requests > 0)
			begin_head(connection);
	}
	connection_free(connection, "end");
	return TURN_GONE;
}

/* ---- the end ---- */

/* 0: the client may send more, else it has nothing more to say. */
static int drop_input(struct connection *connection)
{
	char dropped[4096];
	ssize_t n;

	for (size_t n_dropped = 0; n_dropped < DROPPED_MAX; n_dropped += (size_t)n) {
		n = recv(connection->client.fd, dropped, sizeof(dropped), 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -ECONNRESET;
	}
	return -ECONNRESET;
}

static enum turn close_turn(struct connection *connection)
{
	int pending = exchange_send_answer(connection->exchange, connection->client.fd);

	connection_close_server(connection, "end");
	if (pending == -EAGAIN) {
		connection_wait(connection, EPOLLOUT, 0);
		return TURN_WAIT;
	}
	if (pending < 0 || shutdown(connection->client.fd, SHUT_WR) < 0 ||
	    connection->client_ended || drop_input(connection) < 0) {
		connection_free(connection, "end");
		return TURN_GONE;
	}
	connection_wait(connection, EPOLLIN, 0);
	return TURN_WAIT;
}

/* Until the name is resolved, only the end of the client matters. */
static enum turn resolve_turn(struct connection *connection)
{
	return TURN_WAIT;
}

static enum turn tunnel_turn(struct connection *connection)
{
	relay_resume(&connection->relay);
	return TURN_GONE;
}

void connection_turn(struct connection *connection)
{
	static enum turn (*const turns[])(struct connection * connection) = {
		[STAGE_HEAD] = head_turn,	  [STAGE_RESOLVE] = resolve_turn,
		[STAGE_DIAL] = resolve_turn,	  [STAGE_HELLO] = hello_turn,
		[STAGE_EXCHANGE] = exchange_turn, [STAGE_HOLD] = connection_begin_tunnel,
		[STAGE_TUNNEL] = tunnel_turn,	  [STAGE_CLOSE] = close_turn,
	};

	while (turns[connection->stage](connection) == TURN_AGAIN)
		;
}

static void continue_after(struct connection *connection, enum turn turn)
{
	if (turn == TURN_AGAIN)
		connection_turn(connection);
}

static void serve_client(struct ready_socket *socket, uint32_t events)
{
	struct connection *connection =
		(struct connection *)((char *)socket - offsetof(struct connection, client));

	if (events & (EPOLLHUP | EPOLLERR))
		connection_free(connection, "client");
	else
		connection_turn(connection);
}

static void serve_server(struct ready_socket *socket, uint32_t events)
{
	struct connection *connection =
		(struct connection *)((char *)socket - offsetof(struct connection, server));

	if (connection->stage == STAGE_DIAL)
		continue_after(connection, dial_turn(connection));
	else if (connection->stage == STAGE_HEAD)
		/* The end of an idle connection, or bytes that answer no request. */
		connection_close_server(connection, "end");
	else if (connection->stage == STAGE_HELLO || connection->stage == STAGE_HOLD)
		connection_free(connection, "server");
	else
		connection_turn(connection);
}

/* ---- life ---- */

bool connection_is_idle(const struct connection *connection)
{
	return connection->stage == STAGE_HEAD &&
	       connection->from_client.end == connection->from_client.at &&
	       connection->n_requests > 0;
}

/* The others were decided by the old policy: a server that is tried again is this one. */
static void keep_one_address(struct target *target)
{
	if (target->next == 0)
		return;
	target->addresses[0] = target->addresses[target->next - 1];
	target->n_addresses = target->next = 1;
}

bool connection_is_allowed(struct connection *connection)
{
	struct target *target = connection->target;
	struct hostname name;

	if (!target)
		return true;
	keep_one_address(target);
	if (judge_again(connection, &target->authority.host) == JUDGED_DENIED ||
	    (target->allows_any_bytes && !judge_allows_any_bytes(&connection->proxy->judge)))
		return false;
	return !target->server_name ||
	       (hostname_read(target->server_name, strlen(target->server_name), &name) ==
			HOSTNAME_OK &&
		judge_again(connection, &name) == JUDGED_ALLOWED);
}

static void time_out_dial(struct connection *connection)
{
	continue_after(connection, dial_next_address(connection, -ETIMEDOUT));
}

static void time_out_with(struct connection *connection, unsigned status, const char *reason)
{
	if (connection->stage != STAGE_HEAD)
		connection_counters(connection)->n_failed++;
	continue_after(connection, connection_refuse(connection, status, reason));
}

static void time_out_head(struct connection *connection)
{
	if (connection->from_client.end == connection->from_client.at) {
		connection_free(connection, "idle");
		return;
	}
	connection_counters(connection)->n_malformed++;
	continue_after(connection, refuse_head(connection, 408, "head-timeout"));
}

static void time_out_hello(struct connection *connection)
{
	(void)judge_again(connection, &connection->target->authority.host);
	continue_after(connection, refuse_hello(connection, "client-hello-timeout", NULL, false));
}

static void time_out_exchange(struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;

	if (exchange->has_begun || exchange->answer.len > 0)
		connection_free(connection, "idle");
	else
		time_out_with(connection, 504, "server-timed-out");
}

static void time_out_resolve(struct connection *connection)
{
	continue_after(connection,
		       connection_refuse_name(connection, 504, "name-server-timed-out"));
}

static void time_out_close(struct connection *connection)
{
	connection_free(connection, "idle");
}

void connection_time_out(struct connection *connection)
{
	static void (*const time_outs[])(struct connection * connection) = {
		[STAGE_HEAD] = time_out_head,	      [STAGE_RESOLVE] = time_out_resolve,
		[STAGE_DIAL] = time_out_dial,	      [STAGE_HELLO] = time_out_hello,
		[STAGE_EXCHANGE] = time_out_exchange, [STAGE_HOLD] = time_out_close,
		[STAGE_TUNNEL] = time_out_close,      [STAGE_CLOSE] = time_out_close,
	};

	time_outs[connection->stage](connection);
}

static void unlink_connection(struct connection *connection)
{
	struct proxy *proxy = connection->proxy;

	if (connection->next)
		connection->next->previous = connection->previous;
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		proxy->connections = connection->next;
}

void connection_free(struct connection *connection, const char *cause)
{
	struct proxy *proxy = connection->proxy;

	if (connection->stage == STAGE_TUNNEL) {
		relay_deinit(&connection->relay);
		proxy->with.counters->n_tunnels--;
	} else {
		(void)ready_wait(proxy->with.ready, &connection->client, 0);
	}
	/* The question to the DNS, or the first packet to the server, may have left already. */
	if (connection->target && !connection->target->is_connected)
		connection_record_server(connection, cause);
	connection_close_server(connection, cause);
	close_fd(&connection->client.fd);
	unlink_connection(connection);
	(void)exchange_free(connection->exchange);
	free(connection);
	proxy->with.counters->n_open--;
	proxy_make_room(proxy);
}

/* The owner of the listener chooses options that accept() inherits: with SO_LINGER close() would
 * block. */
static void set_options(int fd)
{
	const struct linger none = { .l_onoff = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	connection_no_delay(fd);
}

int connection_new(struct proxy *proxy, int fd)
{
	_cleanup_close_ int owned = fd;
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return -ENOMEM;
	if (exchange_new(&connection->exchange) < 0) {
		free(connection);
		return -ENOMEM;
	}
	connection->from_client.data = connection->exchange->client_bytes;
	set_options(fd);
	connection->proxy = proxy;
	connection->client = (struct ready_socket){ .fd = take_fd(&owned), .serve = serve_client };
	connection->server = (struct ready_socket){ .fd = -EBADF, .serve = serve_server };
	connection->next = proxy->connections;
	if (connection->next)
		connection->next->previous = connection;
	proxy->connections = connection;
	proxy->with.counters->n_accepted++;
	proxy->with.counters->n_open++;
	begin_head(connection);
	connection_turn(connection);
	return 0;
}
