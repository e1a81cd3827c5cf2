/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The clients of a service: the one SEQPACKET server under all services
 *
 * A service describes in two tables what it answers (struct client_protocol) and how much a client
 * may take (struct client_limits). What a hostile client can do is dealt with here:
 *
 *   connects and sends nothing     untrusted clients together get three quarters of the
 *                                  connections, so that root always finds one, and each user of
 *                                  each listener a quarter; where that is full, the client that
 *                                  has been idle for longest makes room
 *   sends without end              a turn is a few messages; the rest waits in its own socket
 *   does not read its replies      nothing more of it is read while one reply waits
 *   sends more than it may         refused; the bytes and fds of that message are gone
 *   closes one direction           still gets the replies to what it has sent
 *   claims to be root              only the kernel's word counts, and never that of a peer in
 *                                  another user namespace or in a sandbox's cgroup
 *   makes the service log          ten lines a minute
 *
 * One hazard stays: closing a received fd can wait for its sender (FUSE_FLUSH, SO_LINGER), so a
 * service with n_fds > 0 must not share its process with one that has to answer everybody.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

#include "base/cleanup.h"

struct client;
struct clients;
struct log;
struct peer;
struct ready;

struct client_limits {
	size_t n_clients;   /* at once; of these, untrusted ones get no more than leaves some fds */
	uint64_t idle_usec; /* without a message for so long, an untrusted client can make room */
	size_t n_bytes;	    /* of a message */
	size_t n_fds;	    /* that come with one; with 0 the kernel discards all */
	size_t n_in_work;   /* messages of one client with a hold, before its next one is read */
	unsigned n_per_turn; /* messages of one client, before the next client's turn */
};

#define CLIENTS_DEFAULT 1024
#define CLIENTS_IDLE_USEC UINT64_C(10000000)

struct client_origin {
	const char *listener;	 /* outlives the client */
	const struct peer *peer; /* borrowed: a pidfd that is kept must be duplicated */
	bool is_trusted;	 /* set by clients_add() */
};

struct client_message {
	char *bytes; /* with a NUL behind them */
	size_t n_bytes;
	int *fds; /* those that are still there after message() are closed: see take_fd() */
	size_t n_fds;
};

/* @service is clients_new()'s, @data what opened() returned. */
struct client_protocol {
	/* Root and the service's own user are trusted on this listener and on no other. */
	const char *trusted_listener;
	/*
	 * A message counts without its sender, as a record does and a question does not: what a
	 * client has sent before it hung up is still read, and messages with a hold outlive the
	 * connection.
	 */
	bool is_one_way;
	/* 0, or negative errno: then the connection is closed, and closed() is not called. */
	int (*opened)(void *service, struct client *client, const struct client_origin *origin,
		      void **ret_data);
	/* Replies at once, or holds the client and replies later, or says nothing. */
	void (*message)(void *data, const struct client_message *message);
	/* The message is longer, or has more fds, than the limits say: reply with that. */
	void (*refuse)(void *data, const struct sbx_error *why);
	/* May another message be read now? NULL: always. Asked again after each message, reply and
	 * release, and by clients_update(). */
	bool (*may_read)(const void *data);
	/* The client is gone; what it had in work gets no reply. */
	void (*closed)(void *data);
};

/*
 * Sends, or keeps the reply until the client reads. @fds are borrowed. 0, also where the client has
 * gone meanwhile; -EMSGSIZE where no socket takes so much: then nothing was sent. Never frees the
 * client.
 */
int client_reply(struct client *client, const void *bytes, size_t n_bytes, const int *fds,
		 size_t n_fds);
/* Ends the connection; closed() is called later, never from here. */
void client_end(struct client *client);
/* A message of it is in work. Each hold needs one release, unless closed() was called before. */
void client_hold(struct client *client);
/* May call closed(). */
void client_release(struct client *client);

/* Everything is borrowed, for as long as the clients live. 0 or -ENOMEM. */
int clients_new(struct ready *ready, const struct log *log, const struct client_protocol *protocol,
		const struct client_limits *limits, void *service, struct clients **ret);
/* Calls closed() for each. */
struct clients *clients_free(struct clients *clients);
void clients_free_ptr(struct clients **clients);
#define _cleanup_clients_ _cleanup_(clients_free_ptr)

/*
 * Accepts the next connection of @listening_fd. 0, also where it was refused, which is logged;
 * negative errno where there is none, or no room for its fd.
 */
int clients_accept(struct clients *clients, const char *listener, int listening_fd);
/* Serves @fd, which must be non-blocking, and takes it, even on failure. 0, -EUSERS, -ENOMEM, or
 * what opened() returned. */
int clients_add(struct clients *clients, const char *listener, int fd, const struct peer *peer);

size_t clients_count(const struct clients *clients);
bool clients_are_full(const struct clients *clients);
/* @on_left is called when one has gone. */
void clients_watch(struct clients *clients, void (*on_left)(void *userdata), void *userdata);

/* To be called where may_read() has changed for other clients than the one in message(). */
void clients_update(struct clients *clients);
/* Reads what all clients have sent so far, before the service ends. */
void clients_read_all(struct clients *clients);
