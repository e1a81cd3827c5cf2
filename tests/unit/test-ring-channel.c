/* SPDX-License-Identifier: MIT */

/* Channels in shared memory through the public functions; both sides in one process */

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "ring-rig.h"

static const struct sbx_ring_config stream = { .size = sizeof(stream), .total_bytes = 131072 };
static const struct sbx_ring_config call = {
	.size = sizeof(call),
	.mode = SBX_RING_CALL,
	.total_bytes = 131072,
};
static const struct sbx_ring_config *const modes[] = { &stream, &call };

#define for_each_mode(config)                                                                      \
	for (const struct sbx_ring_config *const *at_ = modes, *config = *at_;                     \
	     at_ < modes + N_ELEMENTS(modes) && (config = *at_, true); at_++)

static void expect_message(struct sbx_ring *ring, const void *want, size_t n_want)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;

	expect_eq(sbx_ring_receive(ring, &bytes, &n_bytes, 0), 0);
	expect_eq(n_bytes, n_want);
	if (n_bytes == n_want && n_want > 0)
		expect(want && memcmp(bytes, want, n_want) == 0);
}

static void expect_nothing(struct sbx_ring *ring)
{
	const void *bytes;
	size_t n_bytes;

	expect_eq(sbx_ring_receive(ring, &bytes, &n_bytes, 0), SBX_RING_EMPTY);
}

static void messages_go_both_ways(void)
{
	for_each_mode(config)
	{
		struct ring_pair pair = ring_pair_open(config);

		expect_eq(sbx_ring_send(pair.server, "hello", 5, 0, 0), 0);
		expect_eq(sbx_ring_send(pair.server, "", 0, 0, 0), 0);
		expect_eq(sbx_ring_send(pair.client, "back", 4, 0, 0), 0);
		expect_message(pair.client, "hello", 5);
		expect_message(pair.client, "", 0);
		expect_message(pair.server, "back", 4);
		ring_pair_close(&pair);
	}
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* The n-th message is made of its number, so that sender and reader need no memory of it. */
static size_t fill(uint8_t *bytes, uint32_t number, size_t n_max)
{
	uint32_t state = number * 2654435761u + 1;
	size_t n_bytes = next_random(&state) % 8 == 0 ? next_random(&state) % n_max
						      : next_random(&state) % 200;

	for (size_t i = 0; i < n_bytes; i++)
		bytes[i] = (uint8_t)(number + i * 7);
	return n_bytes;
}

#define N_RANDOM 20000
#define RANDOM_MAX 30000

/* Sends and receives in random bursts, over many laps. */
static void random_messages_arrive_in_order(void)
{
	_cleanup_free_ uint8_t *bytes = malloc(RANDOM_MAX), *want = malloc(RANDOM_MAX);

	for_each_mode(config)
	{
		struct ring_pair pair = ring_pair_open(config);
		uint32_t state = 1, n_sent = 0, n_received = 0;

		while (n_received < N_RANDOM && test_failures == 0) {
			unsigned burst = next_random(&state) % 64;

			for (unsigned i = 0; i < burst && n_sent < N_RANDOM; i++) {
				size_t n_bytes = fill(bytes, n_sent, RANDOM_MAX);

				if (sbx_ring_send(pair.server, bytes, n_bytes,
						  next_random(&state) % 2 ? SBX_RING_MORE : 0,
						  0) != 0)
					break;
				n_sent++;
			}
			(void)sbx_ring_flush(pair.server);
			burst = next_random(&state) % 64;
			/* Parts of a message that found no room are still to be discarded. */
			if (n_received == n_sent)
				expect_nothing(pair.client);
			for (unsigned i = 0; i < burst && n_received < n_sent; i++)
				expect_message(pair.client, want,
					       fill(want, n_received++, RANDOM_MAX));
		}
		ring_pair_close(&pair);
	}
}

static void a_full_channel_takes_no_more_until_it_is_read(void)
{
	static const uint8_t bytes[1000];

	for_each_mode(config)
	{
		struct ring_pair pair = ring_pair_open(config);
		unsigned n = 0;

		while (sbx_ring_send(pair.client, bytes, sizeof(bytes), 0, 0) == 0)
			n++;
		expect(n >= 60 && n <= 65);
		expect_eq(sbx_ring_send(pair.client, bytes, sizeof(bytes), 0, 1000), SBX_RING_FULL);
		for (unsigned i = 0; i < n / 2; i++)
			expect_message(pair.server, bytes, sizeof(bytes));
		expect_eq(sbx_ring_send(pair.client, bytes, sizeof(bytes), 0, 0), 0);
		ring_pair_close(&pair);
	}
}

static void the_other_side_gets_all_before_the_end(void)
{
	for_each_mode(config)
	{
		struct ring_pair pair = ring_pair_open(config);
		const void *bytes;
		size_t n_bytes;

		expect_eq(sbx_ring_send(pair.server, "last", 4, SBX_RING_MORE, 0), 0);
		sbx_ring_close(pair.server);
		expect_message(pair.client, "last", 4);
		expect_eq(sbx_ring_receive(pair.client, &bytes, &n_bytes, SBX_RING_FOREVER),
			  SBX_RING_CLOSED);
		expect(!sbx_ring_is_connected(pair.client));
		sbx_ring_close(pair.client);
	}
}

static void a_message_longer_than_the_channel_needs_a_reader(void)
{
	size_t n_bytes = 200000;
	_cleanup_free_ uint8_t *bytes = calloc(1, n_bytes);

	for_each_mode(config)
	{
		struct ring_pair pair = ring_pair_open(config);

		/* It is begun and aborted; the next message is whole. */
		expect_eq(sbx_ring_send(pair.server, bytes, n_bytes, 0, 1000), SBX_RING_FULL);
		expect_nothing(pair.client);
		expect_eq(sbx_ring_send(pair.server, "next", 4, 0, 0), 0);
		expect_message(pair.client, "next", 4);
		ring_pair_close(&pair);
	}
}

static void discard_all(struct sbx_ring *ring)
{
	const void *bytes;
	size_t n_bytes;

	while (sbx_ring_receive(ring, &bytes, &n_bytes, 0) == 0)
		expect_eq(n_bytes, 0);
}

/* Each policy, on a channel that is full: the abort waits for room, and later failures keep it. */
static void an_abort_without_room_is_not_forgotten(void)
{
	size_t n_bytes = 200000;
	_cleanup_free_ uint8_t *bytes = calloc(1, n_bytes);

	for (int policy = SBX_RING_WHEN_FULL_WAIT; policy <= SBX_RING_WHEN_FULL_DROP; policy++) {
		for_each_mode(config)
		{
			struct sbx_ring_config own = *config;

			own.when_full = policy;
			struct ring_pair pair = ring_pair_open(&own);

			/* Filled up, so that not even an empty record finds room. */
			expect(sbx_ring_send(pair.server, bytes, n_bytes, 0, 0) > 0);
			while (sbx_ring_send(pair.server, "", 0, 0, 0) == 0)
				continue;
			expect(sbx_ring_send(pair.server, "small", 5, 0, 0) > 0);
			expect(sbx_ring_send(pair.server, "small", 5, 0, 0) > 0);
			discard_all(pair.client);
			expect_eq(sbx_ring_send(pair.server, "next", 4, 0, 0), 0);
			expect_message(pair.client, "next", 4);
			ring_pair_close(&pair);
		}
	}
}

static void requests_find_their_responses(void)
{
	for_each_mode(config)
	{
		struct ring_pair pair = ring_pair_open(config);
		const void *payload;
		uint32_t id;
		uint8_t type;
		size_t n;

		/* The time runs out; the response comes later and is dropped. */
		expect_eq(sbx_ring_request(pair.server, 1, "a", 1, &type, &payload, &n, 0),
			  SBX_RING_EMPTY);
		expect_eq(sbx_ring_receive_frame(pair.client, &type, &id, &payload, &n, 0), 0);
		expect_eq(id, 1);
		expect_eq(sbx_ring_send_frame(pair.client, 0x10, id, "late", 4, 0, 0), 0);
		expect_eq(sbx_ring_send_frame(pair.client, 0, 0, "out", 3, 0, 0), 0);
		expect_eq(sbx_ring_send_frame(pair.client, 0x11, 2, "yes", 3, 0, 0), 0);
		expect_eq(sbx_ring_request(pair.server, 1, "b", 1, &type, &payload, &n, 0), 0);
		expect_eq(type, 0x11);
		expect(n == 3 && memcmp(payload, "yes", 3) == 0);
		expect_eq(sbx_ring_receive_frame(pair.server, &type, &id, &payload, &n, 0), 0);
		expect(type == 0 && id == 0 && n == 3 && memcmp(payload, "out", 3) == 0);
		ring_pair_close(&pair);
	}
}

static const struct test tests[] = {
	TEST(messages_go_both_ways),
	TEST(random_messages_arrive_in_order),
	TEST(a_full_channel_takes_no_more_until_it_is_read),
	TEST(the_other_side_gets_all_before_the_end),
	TEST(a_message_longer_than_the_channel_needs_a_reader),
	TEST(an_abort_without_room_is_not_forgotten),
	TEST(requests_find_their_responses),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
