/* SPDX-License-Identifier: MIT */
#pragma once

/* Forwards single ports between the host's 127.0.0.1 and the sandbox's: net.loopback */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spawn/join.h"
#include "spawn/loop.h"

struct plan;
struct sbx_error;
struct forwarded_port;
struct step;

struct forwarding {
	struct loop *loop;
	struct forwarded_port *all;
	size_t n;
	size_t size;
	struct connection *connections;
	size_t n_connections;
	struct source look; /* a timer, set while a listener inside is closed */
	const struct namespace_set *namespaces;
	struct joined agent;
};

#define FORWARDING_INIT                                                                            \
	{                                                                                          \
		.look = { .fd = -EBADF }, .agent = JOINED_INIT                                     \
	}

/* Listens on the host for --listen. Called first: a port that is in use is an error of the request.
 * */
int forwarding_begin(struct forwarding *forwarding, struct loop *loop, const struct plan *plan,
		     struct sbx_error *err);
/* Does the supervisor serve this listener? Else it is passed to a proxy. */
bool forwarding_carries(const struct step *step);
/* Forwards connections to @listener, which PID 1 has sent, to the host's @port. While no program
 * listens there, connect() inside fails with ECONNREFUSED. Takes @listener, even on failure. */
int forwarding_add_listener(struct forwarding *forwarding, int listener, uint16_t port);
/* Accepts connections from now on. @set still belongs to the caller. */
int forwarding_open(struct forwarding *forwarding, const struct namespace_set *set);
void forwarding_deinit(struct forwarding *forwarding);
