/* SPDX-License-Identifier: MIT */

/*
 * The transports over sockets: bytes, waiting and ends; a hostile peer holds the plain other end of
 * the socket
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "count-alloc.h"
#include "ring-socket-rig.h"
#include "ring/violation.h"
#include "test.h"

/* ---- bytes ---- */

static void writes_the_documented_bytes(void)
{
	static const uint8_t want[] = { 2, 0, 0, 0, 'h', 'i', 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff };
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };

	for (size_t i = 0; i < N_ELEMENTS(types); i++) {
		_cleanup_close_ int peer = -EBADF;
		struct sbx_ring *ring = open_pair(types[i], &peer);
		uint8_t bytes[sizeof(want) + 1] = { 0 };
		size_t n = 0;

		expect_eq(send_text(ring, "hi"), 0);
		expect_eq(send_text(ring, ""), 0);
		(void)ring_free(ring);
		while (n < sizeof(bytes)) {
			ssize_t got = recv(peer, bytes + n, sizeof(bytes) - n, 0);

			if (got <= 0)
				break;
			n += (size_t)got;
		}
		expect_eq(n, sizeof(want));
		expect(memcmp(bytes, want, sizeof(want)) == 0);
	}
}

static void reads_a_message_that_arrives_byte_by_byte(void)
{
	static const uint8_t bytes[] = { 3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0 };
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);

	for (size_t i = 0; i < 7; i++) {
		expect_eq(peek_result(ring), SBX_RING_EMPTY);
		expect_eq(ring->transport->wait(ring, SBX_RING_READABLE, 0), SBX_RING_EMPTY);
		expect_eq(send(peer, bytes + i, 1, 0), 1);
	}
	expect_message(ring, "abc");
	expect_eq(send(peer, bytes + 7, 4, 0), 4);
	expect_message(ring, "");
	expect_eq(peek_result(ring), SBX_RING_EMPTY);
}

static void ends_of_packets_have_no_meaning(void)
{
	static const uint8_t bytes[] = { 3, 0, 0, 0, 'a', 'b', 'c', 1, 0, 0, 0, 'd' };
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_SEQPACKET, &peer);

	expect_eq(send(peer, bytes, 5, 0), 5);
	expect_eq(peek_result(ring), SBX_RING_EMPTY);
	expect_eq(send(peer, bytes + 5, 7, 0), 7);
	expect_message(ring, "abc");
	expect_message(ring, "d");
}

static void a_peeked_message_stays_until_release(void)
{
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);
	const void *first, *second;
	size_t n;

	expect_eq(send(peer, "\1\0\0\0a\1\0\0\0b", 10, 0), 10);
	expect_eq(peek(ring, &first, &n), 0);
	expect_eq(send_text(ring, "answer"), 0);
	expect_eq(wait_for(ring, SBX_RING_WRITABLE), 0);
	expect_eq(ring->transport->arm(ring, SBX_RING_READABLE), 1);
	expect_eq(peek(ring, &second, &n), 0);
	expect(first == second && memcmp(first, "a", 1) == 0);
	ring->transport->release(ring);
	expect_message(ring, "b");
	ring->transport->release(ring);
	expect_eq(peek_result(ring), SBX_RING_EMPTY);
}

/* Publishing earlier messages must not move the room under a caller that fills it. */
static void reserved_room_survives_other_calls(void)
{
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);
	char got[32];
	void *room;

	expect_eq(send_flags(ring, "one", 3, SBX_RING_MORE), 0);
	expect_eq(ring->transport->reserve(ring, 8, &room), 0);
	memcpy(room, "twofold!", 8);
	expect_eq(ring->transport->flush(ring), 0);
	expect_eq(peek_result(ring), SBX_RING_EMPTY);
	expect_eq(ring->transport->wait(ring, SBX_RING_READABLE, 0), SBX_RING_EMPTY);
	expect_eq(ring->transport->commit(ring, 3, WHOLE, 0), 0);
	expect_eq(recv(peer, got, sizeof(got), 0), 14);
	expect(memcmp(got, "\3\0\0\0one\3\0\0\0two", 14) == 0);
	/* A second reserve replaces the first. */
	expect_eq(ring->transport->reserve(ring, 8, &room), 0);
	expect_eq(send_text(ring, "x"), 0);
	expect_eq(recv(peer, got, sizeof(got), 0), 5);
}

static void more_is_published_together(void)
{
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_SEQPACKET, &peer);
	char kib[1024] = { 0 }, got[16384];

	expect_eq(send_flags(ring, "a", 1, SBX_RING_MORE), 0);
	expect_eq(send_flags(ring, "b", 1, SBX_RING_MORE), 0);
	expect_eq(recv(peer, got, sizeof(got), MSG_DONTWAIT), -1);
	expect_eq(ring->transport->count_bytes(ring), 10);
	expect_eq(ring->transport->flush(ring), 0);
	expect_eq(ring->transport->count_bytes(ring), 0);
	expect_eq(recv(peer, got, sizeof(got), MSG_DONTWAIT), 10);
	/* At 4 KiB the batch goes by itself, and so it does with a message without MORE. */
	for (int i = 0; i < 4; i++)
		expect_eq(send_flags(ring, kib, sizeof(kib), SBX_RING_MORE), 0);
	expect_eq(recv(peer, got, sizeof(got), MSG_DONTWAIT), 4 * 1028);
	expect_eq(send_flags(ring, "a", 1, SBX_RING_MORE), 0);
	expect_eq(send_text(ring, "b"), 0);
	expect_eq(recv(peer, got, sizeof(got), MSG_DONTWAIT), 10);
	/* Waiting publishes. */
	expect_eq(send_flags(ring, "a", 1, SBX_RING_MORE), 0);
	expect_eq(ring->transport->wait(ring, SBX_RING_READABLE, 0), SBX_RING_EMPTY);
	expect_eq(recv(peer, got, sizeof(got), MSG_DONTWAIT), 5);
	expect_eq(send_flags(ring, "a", 1, SBX_RING_MORE), 0);
	expect_eq(ring->transport->arm(ring, SBX_RING_READABLE), 0);
	expect_eq(recv(peer, got, sizeof(got), MSG_DONTWAIT), 5);
}

/* ---- a hostile peer ---- */

static void refuses_a_length_over_the_limit_at_once(void)
{
	static const uint32_t lengths[] = { SBX_RING_MESSAGE_MAX + 1, 0x7fffffff, 0x80000000,
					    0xfffffffd, 0xfffffffe };

	for (size_t i = 0; i < N_ELEMENTS(lengths); i++) {
		_cleanup_close_ int peer = -EBADF;
		_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);
		char byte;

		expect_eq(send(peer, "\1\0\0\0a", 5, 0), 5);
		send_word(peer, lengths[i]);
		expect_message(ring, "a");
		expect_end(ring, -EPROTO);
		expect_eq(ring->violation, RING_LENGTH_OVER_LIMIT);
		expect_eq(ring->failure, -EPROTO);
		expect_eq(peek_result(ring), -EPROTO);
		expect_eq(send_text(ring, "x"), -EPROTO);
		expect_eq(ring->transport->flush(ring), -EPROTO);
		expect_eq(ring->transport->arm(ring, SBX_RING_READABLE), 1);
		/* The peer is told. */
		expect_eq(recv(peer, &byte, 1, 0), 0);
	}
}

static void a_length_is_only_a_claim(void)
{
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);

	if (!count_alloc_works())
		skip("a sanitizer replaces the heap");
	count_alloc_start();
	send_word(peer, SBX_RING_MESSAGE_MAX);
	expect_eq(send(peer, "abc", 3, 0), 3);
	expect_eq(peek_result(ring), SBX_RING_EMPTY);
	(void)count_alloc_stop();
	expect(count_alloc_bytes() < 1048576);
}

static void an_end_inside_a_message_is_a_death(void)
{
	static const char *const halves[] = { "\5", "\5\0\0\0", "\5\0\0\0abcd" };
	static const size_t sizes[] = { 1, 4, 8 };

	for (size_t i = 0; i < N_ELEMENTS(halves); i++) {
		int peer;
		_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);

		expect_eq(send(peer, "\1\0\0\0a", 5, 0), 5);
		expect_eq(send(peer, halves[i], sizes[i], 0), sizes[i]);
		expect_eq(close(peer), 0);
		expect_message(ring, "a");
		expect_end(ring, -ECONNRESET);
		expect_eq(send_text(ring, "x"), -ECONNRESET);
	}
}

static void an_end_after_the_goodbye_is_a_close(void)
{
	int peer;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);

	expect_eq(send(peer, "\1\0\0\0a\xff\xff\xff\xff\1\0\0\0b", 14, 0), 14);
	expect_eq(close(peer), 0);
	expect_message(ring, "a");
	expect_end(ring, SBX_RING_CLOSED);
	expect_eq(peek_result(ring), SBX_RING_CLOSED);
	expect_eq(send_text(ring, "x"), -EPIPE);
}

/* The message that says goodbye is still unread when sending fails. */
static void sending_tells_a_close_from_a_death(void)
{
	static const struct {
		const char *bytes;
		size_t n_bytes;
		int result;
	} ends[] = {
		{ "\1\0\0\0a\xff\xff\xff\xff", 9, -EPIPE },
		{ "\1\0\0\0a", 5, -ECONNRESET },
		{ "\1\0\0\0a\xff\xff\xff", 8, -ECONNRESET },
		{ "\4\0\0\0\xff\xff\xff\xff", 8, -ECONNRESET },
		{ "", 0, -ECONNRESET },
	};
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };

	for (size_t i = 0; i < 2 * N_ELEMENTS(ends); i++) {
		int peer;
		_cleanup_ring_ struct sbx_ring *ring = open_pair(types[i % 2], &peer);

		/* Unread input makes the kernel report a reset, too. */
		expect_eq(send_text(ring, "unread"), 0);
		if (ends[i / 2].n_bytes > 0)
			expect_eq(send(peer, ends[i / 2].bytes, ends[i / 2].n_bytes, 0),
				  ends[i / 2].n_bytes);
		expect_eq(close(peer), 0);
		expect_eq(send_text(ring, "x"), ends[i / 2].result);
		expect_eq(send_text(ring, "x"), ends[i / 2].result);
		if (i / 2 < 3)
			expect_message(ring, "a");
	}
}

static void waiting_for_nothing_ends_with_the_channel(void)
{
	int peer;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);
	uint64_t sleeps = ring->statistics.sleeps;

	expect_eq(send(peer, "\1\0\0\0a\xff\xff\xff\xff", 9, 0), 9);
	expect_eq(ring->transport->wait(ring, 0, 1000), SBX_RING_EMPTY);
	expect_eq(close(peer), 0);
	expect_eq(ring->transport->wait(ring, 0, DEADLINE_USEC), 0);
	expect(ring->statistics.sleeps - sleeps <= 2);
	expect_eq(send_text(ring, "x"), -EPIPE);
	expect_message(ring, "a");
	expect_end(ring, SBX_RING_CLOSED);
}

static void an_empty_packet_is_an_end(void)
{
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_SEQPACKET, &peer);

	expect_eq(send(peer, "", 0, 0), 0);
	expect_end(ring, -ECONNRESET);
}

static void refuses_a_packet_longer_than_the_limit(void)
{
	static uint8_t bytes[400000];
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_SEQPACKET, &peer);
	int size = sizeof(bytes);

	expect_eq(setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	write_u32(bytes, SBX_RING_MESSAGE_MAX);
	if (send(peer, bytes, sizeof(bytes), 0) != sizeof(bytes))
		skip("the host allows no packets of this size");
	expect_end(ring, -EPROTO);
	expect_eq(ring->violation, RING_LENGTH_OVER_LIMIT);
}

/* The kernel refuses them at the sender since Linux 6.16. */
static void fds_that_come_with_bytes_are_refused_or_dropped(void)
{
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);
	size_t n_fds = count_fds();
	int r = fd_send(peer, "\1\0\0\0a", 5, (int[]){ 0, 1 }, 2);

	expect(r == 0 || r == -EPERM);
	if (r < 0)
		expect_eq(fd_send(peer, "\1\0\0\0a", 5, NULL, 0), 0);
	expect_message(ring, "a");
	expect_eq(count_fds(), n_fds);
}

static void urgent_data_does_not_keep_the_reader_awake(void)
{
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);
	uint64_t sleeps = ring->statistics.sleeps;

	if (send(peer, "!", 1, MSG_OOB | MSG_NOSIGNAL) != 1)
		skip("this kernel has no urgent data on unix sockets");
	expect(ring->transport->wait(ring, SBX_RING_READABLE, 200000) >= 0);
	printf("# slept %llu times\n", (unsigned long long)(ring->statistics.sleeps - sleeps));
	expect(ring->statistics.sleeps - sleeps < 10);
}

static void a_cleared_o_nonblock_makes_no_call_block(void)
{
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);
	char bytes[8192] = { 0 };
	int r;

	expect(fcntl(peer, F_SETFL, 0) == 0);
	expect_eq(peek_result(ring), SBX_RING_EMPTY);
	expect_eq(ring->transport->wait(ring, SBX_RING_READABLE, 0), SBX_RING_EMPTY);
	while ((r = send_flags(ring, bytes, sizeof(bytes), 0)) == 0)
		;
	expect_eq(r, SBX_RING_FULL);
	expect_eq(ring->transport->wait(ring, SBX_RING_WRITABLE, 1000), SBX_RING_EMPTY);
	expect_eq(ring->transport->flush(ring), SBX_RING_FULL);
}

static void output_for_a_peer_that_never_reads_is_bounded(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };

	for (size_t i = 0; i < N_ELEMENTS(types); i++) {
		_cleanup_close_ int peer = -EBADF;
		_cleanup_ring_ struct sbx_ring *ring = open_pair(types[i], &peer);
		static char bytes[100000];
		size_t n = 0;
		int r;

		while ((r = send_flags(ring, bytes, 1000, n % 2)) == 0 && n < 100000)
			n++;
		expect_eq(r, SBX_RING_FULL);
		expect(ring->transport->count_bytes(ring) <= TOTAL_BYTES / 2);
		expect(ring->transport->count_bytes(ring) > TOTAL_BYTES / 2 - 2000);
		expect_eq(send_flags(ring, bytes, sizeof(bytes), 0), SBX_RING_FULL);
		expect_eq(ring->transport->flush(ring), SBX_RING_FULL);
		expect_eq(ring->transport->wait(ring, SBX_RING_WRITABLE, 1000), SBX_RING_EMPTY);
		expect_eq(ring->transport->arm(ring, SBX_RING_WRITABLE), 0);
		ring->config.timeout_usec = 1000; /* closing waits so long for the peer */
	}
}

/* ---- waiting ---- */

static void the_fd_tells_of_a_message_of_room_and_of_an_end(void)
{
	static char bytes[65536];
	int peer, r;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);

	expect_eq(ring->transport->arm(ring, SBX_RING_READABLE), 0);
	expect_eq(poll_once(ring->fd, 0), 0);
	expect_eq(send(peer, "\1\0\0\0a", 5, 0), 5);
	expect_eq(poll_once(ring->fd, -1), POLLIN);
	expect_eq(ring->transport->arm(ring, SBX_RING_READABLE), 1);
	expect_message(ring, "a");
	expect_eq(ring->transport->arm(ring, SBX_RING_WRITABLE), 1);

	while ((r = send_flags(ring, bytes, 30000, 0)) == 0)
		;
	expect_eq(ring->transport->arm(ring, SBX_RING_WRITABLE), 0);
	expect_eq(poll_once(ring->fd, 0), 0);
	while (poll_once(ring->fd, 0) == 0 || ring->transport->arm(ring, SBX_RING_WRITABLE) == 0)
		expect(recv(peer, bytes, sizeof(bytes), 0) > 0);
	expect_eq(send_flags(ring, bytes, 30000, 0), 0);
	while (ring->transport->flush(ring) == SBX_RING_FULL)
		expect(recv(peer, bytes, sizeof(bytes), 0) > 0);

	expect_eq(ring->transport->arm(ring, SBX_RING_READABLE), 0);
	expect_eq(poll_once(ring->fd, 0), 0);
	expect_eq(close(peer), 0);
	expect_eq(poll_once(ring->fd, -1), POLLIN);
	expect_eq(ring->transport->arm(ring, SBX_RING_READABLE), 1);
	expect_end(ring, -ECONNRESET);
}

/* wait() must sleep until there is room for the message, not only for any one. */
static void waiting_for_room_is_for_the_message_that_did_not_fit(void)
{
	static char bytes[60000], got[300000];
	_cleanup_close_ int peer = -EBADF;
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);

	while (send_flags(ring, bytes, 100, 0) == 0 && ring->transport->count_bytes(ring) < 9000)
		;
	expect_eq(send_flags(ring, bytes, sizeof(bytes), 0), SBX_RING_FULL);
	expect_eq(ring->transport->wait(ring, SBX_RING_WRITABLE, 0), SBX_RING_EMPTY);
	while (ring->transport->wait(ring, SBX_RING_WRITABLE, 0) == SBX_RING_EMPTY)
		expect(recv(peer, got, sizeof(got), 0) > 0);
	expect_eq(send_flags(ring, bytes, sizeof(bytes), 0), 0);
	/* After a flush that could not end, until everything is gone. */
	while (ring->transport->flush(ring) == SBX_RING_FULL &&
	       ring->transport->wait(ring, SBX_RING_WRITABLE, 0) == SBX_RING_EMPTY)
		expect(recv(peer, got, sizeof(got), 0) > 0);
	expect_eq(ring->transport->count_bytes(ring), 0);
}

struct echo {
	struct sbx_ring *ring;
	uint32_t n;
};

static void *echo(void *data)
{
	struct echo *echo = data;
	struct sbx_ring *ring = echo->ring;
	const void *bytes;
	size_t n_bytes;

	for (uint32_t i = 0; i < echo->n; i++) {
		if (wait_for(ring, SBX_RING_READABLE) != 0 || peek(ring, &bytes, &n_bytes) != 0)
			return NULL;
		while (send_flags(ring, bytes, n_bytes, 0) == SBX_RING_FULL)
			(void)wait_for(ring, SBX_RING_WRITABLE);
		ring->transport->release(ring);
	}
	while (ring->transport->flush(ring) == SBX_RING_FULL)
		(void)wait_for(ring, SBX_RING_WRITABLE);
	return echo;
}

static void large_messages_come_back_whole(void)
{
	static const size_t sizes[] = { 1, 70000, SBX_RING_MESSAGE_MAX, 300000, 1 };
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	_cleanup_free_ uint8_t *message = malloc(SBX_RING_MESSAGE_MAX);

	if (!message)
		abort();
	for (size_t i = 0; i < SBX_RING_MESSAGE_MAX; i++)
		message[i] = (uint8_t)(i * 7 + i / 251);
	for (size_t t = 0; t < N_ELEMENTS(types); t++) {
		struct sbx_ring_config config = config_of(SBX_RING_UNIX_SOCKET, NULL);
		int peer;
		_cleanup_ring_ struct sbx_ring *ring = open_pair(types[t], &peer);
		_cleanup_ring_ struct sbx_ring *other = NULL;
		struct echo echoes = { .n = N_ELEMENTS(sizes) };
		pthread_t thread;
		void *result;

		expect_eq(socket_open(&config, SBX_RING_CLIENT, peer, &other, NULL), 0);
		echoes.ring = other;
		expect_eq(pthread_create(&thread, NULL, echo, &echoes), 0);
		for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
			const void *bytes = NULL;
			size_t n = 0;

			expect_eq(send_flags(ring, message, sizes[i], 0), 0);
			expect_eq(wait_for(ring, SBX_RING_READABLE), 0);
			expect_eq(peek(ring, &bytes, &n), 0);
			expect_eq(n, sizes[i]);
			expect(n == sizes[i] && memcmp(bytes, message, n) == 0);
			ring->transport->release(ring);
		}
		expect_eq(pthread_join(thread, &result), 0);
		expect(result != NULL);
	}
}

static void messages_of_a_steady_size_allocate_nothing(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	static char bytes[5000];

	if (!count_alloc_works())
		skip("a sanitizer replaces the heap");
	for (size_t t = 0; t < N_ELEMENTS(types); t++) {
		struct sbx_ring_config config = config_of(SBX_RING_UNIX_SOCKET, NULL);
		int peer;
		_cleanup_ring_ struct sbx_ring *ring = open_pair(types[t], &peer);
		_cleanup_ring_ struct sbx_ring *other = NULL;

		expect_eq(socket_open(&config, SBX_RING_CLIENT, peer, &other, NULL), 0);
		for (int i = 0; i < 2000; i++) {
			if (i == 100)
				count_alloc_start();
			expect_eq(send_flags(ring, bytes, sizeof(bytes), i & 1), 0);
			expect_eq(wait_for(ring, SBX_RING_WRITABLE), 0);
			expect_eq(wait_for(other, SBX_RING_READABLE), 0);
			expect_eq(peek_result(other), 0);
			other->transport->release(other);
		}
		expect_eq(count_alloc_stop(), 0);
	}
}

/* ---- ends ---- */

static pid_t start_sleeper(int *ret_pidfd)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	*ret_pidfd = pidfd_of(pid);
	return pid;
}

/* Another process may still hold the peer's end of the socket. */
static void a_watched_process_ends_the_channel(void)
{
	_cleanup_close_ int peer = -EBADF, pidfd = -EBADF;
	pid_t pid = start_sleeper(&pidfd);
	_cleanup_ring_ struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);

	expect_eq(ring->transport->watch(ring, -1), -EBADF);
	expect_eq(ring->transport->watch(ring, pidfd), 0);
	expect_eq(ring->transport->watch(ring, pidfd), -EBUSY);
	expect_eq(send(peer, "\1\0\0\0a\1\0\0\0b\5\0\0\0", 14, 0), 14);
	expect_message(ring, "a");
	expect_message(ring, "b");
	expect_eq(ring->transport->arm(ring, SBX_RING_READABLE), 0);
	expect_eq(poll_once(ring->fd, 0), 0);
	expect_eq(send(peer, "12345\1\0\0\0c", 10, 0), 10);
	expect_eq(pidfd_kill(pidfd, SIGKILL), 0);
	expect_eq(waitpid(pid, NULL, 0), pid);
	expect_eq(poll_once(ring->fd, -1), POLLIN);
	expect_message(ring, "12345");
	expect_message(ring, "c");
	expect_end(ring, -ECONNRESET);
	expect_eq(send_text(ring, "x"), -ECONNRESET);
}

static void closing_delivers_what_a_slow_peer_has_not_taken(void)
{
	static char bytes[50000];
	struct sbx_ring_config config = config_of(SBX_RING_UNIX_SOCKET, NULL);
	_cleanup_ring_ struct sbx_ring *other = NULL;
	size_t n_sent = 0, n_received = 0;
	int peer;
	struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		(void)close(peer);
		while (send_flags(ring, bytes, sizeof(bytes), 0) == 0)
			n_sent++;
		ring->config.timeout_usec = DEADLINE_USEC;
		(void)ring_free(ring);
		_exit((int)(n_sent & 0xff));
	}
	expect_eq(socket_open(&config, SBX_RING_CLIENT, peer, &other, NULL), 0);
	/* This process has the same end as the child, which must not say goodbye twice. */
	ring->failure = -EPROTO;
	(void)ring_free(ring);
	while (wait_for(other, SBX_RING_READABLE) == 0 && peek_result(other) == 0) {
		n_received++;
		other->transport->release(other);
	}
	expect_eq(peek_result(other), SBX_RING_CLOSED);
	int status;

	expect_eq(waitpid(pid, &status, 0), pid);
	expect(WIFEXITED(status) && n_received > 3);
	/* An exit status has 8 bits, and a slow sender never finds the channel full. */
	expect_eq(WEXITSTATUS(status), n_received & 0xff);
}

static void closing_does_not_wait_longer_than_the_time_out(void)
{
	static char bytes[50000];
	_cleanup_close_ int peer = -EBADF;
	struct sbx_ring *ring = open_pair(SOCK_STREAM, &peer);

	while (send_flags(ring, bytes, sizeof(bytes), 0) == 0)
		;
	ring->config.timeout_usec = 1;
	(void)ring_free(ring);
	while (recv(peer, bytes, sizeof(bytes), 0) > 0)
		;
}

static const struct test tests[] = {
	TEST(writes_the_documented_bytes),
	TEST(reads_a_message_that_arrives_byte_by_byte),
	TEST(ends_of_packets_have_no_meaning),
	TEST(a_peeked_message_stays_until_release),
	TEST(reserved_room_survives_other_calls),
	TEST(more_is_published_together),
	TEST(refuses_a_length_over_the_limit_at_once),
	TEST(a_length_is_only_a_claim),
	TEST(an_end_inside_a_message_is_a_death),
	TEST(an_end_after_the_goodbye_is_a_close),
	TEST(sending_tells_a_close_from_a_death),
	TEST(waiting_for_nothing_ends_with_the_channel),
	TEST(an_empty_packet_is_an_end),
	TEST(refuses_a_packet_longer_than_the_limit),
	TEST(fds_that_come_with_bytes_are_refused_or_dropped),
	TEST(urgent_data_does_not_keep_the_reader_awake),
	TEST(a_cleared_o_nonblock_makes_no_call_block),
	TEST(output_for_a_peer_that_never_reads_is_bounded),
	TEST(the_fd_tells_of_a_message_of_room_and_of_an_end),
	TEST(waiting_for_room_is_for_the_message_that_did_not_fit),
	TEST(large_messages_come_back_whole),
	TEST(messages_of_a_steady_size_allocate_nothing),
	TEST(a_watched_process_ends_the_channel),
	TEST(closing_delivers_what_a_slow_peer_has_not_taken),
	TEST(closing_does_not_wait_longer_than_the_time_out),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
