/* SPDX-License-Identifier: MIT */

/*
 * What <sbx/ring.h> promises, over every transport
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "count-alloc.h"
#include "test.h"

#define DEADLINE_USEC UINT64_C(120000000)
#define SHORT_USEC 20000
#define KIB 1024

enum meeting {
	BY_SOCKETPAIR,
	BY_PATH,
	BY_PORT,
};

static const struct kind {
	const char *name;
	const char *transport_name;
	int transport, mode, socket_type;
	enum meeting meeting;
} kinds[] = {
	{ "shared_memory, stream", "shared_memory", SBX_RING_SHARED_MEMORY, SBX_RING_STREAM,
	  SOCK_SEQPACKET, BY_SOCKETPAIR },
	{ "shared_memory, call", "shared_memory", SBX_RING_SHARED_MEMORY, SBX_RING_CALL,
	  SOCK_SEQPACKET, BY_SOCKETPAIR },
	{ "unix_socket, stream socketpair", "unix_socket", SBX_RING_UNIX_SOCKET, SBX_RING_STREAM,
	  SOCK_STREAM, BY_SOCKETPAIR },
	{ "unix_socket, seqpacket socketpair", "unix_socket", SBX_RING_UNIX_SOCKET, SBX_RING_STREAM,
	  SOCK_SEQPACKET, BY_SOCKETPAIR },
	{ "unix_socket, path", "unix_socket", SBX_RING_UNIX_SOCKET, SBX_RING_STREAM, SOCK_STREAM,
	  BY_PATH },
	{ "tcp", "tcp", SBX_RING_TCP, SBX_RING_STREAM, SOCK_STREAM, BY_PORT },
};

/* Defines a test that runs the function below it for each kind. */
#define OVER_EVERY_TRANSPORT(test_name)                                                            \
	static void test_name##_over(const struct kind *kind);                                     \
	static void test_name(void)                                                                \
	{                                                                                          \
		for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {                                   \
			printf("# over %s\n", kinds[i].name);                                      \
			test_name##_over(&kinds[i]);                                               \
		}                                                                                  \
	}                                                                                          \
	static void test_name##_over(const struct kind *kind)

/* ---- channels ---- */

struct pair {
	struct sbx_ring *server, *client;
};

static void close_pair(struct pair *pair)
{
	sbx_ring_close(pair->server);
	sbx_ring_close(pair->client);
	*pair = (struct pair){ NULL, NULL };
}

#define _cleanup_pair_ _cleanup_(close_pair)

static char directory[] = "/tmp/test-ring-XXXXXX";
static char path[64];

static struct sbx_ring_config config_of(const struct kind *kind)
{
	return (struct sbx_ring_config){
		.size = sizeof(struct sbx_ring_config),
		.transport = kind->transport,
		.mode = kind->mode,
		.is_datagram = kind->socket_type == SOCK_SEQPACKET,
		.total_bytes = 131072,
		.endpoint = kind->meeting == BY_PATH   ? path
			    : kind->meeting == BY_PORT ? "localhost:0"
						       : NULL,
	};
}

static struct sbx_ring *open_side(const struct sbx_ring_config *config, int role, int socket)
{
	struct sbx_error err = { 0 };
	struct sbx_ring *ring = NULL;

	if (sbx_ring_open(config, role, socket, &ring, &err) < 0) {
		printf("Bail out! %s: %s: %s\n", err.what, err.why, strerror(-err.code));
		exit(1);
	}
	return ring;
}

/* A server by path or port accepts in its calls, and a client of TCP waits for that. */
static void connect_sides(struct sbx_ring *server, struct sbx_ring *client)
{
	while (!sbx_ring_is_connected(server) || !sbx_ring_is_connected(client)) {
		(void)sbx_ring_wait(server, SBX_RING_WRITABLE, 0);
		(void)sbx_ring_wait(client, SBX_RING_WRITABLE, 0);
	}
}

static struct pair open_pair_with(const struct kind *kind, struct sbx_ring_config config)
{
	int sockets[2] = { -EBADF, -EBADF };
	struct pair pair;

	if (kind->meeting == BY_SOCKETPAIR)
		expect_eq(socketpair(AF_UNIX, kind->socket_type | SOCK_CLOEXEC, 0, sockets), 0);
	pair.server = open_side(&config, SBX_RING_SERVER, sockets[0]);
	config.endpoint = config.endpoint ? sbx_ring_endpoint(pair.server) : NULL;
	pair.client = open_side(&config, SBX_RING_CLIENT, sockets[1]);
	connect_sides(pair.server, pair.client);
	return pair;
}

static struct pair open_pair(const struct kind *kind)
{
	return open_pair_with(kind, config_of(kind));
}

static int send_text(struct sbx_ring *ring, const char *text)
{
	return sbx_ring_send(ring, text, strlen(text), 0, DEADLINE_USEC);
}

static int receive_result(struct sbx_ring *ring, uint64_t timeout_usec)
{
	const void *bytes;
	size_t n_bytes;

	return sbx_ring_receive(ring, &bytes, &n_bytes, timeout_usec);
}

#define expect_message(ring, text)                                                                 \
	do {                                                                                       \
		const void *_bytes = NULL;                                                         \
		size_t _n = SIZE_MAX;                                                              \
		expect_eq(sbx_ring_receive(ring, &_bytes, &_n, DEADLINE_USEC), 0);                 \
		expect(_n == strlen(text) && memcmp(_bytes, text, _n) == 0);                       \
	} while (0)

static size_t count_fds(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	return n;
}

static uint64_t now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- content ---- */

static uint8_t *noise; /* twice SBX_RING_MESSAGE_MAX */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void make_noise(void)
{
	uint64_t state = 1;

	noise = malloc(2 * (size_t)SBX_RING_MESSAGE_MAX);
	for (size_t i = 0; i + 8 <= 2 * (size_t)SBX_RING_MESSAGE_MAX; i += 8) {
		uint64_t number = next_random(&state);

		memcpy(noise + i, &number, 8);
	}
}

#define N_MESSAGES 150

/* The i-th message of the sequence that begins with @state. */
static const uint8_t *next_message(uint64_t *state, int i, size_t *ret_n_bytes)
{
	uint64_t number = next_random(state);
	/* Many small ones, some of every size, and one of the longest. */
	size_t n_max = number & 1 ? 100 : 300 * KIB;

	*ret_n_bytes = i == N_MESSAGES / 2 ? SBX_RING_MESSAGE_MAX : (number >> 8) % (n_max + 1);
	return noise + (number >> 32) % SBX_RING_MESSAGE_MAX;
}

static int send_sequence(struct sbx_ring *ring, uint64_t state)
{
	for (int i = 0; i < N_MESSAGES; i++) {
		size_t n_bytes;
		const uint8_t *bytes = next_message(&state, i, &n_bytes);
		int r = sbx_ring_send(ring, bytes, n_bytes, i % 3 == 0 ? SBX_RING_MORE : 0,
				      DEADLINE_USEC);

		if (r != 0)
			return r;
	}
	return sbx_ring_flush(ring) < 0;
}

static void expect_sequence(struct sbx_ring *ring, uint64_t state)
{
	for (int i = 0; i < N_MESSAGES; i++) {
		size_t n_bytes, got_size = 0;
		const uint8_t *bytes = next_message(&state, i, &n_bytes);
		const void *got = NULL;
		int r = sbx_ring_receive(ring, &got, &got_size, DEADLINE_USEC);

		expect_eq(r, 0);
		expect_eq(got_size, n_bytes);
		if (r != 0 || got_size != n_bytes || memcmp(got, bytes, n_bytes) != 0) {
			printf("# message %d of %zu bytes is another one\n", i, n_bytes);
			test_failures++;
			return;
		}
	}
}

struct conversation {
	struct sbx_ring *ring;
	int result;
};

/* Sends, then receives, then closes. */
static void *converse(void *data)
{
	struct conversation *conversation = data;

	conversation->result = send_sequence(conversation->ring, 7);
	expect_sequence(conversation->ring, 8);
	sbx_ring_close(conversation->ring);
	return NULL;
}

OVER_EVERY_TRANSPORT(messages_of_every_size_arrive_whole_and_in_order)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	struct conversation conversation = { .result = -1 };
	struct sbx_ring_statistics statistics = { .size = sizeof(statistics) };
	pthread_t thread;

	conversation.ring = take_ptr(pair.client);
	expect_eq(pthread_create(&thread, NULL, converse, &conversation), 0);
	expect_sequence(pair.server, 7);
	expect_eq(send_sequence(pair.server, 8), 0);
	expect_eq(receive_result(pair.server, DEADLINE_USEC), SBX_RING_CLOSED);
	expect_eq(pthread_join(thread, NULL), 0);
	expect_eq(conversation.result, 0);
	sbx_ring_get_statistics(pair.server, &statistics);
	expect_eq(statistics.messages_sent, N_MESSAGES);
	expect_eq(statistics.messages_received, N_MESSAGES);
}

OVER_EVERY_TRANSPORT(refuses_a_message_over_the_limit)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	void *room;

	expect_eq(sbx_ring_send(pair.server, noise, SBX_RING_MESSAGE_MAX + 1, 0, 0), -EMSGSIZE);
	expect_eq(sbx_ring_send_frame(pair.server, 1, 0, noise, SBX_RING_MESSAGE_MAX - 4, 0, 0),
		  -EMSGSIZE);
	expect_eq(sbx_ring_reserve(pair.server, sbx_ring_reserve_max(pair.server) + 1, &room),
		  -EMSGSIZE);
	expect_eq(send_text(pair.server, "fits"), 0);
	expect_message(pair.client, "fits");
}

OVER_EVERY_TRANSPORT(more_waits_for_a_flush_and_no_longer)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);

	expect_eq(sbx_ring_send(pair.server, "a", 1, SBX_RING_MORE, 0), 0);
	expect_eq(sbx_ring_send(pair.server, "", 0, SBX_RING_MORE, 0), 0);
	expect_eq(sbx_ring_send(pair.server, "bc", 2, SBX_RING_MORE, 0), 0);
	expect_eq(sbx_ring_flush(pair.server), 0);
	expect_message(pair.client, "a");
	expect_message(pair.client, "");
	expect_message(pair.client, "bc");
	expect_eq(sbx_ring_flush(pair.server), 0);
	/* The next message without MORE publishes, and so does waiting. */
	expect_eq(sbx_ring_send(pair.server, "d", 1, SBX_RING_MORE, 0), 0);
	expect_eq(sbx_ring_send(pair.server, "e", 1, 0, 0), 0);
	expect_message(pair.client, "d");
	expect_message(pair.client, "e");
	expect_eq(sbx_ring_send(pair.client, "f", 1, SBX_RING_MORE, 0), 0);
	expect_eq(receive_result(pair.client, 1), SBX_RING_EMPTY);
	expect_message(pair.server, "f");
	expect_eq(sbx_ring_send(pair.client, "g", 1, SBX_RING_MORE, 0), 0);
	expect_eq(sbx_ring_arm(pair.client, SBX_RING_READABLE), 0);
	expect_message(pair.server, "g");
}

OVER_EVERY_TRANSPORT(messages_are_written_and_read_in_place)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	const void *first = NULL, *second = NULL;
	void *room = NULL;
	size_t n = 0;

	expect(sbx_ring_reserve_max(pair.client) >= 8192);
	expect_eq(sbx_ring_commit(pair.client, 0, 0), -EINVAL);
	expect_eq(sbx_ring_reserve(pair.client, 8192, &room), 0);
	expect_eq(sbx_ring_peek(pair.server, &first, &n), SBX_RING_EMPTY);
	memcpy(room, noise, 8192);
	expect_eq(sbx_ring_commit(pair.client, 8193, 0), -EINVAL);
	expect_eq(sbx_ring_reserve(pair.client, 8192, &room), 0);
	memcpy(room, noise, 5000);
	expect_eq(sbx_ring_commit(pair.client, 5000, 0), 0);
	expect_eq(sbx_ring_commit(pair.client, 0, 0), -EINVAL);

	expect_eq(sbx_ring_wait(pair.server, SBX_RING_READABLE, DEADLINE_USEC), 0);
	expect_eq(sbx_ring_peek(pair.server, &first, &n), 0);
	expect(n == 5000 && memcmp(first, noise, n) == 0);
	/* It stays while this side sends. */
	expect_eq(send_text(pair.server, "answer"), 0);
	expect_eq(sbx_ring_peek(pair.server, &second, &n), 0);
	expect(first == second && n == 5000 && memcmp(first, noise, n) == 0);
	sbx_ring_release(pair.server);
	expect_eq(sbx_ring_peek(pair.server, &second, &n), SBX_RING_EMPTY);
	sbx_ring_release(pair.server);
	expect_message(pair.client, "answer");
}

OVER_EVERY_TRANSPORT(a_reserved_room_survives_receiving)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	void *room = NULL;

	expect_eq(sbx_ring_send(pair.client, "before", 6, SBX_RING_MORE, 0), 0);
	expect_eq(sbx_ring_reserve(pair.client, 16, &room), 0);
	memcpy(room, "in place", 8);
	expect_eq(send_text(pair.server, "meanwhile"), 0);
	expect_message(pair.client, "meanwhile");
	expect_eq(sbx_ring_flush(pair.client), 0);
	expect_eq(receive_result(pair.client, 0), SBX_RING_EMPTY);
	expect_eq(sbx_ring_commit(pair.client, 8, 0), 0);
	expect_message(pair.server, "before");
	expect_message(pair.server, "in place");
}

/* ---- room ---- */

#define FILL_BYTES 8000

static int fill(struct sbx_ring *ring, uint64_t timeout_usec, uint32_t *ret_n)
{
	uint32_t message[FILL_BYTES / sizeof(uint32_t)] = { 0 };
	int r;

	for (*ret_n = 0; *ret_n < 100000; ++*ret_n) {
		message[0] = *ret_n;
		r = sbx_ring_send(ring, message, sizeof(message), 0, timeout_usec);
		if (r != 0)
			return r;
	}
	return 0;
}

static void expect_filled(struct sbx_ring *ring, struct sbx_ring *other, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const void *bytes = NULL;
		uint32_t number = UINT32_MAX;
		size_t n_bytes = 0;
		int r;

		/* The other side is in this thread: it sends what is left when it is called. */
		while ((r = sbx_ring_receive(ring, &bytes, &n_bytes, 0)) == SBX_RING_EMPTY)
			(void)sbx_ring_flush(other);
		expect_eq(r, 0);
		if (r != 0)
			return;
		memcpy(&number, bytes, sizeof(number));
		expect_eq(number, i);
		expect_eq(n_bytes, FILL_BYTES);
	}
}

static void check_full(const struct kind *kind, int policy, int result, uint64_t timeout_usec)
{
	struct sbx_ring_config config = config_of(kind);
	struct sbx_ring_statistics statistics = { .size = sizeof(statistics) };
	uint32_t n;

	config.when_full = policy;
	_cleanup_pair_ struct pair pair = open_pair_with(kind, config);

	expect_eq(fill(pair.client, timeout_usec, &n), result);
	expect(n > 4);
	sbx_ring_get_statistics(pair.client, &statistics);
	expect_eq(statistics.messages_sent, n);
	expect_eq(statistics.bytes_sent, n * (uint64_t)FILL_BYTES);
	expect_eq(statistics.send_failures, 1);
	expect_eq(statistics.dropped, result == SBX_RING_DROPPED);
	expect(statistics.full >= 1);
	expect(statistics.now_bytes > 0);
	expect_filled(pair.server, pair.client, n);
	expect_eq(send_text(pair.client, "again"), 0);
	expect_message(pair.server, "again");
}

OVER_EVERY_TRANSPORT(a_full_channel_waits_until_the_time_out)
{
	uint64_t start = now_usec();

	check_full(kind, SBX_RING_WHEN_FULL_WAIT, SBX_RING_FULL, SHORT_USEC);
	expect(now_usec() - start >= SHORT_USEC);
	check_full(kind, SBX_RING_WHEN_FULL_WAIT, SBX_RING_FULL, 0);
}

OVER_EVERY_TRANSPORT(a_full_channel_fails_at_once_if_it_shall)
{
	check_full(kind, SBX_RING_WHEN_FULL_FAIL, SBX_RING_FULL, SBX_RING_FOREVER);
}

OVER_EVERY_TRANSPORT(a_full_channel_drops_and_counts_if_it_shall)
{
	check_full(kind, SBX_RING_WHEN_FULL_DROP, SBX_RING_DROPPED, SBX_RING_FOREVER);
}

/* ---- time-outs ---- */

OVER_EVERY_TRANSPORT(receiving_ends_at_the_time_out)
{
	struct sbx_ring_config config = config_of(kind);
	struct sbx_ring_statistics statistics = { .size = sizeof(statistics) };
	uint64_t start;

	config.timeout_usec = SHORT_USEC;
	_cleanup_pair_ struct pair pair = open_pair_with(kind, config);
	struct sbx_ring *const sides[] = { pair.server, pair.client };

	for (size_t i = 0; i < N_ELEMENTS(sides); i++) {
		expect_eq(receive_result(sides[i], 0), SBX_RING_EMPTY);
		start = now_usec();
		expect_eq(receive_result(sides[i], SHORT_USEC), SBX_RING_EMPTY);
		expect(now_usec() - start >= SHORT_USEC);
		start = now_usec();
		expect_eq(receive_result(sides[i], SBX_RING_DEFAULT_TIMEOUT), SBX_RING_EMPTY);
		expect(now_usec() - start >= SHORT_USEC);
		start = now_usec();
		expect_eq(sbx_ring_wait(sides[i], SBX_RING_READABLE, SHORT_USEC), SBX_RING_EMPTY);
		expect(now_usec() - start >= SHORT_USEC);
		expect_eq(sbx_ring_wait(sides[i], SBX_RING_WRITABLE, 0), 0);
		sbx_ring_get_statistics(sides[i], &statistics);
		expect_eq(statistics.receive_failures, 3);
		expect(statistics.sleeps > 0);
	}
}

/* ---- frames ---- */

/* Reads two requests before it answers the first: its answer is late. */
static void *answer_late(void *data)
{
	struct sbx_ring *ring = data;
	uint32_t ids[2] = { 0, 0 };
	const void *payload;
	uint8_t type;
	size_t n;

	for (int i = 0; i < 2; i++)
		if (sbx_ring_receive_frame(ring, &type, &ids[i], &payload, &n, DEADLINE_USEC) != 0)
			return NULL;
	if (sbx_ring_send_frame(ring, 9, 0, "event", 5, 0, DEADLINE_USEC) != 0 ||
	    sbx_ring_send_frame(ring, 2, ids[0], "late", 4, 0, DEADLINE_USEC) != 0 ||
	    sbx_ring_send_frame(ring, 2, ids[1], "answer", 6, 0, DEADLINE_USEC) != 0)
		return NULL;
	return ring;
}

OVER_EVERY_TRANSPORT(a_late_response_is_not_taken_for_the_next_one)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	const void *payload = NULL;
	pthread_t thread;
	void *result;
	uint8_t type = 0;
	uint32_t id = 77;
	size_t n = 0;

	expect_eq(pthread_create(&thread, NULL, answer_late, pair.server), 0);
	expect_eq(sbx_ring_request(pair.client, 1, "first", 5, &type, &payload, &n, SHORT_USEC),
		  SBX_RING_EMPTY);
	expect_eq(sbx_ring_request(pair.client, 1, "second", 6, &type, &payload, &n, DEADLINE_USEC),
		  0);
	expect(type == 2 && n == 6 && memcmp(payload, "answer", 6) == 0);
	expect_eq(sbx_ring_receive_frame(pair.client, &type, &id, &payload, &n, DEADLINE_USEC), 0);
	expect(type == 9 && id == 0 && n == 5 && memcmp(payload, "event", 5) == 0);
	expect_eq(pthread_join(thread, &result), 0);
	expect(result != NULL);
	expect_eq(receive_result(pair.client, 0), SBX_RING_EMPTY);
}

OVER_EVERY_TRANSPORT(a_frame_is_a_message_with_type_and_request_id)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	const void *payload;
	uint8_t type;
	uint32_t id;
	size_t n;

	expect_eq(sbx_ring_send_frame(pair.server, 0x20, 0x01020304, "abc", 3, 0, 0), 0);
	expect_message(pair.client, "\x20\4\3\2\1"
				    "abc");
	expect_eq(send_text(pair.client, "four"), 0);
	expect_eq(sbx_ring_receive_frame(pair.server, &type, &id, &payload, &n, DEADLINE_USEC),
		  -EPROTO);
	expect_str(sbx_ring_violation(pair.server), "frame_too_short");
	expect_eq(receive_result(pair.server, 0), -EPROTO);
	expect(!sbx_ring_is_connected(pair.server));
	/* The other side is told. */
	expect_eq(sbx_ring_wait(pair.client, SBX_RING_READABLE, DEADLINE_USEC), 0);
	expect(receive_result(pair.client, 0) != 0);
	expect(!sbx_ring_is_connected(pair.client));
}

/* ---- poll ---- */

static bool poll_fd(struct sbx_ring *ring, int timeout_msec)
{
	struct pollfd ready = { .fd = sbx_ring_fd(ring), .events = POLLIN };

	return poll(&ready, 1, timeout_msec) > 0;
}

/* Until there is a message, as an event loop does it. */
static void poll_for_message(struct sbx_ring *ring)
{
	while (sbx_ring_arm(ring, SBX_RING_READABLE) == 0)
		expect(poll_fd(ring, 60000));
}

OVER_EVERY_TRANSPORT(an_armed_fd_tells_of_messages_and_of_the_end)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);

	for (int i = 0; i < 100; i++) {
		expect_eq(sbx_ring_arm(pair.client, SBX_RING_READABLE), 0);
		expect_eq(sbx_ring_arm(pair.server, SBX_RING_READABLE), 0);
		expect_eq(send_text(pair.server, "ping"), 0);
		expect(poll_fd(pair.client, 60000));
		poll_for_message(pair.client);
		expect_message(pair.client, "ping");
		expect_eq(send_text(pair.client, "pong"), 0);
		expect(poll_fd(pair.server, 60000));
		poll_for_message(pair.server);
		expect_message(pair.server, "pong");
	}
	expect_eq(sbx_ring_arm(pair.client, SBX_RING_READABLE), 0);
	sbx_ring_close(take_ptr(pair.server));
	expect(poll_fd(pair.client, 60000));
	poll_for_message(pair.client);
	expect_eq(receive_result(pair.client, 0), SBX_RING_CLOSED);
	expect_eq(sbx_ring_arm(pair.client, SBX_RING_READABLE), 1);
	expect_eq(sbx_ring_wait(pair.client, SBX_RING_READABLE, SBX_RING_FOREVER), 0);
}

#define N_WORKERS 8
#define N_OF_WORKER 500

static void *send_numbers(void *data)
{
	struct conversation *worker = data;

	for (uint32_t i = 0; i < N_OF_WORKER && worker->result == 0; i++)
		worker->result = sbx_ring_send(worker->ring, &i, sizeof(i),
					       i % 3 > 0 ? SBX_RING_MORE : 0, DEADLINE_USEC);
	sbx_ring_close(worker->ring);
	return NULL;
}

/* Takes what is there. Returns false at the end. */
static bool take_numbers(struct sbx_ring *ring, uint32_t *n)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;
	int r;

	while ((r = sbx_ring_receive(ring, &bytes, &n_bytes, 0)) == 0) {
		expect(n_bytes == sizeof(*n) && memcmp(bytes, n, sizeof(*n)) == 0);
		(*n)++;
	}
	expect(r == SBX_RING_EMPTY || r == SBX_RING_CLOSED);
	return r == SBX_RING_EMPTY;
}

OVER_EVERY_TRANSPORT(one_process_polls_a_channel_of_each_worker)
{
	struct pair pairs[N_WORKERS];
	struct conversation workers[N_WORKERS] = { 0 };
	struct pollfd fds[N_WORKERS];
	uint32_t n_received[N_WORKERS] = { 0 };
	pthread_t threads[N_WORKERS];
	unsigned n_open = N_WORKERS;

	for (int i = 0; i < N_WORKERS; i++) {
		pairs[i] = open_pair(kind);
		workers[i].ring = pairs[i].client;
		fds[i] = (struct pollfd){ .fd = sbx_ring_fd(pairs[i].server), .events = POLLIN };
		expect_eq(pthread_create(&threads[i], NULL, send_numbers, &workers[i]), 0);
	}
	while (n_open > 0) {
		bool is_ready = false;

		for (int i = 0; i < N_WORKERS; i++) {
			if (fds[i].fd < 0)
				continue;
			if (take_numbers(pairs[i].server, &n_received[i])) {
				is_ready |= sbx_ring_arm(pairs[i].server, SBX_RING_READABLE) != 0;
			} else {
				fds[i].fd = -1;
				n_open--;
			}
		}
		if (n_open > 0 && !is_ready)
			expect(poll(fds, N_WORKERS, 60000) > 0);
	}
	for (int i = 0; i < N_WORKERS; i++) {
		expect_eq(pthread_join(threads[i], NULL), 0);
		expect_eq(workers[i].result, 0);
		expect_eq(n_received[i], N_OF_WORKER);
		sbx_ring_close(pairs[i].server);
	}
}

/* As for a process that works on a request: messages of the other side are no reason to stop. */
OVER_EVERY_TRANSPORT(an_fd_that_is_armed_for_nothing_tells_only_of_the_end)
{
	for (int i = 0; i < 2; i++) {
		_cleanup_pair_ struct pair pair = open_pair(kind);
		struct sbx_ring **closer = i == 0 ? &pair.server : &pair.client;
		struct sbx_ring *other = i == 0 ? pair.client : pair.server;

		expect_eq(sbx_ring_arm(other, 0), 0);
		expect_eq(send_text(*closer, "first"), 0);
		expect_eq(sbx_ring_wait(other, SBX_RING_READABLE, DEADLINE_USEC), 0);
		expect_eq(sbx_ring_arm(other, 0), 0);
		expect_eq(send_text(*closer, "second"), 0);
		expect_eq(sbx_ring_wait(other, 0, 1000), SBX_RING_EMPTY);
		expect_eq(sbx_ring_arm(other, 0), 0);
		sbx_ring_close(take_ptr(*closer));
		expect_eq(sbx_ring_wait(other, 0, DEADLINE_USEC), 0);
		while (sbx_ring_arm(other, 0) == 0)
			expect(poll_fd(other, 60000));
		expect_message(other, "first");
		expect_message(other, "second");
		expect_eq(receive_result(other, DEADLINE_USEC), SBX_RING_CLOSED);
	}
}

OVER_EVERY_TRANSPORT(an_armed_fd_tells_of_room)
{
	struct sbx_ring_config config = config_of(kind);
	uint32_t n, n_received = 0;

	config.when_full = SBX_RING_WHEN_FULL_FAIL;
	_cleanup_pair_ struct pair pair = open_pair_with(kind, config);

	expect_eq(sbx_ring_arm(pair.client, SBX_RING_WRITABLE), 1);
	expect_eq(fill(pair.client, 0, &n), SBX_RING_FULL);
	while (sbx_ring_arm(pair.client, SBX_RING_WRITABLE) == 0) {
		if (poll_fd(pair.client, 0))
			continue;
		if (receive_result(pair.server, 0) == 0)
			n_received++;
		else
			(void)sbx_ring_flush(pair.client);
	}
	expect(n_received > 0 && n_received <= n);
	expect_eq(send_text(pair.client, "room"), 0);
}

/* ---- ends ---- */

static void check_close(struct sbx_ring **closer, struct sbx_ring *other)
{
	const void *bytes;
	size_t n;

	expect_eq(sbx_ring_send(*closer, "one", 3, 0, 0), 0);
	expect_eq(sbx_ring_send(*closer, "two", 3, SBX_RING_MORE, 0), 0);
	expect(sbx_ring_is_connected(other));
	sbx_ring_close(take_ptr(*closer));
	expect_message(other, "one");
	expect_message(other, "two");
	expect_eq(receive_result(other, DEADLINE_USEC), SBX_RING_CLOSED);
	expect_eq(receive_result(other, DEADLINE_USEC), SBX_RING_CLOSED);
	expect_eq(sbx_ring_peek(other, &bytes, &n), SBX_RING_CLOSED);
	expect_eq(sbx_ring_wait(other, SBX_RING_WRITABLE, DEADLINE_USEC), 0);
	expect_eq(send_text(other, "x"), -EPIPE);
	expect(!sbx_ring_is_connected(other));
	expect(sbx_ring_violation(other) == NULL);
}

OVER_EVERY_TRANSPORT(closing_delivers_everything_first)
{
	_cleanup_pair_ struct pair first = open_pair(kind), second = { NULL, NULL };

	check_close(&first.server, first.client);
	sbx_ring_close(take_ptr(first.client));
	second = open_pair(kind);
	check_close(&second.client, second.server);
}

OVER_EVERY_TRANSPORT(closing_at_once_is_no_death)
{
	for (int i = 0; i < 2; i++) {
		_cleanup_pair_ struct pair pair = open_pair(kind);
		struct sbx_ring **closer = i == 0 ? &pair.server : &pair.client;
		struct sbx_ring *other = i == 0 ? pair.client : pair.server;

		/* Accepts the client, which has not answered yet. */
		(void)sbx_ring_wait(pair.server, SBX_RING_WRITABLE, 0);
		sbx_ring_close(take_ptr(*closer));
		expect_eq(receive_result(other, DEADLINE_USEC), SBX_RING_CLOSED);
	}
}

/* What the closing side has not read must not take anything from the other. */
OVER_EVERY_TRANSPORT(closing_with_unread_messages_is_no_death)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);

	expect_eq(send_text(pair.client, "never read"), 0);
	expect_eq(send_text(pair.server, "read"), 0);
	sbx_ring_close(take_ptr(pair.server));
	expect_message(pair.client, "read");
	expect_eq(receive_result(pair.client, DEADLINE_USEC), SBX_RING_CLOSED);
}

OVER_EVERY_TRANSPORT(sending_to_a_closed_side_fails_before_its_messages_are_read)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	int r = 0;

	expect_eq(send_text(pair.server, "unread"), 0);
	sbx_ring_close(take_ptr(pair.server));
	/* TCP learns it from the answer to its first bytes. */
	for (int i = 0; i < 1000 && r == 0; i++)
		r = send_text(pair.client, "x");
	expect_eq(r, -EPIPE);
	expect_message(pair.client, "unread");
	expect_eq(receive_result(pair.client, DEADLINE_USEC), SBX_RING_CLOSED);
}

OVER_EVERY_TRANSPORT(an_answer_to_a_closed_side_fails_and_keeps_the_question)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	const void *question = NULL;
	size_t n = 0;
	int r = 0;

	expect_eq(send_text(pair.client, "question"), 0);
	expect_eq(send_text(pair.client, "second"), 0);
	expect_eq(sbx_ring_receive(pair.server, &question, &n, DEADLINE_USEC), 0);
	sbx_ring_close(take_ptr(pair.client));
	for (int i = 0; i < 1000 && r == 0; i++)
		r = sbx_ring_send(pair.server, question, n, 0, 0);
	expect_eq(r, -EPIPE);
	expect(n == 8 && memcmp(question, "question", n) == 0);
	expect_message(pair.server, "second");
	expect_eq(receive_result(pair.server, DEADLINE_USEC), SBX_RING_CLOSED);
}

/* Receiving may hand out memory of the transport: the next call must not show it again. */
OVER_EVERY_TRANSPORT(a_received_message_is_received_once)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	const void *bytes = NULL;
	size_t n = 0;

	for (int i = 0; i < 3; i++) {
		expect_eq(send_text(pair.client, "one"), 0);
		expect_eq(send_text(pair.client, "two"), 0);
		expect_message(pair.server, "one");
		expect_eq(sbx_ring_wait(pair.server, SBX_RING_READABLE, DEADLINE_USEC), 0);
		expect_eq(sbx_ring_peek(pair.server, &bytes, &n), 0);
		expect(n == 3 && memcmp(bytes, "two", n) == 0);
		sbx_ring_release(pair.server);
		expect_eq(sbx_ring_arm(pair.server, SBX_RING_READABLE), 0);
		expect_eq(send_text(pair.client, "three"), 0);
		expect_message(pair.server, "three");
		expect_eq(sbx_ring_arm(pair.server, SBX_RING_READABLE), 0);
		expect_eq(sbx_ring_wait(pair.server, SBX_RING_READABLE, 0), SBX_RING_EMPTY);
		expect_eq(sbx_ring_peek(pair.server, &bytes, &n), SBX_RING_EMPTY);
		expect_eq(receive_result(pair.server, 0), SBX_RING_EMPTY);
	}
}

/* ---- another process ---- */

struct child {
	pid_t pid;
	int pidfd;
	struct sbx_ring *ring; /* of this process */
};

/* Opens the role in a child, runs @run there, and opens the other role here. */
static struct child start(const struct kind *kind, int role, void (*run)(struct sbx_ring *ring))
{
	struct sbx_ring_config config = config_of(kind);
	int sockets[2] = { -EBADF, -EBADF }, names[2];
	struct sbx_ring *server = NULL;
	char endpoint[64] = "";
	struct child child;

	if (kind->meeting == BY_SOCKETPAIR)
		expect_eq(socketpair(AF_UNIX, kind->socket_type | SOCK_CLOEXEC, 0, sockets), 0);
	else if (role == SBX_RING_CLIENT)
		server = open_side(&config, SBX_RING_SERVER, -EBADF);
	expect_eq(pipe2(names, O_CLOEXEC), 0);
	child.pid = fork();
	if (child.pid == 0) {
		struct sbx_ring *ring;

		if (server)
			config.endpoint = sbx_ring_endpoint(server);
		close_fd(&sockets[0]);
		ring = open_side(&config, role, sockets[1]);
		(void)fd_write_all(names[1], sbx_ring_endpoint(ring),
				   strlen(sbx_ring_endpoint(ring)) + 1);
		(void)close(names[1]);
		run(ring);
		/* A death: nothing is closed. */
		_exit(0);
	}
	close_fd(&sockets[1]);
	(void)close(names[1]);
	child.pidfd = pidfd_of(child.pid);
	if (!server && kind->meeting != BY_SOCKETPAIR) {
		expect(fd_read_full(names[0], endpoint, sizeof(endpoint)) > 0);
		config.endpoint = endpoint;
	}
	child.ring = server ? server
			    : open_side(&config,
					role == SBX_RING_SERVER ? SBX_RING_CLIENT : SBX_RING_SERVER,
					sockets[0]);
	(void)close(names[0]);
	return child;
}

static void reap(struct child *child)
{
	expect_eq(waitpid(child->pid, NULL, 0), child->pid);
	close_fd(&child->pidfd);
	sbx_ring_close(child->ring);
}

static void send_five(struct sbx_ring *ring)
{
	for (int i = 0; i < 5; i++)
		(void)send_text(ring, "complete");
}

static void send_five_and_a_part(struct sbx_ring *ring)
{
	send_five(ring);
	(void)sbx_ring_send(ring, noise, SBX_RING_MESSAGE_MAX, 0, 0);
	/* The rest is never sent, however fast the reader is. */
	(void)raise(SIGSTOP);
}

static void check_death(struct child *child)
{
	expect_eq(receive_result(child->ring, DEADLINE_USEC), -ECONNRESET);
	expect_eq(receive_result(child->ring, DEADLINE_USEC), -ECONNRESET);
	expect_eq(send_text(child->ring, "x"), -ECONNRESET);
	expect(!sbx_ring_is_connected(child->ring));
	expect(sbx_ring_violation(child->ring) == NULL);
	reap(child);
}

OVER_EVERY_TRANSPORT(a_death_is_told_after_the_last_complete_message)
{
	for (int role = SBX_RING_SERVER; role <= SBX_RING_CLIENT; role++) {
		struct child child = start(kind, role, send_five);

		for (int i = 0; i < 5; i++)
			expect_message(child.ring, "complete");
		check_death(&child);
	}
}

OVER_EVERY_TRANSPORT(a_part_of_a_message_is_never_delivered)
{
	for (int role = SBX_RING_SERVER; role <= SBX_RING_CLIENT; role++) {
		struct child child = start(kind, role, send_five_and_a_part);

		for (int i = 0; i < 5; i++) {
			expect_message(child.ring, "complete");
			/* The first one tells that it is connected. */
			if (i == 0)
				expect_eq(waitpid(child.pid, NULL, WUNTRACED), child.pid);
		}
		expect_eq(sbx_ring_wait(child.ring, SBX_RING_READABLE, SHORT_USEC) % 2, 0);
		expect_eq(kill(child.pid, SIGKILL), 0);
		check_death(&child);
	}
}

static void stay(struct sbx_ring *ring)
{
	(void)send_text(ring, "here");
	(void)sbx_ring_wait(ring, SBX_RING_READABLE, DEADLINE_USEC);
}

OVER_EVERY_TRANSPORT(a_kill_wakes_the_side_that_waits)
{
	for (int role = SBX_RING_SERVER; role <= SBX_RING_CLIENT; role++) {
		struct child child = start(kind, role, stay);

		expect_eq(sbx_ring_watch(child.ring, child.pidfd), 0);
		expect_message(child.ring, "here");
		expect_eq(sbx_ring_arm(child.ring, SBX_RING_READABLE), 0);
		expect_eq(kill(child.pid, SIGKILL), 0);
		expect_eq(sbx_ring_wait(child.ring, SBX_RING_READABLE, SBX_RING_FOREVER), 0);
		check_death(&child);
	}
}

/* ---- the rest ---- */

OVER_EVERY_TRANSPORT(both_sides_count_what_they_do)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	struct sbx_ring_statistics statistics = { .size = sizeof(statistics) };

	for (int i = 0; i < 10; i++)
		expect_eq(send_text(pair.server, "12345"), 0);
	for (int i = 0; i < 10; i++)
		expect_message(pair.client, "12345");
	expect_eq(receive_result(pair.client, 0), SBX_RING_EMPTY);
	sbx_ring_get_statistics(pair.server, &statistics);
	expect_eq(statistics.messages_sent, 10);
	expect_eq(statistics.bytes_sent, 50);
	expect_eq(statistics.messages_received, 0);
	expect_eq(statistics.send_failures, 0);
	sbx_ring_get_statistics(pair.client, &statistics);
	expect_eq(statistics.size, sizeof(statistics));
	expect_eq(statistics.messages_received, 10);
	expect_eq(statistics.bytes_received, 50);
	expect_eq(statistics.receive_failures, 1);
	expect_eq(statistics.dropped, 0);
	/* A reader of cells does not know how many more there are. */
	expect(statistics.high_water_bytes >= 5 || kind->mode == SBX_RING_CALL);
}

OVER_EVERY_TRANSPORT(tells_its_transport_and_endpoint)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);

	expect_str(sbx_ring_transport_name(pair.server), kind->transport_name);
	expect_str(sbx_ring_transport_name(pair.client), kind->transport_name);
	expect_str(sbx_ring_endpoint(pair.client), sbx_ring_endpoint(pair.server));
	if (kind->meeting == BY_SOCKETPAIR)
		expect_str(sbx_ring_endpoint(pair.server), "");
	if (kind->meeting == BY_PATH)
		expect_str(sbx_ring_endpoint(pair.server), path);
	if (kind->meeting == BY_PORT)
		expect(strncmp(sbx_ring_endpoint(pair.server), "localhost:", 10) == 0 &&
		       strtol(sbx_ring_endpoint(pair.server) + 10, NULL, 10) > 0);
}

OVER_EVERY_TRANSPORT(a_channel_with_an_endpoint_is_opened_again)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	struct sbx_ring_statistics statistics = { .size = sizeof(statistics) };
	struct sbx_error err = { 0 };

	expect_eq(send_text(pair.server, "lost"), 0);
	if (kind->meeting == BY_SOCKETPAIR) {
		expect_eq(sbx_ring_reconnect(&pair.server, &err), -ENOTCONN);
		expect(err.what[0] && err.why[0] && err.fix[0]);
		expect_message(pair.client, "lost");
		return;
	}
	for (int i = 0; i < 3; i++) {
		expect_eq(sbx_ring_reconnect(&pair.server, &err), 0);
		expect_eq(sbx_ring_reconnect(&pair.client, &err), 0);
		connect_sides(pair.server, pair.client);
		expect_eq(send_text(pair.server, "new"), 0);
		expect_message(pair.client, "new");
	}
	sbx_ring_get_statistics(pair.server, &statistics);
	expect_eq(statistics.messages_sent, 4);
	sbx_ring_close(take_ptr(pair.server));
	expect(sbx_ring_reconnect(&pair.client, &err) < 0);
	expect(!pair.client && err.what[0] && err.fix[0]);
}

OVER_EVERY_TRANSPORT(refuses_another_size)
{
	_cleanup_pair_ struct pair pair = open_pair(kind);
	struct sbx_error err = { 0 };

	expect_eq(sbx_ring_resize(pair.server, 262144, &err), -EOPNOTSUPP);
	expect(err.what[0] && err.why[0] && err.fix[0]);
	expect_eq(send_text(pair.server, "still here"), 0);
	expect_message(pair.client, "still here");
}

OVER_EVERY_TRANSPORT(leaves_no_fds)
{
	size_t n_fds = count_fds();

	for (int i = 0; i < 3; i++) {
		_cleanup_pair_ struct pair pair = open_pair(kind);
		struct child child = start(kind, i % 2, stay);

		expect_eq(sbx_ring_watch(child.ring, child.pidfd), 0);
		expect_message(child.ring, "here");
		expect_eq(kill(child.pid, SIGKILL), 0);
		check_death(&child);
		if (kind->meeting != BY_PATH)
			expect_eq(send_text(pair.server, "x"), 0);
	}
	expect_eq(count_fds(), n_fds);
}

OVER_EVERY_TRANSPORT(a_message_allocates_nothing)
{
	static const size_t sizes[] = { 40, 1000, 5000 };
	_cleanup_pair_ struct pair pair = { NULL, NULL };

	if (!count_alloc_works())
		skip("a sanitizer replaces the heap");
	pair = open_pair(kind);
	for (size_t s = N_ELEMENTS(sizes); s-- > 0;) {
		for (int i = 0; i < 1000; i++) {
			const void *payload;
			uint32_t id;
			uint8_t type;
			size_t n;

			if (i == 100)
				count_alloc_start();
			expect_eq(sbx_ring_send_frame(pair.client, 1, 7, noise, sizes[s], 0,
						      DEADLINE_USEC),
				  0);
			expect_eq(sbx_ring_receive_frame(pair.server, &type, &id, &payload, &n,
							 DEADLINE_USEC),
				  0);
			expect_eq(sbx_ring_send(pair.server, noise, sizes[s], SBX_RING_MORE,
						DEADLINE_USEC),
				  0);
			expect_eq(sbx_ring_flush(pair.server), 0);
			expect_eq(receive_result(pair.client, DEADLINE_USEC), 0);
		}
		expect_eq(count_alloc_stop(), 0);
	}
}

static const struct test tests[] = {
	TEST(messages_of_every_size_arrive_whole_and_in_order),
	TEST(refuses_a_message_over_the_limit),
	TEST(more_waits_for_a_flush_and_no_longer),
	TEST(messages_are_written_and_read_in_place),
	TEST(a_reserved_room_survives_receiving),
	TEST(a_full_channel_waits_until_the_time_out),
	TEST(a_full_channel_fails_at_once_if_it_shall),
	TEST(a_full_channel_drops_and_counts_if_it_shall),
	TEST(receiving_ends_at_the_time_out),
	TEST(a_late_response_is_not_taken_for_the_next_one),
	TEST(a_frame_is_a_message_with_type_and_request_id),
	TEST(an_armed_fd_tells_of_messages_and_of_the_end),
	TEST(one_process_polls_a_channel_of_each_worker),
	TEST(an_fd_that_is_armed_for_nothing_tells_only_of_the_end),
	TEST(an_armed_fd_tells_of_room),
	TEST(closing_delivers_everything_first),
	TEST(closing_at_once_is_no_death),
	TEST(closing_with_unread_messages_is_no_death),
	TEST(sending_to_a_closed_side_fails_before_its_messages_are_read),
	TEST(an_answer_to_a_closed_side_fails_and_keeps_the_question),
	TEST(a_received_message_is_received_once),
	TEST(a_death_is_told_after_the_last_complete_message),
	TEST(a_part_of_a_message_is_never_delivered),
	TEST(a_kill_wakes_the_side_that_waits),
	TEST(both_sides_count_what_they_do),
	TEST(tells_its_transport_and_endpoint),
	TEST(a_channel_with_an_endpoint_is_opened_again),
	TEST(refuses_another_size),
	TEST(leaves_no_fds),
	TEST(a_message_allocates_nothing),
	TEST_END,
};

int main(void)
{
	int r;

	if (!mkdtemp(directory))
		return 1;
	(void)snprintf(path, sizeof(path), "%s/ring.sock", directory);
	make_noise();
	r = test_run(tests);
	free(noise);
	(void)rmdir(directory);
	return r;
}
