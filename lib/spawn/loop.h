/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The supervisor's event loop: poll() over a table of sources
 *
 * A source belongs to the caller that added it, who may change its fields: another fd, other
 * events, none (0).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pollfd;

struct source {
	int fd;
	short events;
	/* 0, or negative errno, which loop_turn() returns. */
	int (*ready)(struct source *source, short events);
	void *userdata;
};

struct loop {
	struct source **sources;
	struct source **ready; /* sources of the last poll() */
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
/* The same, and fills @source, which has @fd even on failure. */
int loop_watch(struct loop *loop, struct source *source, int fd, short events,
	       int (*ready)(struct source *source, short events), void *userdata);
/* May be called by a ready() function, for itself or another source, and for a source that was not
 * added. */
void loop_remove(struct loop *loop, const struct source *source);
/* Waits for at least one event, until @deadline_usec of loop_now(), and calls the ready()
 * functions. */
int loop_turn(struct loop *loop, uint64_t deadline_usec);
void loop_deinit(struct loop *loop);
#define _cleanup_loop_ _cleanup_(loop_deinit)

/* CLOCK_MONOTONIC in microseconds. */
uint64_t loop_now(void);
/* @now_usec + @usec, at most LOOP_NO_DEADLINE. */
uint64_t loop_after(uint64_t now_usec, uint64_t usec);
