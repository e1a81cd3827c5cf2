/* SPDX-License-Identifier: MIT */

/*
 * The parent's side: numbered questions to the resolver's process, and its replies checked
 *
 * Whoever takes over that process by an answer of the DNS can lie about addresses, which the policy
 * judges, and nothing else: a reply that is not well-formed, or answers what was not asked, ends
 * the process, and with it all queries.
 *
 * A callback may free the resolver. So each event calls at most one of them, and as its last act.
 */

#include "proxy/resolver.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "proxy/resolver-internal.h"
#include "service/ready.h"

TAILQ_HEAD(queries, resolver_query);

struct resolver_query {
	struct resolver *resolver;
	TAILQ_ENTRY(resolver_query) entry; /* of resolver->waiting or ->failed */
	struct queries *queue;		   /* that it is in */
	struct slot *slot;		   /* or this, once it was sent */
	resolver_answered_fn *answered;
	void *userdata;
	char name[HOSTNAME_TEXT_SIZE];
};

/* A question that the process has; its number tells which slot, and which of its uses. */
struct slot {
	uint64_t number;	      /* 0: free */
	struct resolver_query *query; /* NULL: cancelled, but the process still works on it */
};

struct resolver {
	struct ready *ready;
	struct ready_socket socket; /* to the process; fd < 0: it has died */
	struct ready_socket wake;   /* an eventfd, readable while a query is in @failed */
	int pidfd;
	struct queries waiting; /* not yet sent */
	struct queries failed;	/* to be told so */
	uint64_t n_sent;
	size_t n_free;
	uint16_t free[RESOLVER_IN_FLIGHT_MAX]; /* the first @n_free are indices of free slots */
	struct slot slots[RESOLVER_IN_FLIGHT_MAX];
};

/* ---- replies ---- */

void resolver_reply_write(uint64_t number, const struct resolver_answer *answer,
			  struct resolver_reply *ret)
{
	*ret = (struct resolver_reply){ .number = number,
					.status = (uint32_t)answer->status,
					.n = (uint32_t)answer->n };
	for (size_t i = 0; i < answer->n; i++) {
		ret->addresses[i].family = answer->addresses[i].is_ipv6 ? 6 : 4;
		memcpy(ret->addresses[i].bytes, answer->addresses[i].bytes,
		       answer->addresses[i].is_ipv6 ? 16 : 4);
	}
}

int resolver_reply_read(const struct resolver_reply *reply, struct resolver_answer *ret)
{
	struct resolver_answer answer = { .n = reply->n };

	if (reply->status >= N_RESOLVER_STATUSES || reply->n > RESOLVER_ADDRESSES_MAX)
		return -EBADMSG;
	answer.status = (enum resolver_status)reply->status;
	if ((answer.status == RESOLVER_FOUND) != (reply->n > 0))
		return -EBADMSG;
	for (size_t i = 0; i < reply->n; i++) {
		uint8_t family = reply->addresses[i].family;

		if (family != 4 && family != 6)
			return -EBADMSG;
		answer.addresses[i].is_ipv6 = family == 6;
		memcpy(answer.addresses[i].bytes, reply->addresses[i].bytes, family == 6 ? 16 : 4);
	}
	*ret = answer;
	return 0;
}

/* ---- queries ---- */

static void enqueue(struct queries *queue, struct resolver_query *query)
{
	TAILQ_INSERT_TAIL(queue, query, entry);
	query->queue = queue;
}

static void dequeue(struct resolver_query *query)
{
	TAILQ_REMOVE(query->queue, query, entry);
	query->queue = NULL;
}

static void tell(struct resolver_query *query, const struct resolver_answer *answer)
{
	resolver_answered_fn *answered = query->answered;
	void *userdata = query->userdata;

	free(query);
	answered(userdata, answer);
}

static void add_failed(struct resolver_query *query)
{
	/* It only fails once the number in it is too large, and then it is readable. */
	(void)eventfd_write(query->resolver->wake.fd, 1);
	enqueue(&query->resolver->failed, query);
}

static void serve_failed(struct ready_socket *wake, uint32_t events)
{
	struct resolver *resolver =
		(struct resolver *)((char *)wake - offsetof(struct resolver, wake));
	const struct resolver_answer failed = { .status = RESOLVER_FAILED };
	struct resolver_query *query = TAILQ_FIRST(&resolver->failed);
	eventfd_t ignored;

	(void)events;
	if (!query || !TAILQ_NEXT(query, entry))
		(void)eventfd_read(wake->fd, &ignored);
	if (!query)
		return;
	dequeue(query);
	tell(query, &failed);
}

/* ---- the end of the process ---- */

static void end_process(struct resolver *resolver)
{
	siginfo_t ignored;

	if (resolver->socket.fd >= 0)
		(void)ready_wait(resolver->ready, &resolver->socket, 0);
	close_fd(&resolver->socket.fd);
	if (resolver->pidfd < 0)
		return;
	(void)pidfd_kill(resolver->pidfd, SIGKILL);
	while (waitid(P_PIDFD, (id_t)resolver->pidfd, &ignored, WEXITED) < 0 && errno == EINTR)
		;
	close_fd(&resolver->pidfd);
}

static void fail_all(struct resolver *resolver)
{
	struct resolver_query *query;

	end_process(resolver);
	for (size_t i = 0; i < RESOLVER_IN_FLIGHT_MAX; i++) {
		query = resolver->slots[i].query;
		resolver->slots[i] = (struct slot){ .number = 0 };
		if (!query)
			continue;
		query->slot = NULL;
		add_failed(query);
	}
	while ((query = TAILQ_FIRST(&resolver->waiting))) {
		dequeue(query);
		add_failed(query);
	}
}

/* ---- questions ---- */

/* 1: sent, 0: not now, or negative errno. */
static int send_question(struct resolver *resolver, struct resolver_query *query)
{
	size_t index = resolver->free[resolver->n_free - 1];
	struct slot *slot = &resolver->slots[index];
	struct resolver_question question = {
		.number = (resolver->n_sent + 1) * RESOLVER_IN_FLIGHT_MAX + index,
	};

	memcpy(question.name, query->name, sizeof(question.name));
	if (send(resolver->socket.fd, &question, sizeof(question), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	resolver->n_sent++;
	resolver->n_free--;
	*slot = (struct slot){ .number = question.number, .query = query };
	query->slot = slot;
	return 1;
}

static void send_waiting(struct resolver *resolver)
{
	struct resolver_query *query;
	uint32_t events = EPOLLIN;
	int r = 1;

	while (r > 0 && resolver->n_free > 0 && (query = TAILQ_FIRST(&resolver->waiting))) {
		r = send_question(resolver, query);
		if (r > 0)
			dequeue(query);
	}
	if (r == 0)
		events |= EPOLLOUT;
	if (r >= 0)
		r = ready_wait(resolver->ready, &resolver->socket, events);
	if (r < 0)
		fail_all(resolver);
}

/* Returns the slot of a question that has this number, or NULL. */
static struct slot *find_slot(struct resolver *resolver, uint64_t number)
{
	struct slot *slot = &resolver->slots[number % RESOLVER_IN_FLIGHT_MAX];

	return number != 0 && slot->number == number ? slot : NULL;
}

static void take_reply(struct resolver *resolver)
{
	struct resolver_query *query;
	struct resolver_answer answer;
	struct resolver_reply reply;
	struct slot *slot;
	ssize_t n = recv(resolver->socket.fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	slot = n == (ssize_t)sizeof(reply) ? find_slot(resolver, reply.number) : NULL;
	if (!slot || resolver_reply_read(&reply, &answer) < 0) {
		fail_all(resolver);
		return;
	}
	query = slot->query;
	*slot = (struct slot){ .number = 0 };
	resolver->free[resolver->n_free++] = (uint16_t)(slot - resolver->slots);
	send_waiting(resolver);
	if (query)
		tell(query, &answer);
}

static void serve(struct ready_socket *socket, uint32_t events)
{
	struct resolver *resolver =
		(struct resolver *)((char *)socket - offsetof(struct resolver, socket));

	if (events == EPOLLOUT)
		send_waiting(resolver);
	else
		take_reply(resolver);
}

int resolver_ask(struct resolver *resolver, const char *name, resolver_answered_fn *answered,
		 void *userdata, struct resolver_query **ret)
{
	struct resolver_query *query;
	struct hostname host;

	if (hostname_read(name, strlen(name), &host) != HOSTNAME_OK || host.kind != HOSTNAME_DNS)
		return -EINVAL;
	query = calloc(1, sizeof(*query));
	if (!query)
		return -ENOMEM;
	query->resolver = resolver;
	query->answered = answered;
	query->userdata = userdata;
	memcpy(query->name, host.name, host.len);
	if (resolver->socket.fd < 0) {
		add_failed(query);
	} else {
		enqueue(&resolver->waiting, query);
		send_waiting(resolver);
	}
	*ret = query;
	return 0;
}

void resolver_cancel(struct resolver_query *query)
{
	if (query->slot)
		query->slot->query = NULL;
	else
		dequeue(query);
	free(query);
}

/* ---- a resolver ---- */

static void free_queue(struct queries *queue)
{
	struct resolver_query *query;

	while ((query = TAILQ_FIRST(queue))) {
		dequeue(query);
		free(query);
	}
}

struct resolver *resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return NULL;
	end_process(resolver);
	if (resolver->wake.fd >= 0)
		(void)ready_wait(resolver->ready, &resolver->wake, 0);
	close_fd(&resolver->wake.fd);
	for (size_t i = 0; i < RESOLVER_IN_FLIGHT_MAX; i++)
		free(resolver->slots[i].query);
	free_queue(&resolver->waiting);
	free_queue(&resolver->failed);
	free(resolver);
	return NULL;
}

static struct resolver *resolver_alloc(struct ready *ready)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->ready = ready;
	resolver->pidfd = -EBADF;
	resolver->socket = (struct ready_socket){ .fd = -EBADF, .serve = serve };
	resolver->wake = (struct ready_socket){ .fd = -EBADF, .serve = serve_failed };
	TAILQ_INIT(&resolver->waiting);
	TAILQ_INIT(&resolver->failed);
	resolver->n_free = RESOLVER_IN_FLIGHT_MAX;
	for (size_t i = 0; i < RESOLVER_IN_FLIGHT_MAX; i++)
		resolver->free[i] = (uint16_t)i;
	return resolver;
}

static int start_process(struct resolver *resolver, const struct resolver_options *options)
{
	pid_t parent = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	resolver->socket.fd = pair[0];
	pid = fork();
	if (pid == 0)
		resolver_process_run(pair[1], parent, options);
	close_fd(&pair[1]);
	if (pid < 0)
		return -errno;
	resolver->pidfd = pidfd_of(pid);
	if (resolver->pidfd >= 0)
		return 0;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return resolver->pidfd;
}

static int start(struct resolver *resolver, const struct resolver_options *options)
{
	int r;

	resolver->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (resolver->wake.fd < 0)
		return -errno;
	r = ready_wait(resolver->ready, &resolver->wake, EPOLLIN);
	if (r >= 0)
		r = start_process(resolver, options);
	if (r < 0)
		return r;
	return ready_wait(resolver->ready, &resolver->socket, EPOLLIN);
}

/* A mistake in the list is told now, not by queries that fail. */
static int check_servers(const struct resolver_options *options, struct sbx_error *err)
{
	ares_channel channel;
	int r;

	if (!options->servers)
		return 0;
	r = resolver_channel_new(options->servers, options->timeout_usec, NULL, NULL, &channel);
	if (r == 0) {
		ares_destroy(channel);
		return 0;
	}
	sbx_error_what(err, r, "cannot use the DNS servers '%s'", options->servers);
	sbx_error_why(err, "%s", r == -EINVAL ? "they are not a list of addresses" : strerror(-r));
	sbx_error_fix(err, "write addresses, with ports or without: 127.0.0.1:5353,[::1]:53");
	return r;
}

int resolver_new(struct ready *ready, const struct resolver_options *options, struct resolver **ret,
		 struct sbx_error *err)
{
	_cleanup_resolver_ struct resolver *resolver = NULL;
	int r = check_servers(options, err);

	if (r < 0)
		return r;
	resolver = resolver_alloc(ready);
	r = resolver ? start(resolver, options) : -ENOMEM;
	if (r < 0) {
		sbx_error_what(err, r, "cannot start the process that resolves names");
		sbx_error_why(err, "%s", strerror(-r));
		return r;
	}
	*ret = take_ptr(resolver);
	return 0;
}
