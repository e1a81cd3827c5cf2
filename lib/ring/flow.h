/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The two ends of one direction in shared memory
 *
 * A private position is the truth for its owner; the shared word is only written, for the other
 * side. A position of the other side is loaded once, checked, and kept privately.
 *
 *   stream.h  records in a byte ring; published by the tail, many at once
 *   cells.h   records in cells of 64 bytes; published by the stamp inside the record
 *
 * Both have the same functions, inline because a message takes a few nanoseconds: X_reserve() and
 * X_commit() of the producer, X_peek() and X_release() of the consumer. They return 0,
 * FLOW_NOTHING, or a violation as a negative number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/ring-layout.h>

#include "ring/memory.h"
#include "ring/violation.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the layout is little-endian");

/* No room, or no record. */
#define FLOW_NOTHING 1

#define FLOW_KINDS_MAX (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END | SBX_RING_RECORD_ABORT)

struct flow_producer {
	uint8_t *own;	      /* this side's file: tail and data */
	const uint8_t *other; /* the other side's file: head */
	uint64_t capacity;
	uint64_t nonce;
	uint64_t tail;	    /* end of the committed records */
	uint64_t published; /* the tail that the other side has been told */
	uint64_t head;	    /* the last valid head of the other side */
	uint32_t record_max;
};

struct flow_consumer {
	uint8_t *own;	      /* this side's file: head */
	const uint8_t *other; /* the other side's file: tail and data */
	uint64_t capacity;
	uint64_t nonce;
	uint64_t head;	     /* end of the released records */
	uint64_t published;  /* the head that the other side has been told */
	uint64_t tail;	     /* the last valid tail of the other side */
	uint64_t next;	     /* end of the record that peek returned */
	uint64_t high_water; /* most bytes that waited at once */
	uint32_t record_max;
};

/* A check of something that the other side has written. The build without checks exists to measure
 * what they cost. */
#ifdef RING_UNCHECKED
#define flow_check(condition, violation)                                                           \
	do {                                                                                       \
	} while (0)
#else
#define flow_check(condition, violation)                                                           \
	do {                                                                                       \
		if (__builtin_expect(!(condition), 0))                                             \
			return -(violation);                                                       \
	} while (0)
#endif

/* The other side's head must be between the last one and the published tail. */
static inline int flow_load_head(struct flow_producer *producer)
{
	uint64_t head = shared_load_u64_acquire(producer->other + SBX_RING_HEAD_OFFSET);

	flow_check(head - producer->head <= producer->published - producer->head,
		   RING_HEAD_BEYOND_TAIL);
	producer->head = head;
	return 0;
}

static inline bool flow_has_room(const struct flow_producer *producer, uint64_t n_bytes)
{
	return producer->tail + n_bytes - producer->head <= producer->capacity;
}

/* Room for a record of @n_bytes with its header. */
static inline int flow_find_room(struct flow_producer *producer, uint64_t n_bytes)
{
	if (__builtin_expect(flow_has_room(producer, n_bytes), 1))
		return 0;

	int r = flow_load_head(producer);

	if (r < 0)
		return r;
	return flow_has_room(producer, n_bytes) ? 0 : FLOW_NOTHING;
}

static inline uint8_t *flow_own_data(const struct flow_producer *producer, uint64_t position)
{
	return producer->own + SBX_RING_DATA_OFFSET + (position & (producer->capacity - 1));
}

static inline const uint8_t *flow_other_data(const struct flow_consumer *consumer,
					     uint64_t position)
{
	return consumer->other + SBX_RING_DATA_OFFSET + (position & (consumer->capacity - 1));
}

/*
 * Tells the other side how far this side has read. A producer waits only while more than three
 * quarters are in use, so an eighth that it has not been told about never blocks it.
 */
static inline void flow_publish_head(struct flow_consumer *consumer)
{
	consumer->published = consumer->head;
	shared_store_u64_release(consumer->own + SBX_RING_HEAD_OFFSET, consumer->head);
}

/* Releases the record that peek returned. True if the head was published. */
static inline bool flow_release(struct flow_consumer *consumer)
{
	consumer->head = consumer->next;
	if (__builtin_expect(consumer->head - consumer->published < consumer->capacity / 8, 1))
		return false;
	flow_publish_head(consumer);
	return true;
}
