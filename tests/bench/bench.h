/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Benchmarks as tables
 *
 * A benchmark is one row: what it measures, in which unit, against what, and its functions.
 * bench-X.c has the rows of one subject; bench-all.c lists the tables. A new one is a row and two
 * short loops: the subject, and its peer or floor for the same work.
 *
 * A peer is other code for the same job. A floor is the minimum that any code for the job must do,
 * without checks. The ratio is the subject's time divided by that of the peer or floor: below 1 is
 * faster.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_error;

/* Results of setup for the loops. */
struct bench_state {
	void *data;
	size_t bytes_per_op;	  /* bytes that one operation reads or writes; 0: not meaningful */
	const char *peer_missing; /* "jansson (not installed)"; NULL: the peer can run */
};

typedef void bench_loop(void *data, uint64_t n_ops);

struct bench {
	const char *name;    /* NULL ends a table */
	const char *subject; /* one operation, in one line */
	const char *unit;    /* unit of the result: "ns/op" or "MB/s" */
	const char *against; /* "peer: ..." or "floor: ..." */
	/* After the first operation; "sbx-bench --allocations" fails if it is false. */
	bool claims_no_allocation;
	/* Not 0: a self-test of the counter. One operation makes exactly this number of
	 * allocations, and its claim above must be found false. */
	unsigned self_test_allocations;
	int (*setup)(struct bench_state *ret, struct sbx_error *err);
	bool (*verify)(const void *data); /* are the results of the subject right, and those of the
					     peer the same? */
	bench_loop *run;
	bench_loop *peer;
	void (*teardown)(void *data); /* accepts NULL */
};

extern const struct bench bench_audit[];
extern const struct bench bench_audit_insert[];
extern const struct bench bench_audit_tool[];
extern const struct bench bench_audit_verify[];
extern const struct bench bench_frame[];
extern const struct bench bench_json[];
extern const struct bench bench_options[];
extern const struct bench bench_policy[];
extern const struct bench bench_policy_load[];
extern const struct bench bench_policy_socket[];
extern const struct bench bench_policy_tool[];
extern const struct bench bench_ring[];
extern const struct bench bench_self_test[];
extern const struct bench bench_spawn[];
extern const struct bench bench_tree[];
extern const struct bench bench_units[];

/* The i-th of all benchmarks, or NULL after the last; the self-tests come first. */
const struct bench *bench_at(size_t i);
bool bench_is_self_test(const struct bench *bench);
/* Does --filter @filter (NULL: no filter) select it? A self-test is selected only by its full name.
 */
bool bench_is_selected(const struct bench *bench, const char *filter);

/* A compiler barrier: the compiler must assume that all memory reachable from @pointer is used. */
static inline void bench_keep(const void *pointer)
{
	__asm__ volatile("" : : "r"(pointer) : "memory");
}
