/* SPDX-License-Identifier: MIT */

/*
 * A connection: connect(), then one relay for each direction
 *
 * The end of one direction is passed on as the end of that direction; the connection is over when
 * both are, or when one side does not take what comes.
 *
 * The kernel completes the handshake of a listener's connection before anybody accepts it. So where
 * no program listens on the other side, connect() has succeeded already when that is known; the
 * nearest thing to a refusal is a reset, which no program takes for an empty answer.
 */

#include "spawn/connection.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

struct sockaddr_in connection_address(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static void relay_changed(struct relay *relay, void *userdata)
{
	struct connection *connection = userdata;

	if (relay->has_failed || (connection->there.has_ended && connection->back.has_ended))
		connection->ended(connection, connection->userdata);
	else
		(void)shutdown(relay->to, SHUT_WR);
}

static int begin_relay(struct connection *connection, struct relay *relay, int from, int to)
{
	relay->changed = relay_changed;
	relay->userdata = connection;
	return relay_begin(relay, connection->loop, from, to);
}

static int begin_relays(struct connection *connection)
{
	int r = begin_relay(connection, &connection->there, connection->accepted,
			    connection->connected);

	if (r < 0)
		return r;
	return begin_relay(connection, &connection->back, connection->connected,
			   connection->accepted);
}

static int connect_ready(struct source *source, short events)
{
	struct connection *connection = source->userdata;
	int error = 0;
	socklen_t size = sizeof(error);

	loop_remove(connection->loop, source);
	if (getsockopt(connection->connected, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error ||
	    begin_relays(connection) < 0)
		connection->ended(connection, connection->userdata);
	return 0;
}

void connection_refuse(int fd)
{
	/* Without a time to linger close() sends RST instead of FIN. */
	static const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)close(fd);
}

static int start(struct connection *connection, uint16_t port)
{
	struct sockaddr_in address = connection_address(port);

	if (connect(connection->connected, (const struct sockaddr *)&address, sizeof(address)) <
		    0 &&
	    errno != EINPROGRESS)
		return -errno;
	connection->connecting = (struct source){
		.fd = connection->connected,
		.events = POLLOUT,
		.ready = connect_ready,
		.userdata = connection,
	};
	return loop_add(connection->loop, &connection->connecting);
}

int connection_new(struct loop *loop, int accepted, int socket, uint16_t port,
		   void (*ended)(struct connection *connection, void *userdata), void *userdata,
		   struct connection **ret)
{
	_cleanup_close_ int first = accepted, second = socket;
	struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection)
		return -ENOMEM;
	*connection = (struct connection){
		.loop = loop,
		.accepted = take_fd(&first),
		.connected = take_fd(&second),
		.connecting = { .fd = -EBADF },
		.there = RELAY_INIT,
		.back = RELAY_INIT,
		.ended = ended,
		.userdata = userdata,
	};
	r = start(connection, port);
	if (r < 0) {
		(void)connection_free(connection);
		return r;
	}
	*ret = connection;
	return 0;
}

struct connection *connection_free(struct connection *connection)
{
	if (!connection)
		return NULL;
	loop_remove(connection->loop, &connection->connecting);
	if (!connection->there.loop)
		connection_refuse(take_fd(&connection->accepted));
	relay_deinit(&connection->there);
	relay_deinit(&connection->back);
	close_fd(&connection->accepted);
	close_fd(&connection->connected);
	free(connection);
	return NULL;
}
