/* SPDX-License-Identifier: MIT */
#ifndef SBX_RING_H
#define SBX_RING_H

/*
 * Messages between two processes that do not trust each other
 *
 * A channel has two sides, the server, which makes it, and the client. Each sends messages of up to
 * SBX_RING_MESSAGE_MAX bytes to the other; a message arrives whole or not at all, in order. The
 * transport is shared memory, a unix socket or TCP on the loopback.
 *
 * Whatever the other side writes is checked before it is used. The first violation ends the channel
 * with -EPROTO, and sbx_ring_violation() names it.
 *
 * A channel may be used by one thread at a time. It is not inherited over fork(2): a child must not
 * use it.
 *
 *	struct sbx_ring_config config = { sizeof(config) };
 *
 *	socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets);
 *	... start the other process with sockets[1], then close(sockets[1]) ...
 *	if (sbx_ring_open(&config, SBX_RING_SERVER, sockets[0], &ring, &err) == 0 &&
 *	    sbx_ring_send(ring, "hello", 5, 0, SBX_RING_FOREVER) == 0)
 *		...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>
#include <sbx/ring-layout.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbx_ring;

enum sbx_ring_role {
	SBX_RING_SERVER = 0, /* makes the channel, and need not trust the client */
	SBX_RING_CLIENT = 1,
};

enum sbx_ring_transport {
	SBX_RING_SHARED_MEMORY = 0,
	SBX_RING_UNIX_SOCKET = 1,
	SBX_RING_TCP = 2,
};

enum sbx_ring_mode {
	SBX_RING_STREAM = 0, /* a byte ring: the fastest for many messages */
	SBX_RING_CALL = 1,   /* cells of 64 bytes: the fastest for one request and its response */
};

/* A message that finds no room. */
enum sbx_ring_full_policy {
	SBX_RING_WHEN_FULL_WAIT = 0, /* wait until the time-out */
	SBX_RING_WHEN_FULL_FAIL = 1, /* SBX_RING_FULL at once */
	SBX_RING_WHEN_FULL_DROP = 2, /* lose this message and count it: SBX_RING_DROPPED */
};

/* Set all bytes to 0 and @size to its size: 0 and NULL mean the default. */
struct sbx_ring_config {
	size_t size;	       /* sizeof(struct sbx_ring_config) when the caller was compiled */
	int transport;	       /* enum sbx_ring_transport */
	int mode;	       /* enum sbx_ring_mode; the server chooses */
	int when_full;	       /* enum sbx_ring_full_policy, of this side */
	bool is_datagram;      /* unix_socket: SOCK_SEQPACKET instead of SOCK_STREAM */
	size_t total_bytes;    /* of both directions, a power of two (1 MiB); the server chooses */
	uint64_t timeout_usec; /* of SBX_RING_DEFAULT_TIMEOUT (5 s) */
	uint64_t spin_usec;    /* longest spinning before a sleep (100); 1 is nearly none */
	const char *endpoint;  /* without a socket: the path of a unix socket, "localhost:PORT", or
				  the name of a channel in shared memory */
};

/* Results that are not failures. */
#define SBX_RING_FULL 1	   /* no room for the message before the time-out */
#define SBX_RING_EMPTY 2   /* no message before the time-out */
#define SBX_RING_CLOSED 3  /* the other side closed the channel, and all it sent has been read */
#define SBX_RING_DROPPED 4 /* no room: the message is lost and counted */

/* Time-outs in microseconds. 0 only tries. */
#define SBX_RING_FOREVER UINT64_MAX
#define SBX_RING_DEFAULT_TIMEOUT (UINT64_MAX - 1)

/* A flag of sbx_ring_send() and sbx_ring_commit(): another message follows at once, so this one may
 * wait to be published with it. */
#define SBX_RING_MORE 1u

/*
 * Opens one side of a channel. With @socket >= 0 it is a connected unix socket whose other end the
 * other side holds; it is taken, even on failure, and the end of that process closes the channel.
 * With @socket < 0 the channel is found by config->endpoint.
 *
 * The client waits for the server's hello up to config->timeout_usec. 0, or negative errno with
 * @err.
 */
SBX_API int sbx_ring_open(const struct sbx_ring_config *config, int role, int socket,
			  struct sbx_ring **ret, struct sbx_error *err);
/*
 * Sets one property of CDMF's names: ipc_transport (shared_memory, unix_socket, tcp), ipc_shm_size,
 * ipc_buffer_size (slots), ipc_endpoint, ipc_timeout_ms. An empty value is the default. -EINVAL
 * with @err: the key or value is unknown. @value must live until the channel is open.
 */
SBX_API int sbx_ring_configure(struct sbx_ring_config *config, const char *key, const char *value,
			       struct sbx_error *err);
/* Publishes what was sent, tells the other side and frees the channel. Accepts NULL. */
SBX_API void sbx_ring_close(struct sbx_ring *ring);
/*
 * Closes *@ring and opens its endpoint again, for example after a pause; the new channel is empty,
 * and its statistics go on. On failure *@ring is NULL. -ENOTCONN if the channel came over a socket:
 * it has no endpoint, and *@ring stays as it is.
 */
SBX_API int sbx_ring_reconnect(struct sbx_ring **ring, struct sbx_error *err);
/* Ends the channel also when the process of @pidfd exits; duplicates the fd. */
SBX_API int sbx_ring_watch(struct sbx_ring *ring, int pidfd);

/* Sends a copy of a message. 0, SBX_RING_FULL, SBX_RING_DROPPED, -EMSGSIZE, -EPIPE if the other
 * side has closed, -ECONNRESET if it died, -EPROTO. */
SBX_API int sbx_ring_send(struct sbx_ring *ring, const void *bytes, size_t n_bytes, unsigned flags,
			  uint64_t timeout_usec);
/* Publishes messages that were sent with SBX_RING_MORE. */
SBX_API int sbx_ring_flush(struct sbx_ring *ring);
/*
 * Receives a message into memory of the channel, valid until the next call with @ring. The other
 * side cannot change it. 0, SBX_RING_EMPTY, SBX_RING_CLOSED, -ECONNRESET after the last message of
 * a side that died, -EPROTO.
 */
SBX_API int sbx_ring_receive(struct sbx_ring *ring, const void **ret_bytes, size_t *ret_n_bytes,
			     uint64_t timeout_usec);

/*
 * Without a copy. Room for @n_bytes contiguous bytes, at most sbx_ring_reserve_max(); then commit
 * as many of them as are used, as one message. SBX_RING_FULL: never waits. A second reserve without
 * a commit replaces the first.
 */
SBX_API int sbx_ring_reserve(struct sbx_ring *ring, size_t n_bytes, void **ret);
SBX_API int sbx_ring_commit(struct sbx_ring *ring, size_t n_bytes, unsigned flags);
SBX_API size_t sbx_ring_reserve_max(const struct sbx_ring *ring);
/*
 * The next message in place, until sbx_ring_release(). THE OTHER SIDE MAY STILL CHANGE THESE BYTES:
 * write them to a file or hash them, but do not parse them. Never waits. -EMSGSIZE for a message in
 * parts: receive it.
 */
SBX_API int sbx_ring_peek(struct sbx_ring *ring, const void **ret_bytes, size_t *ret_n_bytes);
SBX_API void sbx_ring_release(struct sbx_ring *ring);

/*
 * Frames: messages that begin with a type and a request id (sbx-frame-layout(7)).
 *
 * sbx_ring_request() sends one with a new request id and waits for the frame with the same id;
 * frames with id 0 that arrive before it are kept for sbx_ring_receive_frame(), and count as
 * readable for sbx_ring_wait(); sbx_ring_receive() does not return them. A frame with another id
 * answers a request that timed out and is dropped. *@ret_payload is valid until the next
 * call with @ring. SBX_RING_EMPTY: no response before the time-out.
 */
SBX_API int sbx_ring_send_frame(struct sbx_ring *ring, uint8_t type, uint32_t request_id,
				const void *payload, size_t n_bytes, unsigned flags,
				uint64_t timeout_usec);
SBX_API int sbx_ring_receive_frame(struct sbx_ring *ring, uint8_t *ret_type,
				   uint32_t *ret_request_id, const void **ret_payload,
				   size_t *ret_n_bytes, uint64_t timeout_usec);
SBX_API int sbx_ring_request(struct sbx_ring *ring, uint8_t type, const void *payload,
			     size_t n_bytes, uint8_t *ret_type, const void **ret_payload,
			     size_t *ret_n_bytes, uint64_t timeout_usec);

/* For poll(2). */
#define SBX_RING_READABLE 1u
#define SBX_RING_WRITABLE 2u
/* An fd that becomes readable after sbx_ring_arm(). */
SBX_API int sbx_ring_fd(const struct sbx_ring *ring);
/*
 * Asks the other side for a wake-up. 0: now poll sbx_ring_fd(). 1: do not poll, one of @events is
 * possible already, or the channel has ended. Call it before each poll; any other call disarms.
 * With @events 0 only the end of the other side counts, whether or not it has sent more.
 */
SBX_API int sbx_ring_arm(struct sbx_ring *ring, unsigned events);
/* Waits until one of @events is possible or the channel has ended: 0, SBX_RING_EMPTY (time-out). */
SBX_API int sbx_ring_wait(struct sbx_ring *ring, unsigned events, uint64_t timeout_usec);

SBX_API bool sbx_ring_is_connected(const struct sbx_ring *ring);
/* "shared_memory", "unix_socket", "tcp" */
SBX_API const char *sbx_ring_transport_name(const struct sbx_ring *ring);
/* The path, name or "localhost:PORT" with the port that was chosen; "" for a given socket. */
SBX_API const char *sbx_ring_endpoint(const struct sbx_ring *ring);
/* The name of the violation that ended the channel, or NULL. */
SBX_API const char *sbx_ring_violation(const struct sbx_ring *ring);
/* Always -EOPNOTSUPP with @err: a size is fixed when the channel is made. */
SBX_API int sbx_ring_resize(struct sbx_ring *ring, size_t total_bytes, struct sbx_error *err);

/* Set @size to its size. Of this side. */
struct sbx_ring_statistics {
	size_t size;
	uint64_t messages_sent, messages_received;
	uint64_t send_failures, receive_failures; /* full, dropped, time-outs of receive */
	uint64_t bytes_sent, bytes_received;
	uint64_t dropped;	   /* by SBX_RING_WHEN_FULL_DROP */
	uint64_t full;		   /* times that a message found no room */
	uint64_t sleeps;	   /* times that this side slept in the kernel */
	uint64_t wakes;		   /* wake-ups sent to the other side */
	uint64_t high_water_bytes; /* most bytes of the other side that waited at once; 0 in
				    * call mode, where the reader sees one message at a time */
	uint64_t now_bytes;	   /* now on their way to the other side */
};
SBX_API void sbx_ring_get_statistics(const struct sbx_ring *ring, struct sbx_ring_statistics *ret);

#ifdef __cplusplus
}
#endif

#endif
