/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The control socket: who may enter a sandbox that runs, and what he is answered
 */

#include <errno.h>
#include <stddef.h>

#include "kernel/kernel.h"
#include "spawn/join.h"
#include "spawn/loop.h"

struct scope_cgroup;
struct spawn_hooks;
struct visitor;

struct door {
	struct loop *loop;
	const struct plan *plan;
	const struct kernel *kernel;
	const struct place *place;
	const struct scope_cgroup *scope;
	const struct spawn_hooks *hooks; /* or NULL */
	/* What a visit has started can no longer be ended alone. */
	void (*lost)(void *userdata);
	void *userdata;
	struct source listening;
	struct visitor *visitors;
	size_t n_visitors;
};

#define DOOR_INIT                                                                                  \
	{                                                                                          \
		.listening = {.fd = -EBADF }                                                       \
	}

/* From here on requests are answered. @socket listens, and stays the caller's. @door is not moved
 * any more. */
int door_open(struct door *door, struct loop *loop, int socket, const struct kernel *kernel,
	      const struct place *place, const struct scope_cgroup *scope,
	      const struct spawn_hooks *hooks);
/* Whoever is inside is killed, and his client told. */
void door_close(struct door *door);
