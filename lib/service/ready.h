/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Sockets that packets come through, waited for together with an sd-event loop
 *
 * A turn of sd-event costs about as much as a short answer: it is made for sources of many kinds,
 * and reads three clocks. So these sockets are in a set of their own, and so is the loop's fd: the
 * loop turns when it has something to do, and every socket gets its turn, too.
 *
 * sd-event sets its timers when it turns. Who changes a timer of the loop while a socket is being
 * served, or tells the loop to exit, says so with ready_wake_loop().
 */

#include <stdint.h>

#include "base/cleanup.h"

struct ready;
struct sd_event;

/* Where it is embedded tells for whom it is; it stays there until ready_remove(). */
struct ready_socket {
	int fd; /* borrowed */
	/* @events: EPOLLIN and the like. May remove this socket, or any other. */
	void (*serve)(struct ready_socket *socket, uint32_t events);
};

/* @event must outlive the set. */
int ready_new(struct sd_event *event, struct ready **ret);
struct ready *ready_free(struct ready *ready);
void ready_free_ptr(struct ready **ready);
#define _cleanup_ready_ _cleanup_(ready_free_ptr)

/* That the other end has hung up is reported whatever @events says. 0 or negative errno. */
int ready_add(struct ready *ready, struct ready_socket *socket, uint32_t events);
int ready_change(struct ready *ready, struct ready_socket *socket, uint32_t events);
void ready_remove(struct ready *ready, struct ready_socket *socket);

void ready_wake_loop(struct ready *ready);

/*
 * Waits for at most @timeout_msec (-1: as long as it takes), then serves one socket or lets the
 * loop dispatch one source, or both. 1 if there was something to do, 0 if not, negative errno.
 */
int ready_turn(struct ready *ready, int timeout_msec);
/* Turns until the loop has been told to exit. Its exit code, or negative errno. */
int ready_run(struct ready *ready);
