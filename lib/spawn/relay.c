/* SPDX-License-Identifier: MIT */

/*
 * A relay copies bytes from one fd to another
 *
 * The supervisor must never block in write(), because it handles signals and the time limit. An fd
 * that only the supervisor has is non-blocking. The flags of an open file that other processes
 * share stay as they are: the relay waits for POLLOUT then and writes at most PIPE_BUF bytes at
 * once.
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

#define WRITE_AT_ONCE 4096 /* PIPE_BUF: a pipe with POLLOUT has room for this */

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

/* Takes the bytes off the shared limit and drops what exceeds it. */
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

/* A pair that two reads divide stays a pair: a terminal shows CR CR LF like CR LF. */
static size_t drop_cr(char *bytes, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (bytes[i] != '\r' || i + 1 == n || bytes[i + 1] != '\n')
			bytes[kept++] = bytes[i];
	return kept;
}

static void fill(struct relay *relay)
{
	ssize_t n = read(relay->from, relay->bytes, RELAY_BUFFER_SIZE);

	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !relay->is_last)))
		return;
	/* A terminal returns EIO after its last close(), a connection ECONNRESET: both are the end.
	 * */
	if (n <= 0) {
		relay->has_ended = true;
		return;
	}
	relay->begin = 0;
	relay->end = relay->drops_cr ? drop_cr(relay->bytes, (size_t)n) : (size_t)n;
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
		/* Usually there is room: this saves one turn of the loop. */
		if (relay->end > relay->begin && (!relay->to_may_block || has_room))
			flush(relay);
		has_room = false;
		/* Read on without poll(): another process may keep the other end open, so that
		 * poll() never reports the end. */
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
	/* Otherwise a relay whose source is silent would wait for it for ever. */
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

	/* Reopening a regular file would start at offset 0, and writes to it do not block: keep the
	 * inherited fd. */
	if (fstat(fd, &st) < 0 || (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)))
		return -EBADF;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return again < 0 ? -EBADF : again;
}
