/* SPDX-License-Identifier: MIT */

/*
 * Records of stdin: lines, texts that end with NUL, or a length and so many bytes
 *
 * The buffer grows up to the longest message. The last record may lack its newline or NUL, but not
 * bytes that its length has announced.
 */

#include "ring.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/le32.h"

#include "tool.h"

#define FIRST_BYTES 65536
#define LENGTH_SIZE 4

static const struct {
	const char *name;
	char end;
} framings[] = {
	[FRAMING_LINES] = { "line", '\n' },
	[FRAMING_NUL] = { "text", '\0' },
	[FRAMING_LENGTH] = { "message", 0 },
};

int ring_framing(const struct ring_values *values, enum framing *ret, struct sbx_error *err)
{
	if (values->by_nul && values->by_length)
		return ring_refuse(err, "--null does not go with --framed",
				   "messages end with NUL, or begin with their length",
				   "leave out one of them");
	*ret = values->by_nul ? FRAMING_NUL : values->by_length ? FRAMING_LENGTH : FRAMING_LINES;
	return 0;
}

void input_deinit(struct input *input)
{
	free_ptr(&input->bytes);
}

/* A record in the buffer: its bytes, and where the next one begins. */
struct found {
	size_t begin, end, next;
};

static bool find_by_length(const struct input *input, struct found *ret)
{
	size_t n = input->end - input->begin, length;

	if (n < LENGTH_SIZE)
		return false;
	length = le32_load(input->bytes + input->begin);
	if (length > n - LENGTH_SIZE)
		return false;
	ret->begin = input->begin + LENGTH_SIZE;
	ret->end = ret->next = ret->begin + length;
	return true;
}

static bool find_by_end(const struct input *input, struct found *ret)
{
	const char *begin = input->bytes + input->begin;
	const char *end = input->end > input->begin ? memchr(begin, framings[input->framing].end,
							     input->end - input->begin)
						    : NULL;

	if (!end)
		return false;
	ret->begin = input->begin;
	ret->end = (size_t)(end - input->bytes);
	ret->next = ret->end + 1;
	return true;
}

static bool find(const struct input *input, struct found *ret)
{
	return input->framing == FRAMING_LENGTH ? find_by_length(input, ret)
						: find_by_end(input, ret);
}

bool input_is_ready(struct input *input)
{
	struct found found;

	return find(input, &found);
}

static bool is_too_long(const struct input *input)
{
	size_t n = input->end - input->begin;

	if (input->framing == FRAMING_LENGTH)
		return n >= LENGTH_SIZE &&
		       le32_load(input->bytes + input->begin) > SBX_RING_MESSAGE_MAX;
	return n > SBX_RING_MESSAGE_MAX;
}

/* Moves the rest to the front, and doubles the buffer if the rest fills it. */
static int make_room(struct input *input)
{
	const size_t most = SBX_RING_MESSAGE_MAX + LENGTH_SIZE + 1;
	size_t n = input->end - input->begin, size = input->n_allocated;
	char *bytes;

	if (input->begin > 0)
		memmove(input->bytes, input->bytes + input->begin, n);
	input->begin = 0;
	input->end = n;
	if (n < size)
		return 0;
	size = size == 0 ? FIRST_BYTES : 2 * size < most ? 2 * size : most;
	bytes = realloc(input->bytes, size);
	if (!bytes)
		return -ENOMEM;
	input->bytes = bytes;
	input->n_allocated = size;
	return 0;
}

int input_read(struct input *input)
{
	int r = is_too_long(input) ? -EMSGSIZE : make_room(input);
	ssize_t n;

	if (r < 0)
		return r;
	do
		n = read(input->fd, input->bytes + input->end, input->n_allocated - input->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	input->end += (size_t)n;
	input->is_at_end = n == 0;
	return 0;
}

int input_next(struct input *input, const void **ret, size_t *ret_n_bytes)
{
	struct found found = { .end = 0 };
	int r = 0;

	while (r == 0 && !find(input, &found) && !input->is_at_end)
		r = input_read(input);
	if (r == 0 && input->is_at_end && !find(input, &found)) {
		if (input->begin == input->end)
			r = INPUT_END;
		else if (input->framing == FRAMING_LENGTH)
			r = -EBADMSG;
		found = (struct found){ input->begin, input->end, input->end };
	}
	if (r == 0 && found.end - found.begin > SBX_RING_MESSAGE_MAX)
		r = -EMSGSIZE;
	if (r != INPUT_END)
		input->number++;
	if (r != 0)
		return r;
	*ret = input->bytes + found.begin;
	*ret_n_bytes = found.end - found.begin;
	input->begin = found.next;
	return 0;
}

int input_fail(const struct input *input, int r, struct sbx_error *err)
{
	const char *name = framings[input->framing].name;

	if (r == -EMSGSIZE) {
		(void)error_fill(err, r, "a message has at most 16777221 bytes",
				 "send it in shorter parts, or by 'sbx-ring pipe'",
				 "%s %" PRIu64 " of stdin is too long", name, input->number);
		return TOOL_USAGE;
	}
	if (r == -EBADMSG) {
		(void)error_fill(err, r, "fewer bytes came than its length says",
				 "check that the length is 4 bytes, little-endian",
				 "%s %" PRIu64 " of stdin is cut off", name, input->number);
		return TOOL_USAGE;
	}
	return error_fill(err, r, NULL, "check where standard input comes from",
			  "cannot read stdin");
}
