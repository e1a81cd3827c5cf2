/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Signals: what the supervisor receives, and what it forwards to PID 1
 *
 * The supervisor blocks the signals that it forwards and reads them from a signalfd; PID 1 blocks
 * all and waits. A signal that the caller ignores is neither blocked nor forwarded: it stays
 * ignored in the command.
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* What the supervisor does with a signal. */
enum signal_use {
	SIGNAL_UNUSED,
	SIGNAL_FORWARDED, /* to the command's process group */
	SIGNAL_STOPS,	  /* stops the sandbox and the supervisor */
	SIGNAL_DROPPED,	  /* only for the supervisor: SIGPIPE, signals of the terminal */
	SIGNAL_PAUSED,	  /* from sbx-ctl: the sandbox was paused or resumed */
};
enum signal_use signal_use(int signal);

/* To PID 1, besides forwarded signals: for all processes inside. Not constants: libc reserves the
 * first realtime signals. */
#define SIGNAL_END_ALL (SIGRTMIN + 0)  /* sends TERM, and CONT for stopped processes */
#define SIGNAL_STOP_ALL (SIGRTMIN + 1) /* sends STOP */
#define SIGNAL_CONT_ALL (SIGRTMIN + 2) /* sends CONT */

struct signals {
	sigset_t before; /* signal mask of the caller */
	int fd;
	bool is_begun;
};
#define SIGNALS_INIT                                                                               \
	{                                                                                          \
		.fd = -EBADF                                                                       \
	}

int signals_begin(struct signals *signals);
/* The next pending signal, or 0. */
int signals_next(const struct signals *signals);
/* Restores the caller's mask: unread signals take effect now. */
void signals_end(struct signals *signals);
#define _cleanup_signals_ _cleanup_(signals_end)

/* Stops this process, or with @whole_job its process group as the terminal would, and returns when
 * it is continued; at once if SIGTSTP is ignored or the process group is orphaned. */
void signals_stop_ourselves(bool whole_job);

/* In PID 1: blocks all signals; signals_wait() reads them. */
int signals_block_all(void);
/* In the command's process: the mask that a program expects. */
void signals_unblock_all(void);
/* The next signal, with information about its sender; 0 if @may_wait is false and none is pending.
 */
int signals_wait(bool may_wait, siginfo_t *ret);
/* The same, but waits at most @usec. */
int signals_wait_for(uint64_t usec, siginfo_t *ret);
