/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A bound on messages that a stranger can cause: ten a minute, and a count of the others
 */

#include <stdbool.h>
#include <stdint.h>

#define RATE_USEC UINT64_C(60000000)
#define RATE_MESSAGES 10

struct rate {
	uint64_t since_usec; /* the minute's begin; 0: none has begun */
	unsigned n;
	uint64_t n_left_out;
};

/* May one more be written? Then *@ret_left_out is how many were not since the last one. @now_usec
 * is one of CLOCK_MONOTONIC and never 0. */
bool rate_allows(struct rate *rate, uint64_t now_usec, uint64_t *ret_left_out);

struct log;
/* A warning, if the rate allows it. */
void rate_warn(struct rate *rate, const struct log *log, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));
