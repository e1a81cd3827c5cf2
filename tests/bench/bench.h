/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Benchmarks as tables
 *
 * A benchmark is one row: what it measures, in which unit, against what, and the functions that do
 * it. bench-X.c holds the rows of one subject; bench-all.c lists the tables. Adding one is a row
 * and two short loops: the subject and, doing the same work, its peer or floor.
 *
 * A peer is somebody else's code for the same job. A floor is the least that any code for the job
 * must do, without checks. The ratio is the subject's time divided by that: below 1 is faster.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_error;

/* What setup leaves for the loops. */
struct bench_state {
	void *data;
	size_t bytes_per_op; /* what one operation reads or writes; 0 where that says nothing */
	const char *peer_missing; /* "jansson (not installed)"; NULL: the peer can run */
};

typedef void bench_loop(void *data, uint64_t n_ops);

struct bench {
	const char *name;    /* NULL ends a table */
	const char *subject; /* what one operation is, one line */
	const char *unit;    /* the number to look at: "ns/op" or "MB/s" */
	const char *against; /* "peer: ..." or "floor: ..." */
	/* After the first operation; "sbx-bench --allocations" fails where it is not true. */
	bool claims_no_allocation;
	/* Not 0: no benchmark but the proof that the counter counts. One operation makes exactly so
	 * many allocations, and the claim above, which it also makes, must be found false. */
	unsigned self_test_allocations;
	int (*setup)(struct bench_state *ret, struct sbx_error *err);
	bool (*verify)(const void *data); /* does the subject do its job, and the peer the same? */
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
extern const struct bench bench_self_test[];
extern const struct bench bench_spawn[];
extern const struct bench bench_tree[];
extern const struct bench bench_units[];
extern const struct bench bench_words[];

/* The i-th of all benchmarks, or NULL behind the last; the self-tests come first. */
const struct bench *bench_at(size_t i);
bool bench_is_self_test(const struct bench *bench);
/* Is it meant by --filter @filter (NULL: no filter)? A self-test only by its whole name. */
bool bench_is_selected(const struct bench *bench, const char *filter);

/* The compiler must assume that this reads and changes everything that @pointer can reach. */
static inline void bench_keep(const void *pointer)
{
	__asm__ volatile("" : : "r"(pointer) : "memory");
}
