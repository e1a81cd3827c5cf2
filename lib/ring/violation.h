/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the other side of a channel did wrong, as a number for counters and a name for people
 */

/* The other side ... (in these words in sbx-ring(1) and sbx-ring-layout(7), too) */
enum ring_violation {
	RING_OK = 0,
	RING_TAIL_BEYOND_CAPACITY, /* says that it has sent more than there is room for, or less
				      than before */
	RING_TAIL_NOT_ALIGNED,	/* says that it has sent a number of bytes that is not a multiple of
				   8 (mode stream) */
	RING_HEAD_BEYOND_TAIL,	/* says that it has read more than was sent, or less than before */
	RING_LENGTH_OVER_LIMIT, /* sent a record that is longer than a record may be */
	RING_LENGTH_BEYOND_TAIL,  /* sent a record that ends after what it says that it has sent */
	RING_UNKNOWN_RECORD_KIND, /* sent a record with flags that are not defined */
	RING_PARTS_OUT_OF_ORDER, /* sent a part without its beginning, a beginning inside a message,
				    a part before the last that is not full, or an abort with other
				    flags, with a payload or outside a message */
	RING_MESSAGE_OVER_LIMIT, /* sent parts that are together longer than a message may be */
	RING_FRAME_TOO_SHORT,	 /* sent a message that is too short for a frame */
	RING_STATE_UNKNOWN, /* wrote a state that is neither open nor closed; over TCP: sent another
			       first word than 0xfffffffe */
	RING_N_VIOLATIONS,
};

/* "tail_beyond_capacity"; NULL for RING_OK and for numbers that are not defined. */
const char *ring_violation_name(int violation);
