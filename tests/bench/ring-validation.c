/* SPDX-License-Identifier: MIT */

/*
 * What checking the other side costs
 *
 * This file is compiled twice: with the checks of lib/ring/flow.h, and with -DRING_UNCHECKED, which
 * removes them. Both loops carry the same messages through the same inline functions, without the
 * rest of a channel, in whose time the checks could hide.
 */

#include "ring-bench.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/error.h>
#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "bench.h"
#include "ring/cells.h"
#include "ring/stream.h"

#ifdef RING_UNCHECKED
#define validation_near ring_unchecked_near
#define validation_far ring_unchecked_far
#else
#define validation_near ring_checked_near
#define validation_far ring_checked_far
#endif

#define CAPACITY ((size_t)256 * 1024)
#define FILE_SIZE (SBX_RING_DATA_OFFSET + CAPACITY)
#define RECORD_MAX 65520
#define MESSAGE_MAX 65536
#define PUBLISH_BYTES 4096
#define WHOLE (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)

/* ---- memory ---- */

static uint8_t *map_file(int fd)
{
	const int mode = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
	uint8_t *at =
		mmap(NULL, FILE_SIZE + CAPACITY, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mmap(at, FILE_SIZE, mode, flags, fd, 0) == MAP_FAILED ||
	    mmap(at + FILE_SIZE, CAPACITY, mode, flags, fd, SBX_RING_DATA_OFFSET) == MAP_FAILED)
		return NULL;
	return at;
}

/* The near process makes the file of its data; its heads are in the shared memory of the pair. */
static int share_file(struct pair_run *run, enum pair_side side, uint8_t **ret)
{
	_cleanup_close_ int fd = -EBADF;
	char byte = 0;
	size_t n_fds;
	int r;

	if (side == PAIR_FAR) {
		r = (int)fd_receive(run->socket, &byte, 1, &fd, 1, &n_fds);
		if (r < 0 || n_fds != 1)
			return r < 0 ? r : -EPROTO;
	} else {
		fd = memfd_create("data", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)FILE_SIZE) < 0)
			return -errno;
		r = fd_send(run->socket, &byte, 1, &fd, 1);
		if (r < 0)
			return r;
	}
	*ret = map_file(fd);
	return *ret ? 0 : -errno;
}

/* ---- the producer ---- */

static inline int produce(struct flow_producer *producer, bool is_call, const uint8_t *message,
			  size_t n_bytes)
{
	uint8_t *at;
	int r;

	while ((r = is_call ? cells_reserve(producer, n_bytes, &at)
			    : stream_reserve(producer, n_bytes, &at)) == FLOW_NOTHING)
		(void)stream_publish(producer);
	if (r < 0)
		return r;
	memcpy(at, message, n_bytes);
	if (is_call)
		cells_commit(producer, n_bytes, WHOLE);
	else
		stream_commit(producer, n_bytes, WHOLE);
	if (!is_call && producer->tail - producer->published >= PUBLISH_BYTES)
		(void)stream_publish(producer);
	return 0;
}

int validation_near(struct pair_run *run, struct sbx_error *err)
{
	static uint8_t message[MESSAGE_MAX] __attribute__((__aligned__(PAIR_LINE_SIZE)));
	const struct contender *contender = run->contender;
	struct flow_producer producer = {
		.other = run->shared,
		.capacity = CAPACITY,
		.record_max = RECORD_MAX,
	};
	bool is_call = contender->mode == SBX_RING_CALL;
	struct pair_clock clock;
	int r = share_file(run, PAIR_NEAR, &producer.own);

	if (r < 0)
		return sbx_error_what(err, r, "cannot share a file");
	pair_meet(run);
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		memcpy(message, &i, sizeof(uint32_t));
		r = produce(&producer, is_call, message, contender->n_bytes);
		if (r < 0)
			return sbx_error_what(err, -EPROTO, "cannot produce a message");
		pair_clock_tick(&clock);
	}
	if (!is_call)
		(void)stream_publish(&producer);
	return 0;
}

/* ---- the consumer ---- */

static inline int consume(struct flow_consumer *consumer, bool is_call, uint8_t *message,
			  uint32_t *ret_n_bytes)
{
	const uint8_t *at;
	uint32_t kind;
	int r;

	while ((r = is_call ? cells_peek(consumer, &at, ret_n_bytes, &kind)
			    : stream_peek(consumer, &at, ret_n_bytes, &kind)) == FLOW_NOTHING)
		shared_pause();
	if (r < 0)
		return r;
	shared_copy(message, at, *ret_n_bytes);
	(void)flow_release(consumer);
	return 0;
}

int validation_far(struct pair_run *run, struct sbx_error *err)
{
	static uint8_t message[MESSAGE_MAX] __attribute__((__aligned__(PAIR_LINE_SIZE)));
	const struct contender *contender = run->contender;
	struct flow_consumer consumer = {
		.own = run->shared,
		.capacity = CAPACITY,
		.record_max = RECORD_MAX,
	};
	bool is_call = contender->mode == SBX_RING_CALL;
	uint64_t n_wrong = 0;
	uint8_t *file = NULL;
	int r = share_file(run, PAIR_FAR, &file);

	if (r < 0)
		return sbx_error_what(err, r, "cannot share a file");
	consumer.other = file;
	pair_meet(run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		uint32_t n_bytes = 0;

		r = consume(&consumer, is_call, message, &n_bytes);
		if (r < 0)
			return sbx_error_what(err, -EPROTO, "cannot consume a message");
		bench_keep(message);
		n_wrong +=
			n_bytes != contender->n_bytes || memcmp(message, &i, sizeof(uint32_t)) != 0;
	}
	if (n_wrong > 0)
		return sbx_error_what(err, -EIO, "cannot consume what was produced");
	return 0;
}
