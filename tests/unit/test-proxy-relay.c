/* SPDX-License-Identifier: MIT */
#include "proxy/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "../bench/count-alloc.h"
#include "test.h"

#define DEADLINE_SEC 120
#define CHUNK_MAX 100000

/* ---- calls that are counted, or made to fail ---- */

static unsigned n_splices;
static unsigned n_pipes;
static bool is_out_of_fds;

ssize_t __real_splice(int from, off_t *from_at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_splice(int from, off_t *from_at, int to, off_t *to_at, size_t n, unsigned flags);
int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);

ssize_t __wrap_splice(int from, off_t *from_at, int to, off_t *to_at, size_t n, unsigned flags)
{
	n_splices++;
	return __real_splice(from, from_at, to, to_at, n, flags);
}

int __wrap_pipe2(int fds[2], int flags)
{
	if (is_out_of_fds) {
		errno = EMFILE;
		return -1;
	}
	n_pipes++;
	return __real_pipe2(fds, flags);
}

/* ---- a tunnel: the relay between two pairs of connected sockets ---- */

struct place {
	sd_event *event;
	struct ready *ready;
	struct relay_pool *pool;
};

enum hook { HOOK_ALLOW, HOOK_MOVED, HOOK_ENDED, HOOK_NONE };

struct tunnel {
	struct relay relay;
	struct place *place;
	int outer[2]; /* the client and the server, by the direction that begins there */
	int inner[2]; /* the proxy's */
	uint64_t n_moved[2];
	unsigned n_progress; /* moved() with 0 */
	unsigned n_ended;
	int error;
	size_t n_allowed_max; /* allow() gives no more */
	bool is_random;	      /* allow() gives anything */
	uint64_t random;
	enum hook deinit_in;
	struct tunnel **ret_gone; /* set to NULL when a hook has freed the tunnel */
};

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void place_deinit(struct place *place)
{
	place->pool = relay_pool_free(place->pool);
	(void)ready_free(place->ready);
	(void)sd_event_unref(place->event);
}

#define _cleanup_place_ _cleanup_(place_deinit)

static void place_init(struct place *place)
{
	*place = (struct place){ .event = NULL };
	expect(sd_event_new(&place->event) >= 0);
	expect_eq(ready_new(place->event, &place->ready), 0);
	expect_eq(relay_pool_new(&place->pool), 0);
}

static struct tunnel *tunnel_free(struct tunnel *tunnel)
{
	if (!tunnel)
		return NULL;
	relay_deinit(&tunnel->relay);
	for (size_t i = 0; i < 2; i++) {
		close_fd(&tunnel->outer[i]);
		close_fd(&tunnel->inner[i]);
	}
	/* A relay that is used after a hook freed it must not seem to work. */
	memset(tunnel, 0xff, sizeof(*tunnel));
	free(tunnel);
	return NULL;
}

static void tunnel_free_ptr(struct tunnel **tunnel)
{
	*tunnel = tunnel_free(*tunnel);
}

#define _cleanup_tunnel_ _cleanup_(tunnel_free_ptr)

/* Whether this hook is the one that ends the tunnel's life. */
static bool is_freed_in(struct tunnel *tunnel, enum hook hook)
{
	if (tunnel->deinit_in != hook)
		return false;
	*tunnel->ret_gone = NULL;
	(void)tunnel_free(tunnel);
	return true;
}

static size_t allow(void *userdata, size_t wanted)
{
	struct tunnel *tunnel = userdata;

	if (is_freed_in(tunnel, HOOK_ALLOW))
		return wanted;
	if (tunnel->is_random)
		return random_next(&tunnel->random) % 3 == 0
			       ? 0
			       : (size_t)(random_next(&tunnel->random) % (wanted * 2));
	return tunnel->n_allowed_max < wanted ? tunnel->n_allowed_max : wanted;
}

static void moved(void *userdata, enum relay_direction direction, size_t n_bytes)
{
	struct tunnel *tunnel = userdata;

	if (is_freed_in(tunnel, HOOK_MOVED))
		return;
	tunnel->n_moved[direction] += n_bytes;
	tunnel->n_progress += n_bytes == 0;
}

static void ended(void *userdata, int error)
{
	struct tunnel *tunnel = userdata;

	if (is_freed_in(tunnel, HOOK_ENDED))
		return;
	tunnel->n_ended++;
	tunnel->error = error;
}

static const struct relay_hooks hooks = { .allow = allow, .moved = moved, .ended = ended };

static void set_nonblocking(int fd)
{
	expect_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static void pair_unix(int pair[2])
{
	expect_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
}

static void pair_tcp(int pair[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	expect_eq(bind(listener, (struct sockaddr *)&address, size), 0);
	expect_eq(listen(listener, 1), 0);
	expect_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	expect_eq(connect(pair[0], (struct sockaddr *)&address, size), 0);
	pair[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	expect(pair[1] >= 0);
	set_nonblocking(pair[0]);
	set_nonblocking(pair[1]);
}

static struct tunnel *tunnel_new(struct place *place, void (*make_pair)(int pair[2]))
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
	int pair[2] = { -EBADF, -EBADF };

	expect(tunnel);
	if (!tunnel)
		abort();
	tunnel->place = place;
	tunnel->n_allowed_max = SIZE_MAX;
	tunnel->deinit_in = HOOK_NONE;
	for (size_t i = 0; i < 2; i++) {
		make_pair(pair);
		tunnel->outer[i] = pair[0];
		tunnel->inner[i] = pair[1];
	}
	expect_eq(relay_init(&tunnel->relay, place->pool, place->ready, tunnel->inner[0],
			     tunnel->inner[1], &hooks, tunnel),
		  0);
	return tunnel;
}

static struct tunnel *tunnel_start(struct place *place, void (*make_pair)(int pair[2]))
{
	struct tunnel *tunnel = tunnel_new(place, make_pair);

	expect_eq(relay_start(&tunnel->relay), 0);
	return tunnel;
}

/* ---- streams whose bytes tell their place ---- */

struct stream {
	struct tunnel *tunnel;
	enum relay_direction direction;
	uint64_t n_total;
	uint64_t n_sent;
	uint64_t n_received;
	bool is_closed; /* the sender's end */
	bool has_ended; /* at the receiver */
	bool is_wrong;
};

static uint8_t byte_at(enum relay_direction direction, uint64_t i)
{
	return (uint8_t)((i * 2654435761U + direction * 77U) >> 7);
}

static void stream_send(struct stream *stream, size_t n_max)
{
	static uint8_t bytes[CHUNK_MAX];
	int fd = stream->tunnel->outer[stream->direction];
	size_t n = n_max;
	ssize_t n_sent;

	if (n > stream->n_total - stream->n_sent)
		n = (size_t)(stream->n_total - stream->n_sent);
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(stream->direction, stream->n_sent + i);
	n_sent = n > 0 ? send(fd, bytes, n, MSG_NOSIGNAL) : 0;
	expect(n_sent >= 0 || errno == EAGAIN);
	if (n_sent > 0)
		stream->n_sent += (uint64_t)n_sent;
	if (stream->n_sent < stream->n_total || stream->is_closed)
		return;
	expect_eq(shutdown(fd, SHUT_WR), 0);
	stream->is_closed = true;
}

static ssize_t stream_receive(struct stream *stream, size_t n_max)
{
	static uint8_t bytes[CHUNK_MAX];
	ssize_t n = recv(stream->tunnel->outer[!stream->direction], bytes, n_max, 0);

	expect(n >= 0 || errno == EAGAIN);
	if (n == 0 && n_max > 0)
		stream->has_ended = true;
	for (ssize_t i = 0; i < n; i++)
		stream->is_wrong |=
			bytes[i] != byte_at(stream->direction, stream->n_received + (uint64_t)i);
	if (n > 0)
		stream->n_received += (uint64_t)n;
	return n;
}

static struct stream stream_of(struct tunnel *tunnel, enum relay_direction direction,
			       uint64_t n_total)
{
	return (struct stream){ .tunnel = tunnel, .direction = direction, .n_total = n_total };
}

static bool is_past(const struct timespec *deadline)
{
	struct timespec now;

	expect_eq(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return now.tv_sec > deadline->tv_sec;
}

static struct timespec deadline_new(void)
{
	struct timespec deadline;

	expect_eq(clock_gettime(CLOCK_MONOTONIC, &deadline), 0);
	deadline.tv_sec += DEADLINE_SEC;
	return deadline;
}

static void turn(struct place *place, int timeout_msec)
{
	expect(ready_turn(place->ready, timeout_msec) >= 0);
}

/* Turns until there is nothing more to do. */
static void settle(struct place *place)
{
	struct timespec deadline = deadline_new();

	while (ready_turn(place->ready, 50) > 0 && !is_past(&deadline))
		;
}

static void wait_for_end(struct tunnel *tunnel)
{
	struct timespec deadline = deadline_new();

	while (tunnel->n_ended == 0 && !is_past(&deadline))
		turn(tunnel->place, 100);
	expect_eq(tunnel->n_ended, 1);
}

/* Sends both streams in random pieces until both have ended at the other side. */
static void exchange(struct tunnel *tunnel, struct stream streams[2], uint64_t seed)
{
	struct timespec deadline = deadline_new();
	uint64_t random = seed + 1;

	while (!(streams[0].has_ended && streams[1].has_ended && tunnel->n_ended) &&
	       !is_past(&deadline)) {
		struct stream *stream = &streams[random_next(&random) % 2];
		size_t n = 1 + (size_t)(random_next(&random) %
					(random_next(&random) % 4 == 0 ? CHUNK_MAX : 3000));

		if (random_next(&random) % 2 == 0)
			stream_send(stream, n);
		else if (!stream->has_ended)
			(void)stream_receive(stream, n);
		turn(tunnel->place, 0);
		if (random_next(&random) % 8 == 0)
			relay_resume(&tunnel->relay);
	}
	for (size_t i = 0; i < 2; i++) {
		expect_eq(streams[i].n_received, streams[i].n_total);
		expect_eq(tunnel->n_moved[i], streams[i].n_total);
		expect(!streams[i].is_wrong);
		expect(streams[i].has_ended);
	}
	expect_eq(tunnel->n_ended, 1);
	expect_eq(tunnel->error, 0);
}

/* ---- the tests ---- */

/* Then what waits goes on in several pieces. */
static void make_buffers_small(const struct tunnel *tunnel)
{
	int size = 4096;

	for (size_t i = 0; i < 2; i++)
		expect_eq(setsockopt(tunnel->inner[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)),
			  0);
}

static void carries_random_chunks_both_ways(void)
{
	void (*const pairs[])(int pair[2]) = { pair_unix, pair_tcp };
	_cleanup_place_ struct place place = { 0 };
	uint64_t n_seeds = test_is_slow() ? 400 : 12;

	place_init(&place);
	for (uint64_t seed = 0; seed < n_seeds; seed++) {
		_cleanup_tunnel_ struct tunnel *tunnel = tunnel_start(&place, pairs[seed % 2]);
		uint64_t random = seed * 7919 + 1;
		struct stream streams[2];

		tunnel->is_random = seed % 3 == 0;
		tunnel->random = seed + 99;
		if (seed % 5 > 2)
			make_buffers_small(tunnel);
		(void)random_next(&random);
		for (size_t i = 0; i < 2; i++)
			streams[i] = stream_of(tunnel, (enum relay_direction)i,
					       random_next(&random) %
						       (seed % 4 == 1 ? 8000000 : 500000));
		exchange(tunnel, streams, seed);
	}
}

static void passes_on_the_end_of_each_direction_alone(void)
{
	for (size_t first = 0; first < 2; first++) {
		_cleanup_place_ struct place place = { 0 };
		_cleanup_tunnel_ struct tunnel *tunnel = NULL;
		char text[8];

		place_init(&place);
		tunnel = tunnel_start(&place, pair_tcp);
		expect_eq(send(tunnel->outer[first], "first", 5, 0), 5);
		expect_eq(shutdown(tunnel->outer[first], SHUT_WR), 0);
		settle(&place);
		expect_eq(recv(tunnel->outer[!first], text, sizeof(text), 0), 5);
		expect_eq(recv(tunnel->outer[!first], text, sizeof(text), 0), 0);
		expect_eq(tunnel->n_ended, 0);
		expect_eq(send(tunnel->outer[!first], "second", 6, 0), 6);
		settle(&place);
		expect_eq(recv(tunnel->outer[first], text, sizeof(text), 0), 6);
		expect_eq(recv(tunnel->outer[first], text, sizeof(text), 0), -1);
		expect_eq(shutdown(tunnel->outer[!first], SHUT_WR), 0);
		wait_for_end(tunnel);
		expect_eq(tunnel->error, 0);
		expect_eq(recv(tunnel->outer[first], text, sizeof(text), 0), 0);
	}
}

/* Sends until the sender's socket takes no more and the relay has nothing to do. */
static void send_until_full(struct stream *stream)
{
	uint64_t before;

	do {
		before = stream->n_sent;
		stream_send(stream, CHUNK_MAX);
		settle(stream->tunnel->place);
	} while (stream->n_sent > before);
}

static void a_slow_reader_holds_at_most_one_buffer(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	struct stream stream;
	uint64_t n_moved;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_unix);
	tunnel->n_allowed_max = 16000; /* too small to be spliced */
	stream = stream_of(tunnel, RELAY_DOWN, UINT64_MAX);
	send_until_full(&stream);
	n_moved = tunnel->n_moved[RELAY_DOWN];
	expect(n_moved > 0);
	/* All that is in the kernel, without the relay. */
	while (stream_receive(&stream, CHUNK_MAX) > 0)
		;
	expect(n_moved > stream.n_received);
	expect(n_moved - stream.n_received <= RELAY_BUFFER_BYTES);
	expect_eq(tunnel->n_progress, 0);
	settle(&place);
	expect(tunnel->n_progress > 0);
	while (stream_receive(&stream, CHUNK_MAX) > 0)
		settle(&place);
	expect_eq(stream.n_received, stream.n_sent);
	expect(!stream.is_wrong);
	expect(!tunnel->relay.ends[RELAY_DOWN].buffer);
}

static void a_slow_reader_of_a_spliced_stream_holds_at_most_one_pipe(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	struct stream stream;
	uint64_t n_moved;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_unix);
	stream = stream_of(tunnel, RELAY_DOWN, UINT64_MAX);
	tunnel->relay.ends[RELAY_DOWN].n_big = 4;
	send_until_full(&stream);
	n_moved = tunnel->n_moved[RELAY_DOWN];
	expect(tunnel->relay.ends[RELAY_DOWN].pipe);
	expect(!tunnel->relay.ends[RELAY_DOWN].buffer);
	while (stream_receive(&stream, CHUNK_MAX) > 0)
		;
	expect(n_moved > stream.n_received);
	expect(n_moved - stream.n_received <= 256 * 1024);
	settle(&place);
	while (stream_receive(&stream, CHUNK_MAX) > 0)
		settle(&place);
	expect_eq(stream.n_received, stream.n_sent);
	expect(!stream.is_wrong);
	expect(!tunnel->relay.ends[RELAY_DOWN].pipe);
}

/* One stream, sent and received in the largest pieces. */
static void carry(struct stream *stream)
{
	struct timespec deadline = deadline_new();

	while (stream->n_received < stream->n_total && !is_past(&deadline)) {
		stream_send(stream, CHUNK_MAX);
		turn(stream->tunnel->place, 0);
		(void)stream_receive(stream, CHUNK_MAX);
	}
	expect_eq(stream->n_received, stream->n_total);
	expect(!stream->is_wrong);
}

static void splices_a_stream_that_proves_big(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	struct stream stream;
	unsigned n_before = n_splices, n_pipes_before = n_pipes;
	char text[8];

	place_init(&place);
	tunnel = tunnel_start(&place, pair_tcp);
	stream = stream_of(tunnel, RELAY_DOWN, 32 << 20);
	carry(&stream);
	expect(n_splices - n_before > 50);
	expect(n_pipes - n_pipes_before == 1);
	expect(!tunnel->relay.ends[RELAY_DOWN].pipe);

	/* The direction that stayed small is copied. The other one may yet look once for more. */
	settle(&place);
	n_before = n_splices;
	expect_eq(send(tunnel->outer[RELAY_UP], "ping", 4, 0), 4);
	settle(&place);
	expect_eq(recv(tunnel->outer[RELAY_DOWN], text, sizeof(text), 0), 4);
	expect_eq(n_splices, n_before);
}

static void copies_small_messages(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	unsigned n_before = n_splices, n_pipes_before = n_pipes;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_tcp);
	for (unsigned i = 0; i < 200; i++) {
		char text[1000] = { 0 };

		expect_eq(send(tunnel->outer[i % 2], text, sizeof(text), 0), sizeof(text));
		for (size_t n = 0; n < sizeof(text);) {
			struct pollfd readable = { .fd = tunnel->outer[!(i % 2)],
						   .events = POLLIN };
			ssize_t n_read;

			turn(&place, 0);
			if (poll(&readable, 1, 0) < 1)
				continue;
			n_read = recv(readable.fd, text, sizeof(text), 0);
			expect(n_read > 0);
			n += n_read > 0 ? (size_t)n_read : sizeof(text);
		}
	}
	expect_eq(n_splices, n_before);
	expect_eq(n_pipes, n_pipes_before);
}

static void leaves_splicing_when_the_stream_goes_small(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	struct stream stream;
	unsigned n_before;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_unix);
	stream = stream_of(tunnel, RELAY_UP, 1000);
	tunnel->relay.ends[RELAY_UP].n_big = 4;
	n_before = n_splices;
	carry(&stream);
	expect_eq(n_splices - n_before, 2);
	expect_eq(tunnel->relay.ends[RELAY_UP].n_big, 0);
}

static void allocates_nothing_for_a_chunk(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	struct stream stream;

	if (!count_alloc_works())
		skip("a sanitizer replaces the heap");
	place_init(&place);
	tunnel = tunnel_start(&place, pair_tcp);
	stream = stream_of(tunnel, RELAY_DOWN, 1 << 20);
	stream.is_closed = true; /* not to be closed: more follows */
	carry(&stream);
	stream.n_total = 20 << 20;
	count_alloc_start();
	carry(&stream);
	/* A buffer or a pipe that the pool did not have yet, at most. */
	expect(count_alloc_stop() <= 3);
}

static void copies_a_big_stream_where_there_are_no_pipes(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	struct stream stream;
	unsigned n_before = n_splices;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_tcp);
	stream = stream_of(tunnel, RELAY_UP, 8 << 20);
	is_out_of_fds = true;
	carry(&stream);
	is_out_of_fds = false;
	expect_eq(n_splices, n_before);
}

static void many_slow_readers_share_a_limited_number_of_pipes(void)
{
	enum { N_TUNNELS = 80 };
	struct tunnel *tunnels[N_TUNNELS];
	struct stream streams[N_TUNNELS];
	_cleanup_place_ struct place place = { 0 };
	unsigned n_before = n_pipes, n_with_pipe = 0;
	uint64_t n_sent;

	place_init(&place);
	for (size_t i = 0; i < N_TUNNELS; i++) {
		tunnels[i] = tunnel_start(&place, pair_unix);
		tunnels[i]->relay.ends[RELAY_UP].n_big = 4;
		streams[i] = stream_of(tunnels[i], RELAY_UP, UINT64_MAX);
	}
	/* How much the sockets take differs between kernels. */
	do {
		n_sent = 0;
		for (size_t i = 0; i < N_TUNNELS; i++) {
			uint64_t n_already = streams[i].n_sent;

			stream_send(&streams[i], CHUNK_MAX);
			n_sent += streams[i].n_sent - n_already;
		}
		while (ready_turn(place.ready, 0) > 0)
			;
	} while (n_sent > 0);
	for (size_t i = 0; i < N_TUNNELS; i++) {
		streams[i].n_total = streams[i].n_sent;
		n_with_pipe += tunnels[i]->relay.ends[RELAY_UP].pipe != NULL;
		expect(tunnels[i]->relay.ends[RELAY_UP].pipe ||
		       tunnels[i]->relay.ends[RELAY_UP].buffer);
	}
	expect(n_with_pipe > 0);
	expect(n_pipes - n_before <= 64);
	for (size_t i = 0; i < N_TUNNELS; i++) {
		carry(&streams[i]);
		tunnels[i] = tunnel_free(tunnels[i]);
	}
}

static void bytes_left_in_a_pipe_do_not_reach_the_next_tunnel(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *next = NULL;
	struct tunnel *tunnel;
	struct stream stream;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_unix);
	tunnel->relay.ends[RELAY_UP].n_big = 4;
	stream = stream_of(tunnel, RELAY_UP, UINT64_MAX);
	send_until_full(&stream);
	expect(tunnel->relay.ends[RELAY_UP].pipe);
	(void)tunnel_free(tunnel);

	next = tunnel_start(&place, pair_unix);
	next->relay.ends[RELAY_UP].n_big = 4;
	stream = stream_of(next, RELAY_UP, 300000);
	carry(&stream);
}

static void sends_what_was_added_first(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	char text[32] = { 0 };

	place_init(&place);
	tunnel = tunnel_new(&place, pair_tcp);
	expect_eq(relay_add(&tunnel->relay, RELAY_UP, "one ", 4), 0);
	expect_eq(relay_add(&tunnel->relay, RELAY_UP, "two ", 4), 0);
	expect_eq(relay_add(&tunnel->relay, RELAY_DOWN, "down", 4), 0);
	expect_eq(send(tunnel->outer[RELAY_UP], "three", 5, 0), 5);
	expect_eq(relay_start(&tunnel->relay), 0);
	settle(&place);
	expect_eq(recv(tunnel->outer[RELAY_DOWN], text, sizeof(text), 0), 13);
	expect_str(text, "one two three");
	expect_eq(recv(tunnel->outer[RELAY_UP], text, sizeof(text), 0), 4);
	expect_eq(tunnel->n_moved[RELAY_UP], 5);
	expect_eq(tunnel->n_moved[RELAY_DOWN], 0);
}

static void refuses_more_than_a_buffer_of_added_bytes(void)
{
	static const char bytes[RELAY_BUFFER_BYTES];
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;

	place_init(&place);
	tunnel = tunnel_new(&place, pair_tcp);
	expect_eq(relay_add(&tunnel->relay, RELAY_UP, bytes, sizeof(bytes)), 0);
	expect_eq(relay_add(&tunnel->relay, RELAY_UP, "x", 1), -ENOBUFS);
	expect_eq(relay_add(&tunnel->relay, RELAY_DOWN, "x", 1), 0);
}

static void reset_fd(int *fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	expect_eq(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	close_fd(fd);
}

static void resets_the_other_side_after_a_reset(void)
{
	for (size_t side = 0; side < 2; side++) {
		_cleanup_place_ struct place place = { 0 };
		_cleanup_tunnel_ struct tunnel *tunnel = NULL;
		char text[8];

		place_init(&place);
		tunnel = tunnel_start(&place, pair_tcp);
		expect_eq(send(tunnel->outer[side], "part", 4, 0), 4);
		settle(&place);
		reset_fd(&tunnel->outer[side]);
		wait_for_end(tunnel);
		expect_eq(tunnel->error, -ECONNRESET);
		relay_deinit(&tunnel->relay);
		close_fd(&tunnel->inner[0]);
		close_fd(&tunnel->inner[1]);
		(void)recv(tunnel->outer[!side], text, sizeof(text), 0);
		expect_eq(recv(tunnel->outer[!side], text, sizeof(text), 0), -1);
		expect(errno == ECONNRESET || errno == EPIPE);
	}
}

/* close() with unread bytes makes the kernel send a reset, after the answer. */
static void answer_and_close(struct tunnel *tunnel)
{
	expect_eq(send(tunnel->outer[RELAY_DOWN], "answer", 6, 0), 6);
	close_fd(&tunnel->outer[RELAY_DOWN]);
}

static void passes_on_what_arrived_before_a_reset(void)
{
	for (int is_late = 0; is_late < 2; is_late++) {
		_cleanup_place_ struct place place = { 0 };
		_cleanup_tunnel_ struct tunnel *tunnel = NULL;
		char text[8];

		place_init(&place);
		tunnel = tunnel_start(&place, pair_tcp);
		expect_eq(send(tunnel->outer[RELAY_UP], "request", 7, 0), 7);
		settle(&place);
		if (is_late)
			answer_and_close(tunnel);
		expect_eq(send(tunnel->outer[RELAY_UP], "more", 4, 0), 4);
		if (!is_late)
			answer_and_close(tunnel);
		wait_for_end(tunnel);
		expect(tunnel->error < 0);
		expect_eq(recv(tunnel->outer[RELAY_UP], text, sizeof(text), MSG_DONTWAIT), 6);
		expect(memcmp(text, "answer", 6) == 0);
	}
}

static void notices_a_reset_while_nothing_is_read(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	struct stream stream;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_tcp);
	stream = stream_of(tunnel, RELAY_UP, UINT64_MAX);
	send_until_full(&stream);
	reset_fd(&tunnel->outer[RELAY_UP]);
	wait_for_end(tunnel);
	expect_eq(tunnel->error, -ECONNRESET);
}

static void a_hangup_behind_waiting_bytes_does_not_spin(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	struct stream stream;
	unsigned n_turns = 0;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_unix);
	stream = stream_of(tunnel, RELAY_UP, UINT64_MAX);
	send_until_full(&stream);
	/* A unix socket whose peer is gone reports EPOLLHUP for ever. */
	close_fd(&tunnel->outer[RELAY_UP]);
	while (ready_turn(place.ready, 50) > 0 && n_turns < 100)
		n_turns++;
	expect(n_turns < 10);
	expect_eq(tunnel->n_ended, 0);
	while (stream_receive(&stream, CHUNK_MAX) > 0)
		settle(&place);
	expect_eq(stream.n_received, stream.n_sent);
	expect(stream.has_ended);
}

static void reads_nothing_that_is_not_allowed(void)
{
	_cleanup_place_ struct place place = { 0 };
	_cleanup_tunnel_ struct tunnel *tunnel = NULL;
	char text[16];

	place_init(&place);
	tunnel = tunnel_start(&place, pair_tcp);
	tunnel->n_allowed_max = 0;
	expect_eq(send(tunnel->outer[RELAY_UP], "0123456789", 10, 0), 10);
	settle(&place);
	expect_eq(tunnel->n_moved[RELAY_UP], 0);
	relay_resume(&tunnel->relay);
	settle(&place);
	expect_eq(tunnel->n_moved[RELAY_UP], 0);
	tunnel->n_allowed_max = 4;
	relay_resume(&tunnel->relay);
	turn(&place, 1000);
	settle(&place);
	expect_eq(recv(tunnel->outer[RELAY_DOWN], text, sizeof(text), 0), 10);
	expect_eq(tunnel->n_moved[RELAY_UP], 10);
}

static void may_be_freed_in_each_hook(void)
{
	void (*const pairs[])(int pair[2]) = { pair_unix, pair_tcp };

	for (unsigned i = 0; i < 2U * HOOK_NONE; i++) {
		struct timespec deadline = deadline_new();
		_cleanup_place_ struct place place = { 0 };
		struct tunnel *tunnel;

		place_init(&place);
		tunnel = tunnel_start(&place, pairs[i % 2]);
		tunnel->deinit_in = (enum hook)(i / 2);
		tunnel->ret_gone = &tunnel;
		expect_eq(send(tunnel->outer[RELAY_UP], "x", 1, 0), 1);
		for (size_t side = 0; side < 2; side++)
			expect_eq(shutdown(tunnel->outer[side], SHUT_WR), 0);
		while (tunnel && !is_past(&deadline))
			turn(&place, 100);
		expect(!tunnel);
		settle(&place);
	}
}

static void may_be_freed_while_a_slow_reader_goes_on(void)
{
	_cleanup_place_ struct place place = { 0 };
	struct tunnel *tunnel;
	struct stream stream;

	place_init(&place);
	tunnel = tunnel_start(&place, pair_unix);
	stream = stream_of(tunnel, RELAY_DOWN, UINT64_MAX);
	send_until_full(&stream);
	tunnel->deinit_in = HOOK_MOVED;
	tunnel->ret_gone = &tunnel;
	while (stream_receive(&stream, CHUNK_MAX) > 0)
		;
	settle(&place);
	expect(!tunnel);
}

static void is_small_while_idle(void)
{
	/* 8,000 tunnels, and what the kernel and their connections need, fit in 52 MB. */
	expect(sizeof(struct relay) <= 192);
}

static const struct test tests[] = {
	TEST(carries_random_chunks_both_ways),
	TEST(passes_on_the_end_of_each_direction_alone),
	TEST(a_slow_reader_holds_at_most_one_buffer),
	TEST(a_slow_reader_of_a_spliced_stream_holds_at_most_one_pipe),
	TEST(splices_a_stream_that_proves_big),
	TEST(copies_small_messages),
	TEST(leaves_splicing_when_the_stream_goes_small),
	TEST(allocates_nothing_for_a_chunk),
	TEST(copies_a_big_stream_where_there_are_no_pipes),
	TEST(many_slow_readers_share_a_limited_number_of_pipes),
	TEST(bytes_left_in_a_pipe_do_not_reach_the_next_tunnel),
	TEST(sends_what_was_added_first),
	TEST(refuses_more_than_a_buffer_of_added_bytes),
	TEST(resets_the_other_side_after_a_reset),
	TEST(passes_on_what_arrived_before_a_reset),
	TEST(notices_a_reset_while_nothing_is_read),
	TEST(a_hangup_behind_waiting_bytes_does_not_spin),
	TEST(reads_nothing_that_is_not_allowed),
	TEST(may_be_freed_in_each_hook),
	TEST(may_be_freed_while_a_slow_reader_goes_on),
	TEST(is_small_while_idle),
	TEST_END,
};

int main(void)
{
	/* splice() knows no MSG_NOSIGNAL. */
	(void)signal(SIGPIPE, SIG_IGN);
	return test_run(tests);
}
