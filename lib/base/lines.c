/* SPDX-License-Identifier: MIT */

/*
 * Lines of an fd, one at a time
 *
 * A line that is too long is skipped and reported, and the next call returns the next line. The
 * buffer is allocated once.
 */

#include "base/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void lines_close(struct line_reader *reader)
{
	free_ptr(&reader->bytes);
}

static char *find_end(const struct line_reader *reader)
{
	return reader->end > reader->begin
		       ? memchr(reader->bytes + reader->begin, '\n', reader->end - reader->begin)
		       : NULL;
}

bool lines_ready(const struct line_reader *reader)
{
	return reader->is_at_end || find_end(reader);
}

/* Makes room and calls read() once: a pipe may have no more bytes for now. */
static int fill(struct line_reader *reader)
{
	ssize_t n;

	if (!reader->bytes)
		reader->bytes = malloc(reader->max + 1);
	if (!reader->bytes)
		return -ENOMEM;
	if (reader->begin > 0) {
		memmove(reader->bytes, reader->bytes + reader->begin, reader->end - reader->begin);
		reader->end -= reader->begin;
		reader->begin = 0;
	}
	if (reader->end > reader->max && reader->refuses_long)
		return -EMSGSIZE;
	if (reader->end > reader->max) {
		reader->is_skipping = true;
		reader->end = 0;
	}
	do
		n = read(reader->fd, reader->bytes + reader->end, reader->max + 1 - reader->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	reader->end += (size_t)n;
	reader->is_at_end = n == 0;
	return 0;
}

/* Ignores an error of read(): lines_next() gets it again. */
bool lines_at_hand(struct line_reader *reader)
{
	struct pollfd input = { .fd = reader->fd, .events = POLLIN };

	while (!lines_ready(reader))
		if (poll(&input, 1, 0) <= 0 || fill(reader) < 0)
			return false;
	return true;
}

/* Returns the bytes up to @end, which is the newline or the end of the input. */
static int take(struct line_reader *reader, char *end, char **ret_line, size_t *ret_len)
{
	bool was_skipping = reader->is_skipping;

	*ret_line = reader->bytes + reader->begin;
	*ret_len = (size_t)(end - *ret_line);
	reader->begin += *ret_len + (end < reader->bytes + reader->end);
	reader->is_skipping = false;
	reader->number++;
	return was_skipping ? LINE_TOO_LONG : LINE_READY;
}

int lines_next(struct line_reader *reader, char **ret_line, size_t *ret_len)
{
	char *end;

	while (!(end = find_end(reader))) {
		int r;

		if (reader->is_at_end && reader->end == reader->begin && !reader->is_skipping)
			return LINE_END;
		if (reader->is_at_end)
			return take(reader, reader->bytes + reader->end, ret_line, ret_len);
		r = fill(reader);
		if (r < 0)
			return r;
	}
	return take(reader, end, ret_line, ret_len);
}
