/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Frames: the one message form of rings, unix sockets and TCP (sbx/frame-layout.h)
 *
 * What is parsed comes from a peer that may lie: the length is checked before anything trusts it,
 * and a payload is pointed to, never copied.
 */

#include <stddef.h>
#include <stdint.h>

#include <sbx/frame-layout.h>

struct frame {
	uint8_t type;
	uint32_t request_id;
	const uint8_t *payload; /* points into the parsed bytes */
	size_t payload_size;
};

/*
 * Reads one frame from the front of @bytes.
 *
 * Returns the bytes it takes, 0 while more bytes are needed, -EBADMSG for a length that cannot be,
 * -EMSGSIZE for one over the limit. Nothing after a failure can be trusted: the stream has lost its
 * place.
 */
long frame_parse(const void *bytes, size_t n_bytes, struct frame *ret);

/*
 * Writes @frame into @bytes. Returns the bytes written, -EMSGSIZE for a payload over the limit,
 * -ENOBUFS where the room is too small. The payload may already stand in its place.
 */
long frame_print(const struct frame *frame, void *bytes, size_t n_bytes);
