/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The supervisor's loop: poll() over a table of sources
 *
 * A source belongs to who adds it and may be changed in place: another fd, other events, none (0).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pollfd;

struct source {
	int fd;
	short events;
	/* 0, or negative errno, with which loop_turn() returns. */
	int (*ready)(struct source *source, short events);
	void *userdata;
};

struct loop {
	struct source **sources;
	struct source **ready; /* those that the last poll() looked at */
	struct pollfd *polls;
	size_t n;
	size_t size;
};

#define LOOP_INIT                                                                                  \
	{                                                                                          \
		.sources = NULL                                                                    \
	}
#define LOOP_NO_DEADLINE UINT64_MAX

int loop_add(struct loop *loop, struct source *source);
/* Also from a function of the loop, for itself or for another one; 0 times is fine. */
void loop_remove(struct loop *loop, const struct source *source);
/* Waits for one event at least, until @deadline_usec of loop_now(), and hands out what has come. */
int loop_turn(struct loop *loop, uint64_t deadline_usec);
void loop_deinit(struct loop *loop);
#define _cleanup_loop_ _cleanup_(loop_deinit)

/* Microseconds of a clock that nobody sets. */
uint64_t loop_now(void);
/* @usec later, at most the end of time. */
uint64_t loop_after(uint64_t now_usec, uint64_t usec);
