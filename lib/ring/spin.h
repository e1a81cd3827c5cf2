/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How long a side looks for the other one before it sleeps
 *
 * A sleep costs both sides: a system call to wake, and tens of microseconds until the side runs.
 * Looking for longer than that takes, the other side's answer is seen without a sleep, and two
 * sides that are both awake then answer within a microsecond. If they only ever met asleep, each
 * answer would come too late for the other one's spinning; so from time to time a wait spins in
 * full. The pause between such waits doubles while they are in vain, as they are if both sides
 * share a processor.
 */

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define SPIN_WAITS_MAX 256

struct spin {
	uint64_t max_usec; /* 0: never spin */
	uint64_t usec;	   /* of the next wait */
	unsigned n_waits;  /* without spinning, since the last full one */
	unsigned n_between;
};

/* The processors are the host's: each side may be pinned to one. */
static inline struct spin spin_new(uint64_t max_usec)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		max_usec = 0;
	return (struct spin){ .max_usec = max_usec, .usec = max_usec, .n_between = 1 };
}

/* For how long should this wait spin? */
static inline uint64_t spin_begin(struct spin *spin)
{
	if (spin->usec > 0 || ++spin->n_waits < spin->n_between)
		return spin->usec;
	spin->n_waits = 0;
	if (spin->n_between < SPIN_WAITS_MAX)
		spin->n_between *= 2;
	spin->usec = spin->max_usec;
	return spin->usec;
}

static inline void spin_end(struct spin *spin, bool was_in_time)
{
	spin->usec = was_in_time ? spin->max_usec : spin->usec / 4;
	if (was_in_time)
		spin->n_between = 1;
}
