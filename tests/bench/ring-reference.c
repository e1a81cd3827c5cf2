/* SPDX-License-Identifier: MIT */

/*
 * The reference: a ring of slots of one size, after the well-known design of the fast ones
 *
 * One producer and one consumer; each index on a line of its own; each side keeps the other's index
 * in private memory, and reads the shared one only when the ring looks full or empty. Each message
 * is published at once. It trusts the other side, never sleeps, and its messages have one size:
 * all that a channel does beyond this costs the channel time in the comparison.
 */

#include "ring-bench.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "bench.h"

#define TAIL_OFFSET 0
#define HEAD_OFFSET PAIR_LINE_SIZE
#define SLOTS_OFFSET 4096
#define SLOTS_SIZE ((size_t)256 * 1024)
#define MESSAGE_MAX 1024

struct reference {
	uint64_t *tail, *head;
	uint8_t *slots;
	uint64_t own, other; /* the own index; the other one as last seen */
};

static struct reference reference_of(struct pair_run *run)
{
	return (struct reference){
		.tail = (uint64_t *)(void *)(run->shared + TAIL_OFFSET),
		.head = (uint64_t *)(void *)(run->shared + HEAD_OFFSET),
		.slots = run->shared + SLOTS_OFFSET,
	};
}

/* @n_bytes is a constant in all functions, as in a template. */
#define INLINE static inline __attribute__((__always_inline__))

INLINE uint8_t *slot_at(const struct reference *ring, size_t n_bytes)
{
	return ring->slots + (ring->own & (SLOTS_SIZE / n_bytes - 1)) * n_bytes;
}

INLINE void push(struct reference *ring, const void *bytes, size_t n_bytes)
{
	while (ring->own - ring->other >= SLOTS_SIZE / n_bytes)
		ring->other = __atomic_load_n(ring->head, __ATOMIC_ACQUIRE);
	memcpy(slot_at(ring, n_bytes), bytes, n_bytes);
	__atomic_store_n(ring->tail, ++ring->own, __ATOMIC_RELEASE);
}

INLINE void pull(struct reference *ring, void *bytes, size_t n_bytes)
{
	while (ring->own == ring->other)
		ring->other = __atomic_load_n(ring->tail, __ATOMIC_ACQUIRE);
	memcpy(bytes, slot_at(ring, n_bytes), n_bytes);
	__atomic_store_n(ring->head, ++ring->own, __ATOMIC_RELEASE);
}

INLINE void push_all(struct pair_run *run, size_t n_bytes)
{
	uint8_t message[MESSAGE_MAX] __attribute__((__aligned__(PAIR_LINE_SIZE)));
	struct reference ring = reference_of(run);
	struct pair_clock clock;

	memset(message, 0, n_bytes);
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		memcpy(message, &i, sizeof(uint32_t));
		bench_keep(message);
		push(&ring, message, n_bytes);
		pair_clock_tick(&clock);
	}
}

/* Returns how many messages were not those that were sent. */
INLINE uint64_t pull_all(struct pair_run *run, size_t n_bytes)
{
	uint8_t message[MESSAGE_MAX] __attribute__((__aligned__(PAIR_LINE_SIZE)));
	struct reference ring = reference_of(run);
	uint64_t n_wrong = 0;

	for (uint64_t i = 0; i < run->n_operations; i++) {
		pull(&ring, message, n_bytes);
		bench_keep(message);
		n_wrong += memcmp(message, &i, sizeof(uint32_t)) != 0;
	}
	return n_wrong;
}

static int refuse_size(struct pair_run *run, struct sbx_error *err)
{
	return sbx_error_what(err, -EINVAL, "the reference ring has no messages of %zu bytes",
			      run->contender->n_bytes);
}

int ring_reference_near(struct pair_run *run, struct sbx_error *err)
{
	pair_meet(run);
	if (run->contender->n_bytes == 8)
		push_all(run, 8);
	else if (run->contender->n_bytes == 64)
		push_all(run, 64);
	else if (run->contender->n_bytes == 1024)
		push_all(run, 1024);
	else
		return refuse_size(run, err);
	return 0;
}

int ring_reference_far(struct pair_run *run, struct sbx_error *err)
{
	uint64_t n_wrong;

	pair_meet(run);
	if (run->contender->n_bytes == 8)
		n_wrong = pull_all(run, 8);
	else if (run->contender->n_bytes == 64)
		n_wrong = pull_all(run, 64);
	else if (run->contender->n_bytes == 1024)
		n_wrong = pull_all(run, 1024);
	else
		return refuse_size(run, err);
	return n_wrong == 0 ? 0 : sbx_error_what(err, -EIO, "the reference ring loses messages");
}
