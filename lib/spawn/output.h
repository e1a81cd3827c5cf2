/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The limit of the output. Without one stdout and stderr do not pass through the supervisor
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "spawn/loop.h"
#include "spawn/relay.h"

/* One stream: a pipe from the command, and the caller's fd that it is copied to. */
struct output_stream {
	struct relay relay;
	int inner; /* the command's end, until the command has it */
	int pipe;
	int again; /* a second, non-blocking open file description of the target */
};

struct output {
	struct output_stream streams[2]; /* stdout, stderr */
	bool is_one;			 /* both have the same target, and use the first stream */
	uint64_t left;
};

#define OUTPUT_STREAM_INIT                                                                         \
	{                                                                                          \
		.relay = RELAY_INIT, .inner = -EBADF, .pipe = -EBADF, .again = -EBADF              \
	}
#define OUTPUT_INIT                                                                                \
	{                                                                                          \
		.streams = { OUTPUT_STREAM_INIT, OUTPUT_STREAM_INIT }                              \
	}

/* Creates the pipes. Do not move @output afterwards. 0 or negative errno. */
int output_begin(struct output *output, struct loop *loop, uint64_t max_bytes);
/* The fds that become the command's 1 and 2; output_close_inner() closes them. */
void output_get_inner(const struct output *output, int ret_stdio[3]);
/* Closes the inner ends, which PID 1 has now. */
void output_close_inner(struct output *output);
bool output_is_over(const struct output *output);
/* All processes inside have ended: writes out what is still in the pipes. */
void output_drain(struct output *output);
bool output_has_ended(const struct output *output);
void output_deinit(struct output *output);
