/* SPDX-License-Identifier: MIT */

/*
 * The method of measurement
 *
 * A hypervisor moves virtual CPUs between cores, and the cost of a cache line changes by a factor
 * of ten within seconds. So each repetition measures the ping-pong of a cache line, the subject,
 * the reference, and the ping-pong again. If both ping-pongs differ by more than 30 percent a CPU
 * moved, and the repetition is dropped. The others are grouped by what the ping-pong says about the
 * distance, and only ratios of the same repetition are compared.
 */

#include "ring-bench.h"

#include <errno.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "percentile.h"

#define MOVED 1.3
#define SMT_BELOW_NS 70
#define NEAR_BELOW_NS 220
/* Repetitions that are dropped are taken again, but not for ever. */
#define ATTEMPTS_A_REPETITION 4

static const struct contender ping = {
	.near = ring_ping_near,
	.far = ring_ping_far,
	.block = 100,
	.n_blocks = 60,
};

const char *ring_place_name(enum ring_place place)
{
	static const char *const names[RING_N_PLACES] = {
		[RING_PLACE_SMT] = "smt",
		[RING_PLACE_NEAR] = "near",
		[RING_PLACE_FAR] = "far",
		[RING_PLACE_ONE] = "one",
	};

	return names[place];
}

static enum ring_place place_of(double ping_ns)
{
	if (ping_ns < SMT_BELOW_NS)
		return RING_PLACE_SMT;
	return ping_ns < NEAR_BELOW_NS ? RING_PLACE_NEAR : RING_PLACE_FAR;
}

/* Clean samples of one place; each array has as many elements as there are repetitions. */
struct samples {
	size_t n;
	double *values, *references, *ratios;
};

/* ---- one repetition ---- */

static double in_unit(const struct ring_bench *bench, const struct contender *contender, double ns)
{
	double bytes = (double)contender->n_bytes;

	switch (bench->unit) {
	case RING_US:
		return ns / 1e3;
	case RING_MB_PER_S:
		return bytes / ns * 1e3;
	case RING_GB_PER_S:
		return bytes / ns;
	case RING_NS:
	default:
		return ns;
	}
}

static int measure_both(struct pair *pair, const struct ring_bench *bench, bool reference_first,
			bool quick, double *ret_subject, double *ret_reference,
			struct sbx_error *err)
{
	bool has_reference = bench->reference.near != NULL;
	int r = 0;

	if (has_reference && reference_first)
		r = pair_measure(pair, &bench->reference, quick, ret_reference, err);
	if (r == 0)
		r = pair_measure(pair, &bench->subject, quick, ret_subject, err);
	if (r == 0 && has_reference && !reference_first)
		r = pair_measure(pair, &bench->reference, quick, ret_reference, err);
	return r;
}

static int measure_place(struct pair *pair, bool quick, enum ring_place *ret, double *ret_ns,
			 struct sbx_error *err)
{
	int r;

	*ret = RING_PLACE_ONE;
	*ret_ns = 1;
	if (!pair_has_two_cpus(pair))
		return 0;
	r = pair_measure(pair, &ping, quick, ret_ns, err);
	if (r == 0)
		*ret = place_of(*ret_ns);
	return r;
}

static void add_sample(const struct ring_bench *bench, struct samples *samples, double subject,
		       double reference)
{
	size_t i = samples->n++;

	samples->values[i] = in_unit(bench, &bench->subject, subject);
	if (!bench->reference.near)
		return;
	samples->references[i] = in_unit(bench, &bench->reference, reference);
	samples->ratios[i] = samples->values[i] / samples->references[i];
}

/* Returns 1 if the repetition was clean, 0 if a CPU moved. */
static int repeat_once(struct pair *pair, const struct ring_bench *bench, bool reference_first,
		       bool quick, struct samples samples[RING_N_PLACES], struct sbx_error *err)
{
	double before, after, subject = 0, reference = 0;
	enum ring_place place, place_after;
	int r = measure_place(pair, quick, &place, &before, err);

	if (r == 0)
		r = measure_both(pair, bench, reference_first, quick, &subject, &reference, err);
	if (r == 0)
		r = measure_place(pair, quick, &place_after, &after, err);
	if (r < 0)
		return r;
	if (place != place_after || before > MOVED * after || after > MOVED * before)
		return 0;
	add_sample(bench, &samples[place], subject, reference);
	return 1;
}

/* ---- all repetitions ---- */

static struct ring_result result_of(const struct ring_bench *bench, enum ring_place place,
				    const struct samples *samples, size_t n_dropped)
{
	struct ring_result result = {
		.place = place,
		.n_samples = samples->n,
		.n_dropped = n_dropped,
	};

	if (samples->n == 0)
		return result;
	result.value = median_of(samples->values, samples->n);
	if (!bench->reference.near)
		return result;
	result.reference = median_of(samples->references, samples->n);
	result.ratio_p50 = median_of(samples->ratios, samples->n);
	result.ratio_p10 = percentile_of(samples->ratios, samples->n, 10);
	result.ratio_p90 = percentile_of(samples->ratios, samples->n, 90);
	return result;
}

int ring_measure(struct pair *pair, const struct ring_bench *bench, size_t n_repetitions,
		 bool quick, struct ring_result ret[RING_N_PLACES], size_t *ret_n,
		 struct sbx_error *err)
{
	_cleanup_free_ double *memory = calloc(RING_N_PLACES * 3 * n_repetitions, sizeof(*memory));
	struct samples samples[RING_N_PLACES];
	size_t n_clean = 0, n_attempts = 0, n = 0;

	if (!memory)
		return sbx_error_what(err, -ENOMEM, "cannot keep %zu samples", n_repetitions);
	for (size_t i = 0; i < RING_N_PLACES; i++) {
		double *own = memory + i * 3 * n_repetitions;

		samples[i] =
			(struct samples){ 0, own, own + n_repetitions, own + 2 * n_repetitions };
	}
	for (; n_clean < n_repetitions && n_attempts < n_repetitions * ATTEMPTS_A_REPETITION;
	     n_attempts++) {
		/* The second one runs on a warmer CPU: alternate. */
		int r = repeat_once(pair, bench, n_attempts % 2, quick, samples, err);

		if (r < 0)
			return r;
		n_clean += (size_t)r;
	}
	for (int place = 0; place < RING_N_PLACES; place++)
		if (samples[place].n > 0)
			ret[n++] = result_of(bench, place, &samples[place], n_attempts - n_clean);
	if (n == 0)
		ret[n++] = result_of(bench, RING_PLACE_FAR, &samples[RING_PLACE_FAR], n_attempts);
	*ret_n = n;
	return 0;
}
