/* SPDX-License-Identifier: MIT */

/*
 * Signals that come to the supervisor
 *
 * They reach the command through PID 1, which knows its process group; it is in a session of its
 * own, so that the terminal does not send them a second time.
 */

#include "base/fd.h"
#include "spawn/spawn-internal.h"

static void pass_on(const struct spawn *spawn, int signal)
{
	(void)pidfd_kill(spawn->kernel.pidfd, signal);
}

static void forward(struct spawn *spawn, int signal)
{
	bool has_terminal = spawn->terminal.master >= 0;

	/* The terminal inside tells those whom it concerns. */
	if (signal == SIGWINCH && has_terminal) {
		terminal_resize(&spawn->terminal);
		return;
	}
	/* We may have come to the foreground. */
	if (signal == SIGCONT && has_terminal)
		terminal_seize(&spawn->terminal);
	pass_on(spawn, signal);
	if (signal == SIGTERM)
		limits_await_end(spawn);
}

int outside_ready(struct source *source, short events)
{
	struct spawn *spawn = source->userdata;
	int signal = signals_next(&spawn->signals);

	if (spawn->is_over)
		spawn->gives_up = spawn->gives_up || signal == SIGINT || signal == SIGTERM ||
				  signal == SIGHUP || signal == SIGQUIT;
	else if (signal_use(signal) == SIGNAL_STOPS)
		stop_with_job(spawn, false);
	else if (signal_use(signal) == SIGNAL_FORWARDED)
		forward(spawn, signal);
	else if (signal_use(signal) == SIGNAL_PAUSED)
		limits_check_pause(spawn);
	return 0;
}

void outside_check(struct spawn *spawn)
{
	if (!spawn->terminal.has_hung_up)
		return;
	/* The kernel tells only who leads the session, and inside that is PID 1. */
	pass_on(spawn, SIGHUP);
	pass_on(spawn, SIGCONT);
	spawn->terminal.has_hung_up = false;
}
