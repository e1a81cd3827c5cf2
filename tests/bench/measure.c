/* SPDX-License-Identifier: MIT */

/*
 * The measurement (see measure.h)
 *
 * Allocations are counted in a separate pass before the times are taken, so that the counter does
 * not affect them. The harness allocates all its own memory in advance.
 */

#include "measure.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "count-alloc.h"
#include "percentile.h"

#define SAMPLE_NS 1e6
#define BATCH_MAX (UINT64_C(1) << 30)
#define COUNTED_OPS 16

/* A benchmark after setup; torn down at the end of its scope. */
struct subject {
	const struct bench *bench;
	struct bench_state state;
};

static void subject_close(struct subject *subject)
{
	if (subject->bench)
		subject->bench->teardown(subject->state.data);
}

static int subject_open(struct subject *ret, const struct bench *bench, struct sbx_error *err)
{
	int r = bench->setup(&ret->state, err);

	if (r < 0)
		return r;
	ret->bench = bench;
	if (bench->verify(ret->state.data))
		return 0;
	(void)sbx_error_what(err, -EIO, "cannot measure '%s'", bench->name);
	sbx_error_why(err, "it or its peer gives a wrong result, so its time would mean nothing");
	sbx_error_fix(err, "run the unit tests of what it measures");
	return -EIO;
}

static double now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_batch(bench_loop *loop, void *data, uint64_t batch)
{
	double start = now_ns();

	loop(data, batch);
	return now_ns() - start;
}

/* The fastest of three: the first run is cold, and any run may be interrupted. */
static double time_undisturbed(bench_loop *loop, void *data, uint64_t batch)
{
	double quickest = time_batch(loop, data, batch);

	for (unsigned i = 0; i < 2; i++) {
		double ns = time_batch(loop, data, batch);

		if (ns < quickest)
			quickest = ns;
	}
	return quickest;
}

/* The number of operations in a sample. Doubling also warms up caches and branch predictors. */
static uint64_t calibrate(bench_loop *loop, void *data)
{
	uint64_t batch = 1;
	double ns = time_undisturbed(loop, data, batch);

	while (ns < SAMPLE_NS / 2 && batch < BATCH_MAX) {
		batch *= 2;
		ns = time_undisturbed(loop, data, batch);
	}

	double wanted = (double)batch * SAMPLE_NS / ns;

	return wanted < 1 ? 1 : (uint64_t)wanted;
}

static double count_allocations(const struct subject *subject)
{
	/* The claim is about the steady state: a reused text may grow once. */
	subject->bench->run(subject->state.data, 1);
	count_alloc_start();
	subject->bench->run(subject->state.data, COUNTED_OPS);
	return (double)count_alloc_stop() / COUNTED_OPS;
}

double measure_mb_per_s(const struct measure_result *result)
{
	return (double)result->bytes_per_op / result->ns_median * 1e3;
}

static void measure_alone(const struct subject *subject, double *own, struct measure_result *result)
{
	for (size_t i = 0; i < result->n_samples; i++)
		own[i] = time_batch(subject->bench->run, subject->state.data, result->batch) /
			 (double)result->batch;
}

/* @samples has 3 * n_samples elements; the first third gets the subject's times. */
static void measure_against(const struct subject *subject, double *samples,
			    struct measure_result *result)
{
	const struct bench *bench = subject->bench;
	void *data = subject->state.data;
	uint64_t batch = result->batch, peer_batch = calibrate(bench->peer, data);
	size_t n = result->n_samples;
	double *own = samples, *peer = samples + n, *ratios = samples + 2 * n;

	for (size_t i = 0; i < n; i++) {
		/* The second one runs with the caches of the first: alternate. */
		bool own_first = i % 2 == 0;

		if (own_first)
			own[i] = time_batch(bench->run, data, batch) / (double)batch;
		peer[i] = time_batch(bench->peer, data, peer_batch) / (double)peer_batch;
		if (!own_first)
			own[i] = time_batch(bench->run, data, batch) / (double)batch;
		ratios[i] = own[i] / peer[i];
	}
	result->compared = true;
	result->against_ns_median = median_of(peer, n);
	result->ratio = median_of(ratios, n);
}

int measure(const struct bench *bench, size_t n_samples, struct measure_result *ret,
	    struct sbx_error *err)
{
	_cleanup_(subject_close) struct subject subject = { .bench = NULL };
	int r = subject_open(&subject, bench, err);

	if (r < 0)
		return r;

	_cleanup_free_ double *samples = calloc(n_samples * 3, sizeof(*samples));

	if (!samples)
		return sbx_error_what(err, -ENOMEM, "cannot keep %zu samples", n_samples);

	struct measure_result result = {
		.n_samples = n_samples,
		.bytes_per_op = subject.state.bytes_per_op,
		.counted = count_alloc_works(),
		.allocations_per_op = count_allocations(&subject),
		.batch = calibrate(bench->run, subject.state.data),
		.against = bench->against,
	};

	if (subject.state.peer_missing) {
		result.against = subject.state.peer_missing;
		measure_alone(&subject, samples, &result);
	} else {
		measure_against(&subject, samples, &result);
	}
	result.ns_median = median_of(samples, n_samples);
	result.ns_p99 = percentile_of(samples, n_samples, 99);
	*ret = result;
	return 0;
}

int measure_allocations(const struct bench *bench, double *ret_per_op, struct sbx_error *err)
{
	_cleanup_(subject_close) struct subject subject = { .bench = NULL };
	int r = subject_open(&subject, bench, err);

	if (r < 0)
		return r;
	if (!count_alloc_works())
		return sbx_error_what(err, -ENOTSUP, "cannot count allocations in this build");
	*ret_per_op = count_allocations(&subject);
	return 0;
}
