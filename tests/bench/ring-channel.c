/* SPDX-License-Identifier: MIT */

/*
 * Channels, through the functions that other programs use
 *
 * The near process is the server. Each opens its side after the start, because a channel is not
 * inherited by a child. The receiver compares the first bytes of each message with its number, so a
 * fast but wrong channel fails.
 */

#include "ring-bench.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/error.h>
#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "bench.h"

#define MESSAGE_MAX 65536
#define NUMBER_SIZE sizeof(uint32_t)

static void close_channel(struct sbx_ring **ring)
{
	sbx_ring_close(*ring);
	*ring = NULL;
}
#define _cleanup_channel_ _cleanup_(close_channel)

static struct sbx_ring_config config_of(const struct contender *contender)
{
	return (struct sbx_ring_config){
		.size = sizeof(struct sbx_ring_config),
		.transport = contender->transport,
		.mode = contender->mode,
		.is_datagram = contender->is_datagram,
		.spin_usec = contender->spin_usec,
	};
}

/* ---- opening ---- */

/* The pair's own socket carries packets; a stream socket comes over it. */
static int socket_of(struct pair_run *run, enum pair_side side)
{
	const struct contender *contender = run->contender;
	_cleanup_close_ int own = -EBADF;
	_cleanup_close_ int other = -EBADF;
	char byte = 0;
	size_t n_fds;
	int ends[2], r;

	if (contender->transport == SBX_RING_SHARED_MEMORY || contender->is_datagram)
		return take_fd(&run->socket);
	if (side == PAIR_FAR) {
		r = (int)fd_receive(run->socket, &byte, 1, &own, 1, &n_fds);
		return r < 0 ? r : n_fds == 1 ? take_fd(&own) : -EPROTO;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	own = ends[0];
	other = ends[1];
	r = fd_send(run->socket, &byte, 1, &other, 1);
	return r < 0 ? r : take_fd(&own);
}

/* The server chooses a port and tells it over the pair's socket. */
static int open_tcp(struct pair_run *run, enum pair_side side, struct sbx_ring **ret,
		    struct sbx_error *err)
{
	struct sbx_ring_config config = config_of(run->contender);
	char endpoint[64] = "localhost:0";
	int r;

	config.endpoint = endpoint;
	if (side == PAIR_FAR) {
		ssize_t n = recv(run->socket, endpoint, sizeof(endpoint) - 1, 0);

		if (n <= 0)
			return sbx_error_what(err, n < 0 ? -errno : -EPIPE, "cannot get a port");
		endpoint[n] = '\0';
		return sbx_ring_open(&config, SBX_RING_CLIENT, -EBADF, ret, err);
	}
	r = sbx_ring_open(&config, SBX_RING_SERVER, -EBADF, ret, err);
	if (r < 0)
		return r;

	const char *chosen = sbx_ring_endpoint(*ret);

	if (send(run->socket, chosen, strlen(chosen), MSG_NOSIGNAL) < 0)
		return sbx_error_what(err, -errno, "cannot tell the port");
	return 0;
}

static int open_given(struct pair_run *run, enum pair_side side, struct sbx_ring **ret,
		      struct sbx_error *err)
{
	struct sbx_ring_config config = config_of(run->contender);
	int role = side == PAIR_NEAR ? SBX_RING_SERVER : SBX_RING_CLIENT;
	int fd = socket_of(run, side);

	if (fd < 0)
		return sbx_error_what(err, fd, "cannot connect two processes");
	return sbx_ring_open(&config, role, fd, ret, err);
}

static int open_side(struct pair_run *run, enum pair_side side, struct sbx_ring **ret,
		     struct sbx_error *err)
{
	int r = run->contender->transport == SBX_RING_TCP ? open_tcp(run, side, ret, err)
							  : open_given(run, side, ret, err);

	if (r == 0)
		pair_meet(run);
	return r;
}

static int refuse(struct sbx_error *err, int r, const char *what)
{
	(void)sbx_error_what(err, r < 0 ? r : -EIO, "cannot %s", what);
	if (r > 0)
		sbx_error_why(err, "the channel returned %d", r);
	return r < 0 ? r : -EIO;
}

/* ---- messages in one direction ---- */

static int send_all(struct pair_run *run, unsigned flags, struct sbx_error *err)
{
	static uint8_t message[MESSAGE_MAX] __attribute__((__aligned__(PAIR_LINE_SIZE)));
	size_t n_bytes = run->contender->n_bytes;
	_cleanup_channel_ struct sbx_ring *ring = NULL;
	struct pair_clock clock;
	int r = open_side(run, PAIR_NEAR, &ring, err);

	if (r < 0)
		return r;
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		memcpy(message, &i, NUMBER_SIZE);
		r = sbx_ring_send(ring, message, n_bytes, flags, SBX_RING_FOREVER);
		if (r != 0)
			return refuse(err, r, "send a message");
		pair_clock_tick(&clock);
	}
	r = sbx_ring_flush(ring);
	return r == 0 ? 0 : refuse(err, r, "flush a channel");
}

int ring_send_near(struct pair_run *run, struct sbx_error *err)
{
	return send_all(run, SBX_RING_MORE, err);
}

int ring_single_near(struct pair_run *run, struct sbx_error *err)
{
	return send_all(run, 0, err);
}

int ring_send_far(struct pair_run *run, struct sbx_error *err)
{
	_cleanup_channel_ struct sbx_ring *ring = NULL;
	uint64_t n_wrong = 0;
	int r = open_side(run, PAIR_FAR, &ring, err);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < run->n_operations; i++) {
		const void *bytes;
		size_t n_bytes;

		r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER);
		if (r != 0)
			return refuse(err, r, "receive a message");
		bench_keep(bytes);
		n_wrong +=
			n_bytes != run->contender->n_bytes || memcmp(bytes, &i, NUMBER_SIZE) != 0;
	}
	return n_wrong == 0 ? 0 : refuse(err, -EIO, "receive what was sent");
}

/* ---- without a copy ---- */

static int reserve(struct sbx_ring *ring, size_t n_bytes, void **ret)
{
	int r;

	while ((r = sbx_ring_reserve(ring, n_bytes, ret)) == SBX_RING_FULL) {
		r = sbx_ring_flush(ring);
		if (r == 0)
			r = sbx_ring_wait(ring, SBX_RING_WRITABLE, SBX_RING_FOREVER);
		if (r != 0)
			return r;
	}
	return r;
}

/* Writes only the number: a message that is made in place. */
int ring_zero_copy_near(struct pair_run *run, struct sbx_error *err)
{
	_cleanup_channel_ struct sbx_ring *ring = NULL;
	struct pair_clock clock;
	int r = open_side(run, PAIR_NEAR, &ring, err);

	if (r < 0)
		return r;
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		void *bytes;

		r = reserve(ring, run->contender->n_bytes, &bytes);
		if (r != 0)
			return refuse(err, r, "reserve a message");
		memcpy(bytes, &i, NUMBER_SIZE);
		r = sbx_ring_commit(ring, run->contender->n_bytes, SBX_RING_MORE);
		if (r != 0)
			return refuse(err, r, "commit a message");
		pair_clock_tick(&clock);
	}
	r = sbx_ring_flush(ring);
	return r == 0 ? 0 : refuse(err, r, "flush a channel");
}

static int peek(struct sbx_ring *ring, const void **ret, size_t *ret_n_bytes)
{
	int r;

	while ((r = sbx_ring_peek(ring, ret, ret_n_bytes)) == SBX_RING_EMPTY) {
		r = sbx_ring_wait(ring, SBX_RING_READABLE, SBX_RING_FOREVER);
		if (r != 0)
			return r;
	}
	return r;
}

int ring_zero_copy_far(struct pair_run *run, struct sbx_error *err)
{
	_cleanup_channel_ struct sbx_ring *ring = NULL;
	uint64_t n_wrong = 0;
	int r = open_side(run, PAIR_FAR, &ring, err);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < run->n_operations; i++) {
		const void *bytes;
		size_t n_bytes;

		r = peek(ring, &bytes, &n_bytes);
		if (r != 0)
			return refuse(err, r, "peek at a message");
		n_wrong +=
			n_bytes != run->contender->n_bytes || memcmp(bytes, &i, NUMBER_SIZE) != 0;
		sbx_ring_release(ring);
	}
	return n_wrong == 0 ? 0 : refuse(err, -EIO, "receive what was sent");
}

/* ---- round trips ---- */

int ring_trip_near(struct pair_run *run, struct sbx_error *err)
{
	uint8_t message[MESSAGE_MAX] = { 0 };
	size_t n_bytes = run->contender->n_bytes;
	_cleanup_channel_ struct sbx_ring *ring = NULL;
	struct pair_clock clock;
	int r = open_side(run, PAIR_NEAR, &ring, err);

	if (r < 0)
		return r;
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		const void *bytes;
		size_t n;

		memcpy(message, &i, NUMBER_SIZE);
		r = sbx_ring_send(ring, message, n_bytes, 0, SBX_RING_FOREVER);
		if (r == 0)
			r = sbx_ring_receive(ring, &bytes, &n, SBX_RING_FOREVER);
		if (r != 0)
			return refuse(err, r, "exchange messages");
		if (n != n_bytes || memcmp(bytes, &i, NUMBER_SIZE) != 0)
			return refuse(err, -EIO, "receive what was sent");
		pair_clock_tick(&clock);
	}
	return 0;
}

int ring_trip_far(struct pair_run *run, struct sbx_error *err)
{
	uint8_t message[MESSAGE_MAX];
	_cleanup_channel_ struct sbx_ring *ring = NULL;
	int r = open_side(run, PAIR_FAR, &ring, err);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < run->n_operations; i++) {
		const void *bytes;
		size_t n;

		r = sbx_ring_receive(ring, &bytes, &n, SBX_RING_FOREVER);
		if (r != 0 || n > sizeof(message))
			return refuse(err, r, "exchange messages");
		memcpy(message, bytes, n);
		r = sbx_ring_send(ring, message, n, 0, SBX_RING_FOREVER);
		if (r != 0)
			return refuse(err, r, "exchange messages");
	}
	return 0;
}

/* ---- the beginning and the end of a channel ---- */

/* Both sides in one process: the server does not wait for its client. */
int ring_open_near(struct pair_run *run, struct sbx_error *err)
{
	struct sbx_ring_config config = config_of(run->contender);
	struct pair_clock clock;

	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		_cleanup_channel_ struct sbx_ring *server = NULL;
		_cleanup_channel_ struct sbx_ring *client = NULL;
		int sockets[2], r;

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
			return refuse(err, -errno, "make a pair of sockets");
		r = sbx_ring_open(&config, SBX_RING_SERVER, sockets[0], &server, err);
		if (r < 0)
			(void)close(sockets[1]);
		else
			r = sbx_ring_open(&config, SBX_RING_CLIENT, sockets[1], &client, err);
		if (r < 0)
			return r;
		pair_clock_tick(&clock);
	}
	return 0;
}

static uint64_t *time_of_death(struct pair_run *run)
{
	return (uint64_t *)(void *)run->shared;
}

/* Waits for a message; the client is killed instead. */
int ring_death_near(struct pair_run *run, struct sbx_error *err)
{
	_cleanup_channel_ struct sbx_ring *ring = NULL;
	const void *bytes;
	size_t n_bytes;
	int r = open_side(run, PAIR_NEAR, &ring, err);

	if (r < 0)
		return r;
	r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER);
	if (r != -ECONNRESET)
		return refuse(err, r, "notice that the other side was killed");
	pair_add_time(run, (double)(pair_now_ns() -
				    __atomic_load_n(time_of_death(run), __ATOMIC_ACQUIRE)));
	return 0;
}

int ring_death_far(struct pair_run *run, struct sbx_error *err)
{
	struct sbx_ring *ring; /* never closed: a killed process does not say goodbye */
	int r = open_side(run, PAIR_FAR, &ring, err);

	if (r < 0)
		return r;
	/* The server should sleep by then; if it does not yet, it notices sooner. */
	(void)usleep(2000);
	__atomic_store_n(time_of_death(run), pair_now_ns(), __ATOMIC_RELEASE);
	(void)kill(getpid(), SIGKILL);
	return 0;
}
