/* SPDX-License-Identifier: MIT */

/*
 * What checking the other side costs
 *
 * This file is compiled twice: with the checks of lib/ring/flow.h, and with -DRING_UNCHECKED, which
 * removes them. Both carry the same messages through the same inline functions, without the rest of
 * a channel, in whose time the checks could hide.
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
#define validation_stream_near ring_unchecked_stream_near
#define validation_stream_far ring_unchecked_stream_far
#define validation_call_near ring_unchecked_call_near
#define validation_call_far ring_unchecked_call_far
#else
#define validation_stream_near ring_checked_stream_near
#define validation_stream_far ring_checked_stream_far
#define validation_call_near ring_checked_call_near
#define validation_call_far ring_checked_call_far
#endif

#define CAPACITY ((size_t)256 * 1024)
#define FILE_SIZE (SBX_RING_DATA_OFFSET + CAPACITY)
#define RECORD_MAX 65520
#define MESSAGE_MAX 65536
#define NUMBER_SIZE sizeof(uint32_t)
#define PUBLISH_BYTES 16384
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

/* The files of both sides: each has the data that its side sends, and its head. */
struct files {
	uint8_t *near, *far;
};

static int make_files(struct pair_run *run, struct files *ret)
{
	_cleanup_close_ int near = memfd_create("near", MFD_CLOEXEC);
	_cleanup_close_ int far = memfd_create("far", MFD_CLOEXEC);
	char byte = 0;
	int r;

	if (near < 0 || far < 0 || ftruncate(near, (off_t)FILE_SIZE) < 0 ||
	    ftruncate(far, (off_t)FILE_SIZE) < 0)
		return -errno;
	r = fd_send(run->socket, &byte, 1, (const int[]){ near, far }, 2);
	if (r < 0)
		return r;
	ret->near = map_file(near);
	ret->far = map_file(far);
	return ret->near && ret->far ? 0 : -errno;
}

static int get_files(struct pair_run *run, struct files *ret)
{
	int fds[2] = { -EBADF, -EBADF };
	char byte = 0;
	size_t n_fds;
	int r = (int)fd_receive(run->socket, &byte, 1, fds, 2, &n_fds);

	if (r < 0 || n_fds != 2)
		return r < 0 ? r : -EPROTO;
	ret->near = map_file(fds[0]);
	ret->far = map_file(fds[1]);
	fd_close_many(fds, 2);
	return ret->near && ret->far ? 0 : -errno;
}

static struct flow_producer producer_of(uint8_t *own, const uint8_t *other)
{
	return (struct flow_producer){
		.own = own,
		.other = other,
		.capacity = CAPACITY,
		.record_max = RECORD_MAX,
	};
}

static struct flow_consumer consumer_of(uint8_t *own, const uint8_t *other)
{
	return (struct flow_consumer){
		.own = own,
		.other = other,
		.capacity = CAPACITY,
		.record_max = RECORD_MAX,
	};
}

static int refuse(struct sbx_error *err, int r)
{
	return sbx_error_what(err, r, "cannot pass a message without a channel");
}

/* ---- mode stream: messages in one direction ---- */

static inline int produce(struct flow_producer *producer, const uint8_t *message, size_t n_bytes)
{
	uint8_t *at = NULL;
	int r;

	while ((r = stream_reserve(producer, n_bytes, &at)) == FLOW_NOTHING)
		stream_publish(producer);
	if (r < 0)
		return r;
	memcpy(at, message, n_bytes);
	stream_commit(producer, n_bytes, WHOLE);
	if (producer->tail - producer->published >= PUBLISH_BYTES)
		stream_publish(producer);
	return 0;
}

static inline int consume(struct flow_consumer *consumer, uint8_t *message, uint32_t *ret_n_bytes)
{
	const uint8_t *at = NULL;
	uint32_t kind = 0;
	int r;

	while ((r = stream_peek(consumer, &at, ret_n_bytes, &kind)) == FLOW_NOTHING)
		shared_pause();
	if (r < 0)
		return r;
	shared_copy(message, at, *ret_n_bytes);
	(void)flow_release(consumer);
	return 0;
}

int validation_stream_near(struct pair_run *run, struct sbx_error *err)
{
	static uint8_t message[MESSAGE_MAX] __attribute__((__aligned__(PAIR_LINE_SIZE)));
	struct pair_clock clock;
	struct files files;
	int r = make_files(run, &files);

	if (r < 0)
		return refuse(err, r);

	struct flow_producer producer = producer_of(files.near, files.far);

	pair_meet(run);
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		memcpy(message, &i, NUMBER_SIZE);
		if (produce(&producer, message, run->contender->n_bytes) < 0)
			return refuse(err, -EPROTO);
		pair_clock_tick(&clock);
	}
	stream_publish(&producer);
	return 0;
}

int validation_stream_far(struct pair_run *run, struct sbx_error *err)
{
	static uint8_t message[MESSAGE_MAX] __attribute__((__aligned__(PAIR_LINE_SIZE)));
	uint64_t n_wrong = 0;
	struct files files;
	int r = get_files(run, &files);

	if (r < 0)
		return refuse(err, r);

	struct flow_consumer consumer = consumer_of(files.far, files.near);

	pair_meet(run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		uint32_t n_bytes = 0;

		if (consume(&consumer, message, &n_bytes) < 0)
			return refuse(err, -EPROTO);
		bench_keep(message);
		n_wrong +=
			n_bytes != run->contender->n_bytes || memcmp(message, &i, NUMBER_SIZE) != 0;
	}
	return n_wrong == 0 ? 0 : refuse(err, -EIO);
}

/* ---- mode call: there and back ---- */

static inline int tell(struct flow_producer *producer, const uint8_t *message, size_t n_bytes)
{
	uint8_t *at = NULL;
	int r = cells_reserve(producer, n_bytes, &at);

	if (r != 0)
		return -EPROTO;
	memcpy(at, message, n_bytes);
	cells_commit(producer, n_bytes, WHOLE);
	return 0;
}

static inline int hear(struct flow_consumer *consumer, uint8_t *message, uint32_t *ret_n_bytes)
{
	const uint8_t *at = NULL;
	uint32_t kind = 0;
	int r;

	while ((r = cells_peek(consumer, &at, ret_n_bytes, &kind)) == FLOW_NOTHING)
		shared_pause();
	if (r < 0)
		return r;
	shared_copy(message, at, *ret_n_bytes);
	(void)flow_release(consumer);
	return 0;
}

int validation_call_near(struct pair_run *run, struct sbx_error *err)
{
	uint8_t message[MESSAGE_MAX] = { 0 };
	struct pair_clock clock;
	struct files files;
	int r = make_files(run, &files);

	if (r < 0)
		return refuse(err, r);

	struct flow_producer producer = producer_of(files.near, files.far);
	struct flow_consumer consumer = consumer_of(files.near, files.far);

	pair_meet(run);
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		uint32_t n_bytes = 0;

		memcpy(message, &i, NUMBER_SIZE);
		if (tell(&producer, message, run->contender->n_bytes) < 0 ||
		    hear(&consumer, message, &n_bytes) < 0 || memcmp(message, &i, NUMBER_SIZE) != 0)
			return refuse(err, -EPROTO);
		pair_clock_tick(&clock);
	}
	return 0;
}

int validation_call_far(struct pair_run *run, struct sbx_error *err)
{
	uint8_t message[MESSAGE_MAX];
	struct files files;
	int r = get_files(run, &files);

	if (r < 0)
		return refuse(err, r);

	struct flow_producer producer = producer_of(files.far, files.near);
	struct flow_consumer consumer = consumer_of(files.far, files.near);

	pair_meet(run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		uint32_t n_bytes = 0;

		if (hear(&consumer, message, &n_bytes) < 0 || tell(&producer, message, n_bytes) < 0)
			return refuse(err, -EPROTO);
	}
	return 0;
}
