/* SPDX-License-Identifier: MIT */

/*
 * Parsing and writing one frame
 *
 * The length is read once, byte by byte (no alignment, no host order), and checked before more
 * bytes are awaited: a peer cannot make the reader reserve 4 GiB.
 */

#include "ring/frame.h"

#include <errno.h>
#include <string.h>

#include "base/le32.h"

long frame_parse(const void *bytes, size_t n_bytes, struct frame *ret)
{
	const uint8_t *at = bytes;

	if (n_bytes < SBX_FRAME_TYPE_OFFSET)
		return 0;

	uint32_t length = le32_load(at + SBX_FRAME_LENGTH_OFFSET);

	if (length < SBX_FRAME_LENGTH_MIN)
		return -EBADMSG;
	if (length - SBX_FRAME_LENGTH_MIN > SBX_FRAME_PAYLOAD_MAX)
		return -EMSGSIZE;
	if (n_bytes - SBX_FRAME_TYPE_OFFSET < length)
		return 0;
	*ret = (struct frame){
		.type = at[SBX_FRAME_TYPE_OFFSET],
		.request_id = le32_load(at + SBX_FRAME_REQUEST_ID_OFFSET),
		.payload = at + SBX_FRAME_PAYLOAD_OFFSET,
		.payload_size = length - SBX_FRAME_LENGTH_MIN,
	};
	return (long)length + SBX_FRAME_TYPE_OFFSET;
}

long frame_print(const struct frame *frame, void *bytes, size_t n_bytes)
{
	uint8_t *at = bytes;

	if (frame->payload_size > SBX_FRAME_PAYLOAD_MAX)
		return -EMSGSIZE;
	if (n_bytes < SBX_FRAME_PAYLOAD_OFFSET + frame->payload_size)
		return -ENOBUFS;

	/* Move the payload first: it may overlap the header. */
	if (frame->payload_size > 0 && frame->payload != at + SBX_FRAME_PAYLOAD_OFFSET)
		memmove(at + SBX_FRAME_PAYLOAD_OFFSET, frame->payload, frame->payload_size);
	le32_store(at + SBX_FRAME_LENGTH_OFFSET,
		   (uint32_t)frame->payload_size + SBX_FRAME_LENGTH_MIN);
	at[SBX_FRAME_TYPE_OFFSET] = frame->type;
	le32_store(at + SBX_FRAME_REQUEST_ID_OFFSET, frame->request_id);
	return (long)(SBX_FRAME_PAYLOAD_OFFSET + frame->payload_size);
}
