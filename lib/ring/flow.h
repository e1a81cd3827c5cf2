/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The two ends of one direction in shared memory
 *
 * Both modes have the same functions and the same private state. The private position is the truth
 * for its owner; the shared word is only written, for the other side. A position of the other side
 * is loaded once, checked, and kept privately.
 *
 *   stream.c  records in a byte ring; published by the tail, many at once with "more"
 *   cells.c   records in cells of 64 bytes; published by the stamp inside the record
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/violation.h"

/* A function returned a violation as -VIOLATION(reason). */
struct flow_producer {
	uint8_t *own;	      /* tail and data */
	const uint8_t *other; /* head */
	uint64_t capacity;
	uint64_t nonce;
	uint64_t tail;	    /* end of the committed records */
	uint64_t published; /* the tail that the other side has been told */
	uint64_t head;	    /* the last one of the other side that was valid */
	uint64_t high_water;
	uint32_t record_max;
};

struct flow_consumer {
	uint8_t *own;	      /* head */
	const uint8_t *other; /* tail and data */
	uint64_t capacity;
	uint64_t nonce;
	uint64_t head;	    /* end of the released records */
	uint64_t published; /* the head that the other side has been told */
	uint64_t tail;	    /* the last one of the other side that was valid; stream only */
	uint64_t next;	    /* end of the record that peek returned; head: none */
	uint32_t record_max;
};

/* Room for a record. 0: *@ret; FLOW_NO_ROOM; or a violation, negative (-RING_...). */
#define FLOW_NO_ROOM 1
#define FLOW_NO_RECORD 1

int stream_reserve(struct flow_producer *producer, size_t n_bytes, uint8_t **ret);
void stream_commit(struct flow_producer *producer, size_t n_bytes, uint32_t kind);
/* Tells the other side. True if there was something to tell. */
bool stream_publish(struct flow_producer *producer);
int stream_peek(struct flow_consumer *consumer, const uint8_t **ret, uint32_t *ret_n_bytes,
		uint32_t *ret_kind);
void stream_release(struct flow_consumer *consumer);
/* Tells the other side how far this side has read. */
bool stream_publish_head(struct flow_consumer *consumer);

int cells_reserve(struct flow_producer *producer, size_t n_bytes, uint8_t **ret);
void cells_commit(struct flow_producer *producer, size_t n_bytes, uint32_t kind);
int cells_peek(struct flow_consumer *consumer, const uint8_t **ret, uint32_t *ret_n_bytes,
	       uint32_t *ret_kind);
void cells_release(struct flow_consumer *consumer);
