/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Frames on a byte stream, each after its length (sbx/frame-layout.h)
 *
 * A message of a channel needs no length, because its record has one: there a frame begins with its
 * type, and lib/ring/channel.c reads and writes it.
 *
 * The peer is untrusted: the length is checked before it is used, and a payload is not copied.
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
 * Returns its size, 0 if more bytes are needed, -EBADMSG for an invalid length, -EMSGSIZE for one
 * over the limit. After a failure the stream has no frame boundary and must be closed.
 */
long frame_parse(const void *bytes, size_t n_bytes, struct frame *ret);

/*
 * Writes @frame into @bytes. Returns the bytes written, -EMSGSIZE for a payload over the limit,
 * -ENOBUFS if @n_bytes is too small. The payload may already be at its place in @bytes.
 */
long frame_print(const struct frame *frame, void *bytes, size_t n_bytes);
