/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The limit of the output: only then the command's stdout and stderr pass through us
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "spawn/loop.h"
#include "spawn/relay.h"

/* What a stream is for us: pipes that we read and what we write to. */
struct output_stream {
	struct relay relay;
	int inner; /* the command's end, until it has it */
	int pipe;
	int again; /* a second open file of ours, that does not block */
};

struct output {
	struct output_stream streams[2]; /* stdout, stderr */
	bool is_one;			 /* both go to the same place, through the first */
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

/* Pipes in place of both; @output is not moved any more. 0 or negative errno. */
int output_begin(struct output *output, struct loop *loop, uint64_t max_bytes);
/* What becomes the command's 1 and 2; ours to close. */
void output_get_inner(const struct output *output, int ret_stdio[3]);
/* It has them. */
void output_close_inner(struct output *output);
bool output_is_over(const struct output *output);
/* Nobody inside is left: what was written still goes where it should. */
void output_drain(struct output *output);
bool output_has_ended(const struct output *output);
void output_deinit(struct output *output);
