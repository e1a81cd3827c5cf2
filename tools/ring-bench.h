/* SPDX-License-Identifier: MIT */
#pragma once

/* sbx-ring bench, for the table of verbs */

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"

/* The first member of the struct of sbx-ring's values: the options' offsets begin there. */
struct ring_bench_values {
	const char *filter;
	uint64_t n_repetitions; /* 0: the default */
	bool list, quick;
};

extern const struct option_spec ring_bench_options[];
verb_fn ring_verb_bench;
