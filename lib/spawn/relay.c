/* SPDX-License-Identifier: MIT */

/*
 * One direction of bytes
 *
 * The supervisor must never hang in a write(): it has signals and a time limit to watch. Output
 * that is ours alone does not block. What we share with others keeps its flags; there we wait for
 * room and write no more than a pipe takes at once.
 */

#include "spawn/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define WRITE_AT_ONCE 4096 /* PIPE_BUF: a pipe that has room at all takes that much */

static void arm(struct relay *relay)
{
	bool has_bytes = relay->end > relay->begin;

	relay->source.fd = has_bytes ? relay->to : relay->from;
	relay->source.events = POLLOUT;
	if (!has_bytes)
		relay->source.events = relay->is_paused ? 0 : POLLIN;
	if (relay->has_ended)
		relay->source.events = 0;
}

/* Of a shared allowance, as much as there is. */
static void count(struct relay *relay)
{
	size_t n = relay->end - relay->begin;

	if (!relay->left)
		return;
	if (n > *relay->left) {
		relay->end = relay->begin + (size_t)*relay->left;
		relay->is_over = true;
	}
	*relay->left -= relay->end - relay->begin;
}

static void fill(struct relay *relay)
{
	ssize_t n = read(relay->from, relay->bytes, RELAY_BUFFER_SIZE);

	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !relay->is_last)))
		return;
	/* A terminal says EIO when its last user has gone, a connection that it was reset. */
	if (n <= 0) {
		relay->has_ended = true;
		return;
	}
	relay->begin = 0;
	relay->end = (size_t)n;
	count(relay);
}

static void flush(struct relay *relay)
{
	const char *bytes = relay->bytes + relay->begin;
	size_t n_bytes = relay->end - relay->begin;
	ssize_t n;

	if (relay->to_is_socket)
		n = send(relay->to, bytes, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (relay->to_may_block && n_bytes > WRITE_AT_ONCE)
		n = write(relay->to, bytes, WRITE_AT_ONCE);
	else
		n = write(relay->to, bytes, n_bytes);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		relay->has_failed = true;
		relay->has_ended = true;
		relay->begin = relay->end;
		return;
	}
	relay->begin += (size_t)n;
}

static void turn(struct relay *relay, bool is_polled)
{
	bool has_room = is_polled && relay->end > relay->begin;
	bool was_over = relay->is_over;

	do {
		if (relay->end == relay->begin)
			fill(relay);
		/* Mostly there is room: one round of the loop less. */
		if (relay->end > relay->begin && (!relay->to_may_block || has_room))
			flush(relay);
		has_room = false;
		/* Of what is over, poll() might never tell us the end: somebody may still hold it.
		 */
	} while (relay->is_last && !relay->has_ended && relay->end == relay->begin);
	arm(relay);
	if ((relay->has_ended || relay->is_over != was_over) && relay->changed)
		relay->changed(relay, relay->userdata);
}

static int ready(struct source *source, short events)
{
	turn(source->userdata, true);
	return 0;
}

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int relay_begin(struct relay *relay, struct loop *loop, int from, int to)
{
	relay->bytes = malloc(RELAY_BUFFER_SIZE);
	if (!relay->bytes)
		return -ENOMEM;
	relay->from = from;
	relay->to = to;
	relay->to_is_socket = is_socket(to);
	relay->source = (struct source){ .ready = ready, .userdata = relay };
	arm(relay);

	int r = loop_add(loop, &relay->source);

	if (r == 0)
		relay->loop = loop;
	return r;
}

void relay_pause(struct relay *relay, bool is_paused)
{
	relay->is_paused = is_paused;
	arm(relay);
}

void relay_drain(struct relay *relay)
{
	relay->is_last = true;
	relay->is_paused = false;
	/* Without this, a relay whose other side is silent for ever would wait for it. */
	if (!relay->has_ended && relay->end == relay->begin)
		turn(relay, false);
}

void relay_deinit(struct relay *relay)
{
	if (relay->loop)
		loop_remove(relay->loop, &relay->source);
	free_ptr(&relay->bytes);
	*relay = (struct relay)RELAY_INIT;
}

int relay_reopen(int fd)
{
	char path[64];
	struct stat st;
	int again;

	/* A regular file has a place of its own in every open file, and never blocks for long. */
	if (fstat(fd, &st) < 0 || (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)))
		return -EBADF;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return again < 0 ? -EBADF : again;
}
