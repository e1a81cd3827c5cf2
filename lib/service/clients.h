/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The clients of a service: the one SEQPACKET server under all services
 *
 * A service describes in two tables which messages it answers (struct client_protocol) and how much
 * a client may use (struct client_limits). This file handles each attack of a hostile client:
 *
 *   connects and sends nothing     untrusted clients together get three quarters of the
 *                                  connections, so that root always finds one, and each user of
 *                                  each listener a quarter; if that is full, the client idle for
 *                                  longest is disconnected, or the new one refused if none is
 *                                  idle for long enough
 *   sends without end              a turn reads a few messages; the rest waits in its socket
 *   does not read its replies      nothing more of it is read while one reply is queued
 *   sends too large a message      refused; the bytes and fds of that message are discarded
 *   closes one direction           still gets the replies to its earlier messages
 *   claims to be root              only the kernel's credentials count, and never those of a peer
 *                                  in another user namespace or in a sandbox's cgroup
 *   makes the service log          ten lines a minute
 *
 *   sends a socket with SO_LINGER  with n_fds 0 the kernel refuses the message since Linux 6.16;
 *                                  before, the connection ends, and the message is left to a
 *                                  process that exits (service/unread.h)
 *
 * One hazard remains: closing a received fd can block in its sender's code (FUSE_FLUSH, SO_LINGER),
 * so a service with n_fds > 0 must not share its process with one that must answer all users.
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
	size_t n_clients;   /* connections at once; untrusted ones also leave some of RLIMIT_NOFILE
			       free */
	uint64_t idle_usec; /* an untrusted client without a message for so long may be disconnected
			       to make room */
	size_t n_bytes;	    /* maximum size of a message */
	size_t n_fds;	    /* maximum fds of a message; with 0 one with fds ends the connection */
	size_t n_in_work; /* messages that a client may have on hold before its next one is read */
	unsigned n_per_turn; /* messages read of one client before the next client's turn */
};

#define CLIENTS_DEFAULT 1024
#define CLIENTS_IDLE_USEC UINT64_C(10000000)

struct client_origin {
	const char *listener;	 /* outlives the client */
	const struct peer *peer; /* borrowed: duplicate the pidfd to keep it */
	bool is_trusted;	 /* set by clients_add() */
};

struct client_message {
	char *bytes; /* followed by a NUL */
	size_t n_bytes;
	int *fds; /* the server closes those that message() did not take: see take_fd() */
	size_t n_fds;
};

/* @service is the one given to clients_new(), @data what opened() returned. */
struct client_protocol {
	/* Root and the service's own user are trusted on this listener only. */
	const char *trusted_listener;
	/*
	 * A message is valid without its sender, as a record is and a question is not: messages
	 * that a client sent before it hung up are still read, and those on hold outlive the
	 * connection.
	 */
	bool is_one_way;
	/* Returns 0, or negative errno: then the connection is closed, and closed() is not
	 * called. */
	int (*opened)(void *service, struct client *client, const struct client_origin *origin,
		      void **ret_data);
	/* Replies at once, holds the client and replies later, or does not reply. */
	void (*message)(void *data, const struct client_message *message);
	/* A message exceeded n_bytes or n_fds: reply with @why. */
	void (*refuse)(void *data, const struct sbx_error *why);
	/* May another message be read now? NULL: always. Called again after each message, reply and
	 * release, and by clients_update(). */
	bool (*may_read)(const void *data);
	/* The client has been closed; its messages in work get no reply. */
	void (*closed)(void *data);
};

/*
 * Sends the reply, or queues it until the client reads. Borrows @fds. 0, even if the client has
 * disconnected; -EMSGSIZE if a socket cannot take so much: then nothing was sent. Never frees the
 * client.
 */
int client_reply(struct client *client, const void *bytes, size_t n_bytes, const int *fds,
		 size_t n_fds);
/* Ends the connection; closed() is called later, never from here. */
void client_end(struct client *client);
/* Marks a message as in work. Each hold needs one release, unless closed() was called before. */
void client_hold(struct client *client);
/* May call closed(). */
void client_release(struct client *client);

/* Borrows everything for as long as the clients live. 0 or -ENOMEM. */
int clients_new(struct ready *ready, const struct log *log, const struct client_protocol *protocol,
		const struct client_limits *limits, void *service, struct clients **ret);
/* Calls closed() for each client. */
struct clients *clients_free(struct clients *clients);
CLEANUP_BY(struct clients, clients_free)
#define _cleanup_clients_ _cleanup_(clients_free_ptr)

/*
 * Accepts the next connection of @listening_fd. 0, even if the client was refused (which is
 * logged); negative errno if no connection is queued or there is no room for its fd.
 */
int clients_accept(struct clients *clients, const char *listener, int listening_fd);
/* Serves @fd, which must be non-blocking; takes it, even on failure. 0, -EUSERS, -ENOMEM, or the
 * error of opened(). */
int clients_add(struct clients *clients, const char *listener, int fd, const struct peer *peer);

size_t clients_count(const struct clients *clients);
bool clients_are_full(const struct clients *clients);
bool clients_take_fds(const struct clients *clients);
/* Sets the function to call when a client has disconnected. */
void clients_watch(struct clients *clients, void (*on_left)(void *userdata), void *userdata);

/* To be called when may_read() has changed for clients other than the one in message(). */
void clients_update(struct clients *clients);
/* Before the service ends: reads all that clients have sent so far. What they send later fails with
 * EPIPE. */
void clients_read_all(struct clients *clients);
