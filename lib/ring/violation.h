/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the other side of a channel did wrong, as a number for counters and a name for people
 */

enum ring_violation {
	RING_OK = 0,
	RING_TAIL_BEYOND_CAPACITY, /* more sent than there is room for, or less than before */
	RING_TAIL_NOT_ALIGNED,	   /* a tail inside a record */
	RING_HEAD_BEYOND_TAIL,	   /* more bytes read than were sent, or fewer than before */
	RING_LENGTH_OVER_LIMIT,	   /* a record longer than the record maximum */
	RING_LENGTH_BEYOND_TAIL,   /* a record that ends after the tail */
	RING_UNKNOWN_RECORD_KIND,  /* flags that are not defined */
	RING_PARTS_OUT_OF_ORDER, /* a part without its beginning, or a beginning inside a message */
	RING_MESSAGE_OVER_LIMIT, /* parts that are together longer than a message may be */
	RING_FRAME_TOO_SHORT,	 /* a frame without type and request id */
	RING_STATE_UNKNOWN,	 /* neither open nor closed */
	RING_N_VIOLATIONS,
};

/* "tail_beyond_capacity"; NULL for RING_OK and for numbers that are not defined. */
const char *ring_violation_name(int violation);
