/* SPDX-License-Identifier: MIT */

/*
 * Messages to stdout, many in one write()
 *
 * A message that is larger than the buffer is written from where it is.
 */

#include "ring.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/le32.h"
#include "base/text.h"

#define OUTPUT_BYTES 131072
#define LENGTH_SIZE 4

void output_deinit(struct output *output)
{
	free_ptr(&output->bytes);
}

int output_flush(struct output *output)
{
	size_t n = output->n_bytes;

	output->n_bytes = 0;
	return n > 0 ? fd_write_all(output->fd, output->bytes, n) : 0;
}

static void put(struct output *output, const void *bytes, size_t n_bytes)
{
	if (n_bytes > 0)
		memcpy(output->bytes + output->n_bytes, bytes, n_bytes);
	output->n_bytes += n_bytes;
}

static int write_large(struct output *output, const void *bytes, size_t n_bytes)
{
	int r = output_flush(output);

	return r < 0 ? r : fd_write_all(output->fd, bytes, n_bytes);
}

static int add_raw(struct output *output, const void *bytes, size_t n_bytes)
{
	const char end = output->framing == FRAMING_NUL ? '\0' : '\n';
	bool has_length = output->framing == FRAMING_LENGTH;
	char length[LENGTH_SIZE];
	int r;

	if (n_bytes + LENGTH_SIZE > OUTPUT_BYTES - output->n_bytes) {
		r = output_flush(output);
		if (r < 0)
			return r;
	}
	if (has_length) {
		le32_store(length, (uint32_t)n_bytes);
		put(output, length, sizeof(length));
	}
	r = n_bytes + LENGTH_SIZE > OUTPUT_BYTES ? write_large(output, bytes, n_bytes) : 0;
	if (r < 0)
		return r;
	if (n_bytes + LENGTH_SIZE <= OUTPUT_BYTES)
		put(output, bytes, n_bytes);
	if (!has_length)
		put(output, &end, 1);
	return 0;
}

int output_add(struct output *output, const void *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text copy = TEXT_INIT, visible = TEXT_INIT;

	if (!output->bytes) {
		output->is_terminal = isatty(output->fd);
		output->bytes = malloc(OUTPUT_BYTES);
	}
	if (!output->bytes)
		return -ENOMEM;
	if (!output->is_terminal || output->framing != FRAMING_LINES)
		return add_raw(output, bytes, n_bytes);
	/* The other side could move the cursor, or type answers for the user. It may still change
	 * the bytes, which are read more than once, so copy them first. */
	text_add_bytes(&copy, bytes, n_bytes);
	text_add_visible(&visible, text_string(&copy), copy.len);
	return text_status(&copy) < 0 || text_status(&visible) < 0
		       ? -ENOMEM
		       : add_raw(output, visible.data, visible.len);
}

int output_fail(struct side *side, int r, struct sbx_error *err)
{
	bool has_no_reader = r == -EPIPE;

	(void)error_fill(err, r, NULL,
			 "check where standard output goes: disk space, a closed pipe",
			 "cannot write the messages to stdout; received ones are lost");
	(void)side_close(side, has_no_reader ? 0 : -EIO, NULL);
	if (has_no_reader) {
		(void)signal(SIGPIPE, SIG_DFL);
		(void)raise(SIGPIPE);
	}
	return r;
}
