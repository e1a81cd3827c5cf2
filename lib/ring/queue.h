/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Bytes that come at the end and go at the beginning, in one piece of memory
 *
 * The memory grows and is kept, so that a steady flow allocates nothing.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct queue {
	uint8_t *bytes;
	size_t begin, end, size;
	bool is_held; /* the bytes after the end are reserved: do not move it back */
};

static inline size_t queue_len(const struct queue *queue)
{
	return queue->end - queue->begin;
}

static inline void queue_drop(struct queue *queue, size_t n_bytes)
{
	queue->begin += n_bytes;
	if (queue->begin == queue->end && !queue->is_held)
		queue->begin = queue->end = 0;
}

static inline void queue_move_to_front(struct queue *queue)
{
	memmove(queue->bytes, queue->bytes + queue->begin, queue_len(queue));
	queue->end -= queue->begin;
	queue->begin = 0;
}

static inline int queue_grow(struct queue *queue, size_t size)
{
	uint8_t *bytes = realloc(queue->bytes, size);

	if (!bytes)
		return -ENOMEM;
	queue->bytes = bytes;
	queue->size = size;
	return 0;
}

/* Room for @n_bytes after the end. Moves only where at least as many bytes are free in front, so
 * that each byte is moved once on average. */
static inline int queue_make_room(struct queue *queue, size_t n_bytes)
{
	size_t len = queue_len(queue);

	if (queue->size - queue->end >= n_bytes)
		return 0;
	if (queue->begin > 0 && queue->begin >= len)
		queue_move_to_front(queue);
	if (queue->size - queue->end >= n_bytes)
		return 0;
	return queue_grow(queue, queue->begin + (len > 0 ? 2 * (len + n_bytes) : n_bytes));
}
