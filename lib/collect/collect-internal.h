/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The collector, as the files of this directory see it
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

#include "audit/log.h"
#include "collect/collect.h"
#include "service/clients.h"
#include "service/ready.h"

struct retention;
struct sd_event_source;
struct waiting;

#define USEC_PER_SEC UINT64_C(1000000)

/* A client, as the collector sees it. */
struct sender {
	struct collector *collector;
	struct client *client;
	struct audit_writer writer;
	size_t n_waiting;  /* of its packets, in the queue */
	size_t n_expected; /* of those, that will be answered */
};

/* ---- group.c: what has come and is not committed yet ---- */

struct queue {
	struct waiting *first;
	struct waiting **end;
	size_t n;
	size_t n_bytes; /* of memory */
};

struct group {
	struct queue queue;
	struct ready_socket soon; /* an eventfd: its turn comes after those of all ready clients */
	struct sd_event_source *timer;
	bool is_open;	       /* the timer runs */
	bool is_soon;	       /* the eventfd is set */
	bool is_stuck;	       /* the log cannot be written */
	uint64_t n_to_confess; /* lost records, of which the log does not say yet */
	uint64_t signed_size;
	uint64_t signed_usec;	/* when the last checkpoint was made */
	uint64_t unsigned_usec; /* since when a record is not covered by one; 0: all are */
	uint64_t committed_usec;
	char problem[SBX_ERROR_TEXT_SIZE]; /* why it is stuck, or "" */
};

int group_init(struct collector *collector);
void group_deinit(struct collector *collector);
/*
 * Takes a packet of @sender. AUDIT_REFUSED with @err: it is no record, or a sync event for which
 * there is no room. 0 also where the log fails: the packet is in the queue then.
 */
int group_take(struct sender *sender, const void *bytes, size_t n_bytes, struct sbx_error *err);
/* A refusal, behind the answers to what this sender has sent before. */
void group_refuse(struct sender *sender, const char *text);
/* @sender has gone: what it has sent stays. */
void group_forget(struct collector *collector, const struct sender *sender);
/* Commits all that waits, and answers; with @is_signed, with a checkpoint. Negative errno: stuck.
 */
int group_commit(struct collector *collector, bool is_signed);
/* Looks whether all is signed, after a commit that was not group_commit()'s. */
void group_note_signed(struct collector *collector);

/* ---- keeping.c: closed segments ---- */

struct keeping {
	uint64_t rotated_usec; /* when the collector last looked whether that is due */
	uint64_t retained_usec;
	struct retention *retention; /* NULL: all is done that was due */
	bool is_old;		     /* the policy has changed since that was begun */
	pthread_t worker;
	bool has_worker;       /* that is not joined yet */
	atomic_bool is_worked; /* nothing is left of its work */
};

/* Closes the segment and deals with closed ones, if it is time for that. */
void keeping_turn(struct collector *collector);
/* Waits for the worker. */
void keeping_deinit(struct collector *collector);

/* ---- collector.c ---- */

struct counts {
	uint64_t n_records;
	uint64_t n_refused;
	uint64_t n_commits;
	uint64_t n_lost;
};

struct collector {
	struct collector_options options;
	struct clients *clients;
	struct counts counts;
	struct group group;
	struct keeping keeping;
	struct sd_event_source *tick; /* every second */
	struct sd_event_source *heads_source;
	uint64_t imported_usec;
	uint64_t epoch_began_usec; /* CLOCK_REALTIME, as files have it */
	uint64_t epoch_began_size;
	uint64_t n_heads_failed; /* as logged */
	bool is_status_due;
	char other[SBX_ERROR_TEXT_SIZE]; /* what else went wrong last, or "" */
};

uint64_t collect_clock_usec(void); /* CLOCK_MONOTONIC */
/* A problem that does not stop the service; logged once as long as it is the same. */
void collect_trouble(struct collector *collector, const struct sbx_error *err);
