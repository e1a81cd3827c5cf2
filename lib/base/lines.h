/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Lines of an fd, in any number
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct line_reader {
	int fd;
	size_t max;	   /* longest line */
	bool refuses_long; /* -EMSGSIZE for a longer line, without reading its end */
	char *bytes;
	size_t begin, end;
	uint64_t number; /* of the last line, from 1 */
	bool is_skipping;
	bool is_at_end;
};

enum line_state {
	LINE_END,
	LINE_READY,
	LINE_TOO_LONG, /* the line was skipped */
};

#define _cleanup_lines_ _cleanup_(lines_close)
/* Closes nothing: the fd stays the caller's. */
void lines_close(struct line_reader *reader);
/* Is the next line in the buffer, so that lines_next() does not block? */
bool lines_ready(const struct line_reader *reader);
/* The same after reading the bytes that are available now, without blocking. This overwrites the
 * last line. */
bool lines_at_hand(struct line_reader *reader);
/* An enum line_state, or negative errno. The line is valid until the next call. */
int lines_next(struct line_reader *reader, char **ret_line, size_t *ret_len);
