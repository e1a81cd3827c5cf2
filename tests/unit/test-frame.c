/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <limits.h>

#include "base/cleanup.h"
#include "ring/frame.h"
#include "test.h"

#define HEADER SBX_FRAME_PAYLOAD_OFFSET

static const struct frame untouched = { .type = 0x5b, .request_id = 0x5b5b5b5b };

/* Expects that parsing gives no frame and no output. */
static long parse_nothing(const void *bytes, size_t n_bytes)
{
	struct frame frame = untouched;
	long r = frame_parse(bytes, n_bytes, &frame);

	expect(frame.type == untouched.type && frame.request_id == untouched.request_id);
	expect(!frame.payload && frame.payload_size == 0);
	return r;
}

static void reads_the_documented_bytes(void)
{
	static const uint8_t bytes[] = { 8, 0, 0, 0, 0x20, 4, 3, 2, 1, 'a', 'b', 'c', 'X' };
	struct frame frame;

	expect_eq(frame_parse(bytes, sizeof(bytes), &frame), 12);
	expect_eq(frame.type, 0x20);
	expect_eq(frame.request_id, 0x01020304);
	expect_eq(frame.payload_size, 3);
	expect(frame.payload == bytes + HEADER);
}

static void writes_the_documented_bytes(void)
{
	static const uint8_t want[] = { 7, 0, 0, 0, 0xff, 0xfe, 0xca, 0, 0x80, 'h', 'i', 0x5b };
	struct frame frame = {
		.type = 0xff,
		.request_id = 0x8000cafe,
		.payload = (const uint8_t *)"hi",
		.payload_size = 2,
	};
	uint8_t bytes[12];

	memset(bytes, 0x5b, sizeof(bytes));
	expect_eq(frame_print(&frame, bytes, sizeof(bytes)), 11);
	expect(memcmp(bytes, want, sizeof(want)) == 0);
}

static void a_frame_may_have_no_payload(void)
{
	struct frame frame = { .type = 1 }, again;
	uint8_t bytes[HEADER];

	expect_eq(frame_print(&frame, bytes, sizeof(bytes)), HEADER);
	expect_eq(frame_parse(bytes, sizeof(bytes), &again), HEADER);
	expect_eq(again.payload_size, 0);
	expect(again.payload == bytes + HEADER);
}

static void every_prefix_needs_more_bytes(void)
{
	static const uint8_t bytes[] = { 8, 0, 0, 0, 1, 0, 0, 0, 0, 'a', 'b', 'c' };

	expect_eq(parse_nothing(NULL, 0), 0);
	for (size_t n = 0; n < sizeof(bytes); n++) {
		/* A heap block of exactly n bytes, so that a sanitizer detects reads past it. */
		_cleanup_free_ uint8_t *part = malloc(n + 1);

		if (!part)
			abort();
		memcpy(part + 1, bytes, n);
		expect_eq(parse_nothing(part + 1, n), 0);
	}
}

static void refuses_a_length_shorter_than_the_header(void)
{
	for (uint8_t length = 0; length < SBX_FRAME_LENGTH_MIN; length++) {
		uint8_t bytes[16] = { length };

		expect_eq(parse_nothing(bytes, 4), -EBADMSG);
		expect_eq(parse_nothing(bytes, sizeof(bytes)), -EBADMSG);
	}
}

static void refuses_a_length_over_the_limit_before_the_bytes_come(void)
{
	/* 16 MiB + 5, the largest valid length; + 6; and the smallest and largest 32-bit values. */
	static const uint8_t largest[] = { 5, 0, 0, 1 }, larger[] = { 6, 0, 0, 1 };
	static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff }, sign[] = { 0, 0, 0, 0x80 };

	expect_eq(parse_nothing(largest, 4), 0);
	expect_eq(parse_nothing(larger, 4), -EMSGSIZE);
	expect_eq(parse_nothing(huge, 4), -EMSGSIZE);
	expect_eq(parse_nothing(sign, 4), -EMSGSIZE);
}

static void the_largest_frame_makes_the_trip(void)
{
	size_t size = HEADER + SBX_FRAME_PAYLOAD_MAX;
	_cleanup_free_ uint8_t *bytes = calloc(1, size + 1);
	struct frame frame = { .type = 2 }, again;

	if (!bytes)
		skip("not enough memory for a frame of 16 MiB");
	bytes[size - 1] = 0x77;
	frame.payload = bytes + HEADER;
	frame.payload_size = SBX_FRAME_PAYLOAD_MAX;
	expect_eq(frame_print(&frame, bytes, size), size);
	expect_eq(parse_nothing(bytes, size - 1), 0);
	expect_eq(frame_parse(bytes, size, &again), size);
	expect_eq(again.payload_size, SBX_FRAME_PAYLOAD_MAX);
	expect_eq(again.payload[SBX_FRAME_PAYLOAD_MAX - 1], 0x77);

	frame.payload_size++;
	expect_eq(frame_print(&frame, bytes, size + 1), -EMSGSIZE);
}

static void refuses_to_print_where_the_room_is_too_small(void)
{
	struct frame frame = { .payload = (const uint8_t *)"abc", .payload_size = 3 };
	uint8_t bytes[HEADER + 3] = { 0 };
	const uint8_t zeros[sizeof(bytes)] = { 0 };

	for (size_t n = 0; n < sizeof(bytes); n++)
		expect_eq(frame_print(&frame, bytes, n), -ENOBUFS);
	expect(memcmp(bytes, zeros, sizeof(bytes)) == 0);
	/* A size that would overflow. */
	frame.payload_size = SIZE_MAX;
	expect_eq(frame_print(&frame, bytes, sizeof(bytes)), -EMSGSIZE);
}

static void a_payload_may_stand_in_or_across_its_place(void)
{
	for (size_t start = 0; start <= 12; start++) {
		uint8_t bytes[32] = { 0 };
		struct frame frame = { .type = 9, .request_id = 77, .payload_size = 8 }, again;

		memcpy(bytes + start, "payload!", 8);
		frame.payload = bytes + start;
		expect_eq(frame_print(&frame, bytes, sizeof(bytes)), HEADER + 8);
		expect_eq(frame_parse(bytes, sizeof(bytes), &again), HEADER + 8);
		expect_eq(again.type, 9);
		expect_eq(again.request_id, 77);
		expect(memcmp(again.payload, "payload!", 8) == 0);
	}
}

static void frames_follow_each_other_without_a_gap(void)
{
	struct frame frame = { .payload = (const uint8_t *)"xyz" };
	uint8_t bytes[256];
	size_t n_bytes = 0, at = 0;

	for (unsigned i = 0; i < 4; i++) {
		frame.type = (uint8_t)i;
		frame.payload_size = i;
		n_bytes += (size_t)frame_print(&frame, bytes + n_bytes, sizeof(bytes) - n_bytes);
	}
	for (unsigned i = 0; i < 4; i++) {
		long n = frame_parse(bytes + at, n_bytes - at, &frame);

		expect_eq(n, HEADER + i);
		expect_eq(frame.type, i);
		at += (size_t)n;
	}
	expect_eq(at, n_bytes);
}

static const struct test tests[] = {
	TEST(reads_the_documented_bytes),
	TEST(writes_the_documented_bytes),
	TEST(a_frame_may_have_no_payload),
	TEST(every_prefix_needs_more_bytes),
	TEST(refuses_a_length_shorter_than_the_header),
	TEST(refuses_a_length_over_the_limit_before_the_bytes_come),
	TEST(the_largest_frame_makes_the_trip),
	TEST(refuses_to_print_where_the_room_is_too_small),
	TEST(a_payload_may_stand_in_or_across_its_place),
	TEST(frames_follow_each_other_without_a_gap),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
