/* SPDX-License-Identifier: MIT */

/*
 * Plain HTTP: one request to the server and its response to the client, streamed
 *
 * Both heads were read and are written anew; of the bodies every byte of the framing is checked
 * before it goes on. Reading stops while the other side does not take bytes, so a connection holds
 * at most one buffer in each direction.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "proxy/proxy-internal.h"

#define INTERIM_MAX 16
/* Before other connections have their turn. */
#define READS_PER_TURN 16

/* ---- buffers ---- */

static void buffer_compact(struct buffer *buffer)
{
	if (buffer->at == 0)
		return;
	memmove(buffer->data, buffer->data + buffer->at, buffer->end - buffer->at);
	buffer->passed -= buffer->at;
	buffer->end -= buffer->at;
	buffer->at = 0;
}

long buffer_receive(struct buffer *buffer, int fd, size_t n_max)
{
	size_t room;
	ssize_t n;

	buffer_compact(buffer);
	room = BUFFER_SIZE - buffer->end;
	if (room == 0)
		return -ENOBUFS;
	n = recv(fd, buffer->data + buffer->end, room < n_max ? room : n_max, 0);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	buffer->end += (size_t)n;
	return n;
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

static ssize_t send_some(int fd, const char *bytes, size_t n_bytes)
{
	ssize_t n = send(fd, bytes, n_bytes, MSG_NOSIGNAL);

	if (n >= 0)
		return n;
	return errno == EINTR ? -EAGAIN : -errno;
}

int buffer_send(struct buffer *buffer, int fd, size_t n_max, size_t *ret_sent)
{
	*ret_sent = 0;
	while (buffer->at < buffer->passed) {
		size_t n_wanted = lesser(buffer->passed - buffer->at, n_max - *ret_sent);
		ssize_t n =
			n_wanted > 0 ? send_some(fd, buffer->data + buffer->at, n_wanted) : -EAGAIN;

		if (n < 0)
			return (int)n;
		buffer->at += (size_t)n;
		*ret_sent += (size_t)n;
	}
	if (buffer->at == buffer->end)
		buffer->at = buffer->passed = buffer->end = 0;
	return 0;
}

/* ---- the exchange ---- */

int exchange_new(struct exchange **ret)
{
	struct exchange *exchange = malloc(sizeof(*exchange));

	if (!exchange)
		return -ENOMEM;
	memset(exchange, 0, offsetof(struct exchange, client_bytes));
	exchange->from_server.data = exchange->server_bytes;
	*ret = exchange;
	return 0;
}

struct exchange *exchange_free(struct exchange *exchange)
{
	if (!exchange)
		return NULL;
	text_deinit(&exchange->head);
	text_deinit(&exchange->answer);
	free(exchange);
	return NULL;
}

void exchange_begin(struct exchange *exchange, const struct http_request *request)
{
	text_reset(&exchange->head);
	exchange->asked = http_asked(request);
	exchange->keeps_client = request->head.keep_alive;
	exchange->n_head_sent = 0;
	exchange->from_server.at = exchange->from_server.passed = exchange->from_server.end = 0;
	exchange->reader = (struct http_reader)HTTP_READER_INIT;
	exchange->n_interim = 0;
	exchange->has_begun = exchange->has_response = exchange->keeps_server = false;
	exchange->unchunks = exchange->up_failed = false;
	http_body_init(&exchange->request_body, &request->head);
	if (!request->is_connect)
		http_add_request(&exchange->head, request, true);
}

int exchange_send_answer(struct exchange *exchange, int fd)
{
	struct text *answer = &exchange->answer;

	if (text_status(answer) < 0)
		return -ENOMEM;
	while (exchange->n_answer_sent < answer->len) {
		ssize_t n = send_some(fd, answer->data + exchange->n_answer_sent,
				      answer->len - exchange->n_answer_sent);

		if (n < 0)
			return (int)n;
		exchange->n_answer_sent += (size_t)n;
	}
	text_reset(answer);
	exchange->n_answer_sent = 0;
	return 0;
}

/* ---- up ---- */

static int send_head(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	const struct text *head = &exchange->head;

	while (exchange->n_head_sent < head->len) {
		size_t n_max = proxy_allow(connection->proxy, head->len - exchange->n_head_sent);
		ssize_t n = n_max > 0 ? send_some(connection->server.fd,
						  head->data + exchange->n_head_sent, n_max)
				      : -EAGAIN;

		if (n < 0)
			return (int)n;
		exchange->n_head_sent += (size_t)n;
		connection_moved(connection, RELAY_UP, (size_t)n);
	}
	return 0;
}

/* Checks what has arrived of the body. 0 or -EBADMSG. */
static int pass_body(struct http_body *body, struct buffer *buffer)
{
	while (!body->is_done && buffer->passed < buffer->end) {
		long n = http_body_pass(body, buffer->data + buffer->passed,
					buffer->end - buffer->passed);

		if (n < 0)
			return (int)n;
		buffer->passed += (size_t)n;
		if (n == 0)
			break;
	}
	return 0;
}

/* 0 or negative errno: more bytes of the body are needed and none are there (-EAGAIN), or the
 * client or the body is broken. */
static int receive_body(struct connection *connection)
{
	struct buffer *buffer = &connection->from_client;
	size_t n_max = proxy_allow(connection->proxy, BUFFER_SIZE);
	long n = n_max > 0 ? buffer_receive(buffer, connection->client.fd, n_max) : -EAGAIN;

	if (n < 0)
		return (int)n;
	if (n > 0)
		return 0;
	connection->client_ended = true;
	return http_body_finish(&connection->exchange->request_body);
}

/* -EAGAIN: nothing to do for now. -EBADMSG: the client's body is broken. */
static int copy_up(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	struct buffer *buffer = &connection->from_client;
	int r = send_head(connection);
	size_t n_sent;

	for (unsigned i = 0; r == 0 && i < READS_PER_TURN; i++) {
		r = pass_body(&exchange->request_body, buffer);
		if (r < 0)
			return r;
		r = buffer_send(buffer, connection->server.fd,
				proxy_allow(connection->proxy, BUFFER_SIZE), &n_sent);
		if (n_sent > 0)
			connection_moved(connection, RELAY_UP, n_sent);
		if (r < 0)
			return r;
		if (exchange->request_body.is_done)
			return -EAGAIN;
		r = i + 1 < READS_PER_TURN ? receive_body(connection) : -EAGAIN;
	}
	return r;
}

/* ---- down ---- */

static bool is_answer_pending(const struct exchange *exchange)
{
	return exchange->n_answer_sent < exchange->answer.len;
}

/* Adds the payload of chunks to the answer. */
static int unchunk(struct exchange *exchange)
{
	struct buffer *buffer = &exchange->from_server;

	while (!exchange->response_body.is_done && buffer->passed < buffer->end) {
		struct http_bytes data = { .at = NULL };
		long n = http_body_read(&exchange->response_body, buffer->data + buffer->passed,
					buffer->end - buffer->passed, &data);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		text_add_bytes(&exchange->answer, data.at, data.len);
		buffer->passed += (size_t)n;
	}
	buffer->at = buffer->passed;
	return 0;
}

/* A head and the beginning of its body leave with one call. */
static int send_answer_and_body(struct exchange *exchange, int fd, size_t n_max, size_t *ret_body)
{
	struct buffer *buffer = &exchange->from_server;
	size_t n_answer = exchange->answer.len - exchange->n_answer_sent;
	struct iovec parts[] = {
		{ .iov_base = exchange->answer.data + exchange->n_answer_sent,
		  .iov_len = n_answer },
		{ .iov_base = buffer->data + buffer->at,
		  .iov_len = lesser(buffer->passed - buffer->at, n_max) },
	};
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = N_ELEMENTS(parts) };
	ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if ((size_t)n < n_answer) {
		exchange->n_answer_sent += (size_t)n;
		return -EAGAIN;
	}
	text_reset(&exchange->answer);
	exchange->n_answer_sent = 0;
	*ret_body = (size_t)n - n_answer;
	buffer->at += *ret_body;
	return 0;
}

/* @n_max: of the body. @ret_n_sent is set on failure, too. */
static int send_passed(struct exchange *exchange, int client, size_t n_max, size_t *ret_n_sent)
{
	struct buffer *buffer = &exchange->from_server;
	size_t n_rest = 0;
	int r;

	if (is_answer_pending(exchange) && buffer->at < buffer->passed) {
		r = send_answer_and_body(exchange, client, n_max, ret_n_sent);
		if (r < 0)
			return r;
	}
	r = exchange_send_answer(exchange, client);
	if (r < 0)
		return r;
	r = buffer_send(buffer, client, n_max - *ret_n_sent, &n_rest);
	*ret_n_sent += n_rest;
	return r;
}

static int send_plain(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	struct buffer *buffer = &exchange->from_server;
	size_t n_sent = 0;
	int r = pass_body(&exchange->response_body, buffer);

	if (r < 0)
		return r;
	r = send_passed(exchange, connection->client.fd,
			proxy_allow(connection->proxy, BUFFER_SIZE), &n_sent);
	if (n_sent > 0)
		connection_moved(connection, RELAY_DOWN, n_sent);
	return r;
}

static int send_unchunked(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	size_t before = exchange->answer.len;
	int r = unchunk(exchange);

	if (r < 0)
		return r;
	if (exchange->answer.len > before)
		connection_moved(connection, RELAY_DOWN, exchange->answer.len - before);
	return exchange_send_answer(exchange, connection->client.fd);
}

static void begin_response(struct exchange *exchange, const struct http_response *response)
{
	const struct http_head *head = &response->head;

	exchange->has_response = true;
	exchange->keeps_server = head->keep_alive;
	exchange->unchunks = exchange->asked.minor == 0 && head->framing == HTTP_CHUNKED_BODY;
	/* A request of which the server did not want the whole body: the rest of it has no place
	 * to go. */
	exchange->keeps_client = exchange->keeps_client && exchange->request_body.is_done &&
				 exchange->asked.minor == 1 &&
				 head->framing != HTTP_BODY_UNTIL_CLOSE;
	http_body_init(&exchange->response_body, head);
	http_add_response(&exchange->answer, response, &exchange->asked, exchange->keeps_client);
}

/* Reads one head if it is complete: 1, 0 if bytes are missing, or -EBADMSG. */
static int read_head(struct connection *connection, bool *ret_switches)
{
	struct exchange *exchange = connection->exchange;
	struct buffer *buffer = &exchange->from_server;
	struct http_response response;
	long n = http_response_read(&exchange->reader, buffer->data + buffer->at,
				    buffer->end - buffer->at, &exchange->asked, &response);

	if (n <= 0)
		return (int)n;
	buffer->at += (size_t)n;
	buffer->passed = buffer->at;
	connection_moved(connection, RELAY_DOWN, (size_t)n);
	*ret_switches = response.status == 101;
	if (response.status >= 200 || *ret_switches)
		begin_response(exchange, &response);
	else if (++exchange->n_interim > INTERIM_MAX)
		return -EBADMSG;
	else if (exchange->asked.minor == 1)
		http_add_response(&exchange->answer, &response, &exchange->asked, true);
	return 1;
}

/* The server sends no more: complete only for a body that ends so. */
static int end_of_server(struct exchange *exchange)
{
	exchange->keeps_server = false;
	if (!exchange->has_begun)
		return -ECONNRESET;
	return exchange->has_response ? http_body_finish(&exchange->response_body) : -EBADMSG;
}

static int receive_response(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	size_t n_max = proxy_allow(connection->proxy, BUFFER_SIZE);
	long n = n_max > 0 ? buffer_receive(&exchange->from_server, connection->server.fd, n_max)
			   : -EAGAIN;

	if (n < 0)
		return (int)n;
	if (n == 0)
		return end_of_server(exchange);
	exchange->has_begun = true;
	return 0;
}

/* One step down, which reads at most once. 1: the response is complete and sent; 2: the connection
 * becomes a tunnel. */
static int step_down(struct connection *connection, bool may_read)
{
	struct exchange *exchange = connection->exchange;
	bool switches = false;
	int r;

	if (exchange->from_server.end > exchange->from_server.at && !exchange->has_response) {
		r = read_head(connection, &switches);
		if (r < 0 || switches)
			return r < 0 ? r : 2;
		if (r > 0)
			return 0;
	}
	if (!exchange->has_response)
		r = exchange_send_answer(exchange, connection->client.fd);
	else if (exchange->unchunks)
		r = send_unchunked(connection);
	else
		r = send_plain(connection);
	if (r < 0)
		return r;
	if (exchange->has_response && exchange->response_body.is_done &&
	    !is_answer_pending(exchange))
		return 1;
	return may_read ? receive_response(connection) : -EAGAIN;
}

static int copy_down(struct connection *connection)
{
	int r = 0;

	/* A step without a read leaves nothing unsent; the socket stays readable. */
	for (unsigned i = 0; r == 0; i++)
		r = step_down(connection, i < READS_PER_TURN);
	return r;
}

/* ---- both ---- */

/* A server may close an idle connection while a request is on its way. A request without a body and
 * without an effect may be sent again. */
static bool can_repeat(const struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;

	return !exchange->has_begun && connection->target->n_requests > 1 &&
	       exchange->request_body.framing == HTTP_NO_BODY &&
	       (strncmp(exchange->head.data, "GET ", 4) == 0 ||
		strncmp(exchange->head.data, "HEAD ", 5) == 0);
}

static enum turn fail(struct connection *connection, int error, bool is_up)
{
	const struct exchange *exchange = connection->exchange;
	bool is_client = is_up && error == -EBADMSG;

	if (!is_client && can_repeat(connection))
		return dial_again(connection);
	connection->proxy->with.counters->n_failed++;
	if (exchange->has_response || is_answer_pending(exchange)) {
		connection_free(connection, "error");
		return TURN_GONE;
	}
	if (is_client) {
		connection->proxy->with.counters->n_malformed++;
		return connection_refuse(connection, 400,
					 http_fault_word(exchange->request_body.fault));
	}
	return connection_refuse(connection, 502,
				 error == -EBADMSG ? "bad-response" : "server-closed");
}

/* Was everything sent that was read of the request? */
static bool is_flushed(const struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;

	return exchange->n_head_sent == exchange->head.len &&
	       connection->from_client.at == connection->from_client.passed;
}

static enum turn finish(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;

	/* A server that still waits for the end of this request would take the next one for it.
	 * Bytes after a complete response belong to no request. */
	if (!exchange->keeps_server || !exchange->request_body.is_done || !is_flushed(connection) ||
	    exchange->from_server.end > exchange->from_server.at)
		connection_close_server(connection, "end");
	connection->reader = (struct http_reader)HTTP_READER_INIT;
	connection->from_client.at = connection->from_client.passed;
	connection->stage = exchange->keeps_client ? STAGE_HEAD : STAGE_CLOSE;
	connection_wait_for_request(connection);
	return TURN_AGAIN;
}

/* A server's reset is reported without end until it is read, so its socket is in the set only while
 * bytes are wanted or blocked. */
static void wait_for_both(struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;
	bool up_blocked = !exchange->up_failed && !is_flushed(connection);
	bool down_blocked = is_answer_pending(exchange) ||
			    exchange->from_server.at < exchange->from_server.passed;
	bool may_read = proxy_allow(connection->proxy, 1) > 0;
	bool wants_body = !exchange->up_failed && !exchange->request_body.is_done && !up_blocked &&
			  !connection->client_ended;

	if (!may_read)
		proxy_tick_later(connection->proxy);
	(void)ready_wait(connection->proxy->with.ready, &connection->client,
			 (may_read ? (wants_body ? EPOLLIN : 0) | (down_blocked ? EPOLLOUT : 0)
				   : 0) |
				 EPOLLHUP);
	(void)ready_wait(connection->proxy->with.ready, &connection->server,
			 may_read ? (down_blocked ? 0 : EPOLLIN) | (up_blocked ? EPOLLOUT : 0) : 0);
}

enum turn exchange_turn(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	int up = exchange->up_failed ? -EAGAIN : copy_up(connection), down;

	/* The response may explain why the server takes no more of the request. */
	if (up == -EPIPE || up == -ECONNRESET)
		exchange->up_failed = true;
	else if (up != -EAGAIN)
		return fail(connection, up, true);
	down = copy_down(connection);
	if (down == 1)
		return finish(connection);
	if (down == 2)
		return connection_begin_tunnel(connection);
	if (down != -EAGAIN)
		return fail(connection, down, false);
	wait_for_both(connection);
	return TURN_WAIT;
}
