/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Records over a socket: one JSON object a packet in, into the log in groups
 *
 * The writer of a record is the process that connected, by the kernel's word. There is one queue,
 * so that the log has records in the order in which they came; a commit takes all of it. After the
 * commit every sync event is answered with {"seq":N}; a packet that is no record is answered with
 * {"refused":TEXT}; other records get no answer. Answers come in the order of their packets.
 *
 * While the log cannot be written, records that were taken stay in the queue, and the commit is
 * tried again every second. Clients wait then, or (is_shedding) records that do not fit into the
 * queue are counted and lost.
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

/* When a segment is closed, and when closed ones are archived and deleted: see audit/retain.h. */
struct collector_keeping {
	enum rotation rotation;
	uint64_t segment_bytes;
	struct retain_policy policy;
};

struct collector_options {
	struct sd_event *event;	 /* of the loop that serves */
	struct ready *ready;	 /* in which its clients are waited for */
	struct service *service; /* for its status; may be NULL */
	const struct log *log;	 /* for messages */
	struct audit_log *audit; /* open; its watch is the caller's */
	struct heads *heads;	 /* may be NULL */
	int directory;		 /* of the log */
	int spool;		 /* imported every few seconds; -EBADF: none */
	/* Moves other spools into this one before the service reads it; may be NULL. 0 or negative
	 * errno.
	 */
	int (*gather)(void *userdata, struct sbx_error *err);
	void *userdata;
	size_t n_clients_max;
	size_t group_records; /* that wait at most before a commit */
	uint64_t group_usec;  /* that the first of them waits at most; 0: commit at once */
	size_t queue_bytes_max;
	uint64_t epoch_usec; /* how long a key is used; 0: for ever */
	struct collector_keeping keeping;
	bool is_shedding; /* discard records while the log cannot be written and the queue is full
			   */
};

/* Everything in @options is borrowed, for as long as the collector lives. */
int collector_new(const struct collector_options *options, struct collector **ret,
		  struct sbx_error *err);
struct collector *collector_free(struct collector *collector);
void collector_free_ptr(struct collector **collector);
#define _cleanup_collector_ _cleanup_(collector_free_ptr)

/* For service_listen() under COLLECT_SOCKET. */
struct clients *collector_clients(const struct collector *collector);

void collector_set_keeping(struct collector *collector, const struct collector_keeping *keeping);
/* Commits the queue, with a checkpoint of the whole log. */
int collector_checkpoint(struct collector *collector);
/*
 * The end: takes what clients have sent so far, then the same. Negative errno where records that
 * were taken are not in the log; @err says how many.
 */
int collector_finish(struct collector *collector, struct sbx_error *err);

/*
 * Verifies what was added to the log since it was verified last (@directory keeps how far that was)
 * and adds a record about it: log_verified, or chain_broken. 1 if it is intact, 0 if not, which is
 * written to @log, or negative errno.
 */
int collect_verify(struct audit_log *audit, int directory, const struct log *log,
		   struct sbx_error *err);
