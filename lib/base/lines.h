/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Lines of an fd, without a limit on how many
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct line_reader {
	int fd;
	size_t max;	   /* longest line */
	bool refuses_long; /* -EMSGSIZE for a longer one, whose end nobody waits for */
	char *bytes;
	size_t begin, end;
	uint64_t number; /* of the line that was read last, from 1 */
	bool is_skipping;
	bool is_at_end;
};

enum line_state {
	LINE_END,
	LINE_READY,
	LINE_TOO_LONG, /* it has been passed over */
};

#define _cleanup_lines_ _cleanup_(lines_close)
/* Closes nothing: the fd stays the caller's. */
void lines_close(struct line_reader *reader);
/* Can the next line be had without waiting? */
bool lines_ready(const struct line_reader *reader);
/* The same, where what the input has at this moment is read first: that never waits either. The
 * line that was given out last is gone then. */
bool lines_at_hand(struct line_reader *reader);
/* An enum line_state, or negative errno. The line is valid until the next call. */
int lines_next(struct line_reader *reader, char **ret_line, size_t *ret_len);
