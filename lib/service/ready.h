/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An epoll set of clients' sockets, waited for together with an sd-event loop
 *
 * One sd-event iteration costs about as much as a short answer, because it handles sources of many
 * kinds and reads three clocks. So clients' sockets have their own epoll set, which also contains
 * the loop's fd: the loop runs only when it has work, and every socket still gets its turn.
 *
 * sd-event arms its timers only when it runs. A serve() that changes a timer of the loop, or tells
 * the loop to exit, must call ready_wake_loop().
 */

#include <stdint.h>
#include <sys/epoll.h>

#include "base/cleanup.h"

/*
 * Instead of the events to wait for: no event is served, a hang-up neither. The socket stays in the
 * set, so that ready_wait() for events cannot fail later, as it can for a socket that was removed
 * (ENOMEM, or ENOSPC at the user's limit of watched files).
 */
#define READY_PAUSE ((uint32_t)EPOLLET)

struct ready;
struct sd_event;

/* Embedded in the caller's struct, which serve() finds from this pointer; must not move while it is
 * in the set. */
struct ready_socket {
	int fd;		 /* borrowed */
	uint32_t events; /* as given to ready_wait() */
	uint32_t armed;	 /* private: those that epoll reports */
	/* @events: EPOLLIN and the like. May remove this socket, or any other, from the set. */
	void (*serve)(struct ready_socket *socket, uint32_t events);
};

/* @event must outlive the set. */
int ready_new(struct sd_event *event, struct ready **ret);
struct ready *ready_free(struct ready *ready);
CLEANUP_BY(struct ready, ready_free)
#define _cleanup_ready_ _cleanup_(ready_free_ptr)

/*
 * Waits for @events from now on; 0 removes the socket from the set. The kernel adds EPOLLHUP and
 * EPOLLERR to any others; EPOLLHUP alone waits for these two only. 0 or negative errno.
 *
 * The kernel is told about fewer events only when one of the others happens: most callers wait for
 * them again before.
 */
int ready_wait(struct ready *ready, struct ready_socket *socket, uint32_t events);

void ready_wake_loop(struct ready *ready);

/*
 * Waits at most @timeout_msec (-1: forever), then serves one socket or lets the loop dispatch one
 * source, or both. 1: there was an event, 0: none, or negative errno.
 */
int ready_turn(struct ready *ready, int timeout_msec);
/* Calls ready_turn() until the loop exits. Returns the loop's exit code, or negative errno. */
int ready_run(struct ready *ready);
