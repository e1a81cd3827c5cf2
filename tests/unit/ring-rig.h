/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Both sides of a channel in one process, each used in turn
 */

#include <sys/socket.h>
#include <unistd.h>

#include <sbx/ring.h>

struct ring_pair {
	struct sbx_ring *server, *client;
};

/* The client opens after the server, whose hello waits in the socket. */
static inline struct ring_pair ring_pair_open(const struct sbx_ring_config *config)
{
	struct ring_pair pair = { NULL, NULL };
	struct sbx_error err = { 0 };
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	if (sbx_ring_open(config, SBX_RING_SERVER, sockets[0], &pair.server, &err) < 0 ||
	    sbx_ring_open(config, SBX_RING_CLIENT, sockets[1], &pair.client, &err) < 0) {
		printf("# %s: %s: %s\n", err.what, err.why, strerror(-err.code));
		abort();
	}
	return pair;
}

static inline void ring_pair_close(struct ring_pair *pair)
{
	sbx_ring_close(pair->server);
	sbx_ring_close(pair->client);
	*pair = (struct ring_pair){ NULL, NULL };
}
