/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The outer end of a terminal that the sandbox has for itself (--pty), and our own terminal beside
 * it
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "spawn/loop.h"
#include "spawn/relay.h"

struct terminal {
	struct relay input;  /* input, to the sandbox */
	struct relay output; /* its output, to stdout */
	int master;
	int inner;  /* the other end, so that the first never ends before we say so */
	int screen; /* ours once more, for output */
	int ours;   /* one of our first three fds that is our terminal, or -EBADF */
	/* Of the relay: what it does with what is there to be read. */
	int (*read_input)(struct source *source, short events);
	struct termios modes; /* of our terminal, as we found them */
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
 * Takes @master, also on failure: it must be a terminal's. @is_terminal: our stdin is one, and from
 * now on raw while we are in its foreground. @left: limit of the output, or NULL. @terminal is not
 * moved any more.
 */
int terminal_begin(struct terminal *terminal, struct loop *loop, int master, bool is_terminal,
		   uint64_t *left);
/*
 * Lends a terminal where one of our first three fds is ours and @stdio has nothing for it: 1 with
 * the command's end in @stdio, 0 where none is. It becomes PID 1's controlling terminal, and the
 * command begins in its background. -ENOTUNIQ: they are different terminals.
 */
int terminal_lend(struct terminal *terminal, struct loop *loop, uint64_t *left, int stdio[3]);
/* The command reads: it gets what is typed from now on, while we are in the foreground. */
void terminal_want_input(struct terminal *terminal);
/* When terminal_check() is to look whether we have come to the foreground. */
uint64_t terminal_next(const struct terminal *terminal);
void terminal_check(struct terminal *terminal);
/* The size of our window has changed. */
void terminal_resize(const struct terminal *terminal);
/* Our terminal as it was; nothing is read from it any more. */
void terminal_release(struct terminal *terminal);
/* Raw again, where we are in the foreground. */
void terminal_seize(struct terminal *terminal);
/* All processes inside have ended: writes out what the terminal still has. */
void terminal_drain(struct terminal *terminal);
bool terminal_has_ended(const struct terminal *terminal);
void terminal_deinit(struct terminal *terminal);
