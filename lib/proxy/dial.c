/* SPDX-License-Identifier: MIT */

/*
 * Connecting to the server of a request: its name is resolved, its addresses are decided, then they
 * are tried one after the other
 */

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/text.h"
#include "proxy/proxy-internal.h"

/* ---- connecting ---- */

static enum turn connected(struct connection *connection)
{
	struct target *target = connection->target;
	struct exchange *exchange = connection->exchange;
	const struct proxy_timeouts *timeouts = &connection->proxy->with.timeouts;

	connection_no_delay(connection->server.fd);
	target->is_connected = true;
	target->since_usec = moment_now(CLOCK_MONOTONIC);
	target->n_requests++;
	if (!exchange->asked.is_connect) {
		connection->stage = STAGE_EXCHANGE;
		connection_set_deadline(connection, timeouts->idle_usec);
		return TURN_AGAIN;
	}
	text_add(&exchange->answer, "HTTP/1.1 200 Connection established\r\n\r\n");
	if (target->allows_any_bytes)
		return connection_begin_tunnel(connection);
	connection->stage = STAGE_HELLO;
	connection_set_deadline(connection, timeouts->hello_usec);
	return TURN_AGAIN;
}

static socklen_t fill_sockaddr(const struct resolver_address *from, uint16_t port,
			       struct sockaddr_storage *ret)
{
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)ret;

	*ret = (struct sockaddr_storage){ .ss_family = from->is_ipv6 ? AF_INET6 : AF_INET };
	if (from->is_ipv6) {
		ipv6->sin6_port = htons(port);
		memcpy(&ipv6->sin6_addr, from->bytes, 16);
		return sizeof(*ipv6);
	}
	ipv4->sin_port = htons(port);
	memcpy(&ipv4->sin_addr, from->bytes, 4);
	return sizeof(*ipv4);
}

/* 0: connected, -EINPROGRESS, or negative errno. */
static int try_address(struct connection *connection, const struct resolver_address *address)
{
	struct sockaddr_storage to;
	socklen_t size = fill_sockaddr(address, connection->target->authority.port, &to);
	int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	connection->server.fd = fd;
	return connect(fd, (const struct sockaddr *)&to, size) < 0 ? -errno : 0;
}

static enum turn refuse_dial(struct connection *connection, int error)
{
	static const struct {
		int error;
		unsigned status;
		const char *reason;
	} rows[] = {
		{ -ECONNREFUSED, 502, "connection-refused" },
		{ -ETIMEDOUT, 504, "connection-timed-out" },
		{ -EMFILE, 503, "too-many-connections" },
		{ -ENFILE, 503, "too-many-connections" },
	};

	connection_counters(connection)->n_failed++;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (rows[i].error == error)
			return connection_refuse(connection, rows[i].status, rows[i].reason);
	return connection_refuse(connection, 502, "unreachable");
}

enum turn dial_next_address(struct connection *connection, int error)
{
	struct target *target = connection->target;

	while (target->next < target->n_addresses) {
		connection_close_socket(connection);
		error = try_address(connection, &target->addresses[target->next++]);
		if (error == 0)
			return connected(connection);
		if (error == -EINPROGRESS) {
			/* Each address gets an equal part of the time that is left. */
			connection_set_deadline(connection,
						connection->proxy->with.timeouts.dial_usec /
							target->n_addresses);
			connection_wait(connection, 0, EPOLLOUT);
			return TURN_WAIT;
		}
	}
	return refuse_dial(connection, error);
}

static enum turn dial(struct connection *connection)
{
	connection->stage = STAGE_DIAL;
	connection->target->next = 0;
	return dial_next_address(connection, -EHOSTUNREACH);
}

enum turn dial_again(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;

	connection_record_server(connection, "end");
	connection->target->is_connected = false;
	connection->target->n_requests = 0;
	connection->target->bytes_up = connection->target->bytes_down = 0;
	connection_close_socket(connection);
	exchange->n_head_sent = 0;
	exchange->up_failed = false;
	return dial(connection);
}

enum turn dial_turn(struct connection *connection)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(connection->server.fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	return error ? dial_next_address(connection, -error) : connected(connection);
}

/* ---- resolving ---- */

/* For the record of the connection. */
static void keep_rule(struct target *target, const struct judge *judge)
{
	_cleanup_text_ struct text rule = TEXT_INIT;

	judge_add_rule(&rule, judge);
	target->rule = text_take(&rule);
}

/* One denied address refuses the name: the next answer could have them in another order. */
static enum turn judge_addresses(struct connection *connection)
{
	struct target *target = connection->target;
	struct judge *judge = &connection->proxy->judge;

	target->allows_any_bytes = true;
	for (size_t i = 0; i < target->n_addresses; i++) {
		if (judge_host(judge, &target->authority.host, target->authority.port,
			       &target->addresses[i]) != JUDGED_ALLOWED)
			return connection_refuse_denied(connection);
		target->allows_any_bytes =
			target->allows_any_bytes && judge_allows_any_bytes(judge);
	}
	keep_rule(target, judge);
	return dial(connection);
}

static enum turn take_answer(struct connection *connection, const struct resolver_answer *answer)
{
	static const struct {
		unsigned status;
		const char *reason;
	} refusals[] = {
		[RESOLVER_NOT_FOUND] = { 502, "name-not-found" },
		[RESOLVER_FAILED] = { 502, "name-server-failed" },
		[RESOLVER_TIMED_OUT] = { 504, "name-server-timed-out" },
		[RESOLVER_TOO_MANY] = { 502, "too-many-addresses" },
	};
	struct target *target = connection->target;

	if (answer->status != RESOLVER_FOUND || answer->n == 0) {
		enum resolver_status status =
			answer->status == RESOLVER_FOUND ? RESOLVER_NOT_FOUND : answer->status;

		return connection_refuse_name(connection, refusals[status].status,
					      refusals[status].reason);
	}
	memcpy(target->addresses, answer->addresses, answer->n * sizeof(*answer->addresses));
	target->n_addresses = answer->n;
	return judge_addresses(connection);
}

static void answered(void *userdata, const struct resolver_answer *answer)
{
	struct connection *connection = userdata;

	connection->query = NULL;
	if (take_answer(connection, answer) == TURN_AGAIN)
		connection_turn(connection);
}

enum turn dial_name(struct connection *connection)
{
	struct proxy *proxy = connection->proxy;
	int r;

	connection->stage = STAGE_RESOLVE;
	connection_set_deadline(connection, proxy->with.timeouts.dial_usec);
	r = resolver_ask(proxy->with.resolver, connection->target->authority.host.name, answered,
			 connection, &connection->query);
	if (r < 0)
		return connection_refuse_name(connection, 502, "name-server-failed");
	connection_wait(connection, 0, 0);
	return TURN_WAIT;
}

static void take_address(struct target *target)
{
	const struct hostname *host = &target->authority.host;

	target->n_addresses = 1;
	target->addresses[0].is_ipv6 = host->kind == HOSTNAME_IPV6;
	memcpy(target->addresses[0].bytes, host->bytes, host->kind == HOSTNAME_IPV6 ? 16 : 4);
}

enum turn dial_literal(struct connection *connection)
{
	const struct judge *judge = &connection->proxy->judge;

	take_address(connection->target);
	connection->target->allows_any_bytes = judge_allows_any_bytes(judge);
	keep_rule(connection->target, judge);
	return dial(connection);
}
