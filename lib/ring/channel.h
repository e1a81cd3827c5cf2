/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A channel: the functions of <sbx/ring.h> over one table of functions for each transport
 *
 * A transport moves records: parts of messages of at most record_max bytes, contiguous in memory
 * that it owns. This file's functions make messages of them: copies, parts, time-outs, drops,
 * counters. lib/ring/shared.c and lib/ring/socket.c are the transports.
 *
 *   sbx_ring_send()     reserve, copy, commit; wait while there is no room
 *   sbx_ring_receive()  peek, copy, release; wait while there is no record
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/ring.h>

/* A record in memory of the transport. */
struct record {
	const void *bytes;
	size_t n_bytes;
	uint32_t kind; /* SBX_RING_RECORD_* */
};

#define TRANSPORT_NOT_DONE 1
#define RING_RECORD_WHOLE (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)

struct transport {
	const char *name;
	/*
	 * Room for a record of @n_bytes <= record_max. 0, SBX_RING_FULL, -EPIPE, -ECONNRESET,
	 * -EPROTO. Never waits, and publishes nothing.
	 */
	int (*reserve)(struct sbx_ring *ring, size_t n_bytes, void **ret);
	/* Makes @n_bytes of the reserved ones a record with @kind (SBX_RING_RECORD_*). With
	 * SBX_RING_MORE in @flags it may be published later. 0 or negative errno. */
	int (*commit)(struct sbx_ring *ring, size_t n_bytes, uint32_t kind, unsigned flags);
	/* Publishes all committed records. 0, SBX_RING_FULL (a socket takes no more now), or
	 * negative errno. */
	int (*flush)(struct sbx_ring *ring);
	/*
	 * The next record, until release. 0, SBX_RING_EMPTY, SBX_RING_CLOSED, -ECONNRESET, -EPROTO.
	 * Never waits. Bytes in shared memory may still change.
	 */
	int (*peek)(struct sbx_ring *ring, const void **ret, size_t *ret_n_bytes,
		    uint32_t *ret_kind);
	/* The bytes that peek returns are private memory: receiving need not copy them. */
	bool is_private;
	void (*release)(struct sbx_ring *ring);
	/*
	 * The same for the usual message, which is one record, in one call; both may be NULL. 0;
	 * TRANSPORT_NOT_DONE: only the functions above can do it, or say why not. put: negative
	 * errno of commit. take: ring->message gets the record, if it has room; else the record is
	 * in ring->found, as from peek. SBX_RING_EMPTY, with no word about an end.
	 */
	int (*put)(struct sbx_ring *ring, const void *bytes, size_t n_bytes, unsigned flags);
	int (*take)(struct sbx_ring *ring);
	/* As in <sbx/ring.h>. wait() has flushed before it sleeps. */
	int (*wait)(struct sbx_ring *ring, unsigned events, uint64_t timeout_usec);
	int (*arm)(struct sbx_ring *ring, unsigned events);
	int (*watch)(struct sbx_ring *ring, int pidfd);
	bool (*is_connected)(const struct sbx_ring *ring);
	/* Bytes committed that the other side has not read, as far as this side knows. */
	size_t (*count_bytes)(const struct sbx_ring *ring);
	/* Most bytes of the other side that waited at once. */
	size_t (*count_high_water)(const struct sbx_ring *ring);
	/* Tells the other side, and observers, that its violation has ended the channel. */
	void (*refuse)(struct sbx_ring *ring);
	/* Says goodbye and frees everything but struct sbx_ring's own members. */
	void (*close)(struct sbx_ring *ring);
};

/* The common part, first in the struct of each transport. */
struct sbx_ring {
	const struct transport *transport;
	struct sbx_ring_config config; /* with all defaults filled in; endpoint is owned */
	int role;
	char *endpoint; /* never NULL */
	size_t record_max;
	int fd;			/* for poll(2); owned by the transport */
	unsigned n_quick_peeks; /* before a wait, where peek costs no system call; else 0 */
	int violation;		/* enum ring_violation; 0: none */
	int failure; /* -EPROTO or another errno that has ended the channel for good; 0 */
	struct sbx_ring_statistics statistics; /* high_water and now are asked of the transport */

	/* The message that sbx_ring_receive() returned, or the parts of the next one. */
	const uint8_t *received; /* the message: below, or a record of the transport */
	bool is_lent;		 /* the latter, which is to be released */
	uint8_t *message;
	size_t message_size, n_allocated;
	struct record found; /* by take, not released; bytes is NULL: none */
	bool is_partial;     /* parts have arrived */
	bool must_abort;     /* parts were sent of a message that found no room */

	bool has_reserved, has_peeked;
	size_t n_reserved, n_peeked;

	uint32_t last_request_id;
	struct ring_kept *kept; /* frames that came before a response, oldest first */
	struct ring_kept *lent; /* the one that the caller reads */
};

/* The channel has no state that could be repaired: the other side is told, and nothing more is
 * read. */
static inline int ring_violated(struct sbx_ring *ring, int violation)
{
	ring->violation = violation;
	ring->failure = -EPROTO;
	ring->transport->refuse(ring);
	return -EPROTO;
}

/*
 * Opens one side. Takes @socket (>= 0), even on failure. In @config channel.c has replaced each 0
 * and NULL by the default, and checked what does not depend on the transport. *@ret is zeroed
 * memory in which transport, config, role, record_max and fd are set, n_quick_peeks where peek
 * costs no system call, and endpoint (from the heap) if the transport has chosen one, as a port;
 * else channel.c sets it.
 */
typedef int transport_open_fn(const struct sbx_ring_config *config, int role, int socket,
			      struct sbx_ring **ret, struct sbx_error *err);
transport_open_fn shared_open; /* shared.c; without a socket: named.c finds the keeper */
transport_open_fn socket_open; /* socket.c: unix_socket and tcp */
