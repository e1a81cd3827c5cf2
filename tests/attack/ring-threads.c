/* SPDX-License-Identifier: MIT */

/*
 * The two ends of a direction in two threads, for ThreadSanitizer
 *
 * It knows memory by its address, and the two sides of a channel map a file at two addresses. So
 * this program runs the functions of lib/ring/stream.h and cells.h over one piece of memory.
 * Records that cross the end go on in the second half, which is not the same memory here: both ends
 * use it in the same way.
 *
 * Exits with 0 if all records arrived in order; ThreadSanitizer makes that 66 if there was a race.
 */

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/cells.h"
#include "ring/stream.h"

#define CAPACITY 4096
#define N_RECORDS 50000
#define WHOLE (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)

struct direction {
	bool is_call;
	struct flow_producer producer;
	struct flow_consumer consumer;
	uint64_t n_wrong;
};

static size_t size_of_record(uint64_t number)
{
	return 8 + number * 7919 % 700;
}

static int reserve(struct flow_producer *producer, bool is_call, size_t n_bytes, uint8_t **ret)
{
	return is_call ? cells_reserve(producer, n_bytes, ret)
		       : stream_reserve(producer, n_bytes, ret);
}

static void *produce(void *context)
{
	struct direction *direction = context;
	struct flow_producer *producer = &direction->producer;

	for (uint64_t n = 0; n < N_RECORDS; n++) {
		uint8_t *at = NULL;

		while (reserve(producer, direction->is_call, size_of_record(n), &at) != 0) {
			(void)stream_publish(producer);
			(void)sched_yield();
		}
		memset(at, (int)(n & 0xff), size_of_record(n));
		memcpy(at, &n, sizeof(n));
		if (direction->is_call)
			cells_commit(producer, size_of_record(n), WHOLE);
		else
			stream_commit(producer, size_of_record(n), WHOLE);
		if (!direction->is_call && n % 3 == 0)
			(void)stream_publish(producer);
	}
	if (!direction->is_call)
		(void)stream_publish(producer);
	return NULL;
}

static int peek(struct flow_consumer *consumer, bool is_call, const uint8_t **ret, uint32_t *ret_n)
{
	uint32_t kind;

	return is_call ? cells_peek(consumer, ret, ret_n, &kind)
		       : stream_peek(consumer, ret, ret_n, &kind);
}

static void *consume(void *context)
{
	struct direction *direction = context;
	struct flow_consumer *consumer = &direction->consumer;

	for (uint64_t n = 0; n < N_RECORDS; n++) {
		const uint8_t *at = NULL;
		uint8_t copy[1024];
		uint32_t n_bytes = 0;
		uint64_t number;

		while (peek(consumer, direction->is_call, &at, &n_bytes) != 0)
			(void)sched_yield();
		if (n_bytes > sizeof(copy))
			abort();
		shared_copy(copy, at, n_bytes);
		memcpy(&number, copy, sizeof(number));
		direction->n_wrong += number != n || n_bytes != size_of_record(n);
		(void)flow_release(consumer);
	}
	return NULL;
}

static uint64_t run(bool is_call)
{
	static uint8_t of_producer[SBX_RING_DATA_OFFSET + 2 * CAPACITY]
		__attribute__((aligned(128)));
	static uint8_t of_consumer[SBX_RING_DATA_OFFSET] __attribute__((aligned(128)));
	struct direction direction = {
		.is_call = is_call,
		.producer = { .own = of_producer,
			      .other = of_consumer,
			      .capacity = CAPACITY,
			      .nonce = 1,
			      .record_max = CAPACITY / 4 - SBX_RING_CELL_PAYLOAD_OFFSET },
		.consumer = { .own = of_consumer,
			      .other = of_producer,
			      .capacity = CAPACITY,
			      .nonce = 1,
			      .record_max = CAPACITY / 4 - SBX_RING_CELL_PAYLOAD_OFFSET },
	};
	pthread_t producer, consumer;

	memset(of_producer, 0, sizeof(of_producer));
	memset(of_consumer, 0, sizeof(of_consumer));
	if (pthread_create(&producer, NULL, produce, &direction) != 0 ||
	    pthread_create(&consumer, NULL, consume, &direction) != 0)
		abort();
	(void)pthread_join(producer, NULL);
	(void)pthread_join(consumer, NULL);
	return direction.n_wrong;
}

int main(int argc, char *argv[])
{
	bool is_call = argc > 1 && strcmp(argv[1], "call") == 0;
	uint64_t n_wrong = run(is_call);

	printf("%d records, %llu wrong\n", N_RECORDS, (unsigned long long)n_wrong);
	return n_wrong != 0;
}
