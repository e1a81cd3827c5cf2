/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How many of a service's connections strangers may hold
 *
 * A trusted client is never refused here: service_limit_clients() bounds all clients together.
 * Strangers together get three quarters of the connections, so that root always finds one, and each
 * of them (a user, or a sandbox) one quarter. Where that is full, a newcomer gets the connection
 * that has been idle for longest: of the stranger who is at its own limit, else of the one who has
 * the most. A connection that is not idle is never taken away.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "service/rate.h"

struct clients_stranger;
struct log;

/* Since when nothing has come from a client that can be taken for idle. */
#define CLIENTS_IDLE_USEC UINT64_C(10000000)

/* Embedded in what a service knows of a client; zeroes are one that has not been admitted. */
struct clients_member {
	struct clients_stranger *stranger; /* NULL: it is trusted, or not admitted */
	struct clients_member *next, *previous;
	uint64_t active_usec;
	bool is_busy; /* something of it is in work: as if it were active */
};

struct clients {
	size_t n_max;
	uint64_t idle_usec;
	const struct log *log;
	/* Ends the connection of an idle client; calls clients_leave(). */
	void (*drop)(struct clients_member *member);
	size_t n_strangers_in;		    /* their connections */
	struct clients_stranger *strangers; /* who have some */
	struct clients_member *idlest, *latest;
	struct rate drops;
};

struct clients_who {
	bool is_trusted;
	uid_t uid;
	const void *sandbox; /* whose socket it is; NULL for none */
};

/* At most @n_max, and no more than leaves some fds for other things. All clients must have left
 * before it is forgotten. */
void clients_init(struct clients *clients, size_t n_max, const struct log *log,
		  void (*drop)(struct clients_member *member));

/* 0, -EUSERS or -ENOMEM. @member must not move until it leaves. */
int clients_admit(struct clients *clients, struct clients_member *member,
		  const struct clients_who *who);
/* It has said something. */
void clients_active(struct clients *clients, struct clients_member *member);
/* Does nothing for one that was not admitted, or has left. */
void clients_leave(struct clients *clients, struct clients_member *member);
