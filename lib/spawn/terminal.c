/* SPDX-License-Identifier: MIT */

/*
 * Two terminals: the caller's, made raw, and one inside, whose line discipline interprets the input
 *
 * Ctrl-C and Ctrl-Z pass through the caller's terminal as bytes, and the line discipline inside
 * makes signals of them for its foreground job. No process inside has the caller's terminal open:
 * neither its input, nor its modes, nor its inode. Its modes are restored before the supervisor
 * stops and on every way out.
 *
 * Without --pty a terminal among the command's first three fds is replaced by a lent one: a new
 * pseudoterminal of the host. The command begins in its background. So the caller's terminal stays
 * as it is, and input stays there for other programs (a pager after a pipe), until a read or a
 * change of modes stops the command with SIGTTIN or SIGTTOU. PID 1 reports that, and only then the
 * supervisor reads input.
 *
 * It reads only in the foreground. In the background the kernel prevents it: with SIGTTIN blocked
 * read() returns EIO. No event reports that a running job is in the foreground again ('bg', then
 * 'fg'), so the supervisor polls for that while the command waits for input.
 */

#include "spawn/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LOOK_AGAIN_USEC 200000

/* Ctrl-D: end of input for the reader of a terminal. */
static const char end_of_input[] = { 4 };

void terminal_resize(const struct terminal *terminal)
{
	struct winsize size;

	if (terminal->master >= 0 && terminal->ours >= 0 &&
	    ioctl(terminal->ours, TIOCGWINSZ, &size) == 0)
		(void)ioctl(terminal->master, TIOCSWINSZ, &size);
}

/* Without a terminal of the caller no other process reads this input. */
static bool is_in_foreground(const struct terminal *terminal)
{
	return !terminal->has_modes || tcgetpgrp(terminal->ours) == getpgrp();
}

/* Inside, LF becomes CR LF. In its own modes the caller's terminal would add another CR. */
static void join_line_ends(struct terminal *terminal)
{
	terminal->output.drops_cr = terminal->has_modes && !terminal->is_raw &&
				    (terminal->modes.c_oflag & OPOST) &&
				    (terminal->modes.c_oflag & ONLCR);
}

void terminal_release(struct terminal *terminal)
{
	if (terminal->is_raw)
		(void)tcsetattr(terminal->ours, TCSANOW, &terminal->modes);
	terminal->is_raw = false;
	terminal->is_seized = false;
	join_line_ends(terminal);
	relay_pause(&terminal->input, true);
}

void terminal_seize(struct terminal *terminal)
{
	struct termios raw = terminal->modes;

	/* A background job must not change the terminal; SIGCONT tells it when it is in the
	 * foreground. */
	if (terminal->master < 0 || !terminal->wants_input || !is_in_foreground(terminal))
		return;
	cfmakeraw(&raw);
	if (terminal->has_modes && tcsetattr(terminal->ours, TCSANOW, &raw) == 0)
		terminal->is_raw = true;
	terminal->is_seized = true;
	join_line_ends(terminal);
	relay_pause(&terminal->input, false);
	terminal_resize(terminal);
}

void terminal_want_input(struct terminal *terminal)
{
	terminal->wants_input = terminal->has_input;
	terminal_seize(terminal);
}

uint64_t terminal_next(const struct terminal *terminal)
{
	return terminal->wants_input && !terminal->is_seized && terminal->has_modes
		       ? loop_after(loop_now(), LOOK_AGAIN_USEC)
		       : LOOP_NO_DEADLINE;
}

void terminal_check(struct terminal *terminal)
{
	if (terminal->wants_input && !terminal->is_seized)
		terminal_seize(terminal);
}

/* EIO means the background, or that the terminal has hung up. */
static bool is_in_background(const struct terminal *terminal)
{
	pid_t foreground = terminal->has_modes ? tcgetpgrp(terminal->ours) : -1;

	return foreground >= 0 && foreground != getpgrp();
}

static int input_ready(struct source *source, short events)
{
	struct relay *relay = source->userdata;
	struct terminal *terminal = relay->userdata;

	/* Bytes that were read are still written. */
	if (relay->end == relay->begin && is_in_background(terminal)) {
		terminal_release(terminal);
		return 0;
	}
	return terminal->read_input(source, events);
}

static void input_changed(struct relay *relay, void *userdata)
{
	struct terminal *terminal = userdata;

	if (!relay->has_failed && is_in_background(terminal)) {
		relay->has_ended = false;
		terminal_release(terminal);
		return;
	}
	/* A raw terminal ends only by a hangup. For the end of a pipe the relay writes Ctrl-D, as a
	 * user would. */
	if (terminal->has_modes ||
	    (!relay->has_failed && write(terminal->master, end_of_input, sizeof(end_of_input)) < 0))
		terminal->has_hung_up = true;
}

static int begin_relays(struct terminal *terminal, struct loop *loop, int to, uint64_t *left)
{
	int r;

	join_line_ends(terminal);
	terminal->screen = relay_reopen(to);
	terminal->output.left = left;
	terminal->output.to_may_block = terminal->screen < 0;
	r = relay_begin(&terminal->output, loop, terminal->master,
			terminal->screen < 0 ? to : terminal->screen);
	if (r < 0 || !terminal->has_input)
		return r;
	terminal->input.changed = input_changed;
	terminal->input.userdata = terminal;
	terminal->input.is_paused = true;
	r = relay_begin(&terminal->input, loop, STDIN_FILENO, terminal->master);
	terminal->read_input = terminal->input.source.ready;
	terminal->input.source.ready = input_ready;
	return r;
}

static int take_master(struct terminal *terminal, int master)
{
	int flags = fcntl(master, F_GETFL);

	terminal->master = master;
	if (flags < 0 || fcntl(master, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	/* Fails if the fd is not the outer end of a pseudoterminal. */
	terminal->inner = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return terminal->inner < 0 ? -errno : 0;
}

static void take_modes(struct terminal *terminal)
{
	terminal->has_modes =
		terminal->ours >= 0 && tcgetattr(terminal->ours, &terminal->modes) == 0;
	/* The inner terminal gets the same keys (erase, interrupt) and UTF-8 mode. */
	if (terminal->has_modes)
		(void)tcsetattr(terminal->inner, TCSANOW, &terminal->modes);
}

int terminal_begin(struct terminal *terminal, struct loop *loop, int master, bool is_terminal,
		   uint64_t *left)
{
	int r = take_master(terminal, master);

	if (r < 0)
		return r;
	terminal->ours = is_terminal ? STDIN_FILENO : -EBADF;
	terminal->has_input = true;
	take_modes(terminal);
	r = begin_relays(terminal, loop, STDOUT_FILENO, left);
	if (r == 0)
		terminal_want_input(terminal);
	return r;
}

/* /dev/tty and the terminal itself have different device numbers. */
static bool is_terminal(int fd, unsigned *ret)
{
	return isatty(fd) && ioctl(fd, TIOCGDEV, ret) == 0;
}

static int find_ours(const int stdio[3], bool lent[3])
{
	static const int by_use[] = { STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO };
	unsigned first = 0, other = 0;
	int ours = -ENOENT;

	for (size_t i = 0; i < N_ELEMENTS(by_use); i++) {
		int fd = by_use[i];

		lent[fd] = stdio[fd] < 0 && is_terminal(fd, &other);
		if (!lent[fd])
			continue;
		if (ours >= 0 && other != first)
			return -ENOTUNIQ;
		first = other;
		ours = ours < 0 ? fd : ours;
	}
	return ours;
}

static int open_master(void)
{
	_cleanup_close_ int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return -errno;
	return take_fd(&master);
}

int terminal_lend(struct terminal *terminal, struct loop *loop, uint64_t *left, int stdio[3])
{
	bool lent[3];
	int ours = find_ours(stdio, lent), master, r;

	if (ours < 0)
		return ours == -ENOENT ? 0 : ours;
	master = open_master();
	r = master < 0 ? master : take_master(terminal, master);
	if (r < 0)
		return r;
	terminal->ours = ours;
	terminal->has_input = lent[STDIN_FILENO];
	take_modes(terminal);
	terminal_resize(terminal);
	for (int fd = 0; fd < 3; fd++)
		if (lent[fd])
			stdio[fd] = terminal->inner;
	r = begin_relays(terminal, loop, ours, left);
	return r < 0 ? r : 1;
}

int terminal_give(const struct terminal *terminal, uid_t uid)
{
	if (uid == geteuid() || fchown(terminal->inner, uid, (gid_t)-1) == 0)
		return 0;
	return errno == EPERM || errno == EINVAL ? 0 : -errno;
}

void terminal_drain(struct terminal *terminal)
{
	/* Without a lent terminal nothing is read. */
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
