/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The bytes of one tunnel, in both directions
 *
 * A relay has no buffer of its own: many tunnels are idle, and a few have bytes on their way. What
 * those need, they borrow of a pool that all relays of a loop share.
 *
 * Each direction ends alone: the end of one stream is passed on after its bytes, while the other
 * direction goes on. A reset is passed on as a reset, so that a cut stream never looks complete.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "service/ready.h"

/* The most that relay_add() takes in one direction, and the most that a direction that is not
 * spliced holds for a slow reader. */
#define RELAY_BUFFER_BYTES 65536

enum relay_direction {
	RELAY_UP,   /* client -> server */
	RELAY_DOWN, /* server -> client */
};

/*
 * Called only from the loop's ready_turn(), never from inside a function of this header. Each may
 * deinitialise the relay, and free the memory that it is in.
 */
struct relay_hooks {
	/* How many bytes may be read now, of @wanted. 0: none, until relay_resume(). NULL: all. */
	size_t (*allow)(void *userdata, size_t wanted);
	/* @n_bytes were read of the one side, and belong to the other from now on. 0: bytes that
	 * were counted before have moved on to a slow reader, so the tunnel is not idle. May be
	 * NULL. */
	void (*moved)(void *userdata, enum relay_direction direction, size_t n_bytes);
	/*
	 * 0: both directions reached their ends. Otherwise negative errno: a side was reset, or the
	 * host lacks something; close() then resets both sides. The sockets have left the ready
	 * set; the owner calls relay_deinit() and closes them.
	 */
	void (*ended)(void *userdata, int error);
};

/* The memory and pipes that the relays of one loop share. Outlives them and the calls of their
 * hooks. */
struct relay_pool;

int relay_pool_new(struct relay_pool **ret);
struct relay_pool *relay_pool_free(struct relay_pool *pool);
CLEANUP_BY(struct relay_pool, relay_pool_free)

struct relay_buffer;
struct relay_pipe;

/* One of the two sockets, and the direction that begins at it. Private to relay.c. */
struct relay_end {
	struct ready_socket socket;
	struct relay *relay;
	/* Bytes that were read and that the other socket could not take yet: in at most one of
	 * the two. */
	struct relay_buffer *buffer;
	struct relay_pipe *pipe;
	uint8_t n_big;	/* large reads in a row, counted up to those that begin splicing */
	bool is_paused; /* allow() returned 0 */
	bool is_at_end;
	bool is_passed_on; /* the other socket was told about the end */
};

/* Embedded in the owner's struct; must not move between relay_start() and relay_deinit(). */
struct relay {
	struct relay_pool *pool;
	struct ready *ready;
	const struct relay_hooks *hooks;
	void *userdata;
	struct relay_end ends[2]; /* by the direction that begins there: client, server */
	bool is_running;	  /* between relay_start() and ended() */
};

/*
 * @client_fd, @server_fd: connected stream sockets, borrowed, non-blocking, in no ready set. The
 * process must ignore SIGPIPE, which splice() raises. 0 or negative errno.
 */
int relay_init(struct relay *relay, struct relay_pool *pool, struct ready *ready, int client_fd,
	       int server_fd, const struct relay_hooks *hooks, void *userdata);
/*
 * Bytes that the owner has read before the tunnel begins; they go first. Before relay_start(), once
 * or in pieces. allow() and moved() hear nothing of them. 0, -ENOBUFS beyond RELAY_BUFFER_BYTES, or
 * -ENOMEM.
 */
int relay_add(struct relay *relay, enum relay_direction direction, const void *bytes, size_t n);
/* Sends what was added, as far as it goes now. 0 or negative errno. */
int relay_start(struct relay *relay);
/* allow() is asked again. */
void relay_resume(struct relay *relay);
/* Removes the sockets from the ready set and gives everything back to the pool. Accepts a relay
 * that is zero, or was deinitialised. */
void relay_deinit(struct relay *relay);
