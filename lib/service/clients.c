/* SPDX-License-Identifier: MIT */

/*
 * The server reads a client only while the service takes messages and the client takes its replies;
 * otherwise messages stay in the client's socket, whose full buffer blocks it. So a client costs
 * one connection, the bytes of one message while that is read, and the replies to its messages in
 * work.
 *
 * One list holds all clients, the untrusted ones in the order of their last message: the first of
 * them is the one idle for longest. Untrusted connections are counted per stranger, which is one
 * user at one listener.
 */

#include "service/clients.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/moment.h"
#include "service/listen.h"
#include "service/peer.h"
#include "service/ready.h"
#include "service/unread.h"

/* fds kept free for listeners, the log, timers, extension programs, and the watchdog */
#define FDS_KEPT 128
#define READ_ALL_MAX 65536

struct stranger {
	struct stranger *next;
	const char *listener;
	uid_t uid;
	size_t n_clients;
};

/* A reply that did not fit into the client's socket buffer. */
struct reply {
	struct reply *next;
	size_t n_bytes, n_fds;
	int *fds;
	char bytes[];
};

struct client {
	struct clients *clients;
	struct client *next, *previous;
	void *data;
	struct ready_socket socket;
	struct stranger *stranger; /* NULL: trusted, or dropped */
	uint64_t active_usec;	   /* when it last sent something, if it is untrusted */
	size_t n_in_work;
	struct reply *replies, **replies_end;
	bool may_have_fds; /* see may_have_fds() */
	bool is_in_turn;   /* being read: must not be freed */
	bool is_at_end;	   /* has shut down its sending side */
	bool is_gone;	   /* has closed its socket */
	bool is_dropped;   /* removed to make room: replies are not kept for it */
};

struct clients {
	struct ready *ready;
	const struct log *log;
	const struct client_protocol *protocol;
	struct client_limits limits;
	void *service;
	struct client *idlest, *latest;
	size_t n_clients;
	struct stranger *strangers;
	size_t n_untrusted, n_untrusted_max, n_each_max;
	struct log_rate drops, refusals, failures;
	void (*on_left)(void *userdata);
	void *on_left_userdata;
	char *bytes; /* buffer of the message that is read */
	int fds[FD_PASS_MAX];
};

/* ---- the list ---- */

static void add_latest(struct client *client)
{
	struct clients *clients = client->clients;

	client->next = NULL;
	client->previous = clients->latest;
	*(clients->latest ? &clients->latest->next : &clients->idlest) = client;
	clients->latest = client;
}

static void take_out(struct client *client)
{
	struct clients *clients = client->clients;

	*(client->previous ? &client->previous->next : &clients->idlest) = client->next;
	*(client->next ? &client->next->previous : &clients->latest) = client->previous;
}

static void note_activity(struct client *client)
{
	if (!client->stranger)
		return;
	client->active_usec = moment_now(CLOCK_MONOTONIC);
	take_out(client);
	add_latest(client);
}

/* ---- replies ---- */

static void reply_free(struct reply *reply)
{
	fd_close_many(reply->fds, reply->n_fds);
	free(reply->fds);
	free(reply);
}

static void drop_replies(struct client *client)
{
	for (struct reply *reply; (reply = client->replies);) {
		client->replies = reply->next;
		reply_free(reply);
	}
	client->replies_end = &client->replies;
}

static int keep_reply(struct client *client, const void *bytes, size_t n_bytes, const int *fds,
		      size_t n_fds)
{
	struct reply *reply = calloc(1, sizeof(*reply) + n_bytes);
	int r = 0;

	if (!reply)
		return -ENOMEM;
	memcpy(reply->bytes, bytes, n_bytes);
	reply->n_bytes = n_bytes;
	reply->fds = calloc(n_fds > 0 ? n_fds : 1, sizeof(int));
	if (!reply->fds)
		r = -ENOMEM;
	for (; r == 0 && reply->n_fds < n_fds; reply->n_fds++) {
		reply->fds[reply->n_fds] = fcntl(fds[reply->n_fds], F_DUPFD_CLOEXEC, 0);
		if (reply->fds[reply->n_fds] < 0) {
			r = -errno;
			break;
		}
	}
	if (r < 0) {
		reply_free(reply);
		return r;
	}
	*client->replies_end = reply;
	client->replies_end = &reply->next;
	return 0;
}

static void send_kept(struct client *client)
{
	for (struct reply *reply; (reply = client->replies);) {
		int r = fd_send(client->socket.fd, reply->bytes, reply->n_bytes, reply->fds,
				reply->n_fds);

		if (r == -EAGAIN)
			return;
		if (r < 0) {
			client_end(client);
			return;
		}
		client->replies = reply->next;
		reply_free(reply);
	}
	client->replies_end = &client->replies;
}

/* ---- epoll events ---- */

static bool can_read(const struct client *client)
{
	const struct clients *clients = client->clients;
	const struct client_protocol *protocol = clients->protocol;

	if (client->is_at_end || client->replies || (client->is_gone && !protocol->is_one_way))
		return false;
	return client->n_in_work < clients->limits.n_in_work &&
	       (!protocol->may_read || protocol->may_read(client->data));
}

/* A hang-up ends a question at once, even while it is in work. One-way messages (records) that may
 * not be read now must be read later, and until then epoll would report EPOLLHUP in every turn:
 * unset it. Fails only for a new client, because the others stay in the set. */
static int update(struct client *client)
{
	uint32_t events = client->clients->protocol->is_one_way ? READY_PAUSE : EPOLLHUP;

	if (client->replies)
		events = EPOLLOUT;
	else if (can_read(client))
		events = EPOLLIN;
	return ready_wait(client->clients->ready, &client->socket, events);
}

/* ---- disconnect ---- */

static void leave(struct client *client)
{
	struct clients *clients = client->clients;
	struct stranger *stranger = client->stranger, **at = &clients->strangers;

	if (!stranger)
		return;
	client->stranger = NULL;
	clients->n_untrusted--;
	if (--stranger->n_clients > 0)
		return;
	while (*at != stranger)
		at = &(*at)->next;
	*at = stranger->next;
	free(stranger);
}

/*
 * May a message at @socket have fds, although the service takes none? A connection refuses them
 * from its begin if its listener did, and none is queued; otherwise the kernel cannot refuse them,
 * or the connection is older than the listener's refusal. It is not asked to refuse them then: a
 * message that it has let in just before would be unexpected.
 */
static bool may_have_fds(const struct clients *clients, int socket)
{
	return !clients_take_fds(clients) && !fd_refuses_fds(socket);
}

static void disconnect(struct clients *clients, int *fd)
{
	if (*fd < 0 || !may_have_fds(clients, *fd))
		close_fd(fd);
	else if (!unread_close(fd))
		log_warn_rated(clients->log, &clients->failures,
			       "the connection of a client stays open: no process can be started "
			       "to close it");
}

static void client_free(struct client *client)
{
	struct clients *clients = client->clients;

	take_out(client);
	leave(client);
	/* A forked child before its execve() still has a duplicate of the fd, and epoll watches the
	 * open file description: close() alone would leave it in the set. */
	(void)ready_wait(clients->ready, &client->socket, 0);
	clients->protocol->closed(client->data);
	drop_replies(client);
	disconnect(clients, &client->socket.fd);
	free(client);
	clients->n_clients--;
	if (clients->on_left)
		clients->on_left(clients->on_left_userdata);
}

/* Frees the client if nothing is left to do. */
static void settle(struct client *client)
{
	bool is_done = client->is_at_end && client->n_in_work == 0 && !client->replies;

	if (client->is_in_turn)
		return;
	if (is_done || (client->is_gone && !client->clients->protocol->is_one_way))
		client_free(client);
	else
		(void)update(client);
}

/* ---- called by services ---- */

void client_end(struct client *client)
{
	client->is_gone = true;
	drop_replies(client);
	/* The client waits for a reply that will not come: shutdown() lets it see EOF. Messages
	 * that it sent before can still be read. */
	(void)shutdown(client->socket.fd, SHUT_RDWR);
}

int client_reply(struct client *client, const void *bytes, size_t n_bytes, const int *fds,
		 size_t n_fds)
{
	int r;

	assert(n_bytes > 0);
	if (client->is_gone)
		return 0;
	r = client->replies ? -EAGAIN : fd_send(client->socket.fd, bytes, n_bytes, fds, n_fds);
	if (r == 0 || r == -EMSGSIZE)
		return r;
	if (r == -EAGAIN && !client->is_dropped)
		r = keep_reply(client, bytes, n_bytes, fds, n_fds);
	if (r < 0)
		client_end(client);
	if (!client->is_in_turn)
		(void)update(client);
	return 0;
}

void client_hold(struct client *client)
{
	client->n_in_work++;
	if (!client->is_in_turn)
		(void)update(client);
}

void client_release(struct client *client)
{
	assert(client->n_in_work > 0);
	client->n_in_work--;
	settle(client);
}

/* ---- messages ---- */

static void refuse(struct client *client)
{
	const struct client_limits *limits = &client->clients->limits;
	struct sbx_error why = { .code = 0 };

	(void)sbx_error_what(&why, -EMSGSIZE, "the packet is too long%s",
			     limits->n_fds > 0 ? ", or too many file descriptors came with it"
					       : "");
	sbx_error_why(&why, "at most %zu bytes are accepted", limits->n_bytes);
	if (limits->n_fds > 0)
		sbx_error_why(&why, "at most %zu bytes and %zu file descriptors are accepted",
			      limits->n_bytes, limits->n_fds);
	sbx_error_fix(&why, "send less in one packet");
	client->clients->protocol->refuse(client->data, &why);
}

/* 0 if the next message has no fds. Must be called before each recv(), which would discard them. */
static int check_fds(const struct client *client)
{
	int r = client->may_have_fds ? fd_has_control(client->socket.fd) : 0;

	return r > 0 ? -EBADMSG : r;
}

static ssize_t receive(struct client *client, struct client_message *message)
{
	const struct client_limits *limits = &client->clients->limits;
	int socket = client->socket.fd;
	ssize_t n;

	if (limits->n_fds > 0)
		return fd_receive(socket, message->bytes, limits->n_bytes, message->fds,
				  limits->n_fds, &message->n_fds);
	n = check_fds(client);
	if (n < 0)
		return n;
	n = recv(socket, message->bytes, limits->n_bytes, MSG_TRUNC);
	if (n < 0)
		return -errno;
	return (size_t)n > limits->n_bytes ? -EMSGSIZE : n;
}

/* Memory may be short only now: the message stays queued, and epoll reports it again. */
static bool is_passing(ssize_t code)
{
	return code == -EAGAIN || code == -EINTR || code == -ENOMEM || code == -ENOBUFS;
}

/* Messages that are still queued are lost: unlike an EOF, the error is logged. */
static void fail(struct client *client, int code)
{
	struct clients *clients = client->clients;

	log_warn_rated(clients->log, &clients->failures, "cannot read from a client: %s",
		       code == -EBADMSG ? "it has sent file descriptors" : strerror(-code));
	client->is_at_end = true;
	client_end(client);
}

/* False if no message is queued. An empty message cannot be told from EOF and is treated as EOF. */
static bool read_message(struct client *client)
{
	struct clients *clients = client->clients;
	struct client_message message = { .bytes = clients->bytes, .fds = clients->fds };
	ssize_t n = receive(client, &message);

	if (is_passing(n))
		return false;
	if (n == -EMSGSIZE) {
		refuse(client);
		return true;
	}
	/* The peer closed its socket with unread replies. The kernel reports this once, ahead of
	 * the messages that the peer had sent. */
	if (n == -ECONNRESET) {
		client->is_gone = true;
		drop_replies(client);
		return true;
	}
	if (n < 0) {
		fail(client, (int)n);
		return false;
	}
	if (n == 0) {
		client->is_at_end = true;
		return false;
	}
	message.n_bytes = (size_t)n;
	message.bytes[n] = '\0';
	clients->protocol->message(client->data, &message);
	fd_close_many(message.fds, message.n_fds);
	return true;
}

/* Does not free the client. */
static void read_messages(struct client *client, unsigned n_max)
{
	client->is_in_turn = true;
	while (n_max-- > 0 && can_read(client) && read_message(client))
		;
	client->is_in_turn = false;
}

static void serve(struct ready_socket *socket, uint32_t events)
{
	struct client *client = (struct client *)((char *)socket - offsetof(struct client, socket));

	if ((events & EPOLLOUT) != 0) {
		send_kept(client);
	} else if ((events & EPOLLIN) != 0) {
		note_activity(client);
		read_messages(client, client->clients->limits.n_per_turn);
	} else {
		client->is_gone = client->is_at_end = true;
	}
	settle(client);
}

/* ---- room for strangers ---- */

static struct stranger *find_or_add_stranger(struct clients *clients, const char *listener,
					     uid_t uid)
{
	struct stranger *stranger = clients->strangers;

	while (stranger && (stranger->uid != uid || strcmp(stranger->listener, listener) != 0))
		stranger = stranger->next;
	if (stranger)
		return stranger;
	stranger = calloc(1, sizeof(*stranger));
	if (!stranger)
		return NULL;
	*stranger =
		(struct stranger){ .next = clients->strangers, .listener = listener, .uid = uid };
	clients->strangers = stranger;
	return stranger;
}

static const struct stranger *find_greatest(const struct clients *clients)
{
	const struct stranger *greatest = clients->strangers;

	for (const struct stranger *s = clients->strangers; s; s = s->next)
		if (s->n_clients > greatest->n_clients)
			greatest = s;
	return greatest;
}

/* Records that the client has sent count: the server reads them now, or later if it has no room for
 * them. SHUT_RD adds an EOF to the end of its queue. Replies to it are not kept. */
static void drop(struct client *client)
{
	leave(client);
	drop_replies(client);
	client->is_dropped = true;
	if (client->clients->protocol->is_one_way) {
		(void)shutdown(client->socket.fd, SHUT_RD);
		read_messages(client, READ_ALL_MAX);
	} else {
		client->is_at_end = true;
	}
	settle(client);
}

/* False if the stranger has no idle connection. A client that the server does not read, because its
 * messages are in work or the service takes none, does not count as idle. */
static bool drop_idlest(struct clients *clients, const struct stranger *of)
{
	struct client *client = clients->idlest;
	uid_t uid = of->uid;

	while (client &&
	       (client->stranger != of || (client->socket.events & (EPOLLIN | EPOLLOUT)) == 0))
		client = client->next;
	if (!client ||
	    moment_now(CLOCK_MONOTONIC) - client->active_usec < clients->limits.idle_usec)
		return false;
	drop(client);
	log_warn_rated(clients->log, &clients->drops,
		       "closed an idle client of uid %u to make room", uid);
	return true;
}

/* The caller has counted the new client already. */
static bool make_room(struct clients *clients, const struct stranger *stranger)
{
	const struct stranger *greatest = find_greatest(clients);

	if (stranger->n_clients > clients->n_each_max)
		return drop_idlest(clients, stranger);
	if (clients->n_untrusted <= clients->n_untrusted_max)
		return true;
	/* A stranger with as many connections as the greatest gives up one of its own: if it took
	 * one from the greatest, that one would take it back. */
	return drop_idlest(clients,
			   greatest->n_clients > stranger->n_clients ? greatest : stranger);
}

static int admit(struct client *client, const char *listener, uid_t uid)
{
	struct clients *clients = client->clients;
	struct stranger *stranger = find_or_add_stranger(clients, listener, uid);

	if (!stranger)
		return -ENOMEM;
	/* Count first, so that make_room() cannot free the stranger when it drops the last of its
	 * other clients. */
	client->stranger = stranger;
	stranger->n_clients++;
	clients->n_untrusted++;
	if (make_room(clients, stranger))
		return 0;
	leave(client);
	return -EUSERS;
}

/* ---- accept ---- */

static bool is_trusted(const struct clients *clients, const char *listener, const struct peer *peer)
{
	return strcmp(listener, clients->protocol->trusted_listener) == 0 &&
	       peer->place == PEER_BESIDE && (peer->uid == 0 || peer->uid == geteuid());
}

/* Takes @fd on success. */
static int add(struct clients *clients, const char *listener, int *fd, const struct peer *peer)
{
	_cleanup_free_ struct client *client = calloc(1, sizeof(*client));
	const struct client_origin origin = { .listener = listener,
					      .peer = peer,
					      .is_trusted = is_trusted(clients, listener, peer) };
	int r;

	if (!client)
		return -ENOMEM;
	client->clients = clients;
	client->socket = (struct ready_socket){ .fd = *fd, .serve = serve };
	client->may_have_fds = may_have_fds(clients, *fd);
	if (client->may_have_fds)
		fd_drop_control(*fd);
	client->replies_end = &client->replies;
	client->active_usec = moment_now(CLOCK_MONOTONIC);
	client->is_in_turn = true;
	r = origin.is_trusted ? 0 : admit(client, listener, peer->uid);
	if (r < 0)
		return r;
	r = clients->protocol->opened(clients->service, client, &origin, &client->data);
	if (r < 0) {
		drop_replies(client);
		leave(client);
		return r;
	}
	client->is_in_turn = false;
	(void)take_fd(fd);
	clients->n_clients++;
	add_latest(client);
	r = update(client);
	if (r < 0)
		client_free(client);
	(void)take_ptr(client);
	return r < 0 ? r : 0;
}

int clients_add(struct clients *clients, const char *listener, int fd, const struct peer *peer)
{
	int r = add(clients, listener, &fd, peer);

	disconnect(clients, &fd);
	return r;
}

static int add_accepted(struct clients *clients, const char *listener, int *fd)
{
	_cleanup_peer_ struct peer peer = PEER_INIT;
	int r = peer_identify(*fd, &peer);

	return r < 0 ? r : add(clients, listener, fd, &peer);
}

int clients_accept(struct clients *clients, const char *listener, int listening_fd)
{
	int fd = listen_accept(listening_fd), r;

	if (fd < 0)
		return fd;
	r = add_accepted(clients, listener, &fd);
	disconnect(clients, &fd);
	if (r < 0)
		log_warn_rated(clients->log, &clients->refusals,
			       "cannot serve a client of '%s': %s", listener, strerror(-r));
	return 0;
}

/* ---- all of them ---- */

size_t clients_count(const struct clients *clients)
{
	return clients->n_clients;
}

bool clients_are_full(const struct clients *clients)
{
	return clients->n_clients >= clients->limits.n_clients;
}

bool clients_take_fds(const struct clients *clients)
{
	return clients->limits.n_fds > 0;
}

void clients_watch(struct clients *clients, void (*on_left)(void *userdata), void *userdata)
{
	clients->on_left = on_left;
	clients->on_left_userdata = userdata;
}

void clients_update(struct clients *clients)
{
	for (struct client *client = clients->idlest; client; client = client->next)
		if (!client->is_in_turn)
			(void)update(client);
}

void clients_read_all(struct clients *clients)
{
	for (struct client *client = clients->idlest, *next; client; client = next) {
		/* Without it send() would succeed, and the message would be lost. */
		(void)shutdown(client->socket.fd, SHUT_RD);
		read_messages(client, READ_ALL_MAX);
		next = client->next;
		settle(client);
	}
}

/* How many fds this process may have: connections must never use up RLIMIT_NOFILE. */
static size_t count_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return limit.rlim_cur > 2 * FDS_KEPT ? limit.rlim_cur - FDS_KEPT : limit.rlim_cur / 2;
}

int clients_new(struct ready *ready, const struct log *log, const struct client_protocol *protocol,
		const struct client_limits *limits, void *service, struct clients **ret)
{
	_cleanup_clients_ struct clients *clients = calloc(1, sizeof(*clients));
	size_t n_fds = count_fds();
	size_t n_max = limits->n_clients < n_fds ? limits->n_clients : n_fds;

	assert(limits->n_fds <= FD_PASS_MAX);
	if (!clients)
		return -ENOMEM;
	*clients = (struct clients){ .ready = ready,
				     .log = log,
				     .protocol = protocol,
				     .limits = *limits,
				     .service = service,
				     .n_each_max = (n_max + 3) / 4 };
	clients->n_untrusted_max = n_max - clients->n_each_max;
	clients->bytes = malloc(limits->n_bytes + 1);
	if (!clients->bytes)
		return -ENOMEM;
	*ret = take_ptr(clients);
	return 0;
}

struct clients *clients_free(struct clients *clients)
{
	if (!clients)
		return NULL;
	for (struct client *first; (first = clients->idlest);) {
		/* Not take_out(), which does the same: gcc -fanalyzer takes client->clients for
		 * another list. */
		clients->idlest = first->next;
		client_free(first);
	}
	free(clients->bytes);
	free(clients);
	return NULL;
}
