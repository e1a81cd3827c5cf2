/* SPDX-License-Identifier: MIT */

/* Percentiles of samples (see percentile.h) */

#include "percentile.h"

#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double percentile_of(double *values, size_t n, unsigned percent)
{
	size_t rank = (n * percent + 99) / 100;

	qsort(values, n, sizeof(*values), compare_doubles);
	return values[rank ? rank - 1 : 0];
}

double median_of(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
