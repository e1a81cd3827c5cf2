/* SPDX-License-Identifier: MIT */

/*
 * A poll() loop for a few dozen sources. The table is built anew before each poll(), so a source is
 * changed by assigning to its fields
 *
 * A function may remove sources, including ones that this poll() found ready: they are removed from
 * both lists, and a removed source is not called.
 */

#include "spawn/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/moment.h"

uint64_t loop_now(void)
{
	return moment_now(CLOCK_MONOTONIC);
}

uint64_t loop_after(uint64_t now_usec, uint64_t usec)
{
	return usec < LOOP_NO_DEADLINE - now_usec ? now_usec + usec : LOOP_NO_DEADLINE;
}

static int grow(struct loop *loop)
{
	size_t size = loop->size ? loop->size * 2 : 8;
	struct source **sources = reallocarray(loop->sources, size, sizeof(struct source *));

	if (!sources)
		return -ENOMEM;
	loop->sources = sources;

	struct source **ready = reallocarray(loop->ready, size, sizeof(struct source *));

	if (!ready)
		return -ENOMEM;
	loop->ready = ready;

	struct pollfd *polls = reallocarray(loop->polls, size, sizeof(struct pollfd));

	if (!polls)
		return -ENOMEM;
	loop->polls = polls;
	loop->size = size;
	return 0;
}

int loop_add(struct loop *loop, struct source *source)
{
	int r = loop->n == loop->size ? grow(loop) : 0;

	if (r < 0)
		return r;
	/* It was added after the poll() that is being handled. */
	loop->ready[loop->n] = NULL;
	loop->sources[loop->n++] = source;
	return 0;
}

int loop_watch(struct loop *loop, struct source *source, int fd, short events,
	       int (*ready)(struct source *source, short events), void *userdata)
{
	*source =
		(struct source){ .fd = fd, .events = events, .ready = ready, .userdata = userdata };
	return loop_add(loop, source);
}

void loop_remove(struct loop *loop, const struct source *source)
{
	for (size_t i = 0; i < loop->n; i++) {
		if (loop->sources[i] == source)
			loop->sources[i] = NULL;
		if (loop->ready[i] == source)
			loop->ready[i] = NULL;
	}
}

/* A source without events is left out: poll() would report POLLHUP even for events 0. */
static void prepare(struct loop *loop)
{
	size_t n = 0;

	for (size_t i = 0; i < loop->n; i++)
		if (loop->sources[i])
			loop->sources[n++] = loop->sources[i];
	loop->n = n;
	for (size_t i = 0; i < n; i++) {
		const struct source *source = loop->sources[i];

		loop->ready[i] = loop->sources[i];
		loop->polls[i] = (struct pollfd){
			.fd = source->events ? source->fd : -EBADF,
			.events = source->events,
		};
	}
}

static int wait_until(struct loop *loop, uint64_t deadline_usec)
{
	uint64_t now = deadline_usec == LOOP_NO_DEADLINE ? 0 : loop_now();
	struct timespec left = moment_timespec(deadline_usec > now ? deadline_usec - now : 0);
	int n;

	n = ppoll(loop->polls, loop->n, deadline_usec == LOOP_NO_DEADLINE ? NULL : &left, NULL);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n;
}

int loop_turn(struct loop *loop, uint64_t deadline_usec)
{
	size_t n_polled;
	int n;

	prepare(loop);
	n_polled = loop->n;
	n = wait_until(loop, deadline_usec);
	for (size_t i = 0; n > 0 && i < n_polled; i++) {
		struct source *source = loop->ready[i];
		short events = loop->polls[i].revents;

		/* A source before it has cleared its events. */
		if (!source || events == 0 || source->events == 0)
			continue;

		int r = source->ready(source, events);

		if (r < 0)
			return r;
	}
	return n < 0 ? n : 0;
}

void loop_deinit(struct loop *loop)
{
	free_ptr(&loop->sources);
	free_ptr(&loop->ready);
	free_ptr(&loop->polls);
	*loop = (struct loop)LOOP_INIT;
}
