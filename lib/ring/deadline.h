/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Deadlines: microseconds of CLOCK_MONOTONIC, or SBX_RING_FOREVER
 */

#include <errno.h>
#include <poll.h>
#include <stdint.h>

#include <sbx/ring.h>

#include "base/moment.h"

#define USEC_PER_MSEC 1000

static inline uint64_t deadline_now(void)
{
	return moment_now(CLOCK_MONOTONIC);
}

static inline uint64_t deadline_after(uint64_t timeout_usec)
{
	uint64_t now = deadline_now();

	return timeout_usec >= SBX_RING_FOREVER - now ? SBX_RING_FOREVER : now + timeout_usec;
}

/* Microseconds until the deadline; 0: it has passed. */
static inline uint64_t deadline_left(uint64_t deadline)
{
	uint64_t now = deadline == SBX_RING_FOREVER ? 0 : deadline_now();

	return deadline > now ? deadline - now : 0;
}

/* @deadline, or the one after @usec if that is sooner. */
static inline uint64_t deadline_sooner(uint64_t deadline, uint64_t usec)
{
	uint64_t other = deadline_after(usec);

	return other < deadline ? other : deadline;
}

/* For poll(): rounded up, so that it does not return before the deadline; -1: forever. */
static inline int deadline_msec(uint64_t deadline)
{
	uint64_t left = deadline_left(deadline);

	if (deadline == SBX_RING_FOREVER)
		return -1;
	return left >= (uint64_t)INT32_MAX * USEC_PER_MSEC
		       ? INT32_MAX
		       : (int)((left + USEC_PER_MSEC - 1) / USEC_PER_MSEC);
}

/* Sleeps until @fd is readable or at its end: 0, -ETIMEDOUT, or another negative errno. */
static inline int deadline_await(int fd, uint64_t deadline)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	for (;;) {
		int n = poll(&polled, 1, deadline_msec(deadline));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && deadline_left(deadline) == 0)
			return -ETIMEDOUT;
	}
}
