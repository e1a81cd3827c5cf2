/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A client of a channel that follows no rule
 *
 * It takes the fds of the hello and maps the two files as the layout says; everything else is up to
 * the test. The server of the same channel is opened with the public interface.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/ring-layout.h>
#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/fd.h"

struct raw {
	struct sbx_ring *server;
	int socket; /* the client's end */
	int fds[SBX_RING_HELLO_N_FDS];
	uint8_t *own;	      /* the client's file, writable; the data twice */
	const uint8_t *other; /* the server's file */
	size_t capacity;
	uint64_t nonce;
	uint32_t record_max;
	bool is_call;
	uint64_t tail; /* end of the records written by raw_record() */
};

#define RAW_INIT                                                                                   \
	{                                                                                          \
		.socket = -EBADF, .fds = { -EBADF, -EBADF, -EBADF }                                \
	}
#define _cleanup_raw_ _cleanup_(raw_close)

static inline void raw_close(struct raw *raw)
{
	sbx_ring_close(raw->server);
	raw->server = NULL;
	if (raw->own)
		(void)munmap(raw->own, SBX_RING_DATA_OFFSET + 2 * raw->capacity);
	if (raw->other)
		(void)munmap((void *)(uintptr_t)raw->other, SBX_RING_DATA_OFFSET + raw->capacity);
	raw->own = NULL;
	raw->other = NULL;
	close_fd(&raw->socket);
	fd_close_many(raw->fds, SBX_RING_HELLO_N_FDS);
}

static inline uint64_t raw_get(const uint8_t *at, size_t offset)
{
	return __atomic_load_n((const uint64_t *)(const void *)(at + offset), __ATOMIC_SEQ_CST);
}

static inline uint32_t raw_get_u32(const uint8_t *at, size_t offset)
{
	return __atomic_load_n((const uint32_t *)(const void *)(at + offset), __ATOMIC_SEQ_CST);
}

static inline void raw_put(struct raw *raw, size_t offset, uint64_t value)
{
	__atomic_store_n((uint64_t *)(void *)(raw->own + offset), value, __ATOMIC_SEQ_CST);
}

static inline void raw_put_u32(struct raw *raw, size_t offset, uint32_t value)
{
	__atomic_store_n((uint32_t *)(void *)(raw->own + offset), value, __ATOMIC_SEQ_CST);
}

static inline uint8_t *raw_data(struct raw *raw, uint64_t position)
{
	return raw->own + SBX_RING_DATA_OFFSET + position % raw->capacity;
}

/* Writes the header of a record of mode stream; the private tail is then its end. */
static inline void raw_record(struct raw *raw, uint32_t n_bytes, uint32_t kind)
{
	uint32_t header[2] = { n_bytes, kind };

	memcpy(raw_data(raw, raw->tail), header, sizeof(header));
	raw->tail += (SBX_RING_RECORD_HEADER_SIZE + (uint64_t)n_bytes + 7) & ~UINT64_C(7);
}

static inline void raw_publish(struct raw *raw)
{
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->tail);
}

/* The same in mode call, and visible at once. */
static inline void raw_cell(struct raw *raw, uint32_t n_bytes, uint32_t kind)
{
	uint8_t *at = raw_data(raw, raw->tail);
	uint64_t stamp = (raw->tail + SBX_RING_CELL_SIZE) ^ raw->nonce;

	memcpy(at + SBX_RING_CELL_LENGTH_OFFSET, &n_bytes, sizeof(n_bytes));
	memcpy(at + SBX_RING_CELL_KIND_OFFSET, &kind, sizeof(kind));
	__atomic_store_n((uint64_t *)(void *)at, stamp, __ATOMIC_SEQ_CST);
	raw->tail += (SBX_RING_CELL_PAYLOAD_OFFSET + (uint64_t)n_bytes + 63) & ~UINT64_C(63);
}

static inline void raw_ring_doorbell(struct raw *raw)
{
	static const uint64_t one = 1;

	(void)!write(raw->fds[2], &one, sizeof(one));
}

static inline bool raw_map(struct raw *raw)
{
	size_t n_file = SBX_RING_DATA_OFFSET + raw->capacity;
	uint8_t *at = mmap(NULL, n_file + raw->capacity, PROT_READ | PROT_WRITE, MAP_SHARED,
			   raw->fds[1], 0);
	void *other = mmap(NULL, n_file, PROT_READ, MAP_SHARED, raw->fds[0], 0);

	raw->own = at == MAP_FAILED ? NULL : at;
	raw->other = other == MAP_FAILED ? NULL : other;
	return raw->own && raw->other &&
	       mmap(at + n_file, raw->capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    raw->fds[1], SBX_RING_DATA_OFFSET) != MAP_FAILED;
}

/* Opens the server with the library, and takes the client's end. */
static inline bool raw_open(struct raw *raw, int mode, size_t total_bytes)
{
	const struct sbx_ring_config config = {
		.size = sizeof(config),
		.mode = mode,
		.total_bytes = total_bytes,
	};
	int sockets[2];
	uint32_t hello[2];
	size_t n_fds = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return false;
	raw->socket = sockets[1];
	if (sbx_ring_open(&config, SBX_RING_SERVER, sockets[0], &raw->server, NULL) < 0 ||
	    fd_receive(raw->socket, hello, sizeof(hello), raw->fds, SBX_RING_HELLO_N_FDS, &n_fds) !=
		    sizeof(hello) ||
	    n_fds != SBX_RING_HELLO_N_FDS)
		return false;

	uint32_t record_max;
	uint64_t control[2];

	if (pread(raw->fds[1], control, sizeof(control), SBX_RING_CAPACITY_OFFSET) !=
		    sizeof(control) ||
	    pread(raw->fds[1], &record_max, sizeof(record_max), SBX_RING_RECORD_MAX_OFFSET) !=
		    sizeof(record_max))
		return false;
	raw->is_call = mode == SBX_RING_CALL;
	raw->capacity = control[0];
	raw->nonce = control[1];
	raw->record_max = record_max;
	return raw_map(raw);
}
