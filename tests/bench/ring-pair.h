/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Two processes that exchange messages, each pinned to a CPU of its own
 *
 * A contender is one way to exchange them: a function for each process. The near process takes the
 * times. It times blocks of a fixed number of operations, never a fixed time: an interruption by
 * the scheduler makes one block longer, and the median over the blocks ignores it.
 *
 * Both processes are children, so a crash, a deadlock or the CPU affinity of one of them does not
 * reach the tool.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct sbx_error;

#define PAIR_BLOCKS_MAX 4096
#define PAIR_LINE_SIZE 128
/* Memory that both processes see, for contenders that do without a channel. */
#define PAIR_SHARED_SIZE ((size_t)1024 * 1024)

enum pair_side { PAIR_NEAR, PAIR_FAR };

/* Times of blocks, in ns an operation. */
struct pair_times {
	uint32_t n;
	double ns[PAIR_BLOCKS_MAX];
};

struct contender;

/* What a function of a contender gets. */
struct pair_run {
	const struct contender *contender;
	int cpus[2];
	int socket; /* connected to the other process; the function may close it and set -EBADF */
	uint8_t *shared;	  /* PAIR_SHARED_SIZE bytes, zero at the start */
	uint64_t n_operations;	  /* of both sides, with those before the first block */
	struct pair_times *times; /* of the near process */
	uint32_t *n_ready;
};

/* 0, or negative errno with @err. */
typedef int pair_fn(struct pair_run *run, struct sbx_error *err);

struct contender {
	pair_fn *near;
	pair_fn *far;		  /* NULL: the near process is alone */
	size_t n_bytes;		  /* payload of a message */
	uint32_t block, n_blocks; /* operations in a block; blocks */
	uint32_t n_warm_up;	  /* blocks before them; 0: PAIR_WARM_UP_BLOCKS */
	int transport, mode;	  /* of <sbx/ring.h> */
	bool is_datagram;
	uint64_t spin_usec;
	const char *program; /* of functions that start one */
	bool far_is_killed;
	bool is_unpinned; /* the near process starts others, which choose their CPUs */
};

struct pair {
	int cpus[2]; /* the same one twice on a host with one CPU */
	struct pair_memory *memory;
};

#define PAIR_INIT                                                                                  \
	{                                                                                          \
		.memory = NULL                                                                     \
	}
/* Chooses the first two CPUs that the process may use. */
int pair_init(struct pair *ret, struct sbx_error *err);
void pair_deinit(struct pair *pair);
static inline bool pair_has_two_cpus(const struct pair *pair)
{
	return pair->cpus[PAIR_NEAR] != pair->cpus[PAIR_FAR];
}

/*
 * Runs both functions of @contender and returns the median of its blocks. A quick run has fewer
 * and shorter blocks. -ETIMEDOUT: they did not end within a minute.
 */
int pair_measure(struct pair *pair, const struct contender *contender, bool is_quick,
		 double *ret_ns, struct sbx_error *err);

/* Waits until the other process has called it, too. */
void pair_meet(struct pair_run *run);

/* Unmeasured blocks come first: page faults, cold caches and branch predictors. */
#define PAIR_WARM_UP_BLOCKS 2

static inline uint32_t pair_warm_up_of(const struct contender *contender)
{
	return contender->n_warm_up > 0 ? contender->n_warm_up : PAIR_WARM_UP_BLOCKS;
}

static inline uint64_t pair_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The clock of the near process. */
struct pair_clock {
	struct pair_times *times;
	uint64_t start;
	uint32_t block, left, n_warm_up;
};

void pair_clock_start(struct pair_clock *clock, struct pair_run *run);
/* The end of a block. */
void pair_clock_turn(struct pair_clock *clock);

/* After each operation. */
static inline void pair_clock_tick(struct pair_clock *clock)
{
	if (__builtin_expect(--clock->left == 0, 0))
		pair_clock_turn(clock);
}

/* Adds one time that was taken otherwise. */
void pair_add_time(struct pair_run *run, double ns);
