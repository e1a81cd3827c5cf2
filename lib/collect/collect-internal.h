/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The collector, as the files of this folder see it
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

#include "audit/log.h"
#include "base/text.h"
#include "collect/collect.h"
#include "service/clients.h"
#include "service/ready.h"

struct client;
struct sd_event_source;

#define USEC_PER_SEC UINT64_C(1000000)

/* ---- queue.c ---- */

/* A packet between its coming and its commit. */
struct waiting {
	struct waiting *next;
	struct client *client; /* NULL: gone, or nobody */
	uint64_t seq;
	bool is_added; /* to the open transaction */
	bool is_sync;
	bool is_expected;    /* the client counts on an answer */
	const char *refusal; /* an answer; then it is no record */
	struct audit_writer writer;
	size_t n_bytes;
	char bytes[];
};

struct waiting *waiting_new(struct client *client, const void *bytes, size_t n_bytes);
void waiting_free(struct waiting *waiting);
void waiting_free_ptr(struct waiting **waiting);
#define _cleanup_waiting_ _cleanup_(waiting_free_ptr)

struct queue {
	struct waiting *first;
	struct waiting **end;
	size_t n;
	size_t n_bytes; /* of memory */
};

void queue_init(struct queue *queue);
void queue_add(struct queue *queue, struct waiting *waiting);
/* The first one, which is the caller's then; NULL where there is none. */
struct waiting *queue_take(struct queue *queue);
/* The client is gone. */
void queue_forget(struct queue *queue, const struct client *client);
/* The transaction is gone. */
void queue_not_added(struct queue *queue);
void queue_clear(struct queue *queue);

/* ---- collector.c ---- */

struct counts {
	uint64_t n_records;
	uint64_t n_refused;
	uint64_t n_commits;
	uint64_t n_lost;
};

struct collector {
	struct collector_options options;
	struct queue queue;
	struct client *clients;
	size_t n_clients;
	struct clients limits; /* on them */
	char *packet;	       /* RECORD_BYTES_MAX + 1 bytes, for whoever receives */
	struct counts counts;
	/* group.c */
	struct ready_socket soon; /* an eventfd: its turn comes when all who wait have had theirs */
	struct sd_event_source *group_timer;
	bool is_group_open; /* the timer runs */
	bool is_soon;	    /* the eventfd is set */
	bool is_stuck;	    /* the log cannot be written */
	bool is_finishing;
	uint64_t n_to_confess; /* lost, and no record says so yet */
	uint64_t signed_size;
	uint64_t signed_usec;	/* when the last checkpoint was made */
	uint64_t unsigned_usec; /* since when there is something that none covers; 0: nothing */
	uint64_t committed_usec;
	/* every second */
	struct sd_event_source *tick;
	struct sd_event_source *heads_source;
	uint64_t imported_usec;
	uint64_t rotated_usec; /* when that was looked at */
	uint64_t retained_usec;
	struct retention *retention; /* NULL: all is done that was due */
	bool is_retention_old;	     /* the policy is another one since it was begun */
	pthread_t worker;
	bool has_worker;	   /* that is not joined yet */
	atomic_bool is_worked;	   /* nothing is left of its work */
	uint64_t epoch_began_usec; /* CLOCK_REALTIME, as files have it */
	uint64_t epoch_began_size;
	uint64_t n_heads_failed; /* as told */
	bool is_status_due;
	char problem[SBX_ERROR_TEXT_SIZE]; /* why it is stuck, or "" */
	char other[SBX_ERROR_TEXT_SIZE];   /* what else went wrong last, or "" */
};

uint64_t collect_clock_usec(void); /* CLOCK_MONOTONIC */
/* Something went wrong that stops nobody; told once as long as it is the same. */
void collect_trouble(struct collector *collector, const struct sbx_error *err);

/* ---- client.c ---- */

struct client {
	struct collector *collector;
	struct client *next, *previous;
	struct ready_socket socket;
	uint32_t events; /* that are waited for; 0: it is not in the set */
	struct clients_member member;
	struct audit_writer writer;
	bool is_over;	     /* it has said all */
	struct text answers; /* that its socket has no room for, with a NUL behind each */
	size_t answers_at;   /* those before are sent */
	size_t n_waiting;    /* of its packets, in the queue */
	size_t n_expected;   /* of those, that will be answered */
};

/* Sends, or keeps it until it can be sent. */
void client_answer(struct client *client, const char *text);
/* Reads, writes or leaves it alone, as the state of the log wants it. */
void client_update(struct client *client);
void clients_update(struct collector *collector);
/* Frees it if it has said all and heard all. */
void client_end(struct client *client);
/* Reads what they have sent so far. */
void clients_drain(struct collector *collector);
void clients_free_all(struct collector *collector);
/* An idle one makes room: what it has sent is taken, and it can send no more. */
void client_drop(struct clients_member *member);

/* ---- group.c ---- */

int group_init(struct collector *collector);
void group_deinit(struct collector *collector);
/*
 * Takes a packet of @client. AUDIT_REFUSED with @err: it is no record, or a sync event for which
 * there is no room. Whatever goes wrong with the log is no failure of this.
 */
int group_take(struct client *client, const void *bytes, size_t n_bytes, struct sbx_error *err);
/* An answer that has to come behind those to what this client has sent before. */
void group_answer(struct client *client, const char *text);
/* Commits all that waits, and answers; with @is_signed, with a checkpoint. Negative errno: stuck.
 */
int group_commit(struct collector *collector, bool is_signed);
/* Looks whether all is signed, after somebody else has committed. */
void group_note_signed(struct collector *collector);

/* ---- keeping.c ---- */

/* Closes the segment and deals with closed ones, if it is time for that. */
void collect_keep(struct collector *collector);
/* Waits for the worker. */
void collect_keep_no_more(struct collector *collector);

/* ---- status.c ---- */

void collect_status(struct collector *collector);
