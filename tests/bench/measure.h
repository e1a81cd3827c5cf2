/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Measures one benchmark
 *
 * A sample is a batch of operations that takes about a millisecond. Each round takes one sample of
 * the subject and one of its peer or floor, in alternating order, so that a temporary load of the
 * host affects both; the ratio is the median of the rounds' ratios.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"

#define MEASURE_SAMPLES_DEFAULT 200
#define MEASURE_SAMPLES_MIN 3
#define MEASURE_SAMPLES_MAX 100000

struct measure_result {
	size_t n_samples;
	uint64_t batch; /* operations in a sample */
	double ns_median;
	double ns_p99;
	size_t bytes_per_op; /* 0: unknown */
	bool counted;	     /* false: a sanitizer replaces the heap */
	double allocations_per_op;
	bool compared;	     /* false: the peer is missing, and the next three are not set */
	const char *against; /* from the row, or why the peer could not run */
	double against_ns_median;
	double ratio;
};

/* Sets up, verifies, measures and tears down. -EIO: the benchmark gives a wrong result. */
int measure(const struct bench *bench, size_t n_samples, struct measure_result *ret,
	    struct sbx_error *err);
/* Only counts allocations. -ENOTSUP if count_alloc_works() is false. */
int measure_allocations(const struct bench *bench, double *ret_per_op, struct sbx_error *err);

/* Megabytes (1,000,000 bytes) in a second; 0 if bytes_per_op is 0. */
double measure_mb_per_s(const struct measure_result *result);
