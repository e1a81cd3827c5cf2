/* SPDX-License-Identifier: MIT */

/*
 * Waiting, waking and ends: the other side is a process of its own
 */

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/fd.h"
#include "test.h"

static const struct sbx_ring_config configs[] = {
	{ .size = sizeof(configs[0]), .total_bytes = 131072 },
	{ .size = sizeof(configs[0]), .total_bytes = 131072, .spin_usec = 1 },
	{ .size = sizeof(configs[0]), .total_bytes = 131072, .mode = SBX_RING_CALL },
	{ .size = sizeof(configs[0]),
	  .total_bytes = 131072,
	  .mode = SBX_RING_CALL,
	  .spin_usec = 1 },
};

struct other {
	pid_t pid;
	struct sbx_ring *ring; /* of this process */
};

/* Starts a process that is the other side and runs @run, whose result is its exit status. */
static struct other other_start(const struct sbx_ring_config *config, int own_role,
				int (*run)(struct sbx_ring *ring))
{
	struct other other = { .pid = -1 };
	struct sbx_error err = { 0 };
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	(void)fflush(stdout);
	other.pid = fork();
	if (other.pid == 0) {
		struct sbx_ring *ring;

		(void)close(sockets[0]);
		if (sbx_ring_open(config, !own_role, sockets[1], &ring, &err) < 0)
			_exit(99);
		_exit(run(ring));
	}
	(void)close(sockets[1]);
	if (other.pid < 0 || sbx_ring_open(config, own_role, sockets[0], &other.ring, &err) < 0) {
		printf("# %s: %s\n", err.what, err.why);
		abort();
	}
	return other;
}

static int other_end(struct other *other)
{
	int status = 0;

	sbx_ring_close(other->ring);
	if (waitpid(other->pid, &status, 0) < 0)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define N_ECHOES 2000

static int echo(struct sbx_ring *ring)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	while ((r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER)) == 0)
		if (sbx_ring_send(ring, bytes, n_bytes, 0, SBX_RING_FOREVER) != 0)
			return 3;
	return r == SBX_RING_CLOSED ? 7 : 4;
}

/* Both sides sleep and wake each other, with and without spinning. */
static void each_echo_wakes_the_sleeper(void)
{
	for (size_t i = 0; i < 2 * N_ELEMENTS(configs); i++) {
		struct other other = other_start(&configs[i / 2], (int)(i % 2), echo);

		for (unsigned n = 0; n < N_ECHOES; n++) {
			const void *bytes = NULL;
			size_t n_bytes = 0;

			expect_eq(sbx_ring_send(other.ring, &n, sizeof(n), 0, SBX_RING_FOREVER), 0);
			expect_eq(sbx_ring_receive(other.ring, &bytes, &n_bytes, SBX_RING_FOREVER),
				  0);
			if (n_bytes != sizeof(n) || memcmp(bytes, &n, sizeof(n)) != 0) {
				expect(!"the echo is another message");
				break;
			}
		}
		expect_eq(other_end(&other), 7);
	}
}

#define N_FLOOD 20000
#define FLOOD_BYTES 700

static int drain(struct sbx_ring *ring)
{
	const void *bytes;
	size_t n_bytes;
	unsigned n = 0;
	int r;

	while ((r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER)) == 0)
		if (n_bytes != FLOOD_BYTES || memcmp(bytes, &n, sizeof(n)) != 0)
			return 3;
		else
			n++;
	return r == SBX_RING_CLOSED && n == N_FLOOD ? 7 : 4;
}

/* The sender waits for room, the reader for messages. */
static void a_flood_waits_for_its_reader(void)
{
	for (size_t i = 0; i < 2 * N_ELEMENTS(configs); i++) {
		struct other other = other_start(&configs[i / 2], (int)(i % 2), drain);
		uint8_t message[FLOOD_BYTES] = { 0 };

		for (unsigned n = 0; n < N_FLOOD; n++) {
			memcpy(message, &n, sizeof(n));
			if (sbx_ring_send(other.ring, message, sizeof(message), SBX_RING_MORE,
					  SBX_RING_FOREVER) != 0) {
				expect(!"a message of the flood was not sent");
				break;
			}
		}
		expect_eq(other_end(&other), 7);
	}
}

static int send_long_ones(struct sbx_ring *ring)
{
	size_t n_bytes = SBX_RING_MESSAGE_MAX;
	_cleanup_free_ uint8_t *bytes = malloc(n_bytes);

	if (!bytes)
		return 3;
	memset(bytes, 0x5a, n_bytes);
	for (unsigned i = 0; i < 2; i++)
		if (sbx_ring_send(ring, bytes, n_bytes - i, 0, SBX_RING_FOREVER) != 0)
			return 4;
	sbx_ring_close(ring);
	return 7;
}

static void the_longest_message_arrives_whole(void)
{
	for (size_t i = 0; i < 2 * N_ELEMENTS(configs); i++) {
		struct other other = other_start(&configs[i / 2], (int)(i % 2), send_long_ones);
		const void *bytes;
		size_t n_bytes;

		for (unsigned n = 0; n < 2; n++) {
			expect_eq(sbx_ring_receive(other.ring, &bytes, &n_bytes, SBX_RING_FOREVER),
				  0);
			expect_eq(n_bytes, SBX_RING_MESSAGE_MAX - n);
			expect_eq(((const uint8_t *)bytes)[n_bytes - 1], 0x5a);
		}
		expect_eq(sbx_ring_receive(other.ring, &bytes, &n_bytes, SBX_RING_FOREVER),
			  SBX_RING_CLOSED);
		expect_eq(sbx_ring_send(other.ring, "x", 1, 0, 0), -EPIPE);
		expect_eq(other_end(&other), 7);
	}
}

static int send_three_and_hang(struct sbx_ring *ring)
{
	for (int i = 0; i < 3; i++)
		(void)sbx_ring_send(ring, "alive", 5, 0, SBX_RING_FOREVER);
	while (pause() < 0)
		continue;
	return 3;
}

static void a_killed_side_is_an_event_after_its_last_message(void)
{
	for (size_t i = 0; i < 2 * N_ELEMENTS(configs); i++) {
		struct other other =
			other_start(&configs[i / 2], (int)(i % 2), send_three_and_hang);
		const void *bytes;
		size_t n_bytes;

		for (int n = 0; n < 3; n++)
			expect_eq(sbx_ring_receive(other.ring, &bytes, &n_bytes, SBX_RING_FOREVER),
				  0);
		expect_eq(kill(other.pid, SIGKILL), 0);
		expect_eq(sbx_ring_receive(other.ring, &bytes, &n_bytes, SBX_RING_FOREVER),
			  -ECONNRESET);
		expect(!sbx_ring_is_connected(other.ring));
		expect_eq(other_end(&other), 128 + SIGKILL);
	}
}

/* Something else holds the other end of the socket open. */
static void a_watched_process_ends_the_channel(void)
{
	for (int role = 0; role < 2; role++) {
		struct other other = other_start(&configs[0], role, send_three_and_hang);
		_cleanup_close_ int pidfd = pidfd_of(other.pid);
		const void *bytes;
		size_t n_bytes;

		expect_eq(sbx_ring_watch(other.ring, pidfd), 0);
		expect_eq(sbx_ring_watch(other.ring, pidfd), -EBUSY);
		expect_eq(kill(other.pid, SIGKILL), 0);
		for (int n = 0; n < 3; n++)
			(void)sbx_ring_receive(other.ring, &bytes, &n_bytes, SBX_RING_FOREVER);
		expect_eq(sbx_ring_receive(other.ring, &bytes, &n_bytes, SBX_RING_FOREVER),
			  -ECONNRESET);
		expect_eq(other_end(&other), 128 + SIGKILL);
	}
}

/* An event loop of the caller's own: arm, poll, receive. */
static void the_fd_polls_after_arming(void)
{
	for (size_t i = 0; i < 2 * N_ELEMENTS(configs); i++) {
		struct other other = other_start(&configs[i / 2], (int)(i % 2), echo);

		for (unsigned n = 0; n < 200; n++) {
			const void *bytes;
			size_t n_bytes;
			int r;

			expect_eq(sbx_ring_send(other.ring, &n, sizeof(n), 0, SBX_RING_FOREVER), 0);
			while ((r = sbx_ring_receive(other.ring, &bytes, &n_bytes, 0)) ==
			       SBX_RING_EMPTY) {
				struct pollfd polled = { .fd = sbx_ring_fd(other.ring),
							 .events = POLLIN };

				if (sbx_ring_arm(other.ring, SBX_RING_READABLE) == 0)
					expect_eq(poll(&polled, 1, -1), 1);
			}
			expect_eq(r, 0);
		}
		expect_eq(other_end(&other), 7);
	}
}

static void a_time_out_is_no_failure_of_the_channel(void)
{
	for (size_t i = 0; i < 2 * N_ELEMENTS(configs); i++) {
		struct other other = other_start(&configs[i / 2], (int)(i % 2), echo);
		const void *bytes;
		size_t n_bytes;

		expect_eq(sbx_ring_receive(other.ring, &bytes, &n_bytes, 5000), SBX_RING_EMPTY);
		expect_eq(sbx_ring_wait(other.ring, SBX_RING_READABLE, 5000), SBX_RING_EMPTY);
		expect_eq(sbx_ring_wait(other.ring, SBX_RING_WRITABLE, 5000), 0);
		expect_eq(sbx_ring_send(other.ring, "x", 1, 0, SBX_RING_FOREVER), 0);
		expect_eq(sbx_ring_receive(other.ring, &bytes, &n_bytes, SBX_RING_FOREVER), 0);
		expect_eq(other_end(&other), 7);
	}
}

static void a_client_without_a_server_gives_up(void)
{
	struct sbx_ring_config config = configs[0];
	struct sbx_ring *ring = NULL;
	struct sbx_error err = { 0 };
	int sockets[2];

	config.timeout_usec = 1000;
	expect_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	expect_eq(sbx_ring_open(&config, SBX_RING_CLIENT, sockets[0], &ring, &err), -ETIMEDOUT);
	expect_str(err.why, "the server sent nothing");
	expect(close(sockets[0]) < 0 && errno == EBADF);
	(void)close(sockets[1]);
	expect_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	(void)close(sockets[1]);
	expect_eq(sbx_ring_open(&config, SBX_RING_CLIENT, sockets[0], &ring, &err), -ECONNRESET);
	expect(!ring);
}

static void refuses_configurations(void)
{
	static const struct sbx_ring_config wrong[] = {
		{ .size = 1 },
		{ .size = sizeof(wrong[0]) + 8 },
		{ .size = sizeof(wrong[0]), .transport = 3 },
		{ .size = sizeof(wrong[0]), .transport = -1 },
		{ .size = sizeof(wrong[0]), .mode = 2 },
		{ .size = sizeof(wrong[0]), .when_full = 3 },
		{ .size = sizeof(wrong[0]), .total_bytes = 1000 },
		{ .size = sizeof(wrong[0]), .endpoint = "both" },
	};

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		struct sbx_ring *ring = NULL;
		struct sbx_error err = { 0 };
		int sockets[2];

		expect_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
		expect_eq(sbx_ring_open(&wrong[i], SBX_RING_SERVER, sockets[0], &ring, &err),
			  -EINVAL);
		expect(!ring && err.what[0] && err.why[0]);
		expect(close(sockets[0]) < 0 && errno == EBADF);
		(void)close(sockets[1]);
	}
}

/* -EPERM, or 0 before Linux 6.16. */
static int send_fd_to_refusing_socket(void)
{
	int sockets[2], r;

	expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	fd_refuse_fds(sockets[0]);
	r = fd_send(sockets[1], "x", 1, &sockets[1], 1);
	fd_close_many(sockets, N_ELEMENTS(sockets));
	return r;
}

/* A message whose fds block the process that discards them must not be delivered. */
static void an_open_channel_takes_no_fds(void)
{
	static const int transports[] = { SBX_RING_SHARED_MEMORY, SBX_RING_UNIX_SOCKET };
	const int wanted = send_fd_to_refusing_socket();
	int sockets[2];

	for (size_t i = 0; i < N_ELEMENTS(transports); i++) {
		struct sbx_ring_config config = configs[0];
		struct sbx_ring *server, *client;

		config.transport = transports[i];
		expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
		expect_eq(sbx_ring_open(&config, SBX_RING_SERVER, sockets[0], &server, NULL), 0);
		expect_eq(sbx_ring_open(&config, SBX_RING_CLIENT, sockets[1], &client, NULL), 0);
		expect_eq(fd_send(sockets[0], "x", 1, &sockets[0], 1), wanted);
		expect_eq(fd_send(sockets[1], "x", 1, &sockets[1], 1), wanted);
		(void)sbx_ring_close(server);
		(void)sbx_ring_close(client);
	}
}

static int open_at(int role, int socket, struct sbx_ring **ret, struct sbx_error *err)
{
	int copy = fcntl(socket, F_DUPFD_CLOEXEC, 0);

	expect(copy >= 0);
	return sbx_ring_open(&configs[0], role, copy, ret, err);
}

/* The client's end takes no fds while it has a channel. */
static void a_second_channel_at_a_socket_waits_for_the_end_of_the_first(void)
{
	const int wanted = send_fd_to_refusing_socket();
	struct sbx_error err = { .code = 0 };
	struct sbx_ring *server, *client;
	int sockets[2];

	expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	expect_eq(open_at(SBX_RING_SERVER, sockets[0], &server, NULL), 0);
	expect_eq(open_at(SBX_RING_CLIENT, sockets[1], &client, NULL), 0);
	(void)sbx_ring_close(server);
	expect_eq(open_at(SBX_RING_SERVER, sockets[0], &server, &err), wanted);
	if (wanted == 0)
		(void)sbx_ring_close(server);
	else
		expect(strstr(err.why, "a channel already") && strstr(err.fix, "a new socket"));
	(void)sbx_ring_close(client);
	if (wanted < 0) {
		expect_eq(open_at(SBX_RING_SERVER, sockets[0], &server, NULL), 0);
		expect_eq(open_at(SBX_RING_CLIENT, sockets[1], &client, NULL), 0);
		(void)sbx_ring_close(server);
		(void)sbx_ring_close(client);
	}
	fd_close_many(sockets, N_ELEMENTS(sockets));
}

static const struct test tests[] = {
	TEST(each_echo_wakes_the_sleeper),
	TEST(a_flood_waits_for_its_reader),
	TEST(the_longest_message_arrives_whole),
	TEST(a_killed_side_is_an_event_after_its_last_message),
	TEST(a_watched_process_ends_the_channel),
	TEST(the_fd_polls_after_arming),
	TEST(a_time_out_is_no_failure_of_the_channel),
	TEST(a_client_without_a_server_gives_up),
	TEST(refuses_configurations),
	TEST(an_open_channel_takes_no_fds),
	TEST(a_second_channel_at_a_socket_waits_for_the_end_of_the_first),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
