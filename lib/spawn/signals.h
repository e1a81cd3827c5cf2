/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Signals: what arrives at the supervisor, and what it passes on to PID 1
 *
 * The supervisor blocks what it passes on and reads it from an fd; PID 1 blocks everything and
 * waits. What our caller ignores is neither blocked nor passed on: it stays ignored in the command.
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* What the supervisor does with a signal, told by one table. */
enum signal_use {
	SIGNAL_UNUSED,
	SIGNAL_FORWARDED, /* to the command's process group */
	SIGNAL_STOPS,	  /* stops the sandbox, and us */
	SIGNAL_DROPPED,	  /* ours alone: a pipe that we write to, the terminal */
	SIGNAL_PAUSED,	  /* from sbx-ctl: it has paused or resumed the sandbox */
};
enum signal_use signal_use(int signal);

/* For PID 1, beside the forwarded ones: to everything inside. Not constants: the C library keeps
 * the first realtime signals for itself. */
#define SIGNAL_END_ALL (SIGRTMIN + 0)  /* TERM, and CONT for what has stopped */
#define SIGNAL_STOP_ALL (SIGRTMIN + 1) /* STOP */
#define SIGNAL_CONT_ALL (SIGRTMIN + 2) /* CONT */

struct signals {
	sigset_t before; /* our caller's mask */
	int fd;
	bool is_begun;
};
#define SIGNALS_INIT                                                                               \
	{                                                                                          \
		.fd = -EBADF                                                                       \
	}

int signals_begin(struct signals *signals);
/* The next one that has come, or 0. */
int signals_next(const struct signals *signals);
/* Puts our caller's mask back: what has come and was not read acts now. */
void signals_end(struct signals *signals);
#define _cleanup_signals_ _cleanup_(signals_end)

/* Stops us, or with @whole_job our process group as the terminal would, and returns when somebody
 * continues us; at once where we ignore TSTP or nobody would be there to continue us. */
void signals_stop_ourselves(bool whole_job);

/* In PID 1: nothing is delivered any more, everything waits for signals_wait(). */
int signals_block_all(void);
/* In the command's process: as a program expects them. */
void signals_unblock_all(void);
/* The next signal, with what is known about its sender; 0 where @may_wait is false and there is
 * none. */
int signals_wait(bool may_wait, siginfo_t *ret);
/* The same, after @usec at the latest. */
int signals_wait_for(uint64_t usec, siginfo_t *ret);
