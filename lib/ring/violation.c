/* SPDX-License-Identifier: MIT */

/* Names of violations; they stand in records and must not change */

#include "ring/violation.h"

#include <stddef.h>

static const char *const names[RING_N_VIOLATIONS] = {
	[RING_TAIL_BEYOND_CAPACITY] = "tail_beyond_capacity",
	[RING_TAIL_NOT_ALIGNED] = "tail_not_aligned",
	[RING_HEAD_BEYOND_TAIL] = "head_beyond_tail",
	[RING_LENGTH_OVER_LIMIT] = "length_over_limit",
	[RING_LENGTH_BEYOND_TAIL] = "length_beyond_tail",
	[RING_UNKNOWN_RECORD_KIND] = "unknown_record_kind",
	[RING_PARTS_OUT_OF_ORDER] = "parts_out_of_order",
	[RING_MESSAGE_OVER_LIMIT] = "message_over_limit",
	[RING_FRAME_TOO_SHORT] = "frame_too_short",
	[RING_STATE_UNKNOWN] = "state_unknown",
};

const char *ring_violation_name(int violation)
{
	return violation > RING_OK && violation < RING_N_VIOLATIONS ? names[violation] : NULL;
}
