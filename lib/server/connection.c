/* SPDX-License-Identifier: MIT */

/*
 * One client
 *
 * It has one packet in work and nothing else: while an answer waits for the extensions or for room
 * in the socket, no further packet is read. What a client sends faster stays in its socket, where
 * the kernel makes it wait; so a client that does not read its answers costs one answer's memory.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "server/facts.h"
#include "server/process.h"
#include "server/question.h"
#include "server/server-internal.h"
#include "service/clients.h"
#include "service/peer.h"
#include "service/ready.h"
#include "service/service.h"

struct connection {
	struct server *server;
	struct connection *next, *previous;
	struct ready_socket socket;
	struct clients_member member;
	struct question question;
};

enum turn {
	TURN_NEXT,    /* the next packet can be read */
	TURN_BLOCKED, /* something has to happen first */
	TURN_OVER,    /* the client has gone */
};

static void connection_free(struct connection *connection)
{
	struct server *server = connection->server;

	*(connection->previous ? &connection->previous->next : &server->connections) =
		connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	server->n_connections--;
	clients_leave(&server->clients, &connection->member);
	ready_remove(server->options.ready, &connection->socket);
	question_deinit(&connection->question);
	close_fd(&connection->socket.fd);
	free(connection);
	if (server->options.service)
		service_client_gone(server->options.service);
	server_status_changed(server);
}

void connection_free_all(struct server *server)
{
	while (server->connections)
		connection_free(server->connections);
}

void connection_drop(struct clients_member *member)
{
	connection_free(
		(struct connection *)((char *)member - offsetof(struct connection, member)));
}

static void wait_for(struct connection *connection, uint32_t events)
{
	(void)ready_change(connection->server->options.ready, &connection->socket, events);
}

/* ---- answers ---- */

/* An answer can be longer than a socket takes: thousands of rules may have agreed. */
static void shorten(struct connection *connection)
{
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EMSGSIZE, "the answer is too long for one packet");
	sbx_error_why(&err, "%zu bytes", connection->question.answer.len);
	sbx_error_fix(&err, "ask with a shorter request, or make one rule of many");
	question_refuse(&connection->question, "error", &err);
}

static enum turn send_answer(struct connection *connection)
{
	struct text *answer = &connection->question.answer;
	bool is_shortened = false;

	for (;;) {
		/* Without memory for an answer there is none: the client sees the connection end,
		 * which is no permission. */
		if (text_status(answer) < 0)
			return TURN_OVER;
		if (send(connection->socket.fd, answer->data, answer->len,
			 MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			break;
		if (errno == EAGAIN) {
			wait_for(connection, EPOLLOUT);
			return TURN_BLOCKED;
		}
		if (errno == EMSGSIZE && !is_shortened) {
			shorten(connection);
			is_shortened = true;
		} else if (errno != EINTR) {
			return TURN_OVER;
		}
	}
	text_reset(answer);
	return TURN_NEXT;
}

/* ---- packets ---- */

static void refuse_length(struct connection *connection, size_t n_bytes)
{
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, -EMSGSIZE, "the packet is too long: %zu bytes", n_bytes);
	sbx_error_fix(&err, "send at most %d bytes", REQUEST_BYTES_MAX);
	connection->question.has_request = false;
	connection->question.sandbox_id = "";
	question_refuse(&connection->question, "bad_request", &err);
}

/* An empty packet looks like the end, and is taken for it. */
static enum turn take_packet(struct connection *connection)
{
	struct server *server = connection->server;
	ssize_t n = recv(connection->socket.fd, server->packet, REQUEST_BYTES_MAX + 1,
			 MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? TURN_BLOCKED : TURN_OVER;
	if (n == 0)
		return TURN_OVER;
	server_status_changed(server);
	clients_active(&server->clients, &connection->member);
	if (n > REQUEST_BYTES_MAX) {
		refuse_length(connection, (size_t)n);
	} else if (question_begin(&connection->question, server->packet, (size_t)n) == 0) {
		connection->member.is_busy = true;
		wait_for(connection, 0);
		return TURN_BLOCKED;
	}
	return send_answer(connection);
}

static void on_votes(struct question *question, void *userdata)
{
	struct connection *connection = userdata;

	connection->member.is_busy = false;
	switch (send_answer(connection)) {
	case TURN_NEXT:
		wait_for(connection, EPOLLIN);
		break;
	case TURN_BLOCKED:
		break;
	case TURN_OVER:
		connection_free(connection);
		break;
	}
}

static void serve(struct ready_socket *socket, uint32_t events)
{
	struct connection *connection =
		(struct connection *)((char *)socket - offsetof(struct connection, socket));
	enum turn turn = TURN_NEXT;

	if ((events & EPOLLOUT) != 0) {
		turn = send_answer(connection);
		if (turn == TURN_NEXT)
			wait_for(connection, EPOLLIN);
	} else if ((events & EPOLLIN) != 0) {
		/* One: asking for a second that is mostly not there costs every client more than
		 * another turn of the loop costs the few that send ahead. */
		turn = take_packet(connection);
	} else {
		/* Hung up, while its answer is being worked out or cannot be sent. */
		turn = TURN_OVER;
	}
	if (turn == TURN_OVER)
		connection_free(connection);
}

/* ---- connections ---- */

/* Who this is, by the kernel's word and the socket's. */
static int identify(const struct server *server, const char *listener_name, const struct peer *peer,
		    struct asker *ret)
{
	size_t n_prefix = strlen(SERVER_SANDBOX_PREFIX);
	bool is_main = strcmp(listener_name, SERVER_MAIN_SOCKET) == 0;

	*ret = (struct asker){ .pid = peer->pid, .uid = peer->uid, .place = peer->place };
	ret->is_trusted = is_main && peer->place == PLACE_BESIDE &&
			  (peer->uid == 0 || peer->uid == geteuid());
	if (process_identify(peer->pid, peer->pidfd, &ret->process_id) < 0)
		ret->process_id = 0;
	if (is_main)
		return 0;
	if (strncmp(listener_name, SERVER_SANDBOX_PREFIX, n_prefix) == 0)
		ret->facts = facts_find(server->options.sandboxes, listener_name + n_prefix,
					strlen(listener_name + n_prefix));
	return ret->facts ? 0 : -ENOENT;
}

static int admit(struct server *server, struct connection *connection)
{
	const struct asker *asker = &connection->question.asker;
	const struct clients_who who = {
		.is_trusted = asker->is_trusted,
		.uid = asker->uid,
		.sandbox = asker->facts,
	};

	return clients_admit(&server->clients, &connection->member, &who);
}

static void add(struct server *server, struct connection *connection)
{
	connection->next = server->connections;
	if (connection->next)
		connection->next->previous = connection;
	server->connections = connection;
	server->n_connections++;
	server_status_changed(server);
}

int server_accept(struct server *server, const char *listener_name, int fd, const struct peer *peer)
{
	_cleanup_close_ int client = fd;
	_cleanup_free_ struct connection *connection = calloc(1, sizeof(*connection));
	struct question *question;
	int r;

	if (!connection)
		return -ENOMEM;
	question = &connection->question;
	r = identify(server, listener_name, peer, &question->asker);
	if (r >= 0)
		r = admit(server, connection);
	if (r < 0)
		return r;
	connection->socket = (struct ready_socket){ .fd = client, .serve = serve };
	r = ready_add(server->options.ready, &connection->socket, EPOLLIN);
	if (r < 0) {
		clients_leave(&server->clients, &connection->member);
		return r;
	}
	question->server = connection->server = server;
	question->done = on_votes;
	question->userdata = connection;
	(void)take_fd(&client);
	add(server, take_ptr(connection));
	return 0;
}
