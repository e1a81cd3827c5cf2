/* SPDX-License-Identifier: MIT */

/*
 * One client
 *
 * It is read as long as the log takes records and the client takes its answers; otherwise its
 * packets stay in its socket, where the kernel makes it wait. Who hangs up is read to the end
 * first, and stays until he has been answered: he may have closed his half only.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "collect/collect-internal.h"
#include "record/record.h"
#include "service/peer.h"
#include "service/service.h"

/* Asking for one that is not there costs less than another turn of the loop for each that is. */
#define PACKETS_A_TURN 16
#define DRAIN_PACKETS_MAX 65536

enum turn {
	TURN_NEXT,    /* another packet can be read */
	TURN_BLOCKED, /* there is none, or it has to wait */
	TURN_OVER,    /* the client has gone */
};

/* ---- answers ---- */

/* Whoever is gone needs none; his packets are read all the same. */
static int send_text(struct client *client, const char *text)
{
	for (;;) {
		if (send(client->socket.fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EINTR)
			return errno == EAGAIN ? -EAGAIN : 0;
	}
}

static void send_kept(struct client *client)
{
	struct text *answers = &client->answers;

	while (client->answers_at < answers->len) {
		const char *answer = answers->data + client->answers_at;

		if (send_text(client, answer) < 0)
			return;
		client->answers_at += strlen(answer) + 1;
	}
	text_reset(answers);
	client->answers_at = 0;
}

void client_answer(struct client *client, const char *text)
{
	if (client->answers.len == 0 && send_text(client, text) == 0)
		return;
	text_add_bytes(&client->answers, text, strlen(text) + 1);
	/* He waits for an answer that will not come: he had better hear that. */
	if (text_status(&client->answers) < 0)
		(void)shutdown(client->socket.fd, SHUT_RDWR);
	client_update(client);
}

/* ---- packets ---- */

static void refuse(struct client *client, const struct sbx_error *err)
{
	_cleanup_text_ struct text why = TEXT_INIT, answer = TEXT_INIT;
	struct json_writer json;

	client->collector->counts.n_refused++;
	text_addf(&why, "%s%s%s", err->what, err->why[0] != '\0' ? ": " : "", err->why);
	json_write(&json, &answer);
	json_add_object(&json);
	json_member_string(&json, "refused", text_string(&why));
	json_end_object(&json);
	group_answer(client, text_status(&answer) == 0 ? answer.data : "{\"refused\":\"\"}");
}

static void take(struct client *client, size_t n_bytes)
{
	struct sbx_error err = { .code = 0 };

	if (n_bytes > RECORD_BYTES_MAX)
		(void)sbx_error_what(&err, -EMSGSIZE, "it is longer than %d bytes",
				     RECORD_BYTES_MAX);
	else if (group_take(client, client->collector->packet, n_bytes, &err) != AUDIT_REFUSED)
		return;
	refuse(client, &err);
}

/* An empty packet looks like the end, and is taken for it. */
static enum turn take_packet(struct client *client)
{
	struct collector *collector = client->collector;
	ssize_t n = recv(client->socket.fd, collector->packet, RECORD_BYTES_MAX + 1,
			 MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? TURN_BLOCKED : TURN_OVER;
	if (n == 0)
		return TURN_OVER;
	collector->is_status_due = true;
	clients_active(&collector->limits, &client->member);
	take(client, (size_t)n);
	return client->events == EPOLLIN ? TURN_NEXT : TURN_BLOCKED;
}

static void client_free(struct client *client)
{
	struct collector *collector = client->collector;

	*(client->previous ? &client->previous->next : &collector->clients) = client->next;
	if (client->next)
		client->next->previous = client->previous;
	collector->n_clients--;
	clients_leave(&collector->limits, &client->member);
	queue_forget(&collector->queue, client);
	if (client->events != 0)
		ready_remove(collector->options.ready, &client->socket);
	text_deinit(&client->answers);
	close_fd(&client->socket.fd);
	free(client);
	if (collector->options.service)
		service_client_gone(collector->options.service);
	collector->is_status_due = true;
}

void client_end(struct client *client)
{
	if (client->is_over && client->answers.len == 0 && client->n_waiting == 0)
		client_free(client);
}

static void serve(struct ready_socket *socket, uint32_t events)
{
	struct client *client = (struct client *)((char *)socket - offsetof(struct client, socket));
	enum turn turn = TURN_NEXT;

	if ((events & EPOLLOUT) != 0) {
		send_kept(client);
		client_update(client);
		client_end(client);
		return;
	}
	if ((events & EPOLLIN) == 0)
		turn = TURN_OVER;
	for (int i = 0; turn == TURN_NEXT && i < PACKETS_A_TURN; i++)
		turn = take_packet(client);
	if (turn != TURN_OVER)
		return;
	client->is_over = true;
	client_update(client);
	client_end(client);
}

/* ---- who is read ---- */

static uint32_t wanted(const struct client *client)
{
	const struct collector *collector = client->collector;

	if (client->answers.len > 0)
		return EPOLLOUT;
	if (client->is_over)
		return 0;
	if (!collector->is_stuck)
		return EPOLLIN;
	/* A client that is promised an answer gets that before it can say more. */
	return collector->options.is_shedding && client->n_expected == 0 ? EPOLLIN : 0;
}

/* Out of the set, not only without events: that it has hung up would be reported for ever. */
void client_update(struct client *client)
{
	struct ready *ready = client->collector->options.ready;
	uint32_t events = wanted(client);

	/* What it has sent cannot be taken now, and would be lost with it. */
	client->member.is_busy = events == 0;
	if (events == client->events)
		return;
	if (events == 0)
		ready_remove(ready, &client->socket);
	else if (client->events == 0)
		(void)ready_add(ready, &client->socket, events);
	else
		(void)ready_change(ready, &client->socket, events);
	client->events = events;
}

void clients_update(struct collector *collector)
{
	for (struct client *client = collector->clients; client; client = client->next)
		client_update(client);
}

static void drain(struct client *client)
{
	for (int i = 0; i < DRAIN_PACKETS_MAX && client->events == EPOLLIN; i++)
		if (take_packet(client) != TURN_NEXT)
			break;
}

void clients_drain(struct collector *collector)
{
	for (struct client *client = collector->clients; client; client = client->next)
		drain(client);
}

void client_drop(struct clients_member *member)
{
	struct client *client = (struct client *)((char *)member - offsetof(struct client, member));

	clients_leave(&client->collector->limits, member);
	(void)shutdown(client->socket.fd, SHUT_RD);
	drain(client);
	client->is_over = true;
	text_reset(&client->answers);
	client->answers_at = 0;
	client_update(client);
	client_end(client);
}

void clients_free_all(struct collector *collector)
{
	while (collector->clients)
		client_free(collector->clients);
}

/* ---- accept ---- */

static int admit(struct collector *collector, struct client *client, const struct peer *peer)
{
	const struct clients_who who = {
		.is_trusted =
			peer->place == PLACE_BESIDE && (peer->uid == 0 || peer->uid == geteuid()),
		.uid = peer->uid,
	};

	return clients_admit(&collector->limits, &client->member, &who);
}

static void add(struct collector *collector, struct client *client)
{
	client->next = collector->clients;
	if (client->next)
		client->next->previous = client;
	collector->clients = client;
	collector->n_clients++;
	collector->is_status_due = true;
}

int collector_accept(struct collector *collector, int fd, const struct peer *peer)
{
	_cleanup_close_ int socket = fd;
	_cleanup_free_ struct client *client = calloc(1, sizeof(*client));
	int r;

	if (!client)
		return -ENOMEM;
	r = admit(collector, client, peer);
	if (r < 0)
		return r;
	client->collector = collector;
	client->socket = (struct ready_socket){ .fd = socket, .serve = serve };
	client->writer = (struct audit_writer){ .uid = peer->uid,
						.pid = peer->pid,
						.confined = place_name(peer->place) };
	client->events = wanted(client);
	client->member.is_busy = client->events == 0;
	if (client->events != 0) {
		r = ready_add(collector->options.ready, &client->socket, client->events);
		if (r < 0) {
			clients_leave(&collector->limits, &client->member);
			return r;
		}
	}
	(void)take_fd(&socket);
	add(collector, take_ptr(client));
	return 0;
}
