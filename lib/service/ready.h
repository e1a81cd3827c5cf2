/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Sockets of clients, waited for together with an sd-event loop
 *
 * A turn of sd-event costs about as much as a short answer: it is made for sources of many kinds,
 * and reads three clocks. So these sockets are in an epoll set of their own, and so is the loop's
 * fd: the loop turns when it has something to do, and every socket gets its turn, too.
 *
 * sd-event sets its timers when it turns. A serve() that changes a timer of the loop, or tells the
 * loop to exit, must call ready_wake_loop().
 */

#include <stdint.h>

#include "base/cleanup.h"

struct ready;
struct sd_event;

/* Embedded in what it belongs to, by which serve() finds that; must not move while it is waited
 * for.
 */
struct ready_socket {
	int fd;		 /* borrowed */
	uint32_t events; /* of ready_wait() */
	/* @events: EPOLLIN and the like. May end the wait for this socket, or any other. */
	void (*serve)(struct ready_socket *socket, uint32_t events);
};

/* @event must outlive the set. */
int ready_new(struct sd_event *event, struct ready **ret);
struct ready *ready_free(struct ready *ready);
void ready_free_ptr(struct ready **ready);
#define _cleanup_ready_ _cleanup_(ready_free_ptr)

/*
 * Waits for @events from now on; for none with 0. EPOLLHUP and EPOLLERR come with any others, and
 * alone with EPOLLHUP. 0 or negative errno.
 */
int ready_wait(struct ready *ready, struct ready_socket *socket, uint32_t events);

void ready_wake_loop(struct ready *ready);

/*
 * Waits for at most @timeout_msec (-1: as long as it takes), then serves one socket or lets the
 * loop dispatch one source, or both. 1 if there was something to do, 0 if not, negative errno.
 */
int ready_turn(struct ready *ready, int timeout_msec);
/* Turns until the loop exits. Its exit code, or negative errno. */
int ready_run(struct ready *ready);
