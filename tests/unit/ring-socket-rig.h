/* SPDX-License-Identifier: MIT */
#pragma once

/* Channels over sockets, used through their table of functions */

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ring/channel.h"
#include "test.h"

#define WHOLE (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)
#define DEADLINE_USEC UINT64_C(120000000)
#define TOTAL_BYTES 131072

static inline struct sbx_ring_config config_of(int transport, const char *endpoint)
{
	return (struct sbx_ring_config){ .size = sizeof(struct sbx_ring_config),
					 .transport = transport,
					 .total_bytes = TOTAL_BYTES,
					 .timeout_usec = 1000000,
					 .spin_usec = 1,
					 .endpoint = endpoint };
}

static inline struct sbx_ring *ring_free(struct sbx_ring *ring)
{
	if (!ring)
		return NULL;
	ring->transport->close(ring);
	free(ring->endpoint);
	free(ring);
	return NULL;
}

CLEANUP_BY(struct sbx_ring, ring_free)
#define _cleanup_ring_ _cleanup_(ring_free_ptr)

static inline struct sbx_ring *open_at(int transport, const char *endpoint, int role)
{
	struct sbx_ring_config config = config_of(transport, endpoint);
	struct sbx_error err = { 0 };
	struct sbx_ring *ring = NULL;

	expect_eq(socket_open(&config, role, -EBADF, &ring, &err), 0);
	if (!ring)
		printf("# %s: %s\n", err.what, err.why);
	return ring;
}

/* A channel whose other end is a plain socket. */
static inline struct sbx_ring *open_pair(int type, int *ret_peer)
{
	struct sbx_ring_config config = config_of(SBX_RING_UNIX_SOCKET, NULL);
	struct sbx_ring *ring = NULL;
	int pair[2];

	expect(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0);
	expect_eq(socket_open(&config, SBX_RING_SERVER, pair[0], &ring, NULL), 0);
	*ret_peer = pair[1];
	return ring;
}

static inline int send_flags(struct sbx_ring *ring, const void *bytes, size_t n_bytes,
			     unsigned flags)
{
	void *room;
	int r = ring->transport->reserve(ring, n_bytes, &room);

	if (r != 0)
		return r;
	memcpy(room, bytes, n_bytes);
	return ring->transport->commit(ring, n_bytes, WHOLE, flags);
}

static inline int send_text(struct sbx_ring *ring, const char *text)
{
	return send_flags(ring, text, strlen(text), 0);
}

static inline int peek(struct sbx_ring *ring, const void **ret, size_t *ret_n_bytes)
{
	uint32_t kind = 0;
	int r = ring->transport->peek(ring, ret, ret_n_bytes, &kind);

	expect(r != 0 || kind == WHOLE);
	return r;
}

static inline int peek_result(struct sbx_ring *ring)
{
	const void *bytes;
	size_t n_bytes;

	return peek(ring, &bytes, &n_bytes);
}

static inline int wait_for(struct sbx_ring *ring, unsigned events)
{
	return ring->transport->wait(ring, events, DEADLINE_USEC);
}

#define expect_message(ring, text)                                                                 \
	do {                                                                                       \
		const void *_bytes = NULL;                                                         \
		size_t _n = 0;                                                                     \
		expect_eq(wait_for(ring, SBX_RING_READABLE), 0);                                   \
		expect_eq(peek(ring, &_bytes, &_n), 0);                                            \
		expect_eq(_n, strlen(text));                                                       \
		expect(_n == strlen(text) && memcmp(_bytes, text, _n) == 0);                       \
		(ring)->transport->release(ring);                                                  \
	} while (0)

#define expect_end(ring, result)                                                                   \
	do {                                                                                       \
		expect_eq(wait_for(ring, SBX_RING_READABLE), 0);                                   \
		expect_eq(peek_result(ring), result);                                              \
		expect(!(ring)->transport->is_connected(ring));                                    \
	} while (0)

static inline void write_u32(uint8_t *bytes, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static inline void send_word(int fd, uint32_t word)
{
	uint8_t bytes[4];

	write_u32(bytes, word);
	expect_eq(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
}

static inline size_t count_fds(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	return n;
}

static inline void make_place(char directory[static 32], char path[static 64])
{
	(void)strcpy(directory, "/tmp/test-ring-XXXXXX");
	expect(mkdtemp(directory) != NULL);
	(void)snprintf(path, 64, "%s/ring.sock", directory);
}

static inline bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static inline int poll_once(int fd, int timeout_msec)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, timeout_msec) > 0 ? ready.revents : 0;
}
