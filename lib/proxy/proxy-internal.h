/* SPDX-License-Identifier: MIT */
#pragma once

/* A connection of a client, as proxy.c, connection.c, dial.c and exchange.c share it */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "http/http.h"
#include "proxy/judge.h"
#include "proxy/proxy.h"
#include "proxy/relay.h"
#include "proxy/resolver.h"
#include "service/ready.h"

struct report;
struct sd_event_source;

/* ---- buffers ---- */

#define BUFFER_SIZE HTTP_HEAD_MAX

/* Bytes of one peer: [at, passed) were checked and go on, [passed, end) were not looked at. */
struct buffer {
	char *data; /* BUFFER_SIZE, in struct exchange */
	size_t at;
	size_t passed;
	size_t end;
};

/* Reads once. The number of bytes, 0 at the end of the stream, -EAGAIN, -ENOBUFS without room, or
 * another negative errno. */
long buffer_receive(struct buffer *buffer, int fd, size_t n_max);
/* Sends at most @n_max bytes of what was passed. 0 if all of it was sent, -EAGAIN if some is left,
 * or negative errno. */
int buffer_send(struct buffer *buffer, int fd, size_t n_max, size_t *ret_sent);

/* ---- one request and its response ---- */

struct exchange {
	struct http_asked asked;
	bool keeps_client; /* the client wants to send another request */
	/* Up: the head as written for the server, then the body from the client's buffer. The head
	 * is kept until a response begins, because a server may close an idle connection just when
	 * a request is sent. */
	struct text head;
	size_t n_head_sent;
	struct http_body request_body;
	/* Down: our own heads and answers, then the body from the server's buffer. */
	struct text answer;
	size_t n_answer_sent;
	struct buffer from_server;
	struct http_reader reader;
	unsigned n_interim; /* responses below 200 */
	bool has_begun;	    /* a byte of a response was received */
	bool has_response;  /* its final head was read */
	bool keeps_server;
	bool up_failed; /* the server takes no more of the request */
	bool unchunks;	/* for a client that does not know chunks */
	struct http_body response_body;
	/* Not initialised. */
	char client_bytes[BUFFER_SIZE];
	char server_bytes[BUFFER_SIZE];
};

/* The server of a request, and the facts of its record. */
struct target {
	struct http_authority authority;
	struct resolver_address addresses[RESOLVER_ADDRESSES_MAX];
	size_t n_addresses;
	size_t next; /* address to try */
	bool allows_any_bytes;
	bool is_connected;
	char *rule;
	char *server_name; /* of a ClientHello for an address */
	uint64_t since_usec;
	uint64_t n_requests;
	uint64_t bytes_up;
	uint64_t bytes_down;
};

enum stage {
	STAGE_HEAD,
	STAGE_RESOLVE,
	STAGE_DIAL,
	STAGE_HELLO,
	STAGE_EXCHANGE,
	STAGE_HOLD, /* a tunnel whose first bytes the rate does not allow yet */
	STAGE_TUNNEL,
	STAGE_CLOSE, /* sends the last answer, and drops what still arrives */
	N_STAGES,
};

struct connection {
	struct proxy *proxy;
	struct connection *next;
	struct connection *previous;
	struct ready_socket client;
	struct ready_socket server; /* fd -EBADF: none */
	enum stage stage;
	uint64_t deadline_usec;
	bool client_ended; /* it sends no more */
	uint64_t n_requests;
	struct http_reader reader;
	struct buffer from_client;
	struct resolver_query *query;
	struct target *target;
	struct exchange *exchange; /* NULL in a tunnel */
	struct relay relay;
};

/* ---- the proxy ---- */

struct listener {
	struct proxy *proxy;
	struct listener *next;
	struct ready_socket socket;
};

struct proxy {
	struct proxy_options with;
	struct proxy_policy *policy;
	struct judge judge;
	struct report *report;
	struct relay_pool *pool;
	struct listener *listeners;
	struct connection *connections;
	struct sd_event_source *tick;
	bool is_ticking;
	bool is_full;	   /* accepts nothing until a connection ends */
	uint64_t n_tokens; /* bytes that may be moved before the next tick */
	uint64_t n_debts;  /* bytes that were moved without a token */
	uint64_t n_rest;   /* of the rate, less than a byte a tick */
};

/* How many of @wanted bytes may be read now; 0: none before the next tick. */
size_t proxy_allow(struct proxy *proxy, size_t wanted);
void proxy_spend(struct proxy *proxy, size_t n_bytes);
uint64_t proxy_count_bytes_left(const struct proxy *proxy);
bool proxy_has_bytes_left(const struct proxy *proxy);
void proxy_tick_later(struct proxy *proxy);
void proxy_make_room(struct proxy *proxy);

/* connection.c */
int connection_new(struct proxy *proxy, int fd);
/* Writes the record of its server. @cause: why it ends. */
void connection_free(struct connection *connection, const char *cause);
/* Continues after a pause, or when something has changed. May free the connection. */
void connection_turn(struct connection *connection);
void connection_time_out(struct connection *connection);
/* Does the policy, which was replaced, still allow it? */
bool connection_is_allowed(struct connection *connection);
bool connection_is_idle(const struct connection *connection);

void connection_moved(struct connection *connection, enum relay_direction direction, size_t n);
void connection_record_server(const struct connection *connection, const char *cause);
void connection_close_socket(struct connection *connection);
/* Also writes the record of an established connection, and forgets the target. */
void connection_close_server(struct connection *connection, const char *cause);

enum turn {
	TURN_WAIT,  /* for an event */
	TURN_AGAIN, /* the stage has changed */
	TURN_GONE,  /* the connection was freed */
};

/* Answers with @status and a reason, a word. Nothing of a response may have been sent. */
enum turn connection_refuse(struct connection *connection, unsigned status, const char *reason);
/* The same for a name that was not resolved, which the summary tells. */
enum turn connection_refuse_name(struct connection *connection, unsigned status,
				 const char *reason);
/* Answers that the last judgement denies the request. */
enum turn connection_refuse_denied(struct connection *connection);
enum turn connection_begin_tunnel(struct connection *connection);

/* Waits for these events of the client and of the server, if there is one. */
void connection_wait(struct connection *connection, uint32_t client, uint32_t server);
void connection_set_deadline(struct connection *connection, uint64_t usec);
/* Sets the deadline of STAGE_HEAD or STAGE_CLOSE. */
void connection_wait_for_request(struct connection *connection);
void connection_no_delay(int fd);
struct proxy_counters *connection_counters(const struct connection *connection);

/* dial.c: from a target to a connected server */
enum turn dial_name(struct connection *connection);
enum turn dial_literal(struct connection *connection);
/* When connect() has ended. */
enum turn dial_turn(struct connection *connection);
/* @error: of the address before. */
enum turn dial_next_address(struct connection *connection, int error);
/* Connects to the same server again. */
enum turn dial_again(struct connection *connection);

/* exchange.c */
int exchange_new(struct exchange **ret);
struct exchange *exchange_free(struct exchange *exchange);
/* Reads from the request what the exchange needs: the slices of @request end with this call. */
void exchange_begin(struct exchange *exchange, const struct http_request *request);
/* 0 if the answer was sent completely, -EAGAIN, or negative errno. */
int exchange_send_answer(struct exchange *exchange, int fd);
/* Copies both ways until there is nothing to do. */
enum turn exchange_turn(struct connection *connection);
