/* SPDX-License-Identifier: MIT */

/*
 * The bytes are what a peer sends over a unix socket, after one byte that chooses the type of the
 * socket and how the bytes are cut. The channel must deliver what a plain reading of all the bytes
 * gives, and the same end. A failed check is an abort.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/ring.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* The plain reading: 0 and a message, 1 if more bytes are needed, or the end of the channel. */
static int read_plainly(const uint8_t **at, const uint8_t *end, const uint8_t **ret, size_t *ret_n)
{
	size_t left = (size_t)(end - *at);
	uint32_t length;

	if (left < 4)
		return 1;
	length = (uint32_t)(*at)[0] | (uint32_t)(*at)[1] << 8 | (uint32_t)(*at)[2] << 16 |
		 (uint32_t)(*at)[3] << 24;
	if (length == UINT32_MAX)
		return SBX_RING_CLOSED;
	if (length > SBX_RING_MESSAGE_MAX)
		return -EPROTO;
	if (length > left - 4)
		return 1;
	*ret = *at + 4;
	*ret_n = length;
	*at += 4 + length;
	return 0;
}

/* Receives all that @end allows. Returns the end of the channel, or 0. */
static int receive_up_to(struct sbx_ring *ring, const uint8_t **at, const uint8_t *end,
			 bool in_place)
{
	for (;;) {
		const uint8_t *want = NULL;
		const void *got = NULL;
		size_t n_want = 0, n_got = 0;
		int expected = read_plainly(at, end, &want, &n_want);
		int r = in_place ? sbx_ring_peek(ring, &got, &n_got)
				 : sbx_ring_receive(ring, &got, &n_got, 0);

		check(r == (expected == 1 ? SBX_RING_EMPTY : expected));
		if (r != 0)
			return expected == 1 ? 0 : expected;
		check(n_got == n_want && (n_got == 0 || memcmp(got, want, n_got) == 0));
		if (in_place)
			sbx_ring_release(ring);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct sbx_ring_config config = { .size = sizeof(config),
					  .transport = SBX_RING_UNIX_SOCKET };
	const uint8_t *at = bytes + 1, *sent = at, *end = bytes + n_bytes;
	struct sbx_ring *ring = NULL;
	const void *message;
	size_t n_message;
	int sockets[2], r = 0;

	if (n_bytes < 2)
		return 0;
	check(socketpair(AF_UNIX, (bytes[0] & 1) ? SOCK_SEQPACKET : SOCK_STREAM, 0, sockets) == 0);
	check(sbx_ring_open(&config, SBX_RING_SERVER, sockets[0], &ring, NULL) == 0);
	while (r == 0 && sent < end) {
		size_t n = (size_t)(end - sent), n_max = 1 + (size_t)(bytes[0] >> 2) * 64;

		n = n < n_max ? n : n_max;
		check(send(sockets[1], sent, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n);
		sent += n;
		r = receive_up_to(ring, &at, sent, bytes[0] & 2);
	}
	check(close(sockets[1]) == 0);
	check(sbx_ring_receive(ring, &message, &n_message, 0) == (r ? r : -ECONNRESET));
	check(sbx_ring_send(ring, "x", 1, 0, 0) == (r == SBX_RING_CLOSED ? -EPIPE
						    : r			 ? r
									 : -ECONNRESET));
	check((sbx_ring_violation(ring) != NULL) == (r == -EPROTO));
	sbx_ring_close(ring);
	return 0;
}
