/* SPDX-License-Identifier: MIT */
#ifndef SBX_FRAME_LAYOUT_H
#define SBX_FRAME_LAYOUT_H

/*
 * The bytes of a frame, the unit that rings, unix sockets and TCP connections carry. Data only.
 *
 *   offset 0  u32 little-endian  length: the bytes that follow this field
 *   offset 4  u8                 type
 *   offset 5  u32 little-endian  request id; 0: the message is not a reply
 *   offset 9  payload            length - 5 bytes
 */

#define SBX_FRAME_LENGTH_OFFSET 0
#define SBX_FRAME_TYPE_OFFSET 4
#define SBX_FRAME_REQUEST_ID_OFFSET 5
#define SBX_FRAME_PAYLOAD_OFFSET 9

/* The bytes that the length field counts besides the payload. */
#define SBX_FRAME_LENGTH_MIN 5

/* 16 MiB; a longer frame is refused before anything is allocated for it. */
#define SBX_FRAME_PAYLOAD_MAX 16777216

#endif
