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
struct service;
struct step;

struct services {
	struct loop *loop;
	struct service *all;
	size_t n;
	size_t size;
	struct connection *connections;
	size_t n_connections;
	struct source look; /* a timer, set while a listener inside is closed */
	const struct place *place;
	struct joined agent;
};

#define SERVICES_INIT                                                                              \
	{                                                                                          \
		.look = { .fd = -EBADF }, .agent = JOINED_INIT                                     \
	}

/* Listens on the host for --listen. Called first: a port that is in use is an error of the request.
 * */
int services_begin(struct services *services, struct loop *loop, const struct plan *plan,
		   struct sbx_error *err);
/* Does the supervisor serve this listener? Else it is passed to a proxy. */
bool services_carries(const struct step *step);
/* Forwards connections to @listener, which PID 1 has sent, to the host's @port. While no program
 * listens there, connect() inside fails with ECONNREFUSED. Takes @listener, even on failure. */
int services_add_listener(struct services *services, int listener, uint16_t port);
/* Accepts connections from now on. @place still belongs to the caller. */
int services_open(struct services *services, const struct place *place);
void services_deinit(struct services *services);
