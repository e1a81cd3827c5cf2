/* SPDX-License-Identifier: MIT */

/*
 * Channels: what one message costs both sides together, without a second process
 *
 * Both sides are in this process, so neither waits and no cache line moves between CPUs: what is
 * left is the work of the channel itself, and that it allocates nothing. "sbx-ring bench" measures
 * two processes.
 */

#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/error.h>
#include <sbx/ring.h>

#include "base/cleanup.h"

#define MESSAGE_SIZE 64

struct channel_bench {
	struct sbx_ring *server, *client;
	int sockets[2]; /* of the floor, or -EBADF */
	uint8_t sent[MESSAGE_SIZE], passed[MESSAGE_SIZE], received[MESSAGE_SIZE];
};

static void ring_teardown(void *data)
{
	struct channel_bench *bench = data;

	if (!bench)
		return;
	sbx_ring_close(bench->client);
	sbx_ring_close(bench->server);
	close_fd(&bench->sockets[0]);
	close_fd(&bench->sockets[1]);
	free(bench);
}

static void channel_bench_free(struct channel_bench **bench)
{
	ring_teardown(*bench);
}

static int open_both(struct channel_bench *bench, const struct sbx_ring_config *config, int type,
		     struct sbx_error *err)
{
	int ends[2], r;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return sbx_error_what(err, -errno, "cannot make a pair of sockets");
	r = sbx_ring_open(config, SBX_RING_SERVER, ends[0], &bench->server, err);
	if (r < 0) {
		(void)close(ends[1]);
		return r;
	}
	return sbx_ring_open(config, SBX_RING_CLIENT, ends[1], &bench->client, err);
}

static int ring_setup(struct bench_state *ret, int transport, int mode, struct sbx_error *err)
{
	const struct sbx_ring_config config = {
		.size = sizeof(config),
		.transport = transport,
		.mode = mode,
	};
	_cleanup_(channel_bench_free) struct channel_bench *bench = calloc(1, sizeof(*bench));
	int r;

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up the channel benchmarks");
	bench->sockets[0] = bench->sockets[1] = -EBADF;
	memset(bench->sent, 0x5a, sizeof(bench->sent));
	r = open_both(bench, &config,
		      transport == SBX_RING_UNIX_SOCKET ? SOCK_STREAM : SOCK_SEQPACKET, err);
	if (r < 0)
		return r;
	if (transport == SBX_RING_UNIX_SOCKET &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, bench->sockets) < 0)
		return sbx_error_what(err, -errno, "cannot make a pair of sockets");
	ret->bytes_per_op = MESSAGE_SIZE;
	ret->data = take_ptr(bench);
	return 0;
}

static int stream_setup(struct bench_state *ret, struct sbx_error *err)
{
	return ring_setup(ret, SBX_RING_SHARED_MEMORY, SBX_RING_STREAM, err);
}

static int call_setup(struct bench_state *ret, struct sbx_error *err)
{
	return ring_setup(ret, SBX_RING_SHARED_MEMORY, SBX_RING_CALL, err);
}

static int unix_setup(struct bench_state *ret, struct sbx_error *err)
{
	return ring_setup(ret, SBX_RING_UNIX_SOCKET, SBX_RING_STREAM, err);
}

static bool carry(struct channel_bench *bench)
{
	const void *bytes;
	size_t n_bytes;

	if (sbx_ring_send(bench->server, bench->sent, MESSAGE_SIZE, 0, 0) != 0 ||
	    sbx_ring_receive(bench->client, &bytes, &n_bytes, 0) != 0)
		return false;
	bench_keep(bytes);
	return n_bytes == MESSAGE_SIZE && memcmp(bytes, bench->sent, MESSAGE_SIZE) == 0;
}

static bool ring_verify(const void *data)
{
	/* The channels change with each message; the benchmark does not. */
	struct channel_bench bench = *(const struct channel_bench *)data;

	return carry(&bench);
}

static void ring_run(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		bool carried = carry(data);

		bench_keep(&carried);
	}
}

static void copy_floor(void *data, uint64_t n_ops)
{
	struct channel_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		memcpy(bench->passed, bench->sent, MESSAGE_SIZE);
		bench_keep(bench);
		memcpy(bench->received, bench->passed, MESSAGE_SIZE);
		bench_keep(bench);
	}
}

static void socket_floor(void *data, uint64_t n_ops)
{
	struct channel_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		ssize_t n = send(bench->sockets[0], bench->sent, MESSAGE_SIZE, MSG_NOSIGNAL);

		bench_keep(&n);
		n = recv(bench->sockets[1], bench->received, MESSAGE_SIZE, 0);
		bench_keep(&n);
	}
}

const struct bench bench_ring[] = {
	{
		.name = "ring_stream",
		.subject = "send and receive 64 bytes through shared memory, mode stream",
		.unit = "ns/op",
		.against = "floor: two copies of 64 bytes",
		.claims_no_allocation = true,
		.setup = stream_setup,
		.verify = ring_verify,
		.run = ring_run,
		.peer = copy_floor,
		.teardown = ring_teardown,
	},
	{
		.name = "ring_call",
		.subject = "send and receive 64 bytes through shared memory, mode call",
		.unit = "ns/op",
		.against = "floor: two copies of 64 bytes",
		.claims_no_allocation = true,
		.setup = call_setup,
		.verify = ring_verify,
		.run = ring_run,
		.peer = copy_floor,
		.teardown = ring_teardown,
	},
	{
		.name = "ring_unix",
		.subject = "send and receive 64 bytes over a unix socket",
		.unit = "ns/op",
		.against = "floor: send and recv",
		.claims_no_allocation = true,
		.setup = unix_setup,
		.verify = ring_verify,
		.run = ring_run,
		.peer = socket_floor,
		.teardown = ring_teardown,
	},
	{ .name = NULL },
};
