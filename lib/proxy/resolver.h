/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Names to addresses, in a process of its own
 *
 * Answers of the DNS are bytes that an attacker may choose. A process that holds nothing but a
 * socket to its parent parses them; what it sends is checked before use. It reads /etc/hosts, then
 * asks the DNS for exactly this name: no search domains.
 *
 * No answer is kept: the address that was judged is the address to connect to, so every connection
 * asks again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct ready;
struct resolver;
struct resolver_query;
struct sbx_error;

#define RESOLVER_ADDRESSES_MAX 32
#define RESOLVER_TIMEOUT_USEC (5 * 1000000ull)

struct resolver_address {
	bool is_ipv6;
	uint8_t bytes[16]; /* in network order; the first 4 of an IPv4 address, then zeros */
};

enum resolver_status {
	RESOLVER_FOUND,
	RESOLVER_NOT_FOUND,
	RESOLVER_FAILED,
	RESOLVER_TIMED_OUT,
	RESOLVER_TOO_MANY, /* addresses; none is told */
	N_RESOLVER_STATUSES,
};

struct resolver_answer {
	enum resolver_status status;
	size_t n; /* at least one if the status is RESOLVER_FOUND, else none */
	/* in the order of RFC 6724: an address that this host cannot reach comes last */
	struct resolver_address addresses[RESOLVER_ADDRESSES_MAX];
};

struct resolver_options {
	/* "127.0.0.1:5353,[::1]:53"; NULL: those of /etc/resolv.conf, as they are now */
	const char *servers;
	/* how long the DNS may take for one name, all servers and attempts together */
	uint64_t timeout_usec;
	/*
	 * Called in the resolver's process at its start; may be NULL. If it fails, that process
	 * ends and every query fails. Later the process still opens /etc/hosts, /etc/resolv.conf,
	 * /dev/urandom and sockets for UDP and TCP.
	 */
	int (*confine)(void *userdata, struct sbx_error *err);
	void *userdata;
};

/* The query has ended and may no longer be cancelled. May free the resolver. */
typedef void resolver_answered_fn(void *userdata, const struct resolver_answer *answer);

/*
 * Forks the process, which dies with this one. Of @options, which are copied, only @userdata must
 * stay valid, until this returns. @ready must outlive the resolver.
 */
int resolver_new(struct ready *ready, const struct resolver_options *options, struct resolver **ret,
		 struct sbx_error *err);
/* Ends the process, and every query without an answer. */
struct resolver *resolver_free(struct resolver *resolver);
CLEANUP_BY(struct resolver, resolver_free)
#define _cleanup_resolver_ _cleanup_(resolver_free_ptr)

/*
 * @answered is called once, later, unless the query is cancelled. If the resolver's process has
 * died, the answer is RESOLVER_FAILED. -EINVAL if hostname_read() takes @name for an address or for
 * nothing, -ENOMEM.
 */
int resolver_ask(struct resolver *resolver, const char *name, resolver_answered_fn *answered,
		 void *userdata, struct resolver_query **ret);
void resolver_cancel(struct resolver_query *query);
