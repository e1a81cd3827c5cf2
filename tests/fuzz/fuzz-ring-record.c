/* SPDX-License-Identifier: MIT */

/*
 * The bytes are what the other side of a channel does to its memory: between the calls of this side
 * and, by ring_shared_read(), before each reading within a call
 *
 * Both modes, by the functions of lib/ring over a ring of some hundred bytes on the heap, so that a
 * sanitizer detects an access outside of it. A byte that one call reads twice, a result that is not
 * documented, and a message over the limit are an abort.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../attack/ring-fetches.h"
#include "base/cleanup.h"
#include "ring/cells.h"
#include "ring/channel.h"
#include "ring/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

#define READINGS_MAX 100000 /* of one call: more is a call without an end */

/* This side: a channel over memory of the heap. */
struct side {
	struct sbx_ring ring; /* first, so that the functions of the table find the side */
	struct flow_producer producer;
	struct flow_consumer consumer;
	uint8_t *own, *other;
	bool is_closed;
};

/* The other side. */
struct input {
	struct side *side;
	const uint8_t *bytes;
	size_t n_bytes, at;
	uint64_t tail; /* end of the records that it has written */
	uint64_t n_readings;
	struct fetches *fetches;
};

static struct input *input_now;

static void check(bool condition)
{
	if (!condition)
		abort();
}

static struct side *side_of(struct sbx_ring *ring)
{
	return (struct side *)(void *)ring;
}

/* ---- what the other side does ---- */

static uint64_t take(struct input *input, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n && input->at < input->n_bytes; i++)
		value |= (uint64_t)input->bytes[input->at++] << 8 * i;
	return value;
}

static uint8_t *data_of(struct input *input, uint64_t position)
{
	return input->side->other + SBX_RING_DATA_OFFSET +
	       position % input->side->consumer.capacity;
}

static void put_header(uint8_t *at, uint32_t n_bytes, uint32_t kind)
{
	memcpy(at, &n_bytes, sizeof(n_bytes));
	memcpy(at + sizeof(n_bytes), &kind, sizeof(kind));
}

static void add_record(struct input *input)
{
	uint32_t n_bytes = (uint32_t)take(input, 1), kind = (uint32_t)take(input, 1) % 9;
	uint8_t *at = data_of(input, input->tail);

	/* A part is as long as a record may be. */
	if (n_bytes == 255)
		n_bytes = input->side->consumer.record_max;
	if (input->side->consumer.nonce) {
		put_header(at + SBX_RING_CELL_LENGTH_OFFSET, n_bytes, kind);
		shared_store_u64(at, cells_stamp(input->tail, input->side->consumer.nonce));
		input->tail += cells_record_size(n_bytes);
	} else {
		put_header(at, n_bytes, kind);
		input->tail += stream_record_size(n_bytes);
	}
	shared_store_u64(input->side->other + SBX_RING_TAIL_OFFSET, input->tail);
}

static void move_tail(struct input *input)
{
	shared_store_u64(input->side->other + SBX_RING_TAIL_OFFSET,
			 input->tail + take(input, 2) - 256);
}

static void set_tail(struct input *input)
{
	shared_store_u64(input->side->other + SBX_RING_TAIL_OFFSET, take(input, 8));
}

static void move_head(struct input *input)
{
	shared_store_u64(input->side->other + SBX_RING_HEAD_OFFSET,
			 input->side->producer.tail + take(input, 2) - 256);
}

static void read_all(struct input *input)
{
	shared_store_u64(input->side->other + SBX_RING_HEAD_OFFSET,
			 input->side->producer.published);
}

static void write_anywhere(struct input *input)
{
	uint8_t *at = data_of(input, take(input, 2) & ~UINT64_C(3));
	uint32_t value = (uint32_t)take(input, 4);

	memcpy(at, &value, sizeof(value));
}

/* The header that this side reads next, or has just read. */
static void write_header(struct input *input)
{
	uint8_t *at = data_of(input, input->side->consumer.head);
	uint32_t n_bytes = (uint32_t)take(input, 2), kind = (uint32_t)take(input, 1);

	put_header(at + (input->side->consumer.nonce ? SBX_RING_CELL_LENGTH_OFFSET : 0), n_bytes,
		   kind);
}

static void write_stamp(struct input *input)
{
	uint64_t head = input->side->consumer.head + take(input, 1) % 8 * SBX_RING_CELL_SIZE;

	shared_store_u64(data_of(input, head), cells_stamp(head, input->side->consumer.nonce));
}

static void (*const acts[])(struct input *input) = {
	add_record, add_record,	  move_tail,	  set_tail,    move_head,
	read_all,   write_header, write_anywhere, write_stamp,
};

void ring_shared_read(const volatile void *at, size_t n_bytes)
{
	struct input *input = input_now;

	if (!input)
		return;
	check(++input->n_readings < READINGS_MAX);
	if (input->at < input->n_bytes && input->bytes[input->at] >= 0xc0)
		acts[take(input, 1) % N_ELEMENTS(acts)](input);
	fetches_note(input->fetches, at, n_bytes);
}

/* ---- the transport: as lib/ring/shared.c, without sleeping ---- */

static int fail(struct side *side, int violation)
{
	side->ring.violation = violation;
	side->ring.failure = -EPROTO;
	return -EPROTO;
}

static int fuzz_reserve(struct sbx_ring *ring, size_t n_bytes, void **ret)
{
	struct side *side = side_of(ring);
	uint8_t *at = NULL;
	int r = side->producer.nonce ? cells_reserve(&side->producer, n_bytes, &at)
				     : stream_reserve(&side->producer, n_bytes, &at);

	*ret = at;
	return r < 0 ? fail(side, -r) : r == FLOW_NOTHING ? SBX_RING_FULL : 0;
}

static int fuzz_flush(struct sbx_ring *ring)
{
	(void)stream_publish(&side_of(ring)->producer);
	return 0;
}

static int fuzz_commit(struct sbx_ring *ring, size_t n_bytes, uint32_t kind, unsigned flags)
{
	struct side *side = side_of(ring);

	if (side->producer.nonce)
		cells_commit(&side->producer, n_bytes, kind);
	else
		stream_commit(&side->producer, n_bytes, kind);
	return flags & SBX_RING_MORE ? 0 : fuzz_flush(ring);
}

static int fuzz_peek(struct sbx_ring *ring, const void **ret, size_t *ret_n_bytes,
		     uint32_t *ret_kind)
{
	struct side *side = side_of(ring);
	const uint8_t *at = NULL;
	uint32_t n_bytes = 0;
	int r = side->consumer.nonce ? cells_peek(&side->consumer, &at, &n_bytes, ret_kind)
				     : stream_peek(&side->consumer, &at, &n_bytes, ret_kind);

	*ret = at;
	*ret_n_bytes = n_bytes;
	check(r != 0 || n_bytes <= side->consumer.record_max);
	check(r != 0 || *ret_kind <= FLOW_KINDS_MAX);
	return r < 0 ? fail(side, -r) : r == FLOW_NOTHING ? SBX_RING_EMPTY : 0;
}

static void fuzz_release(struct sbx_ring *ring)
{
	(void)flow_release(&side_of(ring)->consumer);
}

static int fuzz_wait(struct sbx_ring *ring, unsigned events, uint64_t timeout_usec)
{
	return SBX_RING_EMPTY;
}

/* Nothing observes the channel. */
static void fuzz_refuse(struct sbx_ring *ring) {}

static void fuzz_close(struct sbx_ring *ring)
{
	struct side *side = side_of(ring);

	free(side->own);
	free(side->other);
}

static const struct transport fuzz_transport = {
	.name = "fuzz",
	.reserve = fuzz_reserve,
	.commit = fuzz_commit,
	.flush = fuzz_flush,
	.peek = fuzz_peek,
	.release = fuzz_release,
	.wait = fuzz_wait,
	.refuse = fuzz_refuse,
	.close = fuzz_close,
};

/* The capacity is small, but the data is as long as when it is mapped twice. */
static struct side *side_new(bool is_call, uint64_t capacity)
{
	struct side *side = calloc(1, sizeof(*side));

	if (!side)
		abort();
	side->own = calloc(1, SBX_RING_DATA_OFFSET + 2 * capacity);
	side->other = calloc(1, SBX_RING_DATA_OFFSET + 2 * capacity);
	side->ring.endpoint = strdup("");
	check(side->own && side->other && side->ring.endpoint);
	side->ring.transport = &fuzz_transport;
	side->ring.record_max = (size_t)capacity / 4 - SBX_RING_CELL_PAYLOAD_OFFSET;
	side->producer = (struct flow_producer){
		.own = side->own,
		.other = side->other,
		.capacity = capacity,
		.nonce = is_call ? 0x1234567887654321u : 0,
		.record_max = (uint32_t)side->ring.record_max,
	};
	side->consumer = (struct flow_consumer){
		.own = side->own,
		.other = side->other,
		.capacity = capacity,
		.nonce = side->producer.nonce,
		.record_max = (uint32_t)side->ring.record_max,
	};
	return side;
}

/* ---- the calls of this side ---- */

static int read_all_bytes(int r, const uint8_t *bytes, size_t n_bytes)
{
	if (r != 0)
		return r;
	check(n_bytes <= SBX_RING_MESSAGE_MAX);
	for (size_t i = 0; i < n_bytes; i++)
		(void)((const volatile uint8_t *)bytes)[i];
	return 0;
}

static int call_receive(struct sbx_ring *ring, struct input *input)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;
	int r = sbx_ring_receive(ring, &bytes, &n_bytes, take(input, 1) % 2);

	return read_all_bytes(r, bytes, n_bytes);
}

static int call_peek(struct sbx_ring *ring, struct input *input)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;
	int r = sbx_ring_peek(ring, &bytes, &n_bytes);

	r = read_all_bytes(r, bytes, n_bytes);
	if (take(input, 1) % 4)
		sbx_ring_release(ring);
	return r;
}

static int call_receive_frame(struct sbx_ring *ring, struct input *input)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;
	uint32_t request_id;
	uint8_t type;
	int r = sbx_ring_receive_frame(ring, &type, &request_id, &bytes, &n_bytes, 0);

	return read_all_bytes(r, bytes, n_bytes);
}

static int call_request(struct sbx_ring *ring, struct input *input)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;
	uint8_t type;
	int r = sbx_ring_request(ring, 1, "request", take(input, 1) % 8, &type, &bytes, &n_bytes,
				 0);

	return read_all_bytes(r, bytes, n_bytes);
}

static int call_send(struct sbx_ring *ring, struct input *input)
{
	static const uint8_t bytes[4096];

	return sbx_ring_send(ring, bytes, take(input, 1) * 16, (unsigned)take(input, 1) % 2, 0);
}

static int call_reserve(struct sbx_ring *ring, struct input *input)
{
	size_t n_bytes = take(input, 1) * 2;
	void *at;
	int r = sbx_ring_reserve(ring, n_bytes, &at);

	if (r != 0)
		return r;
	memset(at, 7, n_bytes);
	return sbx_ring_commit(ring, n_bytes - take(input, 1) % (n_bytes + 1), 0);
}

static int call_nothing(struct sbx_ring *ring, struct input *input)
{
	acts[take(input, 1) % N_ELEMENTS(acts)](input);
	return 0;
}

static int (*const calls[])(struct sbx_ring *ring, struct input *input) = {
	call_receive,	    call_peek,	  call_send,	call_reserve,
	call_receive_frame, call_request, call_nothing, call_nothing,
};

/* What this side has taken over from the other one. */
static void check_positions(const struct side *side)
{
	const struct flow_producer *producer = &side->producer;
	const struct flow_consumer *consumer = &side->consumer;

	check(producer->published - producer->head <= producer->capacity);
	check(producer->tail - producer->published <= producer->capacity);
	check(consumer->head % SBX_RING_RECORD_ALIGN == 0);
	check(consumer->nonce || consumer->tail - consumer->head <= consumer->capacity);
	check(consumer->nonce || consumer->tail % SBX_RING_RECORD_ALIGN == 0);
}

static void check_result(const struct sbx_ring *ring, int r)
{
	static const int results[] = { 0,	  SBX_RING_FULL, SBX_RING_EMPTY,
				       -EMSGSIZE, -EPROTO,	 -ENOBUFS };
	bool is_known = false;

	for (size_t i = 0; i < N_ELEMENTS(results); i++)
		is_known = is_known || results[i] == r;
	check(is_known);
	check((r == -EPROTO) == (ring->failure == -EPROTO) || r != -EPROTO);
	check(!ring->failure || sbx_ring_violation(ring));
	check(ring->n_allocated <= (size_t)4 * SBX_RING_MESSAGE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	static struct fetches fetches;
	struct input input = { .bytes = bytes, .n_bytes = n_bytes, .fetches = &fetches };
	uint64_t first = take(&input, 1);
	struct side *side = side_new(first % 2, UINT64_C(256) << first / 2 % 4);

	input.side = side;
	fetches_init(&fetches, side->other, side->consumer.capacity, side->consumer.nonce != 0);
	while (input.at < input.n_bytes && !side->ring.failure) {
		size_t call = take(&input, 1) % N_ELEMENTS(calls);

		input.n_readings = 0;
		fetches_begin(&fetches);
		input_now = &input;
		check_result(&side->ring, calls[call](&side->ring, &input));
		input_now = NULL;
		check_positions(side);
		check(fetches.n_twice == 0);
	}
	sbx_ring_close(&side->ring);
	return 0;
}
