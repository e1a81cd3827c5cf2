/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The proxy of one sandbox: connects its commands to exactly the hosts that its policy allows
 *
 * A connection goes through these stages in this order, each decides once, and no later one reads
 * the request again:
 *
 *   connection.c  accept, read the head (lib/http), which gives the canonical host and port
 *   judge.c       decide host and port: a denied name is never resolved
 *   resolver.c    the addresses of the name
 *   judge.c       decide every address: one that is denied refuses the connection
 *   dial.c        connect to a decided address
 *   connection.c  for CONNECT, compare the server name of the ClientHello with the host
 *   exchange.c    forward requests and responses, or
 *   relay.c       copy the bytes of a tunnel
 *
 * One process serves one policy: whatever a client, a server or the owner of the listeners does,
 * only this sandbox's connections suffer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct handover_summary;
struct json_writer;
struct proxy;
struct proxy_policy;
struct ready;
struct recorder;
struct resolver;
struct sbx_error;
struct sd_event;

struct proxy_timeouts {
	uint64_t head_usec;  /* of a whole request head, however slowly its bytes arrive */
	uint64_t dial_usec;  /* to resolve a name and connect */
	uint64_t hello_usec; /* of the ClientHello after the answer to CONNECT */
	uint64_t idle_usec;  /* without a byte in either direction */
};

#define PROXY_TIMEOUTS                                                                             \
	{                                                                                          \
		.head_usec = 10000000, .dial_usec = 30000000, .hello_usec = 10000000,              \
		.idle_usec = UINT64_C(900000000)                                                   \
	}

/* UINT64_MAX: none. */
struct proxy_limits {
	uint64_t n_connections; /* of clients at once; more wait in the listen queue */
	uint64_t n_bytes;	/* in both directions, in all */
	uint64_t bytes_per_sec; /* in both directions */
};

#define PROXY_CONNECTIONS_DEFAULT 4096
#define PROXY_LIMITS                                                                               \
	{                                                                                          \
		.n_connections = PROXY_CONNECTIONS_DEFAULT, .n_bytes = UINT64_MAX,                 \
		.bytes_per_sec = UINT64_MAX                                                        \
	}

/* In memory that 'sbx-proxy status' reads while the worker counts: no pointers. */
struct proxy_counters {
	uint64_t n_accepted;
	uint64_t n_open;     /* connections of clients now */
	uint64_t n_tunnels;  /* of them, those of a CONNECT or a WebSocket */
	uint64_t n_requests; /* complete heads, also those that were refused */
	uint64_t n_denied;   /* by the policy */
	uint64_t n_malformed;
	uint64_t n_failed; /* allowed, but no connection came about, or it broke */
	uint64_t bytes_up; /* from clients to servers, with the heads of requests */
	uint64_t bytes_down;
};
void proxy_counters_add_members(struct json_writer *json, const struct proxy_counters *counters);

/* ---- the policy ---- */

/* Takes the block of policy_compile() or the like, even on failure; checks it completely. */
int proxy_policy_new(void *block, size_t n_bytes, struct proxy_policy **ret, struct sbx_error *err);
/* Maps a memfd that is sealed against every change; borrows @fd. */
int proxy_policy_map(int fd, struct proxy_policy **ret, struct sbx_error *err);
struct proxy_policy *proxy_policy_free(struct proxy_policy *policy);
CLEANUP_BY(struct proxy_policy, proxy_policy_free)
#define _cleanup_proxy_policy_ _cleanup_(proxy_policy_free_ptr)
/* 32 bytes. */
const uint8_t *proxy_policy_digest(const struct proxy_policy *policy);

/* ---- the proxy ---- */

/* Everything is borrowed and outlives the proxy. */
struct proxy_options {
	struct sd_event *event;
	struct ready *ready;
	struct resolver *resolver;
	struct recorder *recorder; /* NULL: no records */
	const char *sandbox;	   /* its id; NULL: none */
	const char *project;	   /* for globs below it; NULL: unknown */
	struct proxy_timeouts timeouts;
	struct proxy_limits limits;
	struct proxy_counters *counters;
};

/* Takes @policy, even on failure. */
int proxy_new(const struct proxy_options *options, struct proxy_policy *policy, struct proxy **ret,
	      struct sbx_error *err);
/* Writes the records of all connections that are still open. */
struct proxy *proxy_free(struct proxy *proxy);
CLEANUP_BY(struct proxy, proxy_free)
#define _cleanup_proxy_ _cleanup_(proxy_free_ptr)

/* Accepts connections on a listening stream socket. Takes @fd, even on failure. */
int proxy_listen(struct proxy *proxy, int fd);
/* Replaces the policy and closes the connections that the new one denies. Takes @policy. */
void proxy_replace_policy(struct proxy *proxy, struct proxy_policy *policy);
/* Closes all connections and accepts no more. */
void proxy_stop(struct proxy *proxy);
/* After proxy_stop(): records of connections and denials that could not be written. */
uint64_t proxy_count_lost_records(const struct proxy *proxy);
/* Denials and counters; the texts live as long as the proxy. */
void proxy_get_summary(const struct proxy *proxy, struct handover_summary *ret);
