/* SPDX-License-Identifier: MIT */

/*
 * The other side of tests/abi/ring-python.py: sends back what it receives, with the public
 * functions
 *
 *   ring-side server|client stream|call BYTES    the socket is standard input
 *
 * A frame of type 1 is answered by one of type 2 with the same id. Exits with 0 when the other side
 * closes the channel, with 2 when the other side breaks a rule, whose name it prints.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/ring.h>

static int answer(struct sbx_ring *ring, const void *bytes, size_t n_bytes)
{
	const unsigned char *frame = bytes;
	unsigned id;

	if (n_bytes < 5 || frame[0] != 1)
		return sbx_ring_send(ring, bytes, n_bytes, 0, SBX_RING_FOREVER);
	id = frame[1] | (unsigned)frame[2] << 8 | (unsigned)frame[3] << 16 |
	     (unsigned)frame[4] << 24;
	return sbx_ring_send_frame(ring, 2, id, frame + 5, n_bytes - 5, 0, SBX_RING_FOREVER);
}

int main(int argc, char *argv[])
{
	struct sbx_ring_config config;
	struct sbx_ring *ring;
	struct sbx_error err;
	const void *bytes;
	size_t n_bytes;
	int r;

	if (argc != 4)
		return 1;
	memset(&err, 0, sizeof(err));
	memset(&config, 0, sizeof(config));
	config.size = sizeof(config);
	config.mode = strcmp(argv[2], "call") == 0 ? SBX_RING_CALL : SBX_RING_STREAM;
	config.total_bytes = (size_t)atol(argv[3]);
	config.timeout_usec = 120000000;
	r = sbx_ring_open(&config,
			  strcmp(argv[1], "server") == 0 ? SBX_RING_SERVER : SBX_RING_CLIENT, 0,
			  &ring, &err);
	if (r < 0) {
		printf("%s: %s\n", err.what, err.why);
		return 1;
	}
	do {
		r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER);
		if (r == 0)
			r = answer(ring, bytes, n_bytes);
	} while (r == 0);
	if (r == -EPROTO)
		printf("%s\n", sbx_ring_violation(ring));
	sbx_ring_close(ring);
	return r == SBX_RING_CLOSED || r == -EPIPE ? 0 : r == -EPROTO ? 2 : 1;
}
