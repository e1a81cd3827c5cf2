/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The collector's state, shared by the files of lib/collect
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

/* One connected client with the collector's state for it. */
struct sender {
	struct collector *collector;
	struct client *client;
	struct audit_writer writer;
	size_t n_waiting;  /* this client's packets in the queue */
	size_t n_expected; /* queued packets that will be answered */
};

/* ---- group.c: packets received and not committed yet ---- */

struct queue {
	struct waiting *first;
	struct waiting **end;
	size_t n;
	size_t n_bytes; /* memory used by the queued packets */
};

struct group {
	struct queue queue;
	struct ready_socket soon; /* an eventfd: served after all ready clients */
	struct sd_event_source *timer;
	bool is_open;	       /* the timer runs */
	bool is_soon;	       /* the eventfd is set */
	bool is_stuck;	       /* the log cannot be written */
	uint64_t n_to_confess; /* lost records for which no record in the log exists yet */
	uint64_t signed_size;
	uint64_t signed_usec;	/* when the last checkpoint was made */
	uint64_t unsigned_usec; /* when the oldest record without a checkpoint was committed; 0:
				   none */
	uint64_t committed_usec;
	char problem[SBX_ERROR_TEXT_SIZE]; /* why it is stuck, or "" */
	char fix[SBX_ERROR_TEXT_SIZE];	   /* what to do about it, if that is known */
};

int group_init(struct collector *collector);
void group_deinit(struct collector *collector);
/*
 * Takes a packet of @sender. AUDIT_REFUSED with @err: the packet is not a valid record, or is a
 * sync event that does not fit into the queue. Returns 0 even if the log cannot be written: the
 * packet is queued then.
 */
int group_take(struct sender *sender, const void *bytes, size_t n_bytes, struct sbx_error *err);
/* Queues a refusal after the answers to earlier packets of this sender. */
void group_refuse(struct sender *sender, const char *text);
/* @sender has disconnected: its queued packets are kept, its answers dropped. */
void group_forget(struct collector *collector, const struct sender *sender);
/* Commits the whole queue and sends the answers; with @is_signed, also signs a checkpoint. Negative
 * errno: the log cannot be written. */
int group_commit(struct collector *collector, bool is_signed);
/* Updates signed_size and unsigned_usec after a commit outside of group_commit(). */
void group_note_signed(struct collector *collector);

/* ---- keeping.c: closed segments ---- */

struct keeping {
	uint64_t rotated_usec; /* when rotation was last checked */
	uint64_t retained_usec;
	struct retention *retention; /* the pass in progress; NULL: none */
	bool is_old;		     /* the policy has changed since the pass began */
	pthread_t worker;
	bool has_worker;       /* not joined yet */
	atomic_bool is_worked; /* the worker has finished */
};

/* Closes the active segment and archives or deletes closed ones, if that is due. */
void keeping_turn(struct collector *collector);
/* Joins the worker. */
void keeping_deinit(struct collector *collector);

/* ---- collector.c ---- */

struct counts {
	uint64_t n_records;
	uint64_t n_refused;
	uint64_t n_commits;
	uint64_t n_lost;
};

/* What can fail beside the commits, each until it succeeds again. */
enum trouble {
	TROUBLE_IMPORT,
	TROUBLE_KEY,
	TROUBLE_ROTATION,
	TROUBLE_RETENTION,
	TROUBLE_CLOCK,
	N_TROUBLES,
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
	uint64_t epoch_ends_usec; /* CLOCK_BOOTTIME, which nobody sets */
	uint64_t epoch_began_size;
	uint64_t n_heads_failed; /* as last logged */
	bool is_status_due;
	char troubles[N_TROUBLES][SBX_ERROR_TEXT_SIZE]; /* what the last one was, or "" */
};

/* Logs a problem that does not stop the service; a repeated one only once. */
void collect_trouble(struct collector *collector, enum trouble what, const struct sbx_error *err);
/* It has succeeded: the status does not tell the problem any more. */
void collect_no_trouble(struct collector *collector, enum trouble what);
