/* SPDX-License-Identifier: MIT */

/*
 * The terminal of sbx-ctl exec: what enters a sandbox never holds ours
 *
 * It gets one that is lent. What is typed is passed on where both our stdin and our stdout are
 * terminals, and while we are in the foreground; the terminal that is lent makes signals of Ctrl-C.
 * With a pipe behind us the pager at its end reads our terminal, so the command's input is empty.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "spawn/loop.h"
#include "spawn/signals.h"
#include "spawn/terminal.h"

struct desk {
	struct loop loop;
	struct signals signals;
	struct terminal terminal;
	struct source answer;
	struct source signal;
	bool is_answered;
	int ended_by; /* a signal that ends us */
};

static int answered(struct source *source, short events)
{
	struct desk *desk = source->userdata;

	desk->is_answered = true;
	return 0;
}

static int signalled(struct source *source, short events)
{
	struct desk *desk = source->userdata;
	int signal = signals_next(&desk->signals);

	if (signal_use(signal) == SIGNAL_STOPS) {
		terminal_release(&desk->terminal);
		signals_stop_ourselves(false);
	}
	if (signal == SIGWINCH)
		terminal_resize(&desk->terminal);
	else if (signal == SIGCONT || signal_use(signal) == SIGNAL_STOPS)
		terminal_seize(&desk->terminal);
	else if (signal_use(signal) == SIGNAL_FORWARDED)
		desk->ended_by = signal;
	return 0;
}

static int begin(struct desk *desk, int stdio[3])
{
	const bool is_typed = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	int r;

	/* Of the output alone. */
	if (!is_typed && isatty(STDIN_FILENO)) {
		stdio[STDIN_FILENO] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (stdio[STDIN_FILENO] < 0)
			return -errno;
	}
	r = terminal_lend(&desk->terminal, &desk->loop, NULL, stdio);
	for (int fd = 0; fd < 3; fd++)
		if (stdio[fd] < 0)
			stdio[fd] = fd;
	return r;
}

static int watch(struct desk *desk, int socket)
{
	int r = signals_begin(&desk->signals);

	desk->answer = (struct source){
		.fd = socket, .events = POLLIN, .ready = answered, .userdata = desk
	};
	desk->signal = (struct source){
		.fd = desk->signals.fd, .events = POLLIN, .ready = signalled, .userdata = desk
	};
	if (r == 0)
		r = loop_add(&desk->loop, &desk->answer);
	if (r == 0)
		r = loop_add(&desk->loop, &desk->signal);
	terminal_want_input(&desk->terminal);
	while (r == 0 && !desk->is_answered && desk->ended_by == 0) {
		r = loop_turn(&desk->loop, terminal_next(&desk->terminal));
		terminal_check(&desk->terminal);
	}
	return r;
}

static void drain(struct desk *desk)
{
	loop_remove(&desk->loop, &desk->answer);
	relay_pause(&desk->terminal.input, true);
	terminal_drain(&desk->terminal);
	while (!terminal_has_ended(&desk->terminal) && desk->ended_by == 0)
		if (loop_turn(&desk->loop, LOOP_NO_DEADLINE) < 0)
			break;
}

int terminal_wait(int socket, int (*send)(int socket, const int stdio[3], void *userdata),
		  void *userdata)
{
	struct desk desk = { .loop = LOOP_INIT,
			     .signals = SIGNALS_INIT,
			     .terminal = TERMINAL_INIT };
	int stdio[3] = { -EBADF, -EBADF, -EBADF };
	int r = begin(&desk, stdio);
	bool is_lent = r == 1;

	if (r >= 0)
		r = send(socket, stdio, userdata);
	if (stdio[STDIN_FILENO] > STDERR_FILENO && stdio[STDIN_FILENO] != desk.terminal.inner)
		close_fd(&stdio[STDIN_FILENO]);
	if (r == 0 && is_lent)
		r = watch(&desk, socket);
	if (is_lent)
		drain(&desk);
	terminal_deinit(&desk.terminal);
	loop_deinit(&desk.loop);
	signals_end(&desk.signals);
	if (desk.ended_by != 0)
		(void)raise(desk.ended_by);
	return r;
}
