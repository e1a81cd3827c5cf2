/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The control socket, by which 'sbx-ctl exec' runs another command in a sandbox
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
	const struct namespace_set *namespaces;
	const struct scope_cgroup *scope;
	const struct spawn_hooks *hooks; /* or NULL */
	/* An anchor is lost: what its command started can only be ended with the sandbox. */
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

/* Answers requests from now on. @socket listens and still belongs to the caller. Do not move @door
 * afterwards. */
int door_open(struct door *door, struct loop *loop, int socket, const struct kernel *kernel,
	      const struct namespace_set *set, const struct scope_cgroup *scope,
	      const struct spawn_hooks *hooks);
/* Ends every visit: kills its processes and answers its client. */
void door_close(struct door *door);
