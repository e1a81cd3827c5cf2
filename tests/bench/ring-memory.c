/* SPDX-License-Identifier: MIT */

/*
 * What the hardware needs, for any way to exchange messages through memory
 *
 * Ping-pong: one cache line is written here and read there, and another one on the way back. The
 * loops do not pause, as in most published figures.
 *
 * Copying: the far CPU writes a region, then the near CPU copies it out in pieces of a message's
 * size. The lines come from the other CPU's cache.
 */

#include "ring-bench.h"

#include <string.h>

#include "bench.h"

#define PING_OFFSET 0
#define PONG_OFFSET 512
#define TURN_OFFSET 0
#define REGION_OFFSET 4096
#define REGION_SIZE ((size_t)128 * 1024)

static uint64_t *word_at(struct pair_run *run, size_t offset)
{
	return (uint64_t *)(void *)(run->shared + offset);
}

static void wait_for(const uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		;
}

/* ---- ping-pong ---- */

int ring_ping_near(struct pair_run *run, struct sbx_error *err)
{
	uint64_t *ping = word_at(run, PING_OFFSET), *pong = word_at(run, PONG_OFFSET);
	struct pair_clock clock;

	(void)err;
	pair_meet(run);
	pair_clock_start(&clock, run);
	for (uint64_t i = 1; i <= run->n_operations; i++) {
		__atomic_store_n(ping, i, __ATOMIC_RELEASE);
		wait_for(pong, i);
		pair_clock_tick(&clock);
	}
	return 0;
}

int ring_ping_far(struct pair_run *run, struct sbx_error *err)
{
	uint64_t *ping = word_at(run, PING_OFFSET), *pong = word_at(run, PONG_OFFSET);

	(void)err;
	pair_meet(run);
	for (uint64_t i = 1; i <= run->n_operations; i++) {
		wait_for(ping, i);
		__atomic_store_n(pong, i, __ATOMIC_RELEASE);
	}
	return 0;
}

/* ---- copying ---- */

/* An operation is one copy of n_bytes; a block is the whole region. */
int ring_memory_near(struct pair_run *run, struct sbx_error *err)
{
	static uint8_t copy[REGION_SIZE] __attribute__((__aligned__(PAIR_LINE_SIZE)));
	uint64_t *turn = word_at(run, TURN_OFFSET);
	size_t n_bytes = run->contender->n_bytes;
	uint64_t n_rounds = run->n_operations / run->contender->block;

	(void)err;
	pair_meet(run);
	for (uint64_t i = 0; i < n_rounds; i++) {
		wait_for(turn, 2 * i + 1);

		uint64_t start = pair_now_ns();

		for (size_t at = 0; at < REGION_SIZE; at += n_bytes) {
			memcpy(copy, run->shared + REGION_OFFSET + at, n_bytes);
			bench_keep(copy);
		}
		if (i >= pair_warm_up_of(run->contender))
			pair_add_time(run, (double)(pair_now_ns() - start) * (double)n_bytes /
						   (double)REGION_SIZE);
		__atomic_store_n(turn, 2 * i + 2, __ATOMIC_RELEASE);
	}
	return 0;
}

int ring_memory_far(struct pair_run *run, struct sbx_error *err)
{
	uint64_t *turn = word_at(run, TURN_OFFSET);
	uint64_t n_rounds = run->n_operations / run->contender->block;

	(void)err;
	pair_meet(run);
	for (uint64_t i = 0; i < n_rounds; i++) {
		wait_for(turn, 2 * i);
		memset(run->shared + REGION_OFFSET, (int)i, REGION_SIZE);
		__atomic_store_n(turn, 2 * i + 1, __ATOMIC_RELEASE);
	}
	return 0;
}
