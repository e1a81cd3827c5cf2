/* SPDX-License-Identifier: MIT */
#pragma once

/* Percentiles of samples; both functions sort @values */

#include <stddef.h>

/* The smallest value that is not less than @percent percent of them; @n >= 1. */
double percentile_of(double *values, size_t n, unsigned percent);
/* If @n is even, the mean of the middle two. */
double median_of(double *values, size_t n);
