/* SPDX-License-Identifier: MIT */

/*
 * Frames: the cost of each message between two processes before its payload is read
 *
 * The floors move the same bytes without checks; the difference is the cost of not trusting the
 * peer. Both sides are function calls, so that neither is inlined into its loop.
 */

#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "ring/frame.h"

#define PAYLOAD_SIZE 64
#define FRAME_SIZE (SBX_FRAME_PAYLOAD_OFFSET + PAYLOAD_SIZE)

struct frame_bench {
	uint8_t received[FRAME_SIZE];
	uint8_t printed[FRAME_SIZE];
	uint8_t payload[PAYLOAD_SIZE];
	struct frame frame;
};

__attribute__((__noinline__)) static long parse_unchecked(const uint8_t *bytes, struct frame *ret)
{
	uint32_t length;

	memcpy(&length, bytes + SBX_FRAME_LENGTH_OFFSET, sizeof(length));
	ret->type = bytes[SBX_FRAME_TYPE_OFFSET];
	memcpy(&ret->request_id, bytes + SBX_FRAME_REQUEST_ID_OFFSET, sizeof(ret->request_id));
	ret->payload = bytes + SBX_FRAME_PAYLOAD_OFFSET;
	ret->payload_size = length - SBX_FRAME_LENGTH_MIN;
	return (long)length + SBX_FRAME_TYPE_OFFSET;
}

__attribute__((__noinline__)) static long print_unchecked(const struct frame *frame, uint8_t *bytes)
{
	uint32_t length = (uint32_t)frame->payload_size + SBX_FRAME_LENGTH_MIN;

	memcpy(bytes + SBX_FRAME_LENGTH_OFFSET, &length, sizeof(length));
	bytes[SBX_FRAME_TYPE_OFFSET] = frame->type;
	memcpy(bytes + SBX_FRAME_REQUEST_ID_OFFSET, &frame->request_id, sizeof(frame->request_id));
	memcpy(bytes + SBX_FRAME_PAYLOAD_OFFSET, frame->payload, frame->payload_size);
	return (long)length + SBX_FRAME_TYPE_OFFSET;
}

static int frame_setup(struct bench_state *ret, struct sbx_error *err)
{
	struct frame_bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up the frame benchmarks");
	memset(bench->payload, 0x5a, sizeof(bench->payload));
	bench->frame = (struct frame){
		.type = 0x11,
		.request_id = 0x01020304,
		.payload = bench->payload,
		.payload_size = sizeof(bench->payload),
	};
	(void)print_unchecked(&bench->frame, bench->received);
	ret->data = bench;
	return 0;
}

static bool frames_equal(const struct frame *a, const struct frame *b)
{
	return a->type == b->type && a->request_id == b->request_id &&
	       a->payload_size == b->payload_size &&
	       memcmp(a->payload, b->payload, a->payload_size) == 0;
}

static bool parse_verify(const void *data)
{
	const struct frame_bench *bench = data;
	struct frame own, floor;

	return frame_parse(bench->received, FRAME_SIZE, &own) == FRAME_SIZE &&
	       parse_unchecked(bench->received, &floor) == FRAME_SIZE &&
	       frames_equal(&own, &bench->frame) && frames_equal(&floor, &bench->frame);
}

static void parse_run(void *data, uint64_t n_ops)
{
	struct frame_bench *bench = data;
	struct frame frame;

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)frame_parse(bench->received, FRAME_SIZE, &frame);
		bench_keep(&frame);
	}
}

static void parse_floor(void *data, uint64_t n_ops)
{
	struct frame_bench *bench = data;
	struct frame frame;

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)parse_unchecked(bench->received, &frame);
		bench_keep(&frame);
	}
}

static bool print_verify(const void *data)
{
	const struct frame_bench *bench = data;
	uint8_t printed[FRAME_SIZE];

	return frame_print(&bench->frame, printed, FRAME_SIZE) == FRAME_SIZE &&
	       memcmp(printed, bench->received, FRAME_SIZE) == 0;
}

static void print_run(void *data, uint64_t n_ops)
{
	struct frame_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)frame_print(&bench->frame, bench->printed, FRAME_SIZE);
		bench_keep(bench);
	}
}

static void print_floor(void *data, uint64_t n_ops)
{
	struct frame_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)print_unchecked(&bench->frame, bench->printed);
		bench_keep(bench);
	}
}

const struct bench bench_frame[] = {
	{
		.name = "frame_parse",
		.subject = "read the header of one frame with a payload of 64 bytes",
		.unit = "ns/op",
		.against = "floor: unaligned loads of the header, unchecked",
		.claims_no_allocation = true,
		.setup = frame_setup,
		.verify = parse_verify,
		.run = parse_run,
		.peer = parse_floor,
		.teardown = free,
	},
	{
		.name = "frame_print",
		.subject = "write one frame with a payload of 64 bytes",
		.unit = "ns/op",
		.against = "floor: unaligned stores and memcpy, unchecked",
		.claims_no_allocation = true,
		.setup = frame_setup,
		.verify = print_verify,
		.run = print_run,
		.peer = print_floor,
		.teardown = free,
	},
	{ .name = NULL },
};
