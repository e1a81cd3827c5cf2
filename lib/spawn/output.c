/* SPDX-License-Identifier: MIT */

/*
 * The limit on what a command writes
 *
 * Bytes beyond the limit are read and discarded until the command has ended, so that it is ended by
 * a signal and does not block on a full pipe. If stdout and stderr are the same file, one pipe
 * carries both and keeps their order.
 */

#include "spawn/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_same_file(int left, int right)
{
	struct stat a, b;

	return fstat(left, &a) == 0 && fstat(right, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
}

/* Nothing reads the outer end any more: close the pipe, so that the command gets EPIPE as it would
 * without the limit. */
static void changed(struct relay *relay, void *userdata)
{
	struct output_stream *stream = userdata;

	if (relay->has_failed && stream->pipe >= 0) {
		(void)close(stream->pipe);
		stream->pipe = -EBADF;
	}
}

static int begin_stream(struct output_stream *stream, struct loop *loop, int fd, uint64_t *left)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	stream->pipe = ends[0];
	stream->inner = ends[1];
	/* O_NONBLOCK applies to one end of a pipe: the command's end stays blocking. */
	if (fcntl(stream->pipe, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	stream->again = relay_reopen(fd);
	stream->relay.left = left;
	stream->relay.to_may_block = stream->again < 0;
	stream->relay.changed = changed;
	stream->relay.userdata = stream;
	return relay_begin(&stream->relay, loop, stream->pipe,
			   stream->again < 0 ? fd : stream->again);
}

int output_begin(struct output *output, struct loop *loop, uint64_t max_bytes)
{
	int r;

	output->left = max_bytes;
	output->is_one = is_same_file(STDOUT_FILENO, STDERR_FILENO);
	r = begin_stream(&output->streams[0], loop, STDOUT_FILENO, &output->left);
	if (r == 0 && !output->is_one)
		r = begin_stream(&output->streams[1], loop, STDERR_FILENO, &output->left);
	return r;
}

void output_get_inner(const struct output *output, int ret_stdio[3])
{
	ret_stdio[STDIN_FILENO] = -EBADF;
	ret_stdio[STDOUT_FILENO] = output->streams[0].inner;
	ret_stdio[STDERR_FILENO] = output->streams[output->is_one ? 0 : 1].inner;
}

void output_close_inner(struct output *output)
{
	for (size_t i = 0; i < N_ELEMENTS(output->streams); i++) {
		close_fd(&output->streams[i].inner);
	}
}

bool output_is_over(const struct output *output)
{
	return output->streams[0].relay.is_over || output->streams[1].relay.is_over;
}

void output_drain(struct output *output)
{
	for (size_t i = 0; i < N_ELEMENTS(output->streams); i++)
		if (output->streams[i].relay.bytes)
			relay_drain(&output->streams[i].relay);
}

bool output_has_ended(const struct output *output)
{
	for (size_t i = 0; i < N_ELEMENTS(output->streams); i++)
		if (output->streams[i].relay.bytes && !output->streams[i].relay.has_ended)
			return false;
	return true;
}

void output_deinit(struct output *output)
{
	for (size_t i = 0; i < N_ELEMENTS(output->streams); i++) {
		struct output_stream *stream = &output->streams[i];

		relay_deinit(&stream->relay);
		close_fd(&stream->inner);
		close_fd(&stream->pipe);
		close_fd(&stream->again);
	}
	*output = (struct output)OUTPUT_INIT;
}
