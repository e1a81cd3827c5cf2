/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Records in cells of 64 bytes
 *
 * The stamp that makes a record visible is in the same cache line as the message, so one request
 * costs the transfer of one line. A record's stamp is its position, so that a cell of the lap
 * before never matches, combined with a random number of the file, so that no payload can imitate
 * one.
 */

#include "ring/flow.h"

static inline uint64_t cells_record_size(uint64_t n_bytes)
{
	return (SBX_RING_CELL_PAYLOAD_OFFSET + n_bytes + SBX_RING_CELL_SIZE - 1) &
	       ~(uint64_t)(SBX_RING_CELL_SIZE - 1);
}

/* One cell is added, so that zeroed memory never matches, even with the nonce 0. */
static inline uint64_t cells_stamp(uint64_t position, uint64_t nonce)
{
	return (position + SBX_RING_CELL_SIZE) ^ nonce;
}

/* @n_bytes is at most record_max. */
static inline int cells_reserve(struct flow_producer *producer, size_t n_bytes, uint8_t **ret)
{
	int r = flow_find_room(producer, cells_record_size(n_bytes));

	if (r != 0)
		return r;
	*ret = flow_own_data(producer, producer->tail) + SBX_RING_CELL_PAYLOAD_OFFSET;
	return 0;
}

/* The answer goes into the next cell: its line may come while the request is handled. Not in a page
 * that was never written, where the instruction walks the page tables each time, in vain. */
static inline void cells_expect_write(const struct flow_producer *producer)
{
	if (producer->tail % 4096 != 0 || producer->tail >= producer->capacity)
		shared_expect_write(flow_own_data(producer, producer->tail));
}

/* Publishes the record, ordered before the caller's look whether the other side sleeps. */
static inline void cells_commit(struct flow_producer *producer, size_t n_bytes, uint32_t kind)
{
	uint8_t *at = flow_own_data(producer, producer->tail);
	uint64_t header = (uint64_t)kind << 32 | (uint32_t)n_bytes;

	shared_store_u64(at + SBX_RING_CELL_LENGTH_OFFSET, header);
	shared_exchange_u64(at + SBX_RING_CELL_STAMP_OFFSET,
			    cells_stamp(producer->tail, producer->nonce));
	producer->tail += cells_record_size(n_bytes);
	producer->published = producer->tail;
	/* Only for observers. */
	shared_store_u64(producer->own + SBX_RING_TAIL_OFFSET, producer->tail);
}

static inline bool cells_is_ready(const struct flow_consumer *consumer)
{
	const uint8_t *at = flow_other_data(consumer, consumer->head);

	return shared_load_u64_acquire(at + SBX_RING_CELL_STAMP_OFFSET) ==
	       cells_stamp(consumer->head, consumer->nonce);
}

static inline int cells_peek(struct flow_consumer *consumer, const uint8_t **ret,
			     uint32_t *ret_n_bytes, uint32_t *ret_kind)
{
	const uint8_t *at = flow_other_data(consumer, consumer->head);

	if (!cells_is_ready(consumer))
		return FLOW_NOTHING;

	/* Once: the other side may change it now. */
	uint64_t header = shared_load_u64(at + SBX_RING_CELL_LENGTH_OFFSET);
	uint32_t n_bytes = (uint32_t)header, kind = (uint32_t)(header >> 32);

	flow_check(n_bytes <= consumer->record_max, RING_LENGTH_OVER_LIMIT);
	flow_check(kind <= FLOW_KINDS_MAX, RING_UNKNOWN_RECORD_KIND);
	consumer->next = consumer->head + cells_record_size(n_bytes);
	*ret = at + SBX_RING_CELL_PAYLOAD_OFFSET;
	*ret_n_bytes = n_bytes;
	*ret_kind = kind;
	return 0;
}
