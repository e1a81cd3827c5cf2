/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a stream of frames: a parsed frame prints back to the same bytes, and a truncated
 * frame never parses. They are also a payload. A failed check is an abort.
 */

#include "ring/frame.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_frame(const struct frame *frame, const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_free_ uint8_t *printed = malloc(n_bytes);
	struct frame cut;

	check(printed != NULL);
	check(frame->payload == bytes + SBX_FRAME_PAYLOAD_OFFSET);
	check(frame->payload_size == n_bytes - SBX_FRAME_PAYLOAD_OFFSET);
	check(frame_print(frame, printed, n_bytes) == (long)n_bytes);
	check(memcmp(printed, bytes, n_bytes) == 0);
	check(frame_print(frame, printed, n_bytes - 1) == -ENOBUFS);
	check(frame_parse(bytes, n_bytes - 1, &cut) == 0);
	check(frame_parse(bytes, n_bytes / 2, &cut) == 0);
}

/* Parses frames to the end of the stream, or to the first invalid one. */
static void parse_stream(const uint8_t *bytes, size_t n_bytes)
{
	while (n_bytes > 0) {
		struct frame frame = { .payload = NULL };
		long n = frame_parse(bytes, n_bytes, &frame);

		if (n <= 0) {
			check(n == 0 || n == -EBADMSG || n == -EMSGSIZE);
			check(frame.payload == NULL && frame.payload_size == 0);
			/* The first four bytes decide a refusal. */
			check(n == 0 || frame_parse(bytes, 4, &frame) == n);
			return;
		}
		check((size_t)n <= n_bytes);
		check_frame(&frame, bytes, (size_t)n);
		bytes += n;
		n_bytes -= (size_t)n;
	}
}

static void print_as_payload(const uint8_t *bytes, size_t n_bytes)
{
	size_t size = SBX_FRAME_PAYLOAD_OFFSET + n_bytes;
	_cleanup_free_ uint8_t *printed = malloc(size);
	struct frame again, frame = {
		.type = n_bytes > 0 ? bytes[0] : 0,
		.request_id = (uint32_t)n_bytes * 2654435761u,
		.payload = bytes,
		.payload_size = n_bytes,
	};

	check(printed != NULL);
	check(frame_print(&frame, printed, size) == (long)size);
	check(frame_parse(printed, size, &again) == (long)size);
	check(again.type == frame.type && again.request_id == frame.request_id);
	check(again.payload_size == n_bytes && memcmp(again.payload, bytes, n_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	parse_stream(bytes, n_bytes);
	print_as_payload(bytes, n_bytes);
	return 0;
}
