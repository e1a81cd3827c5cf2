/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Records over a socket: each packet is one JSON object; the collector appends them to the log in
 * groups
 *
 * The writer recorded for a record is the process that connected, as the kernel reports it
 * (SO_PEERCRED), never what the packet says. There is one queue, so that the log has records in the
 * order in which they arrived; a commit takes all of it. After the commit the collector answers
 * every sync event with {"seq":N}; it answers a packet that is not a record with {"refused":TEXT};
 * other records get no answer. A client's answers come in the order of its packets.
 *
 * While the log cannot be written, accepted records stay in the queue, and the commit is retried
 * every second. Until it succeeds the collector reads no client; or (is_shedding) it counts and
 * discards records that do not fit into the queue.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/retain.h"
#include "base/cleanup.h"

struct audit_log;
struct collector;
struct clients;
struct heads;
struct log;
struct ready;
struct sbx_error;
struct sd_event;
struct service;

#define COLLECT_SOCKET "audit"
#define COLLECT_GROUP_RECORDS_DEFAULT 100
#define COLLECT_GROUP_USEC_DEFAULT 5000
#define COLLECT_GROUP_USEC_MAX 500000
#define COLLECT_QUEUE_BYTES_DEFAULT (16 * 1024 * 1024)
#define COLLECT_EPOCH_USEC_DEFAULT (UINT64_C(3600) * 1000000)

/* When the active segment is closed, and when closed ones are archived and deleted: see
 * audit/retain.h. */
struct collector_keeping {
	enum rotation rotation;
	uint64_t segment_bytes;
	struct retain_policy policy;
};

struct collector_options {
	struct sd_event *event;	 /* the loop that serves the clients */
	struct ready *ready;	 /* the epoll set of the clients' sockets */
	struct service *service; /* gets the status; may be NULL */
	const struct log *log;	 /* for messages */
	struct audit_log *audit; /* open; the caller watches it */
	struct heads *heads;	 /* may be NULL */
	int directory;		 /* the log's directory fd */
	int spool;		 /* directory fd, imported every few seconds; -EBADF: none */
	/* Moves records from other spools into this one before the import; may be NULL. Returns 0
	 * or negative errno. */
	int (*gather)(void *userdata, struct sbx_error *err);
	void *userdata;
	size_t n_clients_max;
	size_t group_records; /* commit when so many are waiting */
	uint64_t group_usec;  /* commit when the oldest has waited so long; 0: at once */
	size_t queue_bytes_max;
	uint64_t epoch_usec; /* how long a key is used; 0: forever */
	struct collector_keeping keeping;
	bool is_shedding; /* discard records while the log fails and the queue is full */
};

/* Borrows everything in @options for as long as the collector lives. */
int collector_new(const struct collector_options *options, struct collector **ret,
		  struct sbx_error *err);
struct collector *collector_free(struct collector *collector);
CLEANUP_BY(struct collector, collector_free)
#define _cleanup_collector_ _cleanup_(collector_free_ptr)

/* To be passed to service_listen() under the name COLLECT_SOCKET. */
struct clients *collector_clients(const struct collector *collector);

void collector_set_keeping(struct collector *collector, const struct collector_keeping *keeping);
/* Commits the queue and signs a checkpoint of the whole log. */
int collector_checkpoint(struct collector *collector);
/*
 * For shutdown: reads all packets that clients have sent so far, then commits and signs as
 * collector_checkpoint(). Negative errno if accepted records are not in the log; @err says how
 * many.
 */
int collector_finish(struct collector *collector, struct sbx_error *err);

/*
 * Verifies the part of the log added since the last verification (whose position is kept in
 * @directory) and appends a record of the result: log_verified, or chain_broken. Returns 1 if the
 * log is intact, 0 if not (the break is then written to @log), or negative errno.
 */
int collect_verify(struct audit_log *audit, int directory, const struct log *log,
		   struct sbx_error *err);
