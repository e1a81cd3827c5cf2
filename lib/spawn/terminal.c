/* SPDX-License-Identifier: MIT */

/*
 * Two terminals: ours, made raw, and one inside, where what is typed gets its meaning
 *
 * Ctrl-C and Ctrl-Z pass through ours as bytes, and the line discipline inside makes signals of
 * them, for the job that is in the foreground there. Nothing inside ever holds our terminal. Our
 * modes are put back before we stop and on every way out.
 */

#include "spawn/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Ctrl-D: what the reader of a terminal takes for the end. */
static const char end_of_input[] = { 4 };

void terminal_resize(const struct terminal *terminal)
{
	struct winsize size;

	if (terminal->master >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
		(void)ioctl(terminal->master, TIOCSWINSZ, &size);
}

/* Where there is no terminal of ours, nobody else can use what we read. */
static bool is_in_foreground(const struct terminal *terminal)
{
	return !terminal->has_modes || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void terminal_release(struct terminal *terminal)
{
	if (terminal->is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal->modes);
	terminal->is_raw = false;
	relay_pause(&terminal->input, true);
}

void terminal_seize(struct terminal *terminal)
{
	struct termios raw = terminal->modes;

	/* A job in the background must leave it alone; it is told by CONT when that changes. */
	if (terminal->master < 0 || !is_in_foreground(terminal))
		return;
	cfmakeraw(&raw);
	if (terminal->has_modes && tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0)
		terminal->is_raw = true;
	relay_pause(&terminal->input, false);
	terminal_resize(terminal);
}

static void input_changed(struct relay *relay, void *userdata)
{
	struct terminal *terminal = userdata;

	/* A terminal that is raw has no end but this; a pipe's is told as a user would. */
	if (terminal->has_modes ||
	    (!relay->has_failed && write(terminal->master, end_of_input, sizeof(end_of_input)) < 0))
		terminal->has_hung_up = true;
}

static int begin_relays(struct terminal *terminal, struct loop *loop, uint64_t *left)
{
	int r;

	terminal->screen = relay_reopen(STDOUT_FILENO);
	terminal->output.left = left;
	terminal->output.to_may_block = terminal->screen < 0;
	r = relay_begin(&terminal->output, loop, terminal->master,
			terminal->screen < 0 ? STDOUT_FILENO : terminal->screen);
	if (r < 0)
		return r;
	terminal->input.changed = input_changed;
	terminal->input.userdata = terminal;
	terminal->input.is_paused = true;
	return relay_begin(&terminal->input, loop, STDIN_FILENO, terminal->master);
}

static int take_master(struct terminal *terminal, int master)
{
	int flags = fcntl(master, F_GETFL);

	terminal->master = master;
	if (flags < 0 || fcntl(master, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	/* Fails for whatever is not the outer end of a terminal. */
	terminal->inner = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return terminal->inner < 0 ? -errno : 0;
}

int terminal_begin(struct terminal *terminal, struct loop *loop, int master, bool is_terminal,
		   uint64_t *left)
{
	int r = take_master(terminal, master);

	if (r < 0)
		return r;
	terminal->has_modes = is_terminal && tcgetattr(STDIN_FILENO, &terminal->modes) == 0;
	/* The same keys inside: erase, interrupt, whether it is UTF-8. */
	if (terminal->has_modes)
		(void)tcsetattr(terminal->inner, TCSANOW, &terminal->modes);
	r = begin_relays(terminal, loop, left);
	if (r == 0)
		terminal_seize(terminal);
	return r;
}

void terminal_drain(struct terminal *terminal)
{
	/* Where nothing was begun there is nothing to read. */
	if (terminal->output.bytes)
		relay_drain(&terminal->output);
}

bool terminal_has_ended(const struct terminal *terminal)
{
	return !terminal->output.bytes || terminal->output.has_ended;
}

void terminal_deinit(struct terminal *terminal)
{
	terminal_release(terminal);
	relay_deinit(&terminal->input);
	relay_deinit(&terminal->output);
	close_fd(&terminal->master);
	close_fd(&terminal->inner);
	close_fd(&terminal->screen);
	*terminal = (struct terminal)TERMINAL_INIT;
}
