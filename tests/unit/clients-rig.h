/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An echo service in this process, and hostile clients of it. It echoes each packet; "hold" is
 * answered by release(), "mute" is not answered, "fd" is answered with an fd of a file, "take"
 * keeps the fds that came with it, "end" closes the connection, "bounce" is answered and then
 * released.
 */

#include "service/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "service/peer.h"
#include "service/ready.h"
#include "test.h"

#define DEADLINE_MSEC 60000
#define MAIN "main"
#define SANDBOX "sandbox"
#define STRANGER 12345
#define N_BYTES_MAX 1024
#define NEVER_USEC UINT64_MAX

struct echo;

struct caller {
	struct echo *echo;
	struct caller *next;
	struct client *client;
	uid_t uid;
	unsigned n_held;
};

struct echo {
	sd_event *event;
	struct ready *ready;
	struct log log;
	struct client_protocol protocol;
	struct client_limits limits;
	struct clients *clients;
	struct caller *callers;
	unsigned n_messages, n_refused, n_closed, n_left;
	uid_t closed_uid; /* of the client that was closed last */
	bool was_trusted; /* of the client that was opened last */
	bool is_stuck;
	int opened_result;
	int taken[FD_PASS_MAX];
	size_t n_taken;
	int inode_fd; /* inode of the file that "fd" returns */
};

/* ---- the service ---- */

static int on_opened(void *service, struct client *client, const struct client_origin *origin,
		     void **ret_data)
{
	struct echo *echo = service;
	struct caller *caller;

	if (echo->opened_result < 0)
		return echo->opened_result;
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		return -ENOMEM;
	*caller = (struct caller){
		.echo = echo, .next = echo->callers, .client = client, .uid = origin->peer->uid
	};
	echo->callers = caller;
	echo->was_trusted = origin->is_trusted;
	*ret_data = caller;
	return 0;
}

static void hold(struct caller *caller)
{
	caller->n_held++;
	client_hold(caller->client);
}

static void on_message(void *data, const struct client_message *message)
{
	struct caller *caller = data;
	struct echo *echo = caller->echo;

	echo->n_messages++;
	expect(message->bytes[message->n_bytes] == '\0');
	if (strcmp(message->bytes, "hold") == 0)
		hold(caller);
	else if (strcmp(message->bytes, "end") == 0)
		client_end(caller->client);
	else if (strcmp(message->bytes, "fd") == 0)
		expect_eq(client_reply(caller->client, "fd", 2, &echo->inode_fd, 1), 0);
	else if (strcmp(message->bytes, "mute") != 0)
		expect_eq(client_reply(caller->client, message->bytes, message->n_bytes, NULL, 0),
			  0);
	if (strcmp(message->bytes, "bounce") == 0) {
		client_hold(caller->client);
		client_release(caller->client);
	}
	if (strcmp(message->bytes, "take") == 0)
		for (size_t i = 0; i < message->n_fds; i++)
			echo->taken[echo->n_taken++] = take_fd(&message->fds[i]);
}

static void on_refuse(void *data, const struct sbx_error *why)
{
	struct caller *caller = data;

	caller->echo->n_refused++;
	expect_eq(client_reply(caller->client, why->what, strlen(why->what), NULL, 0), 0);
}

static bool may_read(const void *data)
{
	return !((const struct caller *)data)->echo->is_stuck;
}

static void on_closed(void *data)
{
	struct caller *caller = data, **at = &caller->echo->callers;

	while (*at != caller)
		at = &(*at)->next;
	*at = caller->next;
	caller->echo->n_closed++;
	caller->echo->closed_uid = caller->uid;
	free(caller);
}

static void on_left(void *userdata)
{
	((struct echo *)userdata)->n_left++;
}

/* Answers the held message. */
static inline void release(struct echo *echo, const char *answer)
{
	struct caller *caller = echo->callers;

	caller->n_held--;
	expect_eq(client_reply(caller->client, answer, strlen(answer), NULL, 0), 0);
	client_release(caller->client);
}

/* ---- the rig ---- */

static inline struct echo echo_of(void)
{
	return (struct echo){ .log = { .tool = "test",
				       .most = LOG_LEVEL_ERROR,
				       .journal_fd = -EBADF,
				       .stderr_fd = STDERR_FILENO },
			      .protocol = { .trusted_listener = MAIN,
					    .opened = on_opened,
					    .message = on_message,
					    .refuse = on_refuse,
					    .may_read = may_read,
					    .closed = on_closed },
			      .limits = { .n_clients =
						  16, /* a quarter is 4; untrusted clients get 12 */
					  .idle_usec = NEVER_USEC,
					  .n_bytes = N_BYTES_MAX,
					  .n_in_work = 1,
					  .n_per_turn = 1 },
			      .inode_fd = -EBADF };
}

static inline void echo_start(struct echo *echo)
{
	expect(sd_event_new(&echo->event) >= 0);
	expect_eq(ready_new(echo->event, &echo->ready), 0);
	expect_eq(clients_new(echo->ready, &echo->log, &echo->protocol, &echo->limits, echo,
			      &echo->clients),
		  0);
	clients_watch(echo->clients, on_left, echo);
	echo->inode_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static inline void echo_deinit(struct echo *echo)
{
	(void)clients_free(echo->clients);
	expect(echo->callers == NULL);
	expect_eq(echo->n_left, echo->n_closed);
	(void)ready_free(echo->ready);
	(void)sd_event_unref(echo->event);
	fd_close_many(echo->taken, echo->n_taken);
	close_fd(&echo->inode_fd);
}

#define _cleanup_echo_ _cleanup_(echo_deinit)

/* Connects as @uid; the client's end of the connection, or negative errno. */
static inline int connect_as(struct echo *echo, const char *listener, uid_t uid,
			     enum peer_place place)
{
	const struct peer peer = { .pid = 4711, .uid = uid, .pidfd = -EBADF, .place = place };
	int pair[2], r;

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	r = clients_add(echo->clients, listener, pair[1], &peer);
	if (r >= 0)
		return pair[0];
	(void)close(pair[0]);
	return r;
}

static inline int connect_to(struct echo *echo)
{
	return connect_as(echo, MAIN, getuid(), PEER_BESIDE);
}

static inline bool say(int fd, const char *packet)
{
	return send(fd, packet, strlen(packet), MSG_NOSIGNAL) == (ssize_t)strlen(packet);
}

static inline bool is_readable(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, 0) == 1;
}

static inline void turn_all(struct echo *echo)
{
	while (ready_turn(echo->ready, 0) > 0)
		;
}

/* The next reply, "" if the connection was closed. */
static inline const char *hear(struct echo *echo, int fd)
{
	static char bytes[2 * N_BYTES_MAX];
	ssize_t n;

	turn_all(echo);
	if (!is_readable(fd))
		return "(nothing)";
	n = recv(fd, bytes, sizeof(bytes) - 1, 0);
	bytes[n > 0 ? n : 0] = '\0';
	return bytes;
}
