/* SPDX-License-Identifier: MIT */
#pragma once

/* The master of the sandbox's own terminal (--pty), and the user's terminal */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "spawn/loop.h"
#include "spawn/relay.h"

struct terminal {
	struct relay input;  /* input, to the sandbox */
	struct relay output; /* its output, to stdout */
	int master;
	int inner;  /* the slave, open so that the master gets no EIO before terminal_deinit() */
	int screen; /* the user's terminal, reopened for output */
	int ours;   /* one of fds 0 to 2 that is the user's terminal, or -EBADF */
	/* The relay's own ready() function, which reads the input. */
	int (*read_input)(struct source *source, short events);
	struct termios modes; /* of the user's terminal, before any change */
	bool has_modes;
	bool has_input;	  /* the command's stdin is its terminal */
	bool wants_input; /* it has asked for input */
	bool is_seized;	  /* it gets the input */
	bool is_raw;
	bool has_hung_up; /* the caller's terminal has hung up */
};

#define TERMINAL_INIT                                                                              \
	{                                                                                          \
		.input = RELAY_INIT, .output = RELAY_INIT, .master = -EBADF, .inner = -EBADF,      \
		.screen = -EBADF, .ours = -EBADF                                                   \
	}

/*
 * Takes @master, even on failure; it must be that of a pseudo-terminal. @is_terminal: stdin is a
 * terminal, which is set to raw mode while the supervisor is in its foreground. @left: limit of the
 * output, or NULL. Do not move @terminal afterwards.
 */
int terminal_begin(struct terminal *terminal, struct loop *loop, int master, bool is_terminal,
		   uint64_t *left);
/*
 * Creates a pseudo-terminal if one of fds 0 to 2 is a terminal and @stdio does not replace it: 1
 * with the command's end in @stdio, 0 if there is none. It becomes PID 1's controlling terminal,
 * and the command starts in its background. -ENOTUNIQ: the fds are different terminals.
 */
int terminal_lend(struct terminal *terminal, struct loop *loop, uint64_t *left, int stdio[3]);
/* Makes @uid the owner of a lent terminal, which no other process has open, so that the command can
 * open it again as /dev/stderr. Without CAP_CHOWN it only cannot do that: 0. */
int terminal_give(const struct terminal *terminal, uid_t uid);
/* The command reads: it gets the input from now on, while the supervisor is in the foreground. */
void terminal_want_input(struct terminal *terminal);
/* When terminal_check() must check whether the supervisor is in the foreground. */
uint64_t terminal_next(const struct terminal *terminal);
void terminal_check(struct terminal *terminal);
/* The window size of the user's terminal has changed. */
void terminal_resize(const struct terminal *terminal);
/* Restores the user's terminal and stops reading from it. */
void terminal_release(struct terminal *terminal);
/* Raw mode again, if the supervisor is in the foreground. */
void terminal_seize(struct terminal *terminal);
/* All processes inside have ended: writes out what the terminal still has. */
void terminal_drain(struct terminal *terminal);
bool terminal_has_ended(const struct terminal *terminal);
void terminal_deinit(struct terminal *terminal);
