/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The benchmarks of channels, as a table
 *
 * A row compares two contenders (ring-pair.h): a channel of <sbx/ring.h>, and a peer or a floor for
 * the same work. A time alone says little, because a virtual machine's CPUs are near to each other
 * in one second and far in the next; the ratio of two that were measured one after the other stays.
 */

#include "ring-pair.h"

struct text;

enum ring_unit {
	RING_NS, /* an operation */
	RING_US,
	RING_MB_PER_S,
	RING_GB_PER_S,
};

struct ring_bench {
	const char *name; /* NULL ends the table */
	const char *what;
	const char *against; /* NULL: only its own time is reported */
	enum ring_unit unit;
	/* Of the ratio of both values in the row's unit; 0: no target. */
	double at_most, at_least;
	bool needs_two_cpus; /* a side spins: with one CPU it would wait for the end of a time
				slice */
	struct contender subject, reference; /* reference without functions: none */
	const char *program; /* must be beside this one: path from its directory, or NULL */
};

/* ring-rows.c */
extern const struct ring_bench ring_benches[];

/* How far apart the two CPUs are: the bounds of a round trip of one cache line. */
enum ring_place {
	RING_PLACE_SMT,	 /* two threads of a core: below 70 ns */
	RING_PLACE_NEAR, /* a common cache: below 220 ns */
	RING_PLACE_FAR,
	RING_PLACE_ONE, /* a single CPU */
	RING_N_PLACES,
};
const char *ring_place_name(enum ring_place place);

/* ---- ring-measure.c ---- */

#define RING_REPETITIONS_DEFAULT 15
#define RING_REPETITIONS_MAX 1000

/* The samples that were taken while the CPUs had one place. */
struct ring_result {
	enum ring_place place;
	size_t n_samples;			/* 0: none was clean */
	size_t n_dropped;			/* of all places: a CPU moved meanwhile */
	double value, reference;		/* medians in the row's unit; reference 0: none */
	double ratio_p10, ratio_p50, ratio_p90; /* 0: no reference */
};

/* Measures one row; *@ret_n results, one for each place that the CPUs had, or one without samples.
 */
int ring_measure(struct pair *pair, const struct ring_bench *bench, size_t n_repetitions,
		 bool quick, struct ring_result ret[RING_N_PLACES], size_t *ret_n,
		 struct sbx_error *err);

/* ---- ring-print.c ---- */

void ring_print_header(struct text *out);
void ring_print_row(struct text *out, const struct ring_bench *bench,
		    const struct ring_result *result);
void ring_print_json(struct text *out, const struct ring_bench *bench,
		     const struct ring_result *result);

/* ---- contenders ---- */

/* ring-memory.c: floors of the hardware. */
pair_fn ring_ping_near, ring_ping_far;	   /* a cache line there, another one back */
pair_fn ring_memory_near, ring_memory_far; /* copy what the other CPU has written */

/* ring-reference.c: a plain ring of slots. */
pair_fn ring_reference_near, ring_reference_far;

/* ring-kernel.c: sockets and eventfds without a channel. */
pair_fn ring_stream_socket_near, ring_stream_socket_far;
pair_fn ring_bare_trip_near, ring_bare_trip_far; /* by transport and is_datagram */
pair_fn ring_eventfd_near, ring_eventfd_far;
pair_fn ring_files_near; /* two files, made and mapped */

/* ring-channel.c: through <sbx/ring.h>. */
pair_fn ring_send_near, ring_send_far;		 /* messages with SBX_RING_MORE */
pair_fn ring_single_near;			 /* each message is published at once */
pair_fn ring_zero_copy_near, ring_zero_copy_far; /* reserve and commit, peek and release */
pair_fn ring_trip_near, ring_trip_far;		 /* a message there, another one back */
pair_fn ring_open_near;				 /* both sides opened */
pair_fn ring_death_near, ring_death_far;	 /* the far process is killed */

/* ring-validation.c, compiled twice: the flow with its checks and without. */
pair_fn ring_checked_stream_near, ring_checked_stream_far;
pair_fn ring_unchecked_stream_near, ring_unchecked_stream_far;
pair_fn ring_checked_call_near, ring_checked_call_far;
pair_fn ring_unchecked_call_near, ring_unchecked_call_far;

/* ring-program.c: other programs. */
pair_fn ring_pipe_near; /* a pipeline with "sbx-ring pipe" in its middle */
pair_fn ring_cat_near;	/* with cat */
pair_fn ring_peer_near; /* a program of peers, which prints a time */
