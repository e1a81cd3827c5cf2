/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Records in a byte ring
 *
 * A record may cross the end of the data, because the data is mapped twice in a row. Records become
 * visible when the tail is stored: one store, and one cache line, for all records since the last.
 */

#include "ring/flow.h"

static inline uint64_t stream_record_size(uint64_t n_bytes)
{
	return (SBX_RING_RECORD_HEADER_SIZE + n_bytes + SBX_RING_RECORD_ALIGN - 1) &
	       ~(uint64_t)(SBX_RING_RECORD_ALIGN - 1);
}

/* @n_bytes is at most record_max. */
static inline int stream_reserve(struct flow_producer *producer, size_t n_bytes, uint8_t **ret)
{
	int r = flow_find_room(producer, stream_record_size(n_bytes));

	if (r != 0)
		return r;
	*ret = flow_own_data(producer, producer->tail) + SBX_RING_RECORD_HEADER_SIZE;
	return 0;
}

/* How far before the tail, and for which records: hardware prefetches long ones better. */
#define STREAM_AHEAD_BYTES 2048
#define STREAM_AHEAD_RECORD_MAX 2048

/*
 * The lines of free space are in the cache of the other side's processor, which has read them. Each
 * commit asks for as many lines as it has filled, further on: then a store does not wait for its
 * line. Never for lines that the other side may still read.
 */
static inline void stream_look_ahead(const struct flow_producer *producer, uint64_t record_size)
{
	uint64_t at = (producer->tail + STREAM_AHEAD_BYTES + SHARED_LINE_SIZE - 1) &
		      ~(uint64_t)(SHARED_LINE_SIZE - 1);
	uint64_t end = producer->tail + STREAM_AHEAD_BYTES + record_size;

	/* Not in the first lap: in a page that was never written the instruction walks the page
	 * tables each time, in vain. */
	if (record_size > STREAM_AHEAD_RECORD_MAX || producer->tail < producer->capacity ||
	    end - producer->head > producer->capacity)
		return;
	for (; at < end; at += SHARED_LINE_SIZE)
		shared_expect_write(flow_own_data(producer, at));
}

static inline void stream_commit(struct flow_producer *producer, size_t n_bytes, uint32_t kind)
{
	uint64_t header = (uint64_t)kind << 32 | (uint32_t)n_bytes;
	uint64_t size = stream_record_size(n_bytes);

	shared_store_u64(flow_own_data(producer, producer->tail), header);
	stream_look_ahead(producer, size);
	producer->tail += size;
}

/* The caller then looks whether the other side sleeps. */
static inline void stream_publish(struct flow_producer *producer)
{
	producer->published = producer->tail;
	shared_store_u64_release(producer->own + SBX_RING_TAIL_OFFSET, producer->tail);
}

/* After the last record that this side knew. */
static inline int stream_load_tail(struct flow_consumer *consumer)
{
	uint64_t tail = shared_load_u64_acquire(consumer->other + SBX_RING_TAIL_OFFSET);
	uint64_t waiting = tail - consumer->head;

	if (waiting == 0)
		return FLOW_NOTHING;
	flow_check(waiting <= consumer->capacity, RING_TAIL_BEYOND_CAPACITY);
	flow_check(tail % SBX_RING_RECORD_ALIGN == 0, RING_TAIL_NOT_ALIGNED);
	consumer->tail = tail;
	if (waiting > consumer->high_water)
		consumer->high_water = waiting;
	return 0;
}

static inline int stream_peek(struct flow_consumer *consumer, const uint8_t **ret,
			      uint32_t *ret_n_bytes, uint32_t *ret_kind)
{
	if (consumer->head == consumer->tail) {
		int r = stream_load_tail(consumer);

		if (r != 0)
			return r;
	}

	const uint8_t *at = flow_other_data(consumer, consumer->head);
	uint64_t header = shared_load_u64(at); /* once: the other side may change it now */
	uint32_t n_bytes = (uint32_t)header, kind = (uint32_t)(header >> 32);
	uint64_t size = stream_record_size(n_bytes);

	flow_check(n_bytes <= consumer->record_max, RING_LENGTH_OVER_LIMIT);
	flow_check(size <= consumer->tail - consumer->head, RING_LENGTH_BEYOND_TAIL);
	flow_check(kind <= FLOW_KINDS_MAX, RING_UNKNOWN_RECORD_KIND);
	consumer->next = consumer->head + size;
	*ret = at + SBX_RING_RECORD_HEADER_SIZE;
	*ret_n_bytes = n_bytes;
	*ret_kind = kind;
	return 0;
}

/* Would stream_peek() return something else than FLOW_NOTHING? */
static inline bool stream_is_ready(const struct flow_consumer *consumer)
{
	return consumer->tail != consumer->head ||
	       shared_load_u64_acquire(consumer->other + SBX_RING_TAIL_OFFSET) != consumer->head;
}
