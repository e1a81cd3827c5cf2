/* SPDX-License-Identifier: MIT */

/*
 * PID 1: builds the sandbox around itself, confines itself, starts the command, and then reaps,
 * forwards signals and reports
 *
 * Nothing untrusted runs before the command does, and from then on PID 1 has no fd but its socket,
 * no capability, a filter with a dozen system calls, and memory that nobody may read. It never
 * reads what the command writes. When it goes, the kernel kills all the others; and it goes when
 * the supervisor does. The kernel forgets that wish whenever ids or capabilities change, so it is
 * made again after each stage.
 */

#include "spawn/init.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "spawn/child.h"
#include "spawn/command.h"
#include "spawn/join.h"
#include "spawn/message.h"
#include "spawn/reap.h"
#include "spawn/signals.h"

static noreturn void fail(const struct init *init, enum doing doing,
			  const struct kernel_failure *failure)
{
	const struct command command = {
		.socket = init->socket,
		.doing = doing,
		.failure = *failure,
	};

	command_report(&command);
	child_fail();
}

static void check(const struct init *init, enum doing doing, int r)
{
	const struct kernel_failure failure = { .code = r };

	if (r < 0)
		fail(init, doing, &failure);
}

/* Again after each stage. */
static int die_with_supervisor(const struct init *init)
{
	return child_die_with_supervisor(init->socket, reap_death_signal(init->namespaces));
}

static int leave_session(const struct init *init)
{
	int r = signals_block_all();

	(void)close(init->supervisor_socket);
	if (r < 0)
		return r;
	/* What is typed at our terminal goes to the supervisor alone. */
	if (setsid() < 0)
		return -errno;
	if (init->terminal >= 0 && ioctl(init->terminal, TIOCSCTTY, 0) < 0)
		return -errno;
	return die_with_supervisor(init);
}

/* Through the old /proc; nobody could open them any more once we are not dumpable. */
static int open_namespaces(const struct init *init, struct place *place, int *ret_mounts)
{
	place_list(place, init->hands_namespaces ? init->namespaces : 0);
	if (init->hands_tree) {
		*ret_mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
		if (*ret_mounts < 0)
			return -errno;
	}
	return place_open(place);
}

static int await_place(const struct init *init)
{
	struct message message;
	size_t n_fds = 0;
	int fds[MESSAGE_FDS_MAX];
	int r = message_receive(init->socket, FROM_SUPERVISOR, &message, fds, &n_fds);

	if (r < 0)
		return r;
	return r == 1 && message.kind == MESSAGE_PLACED ? 0 : -EBADMSG;
}

static int hand_tree(const struct init *init, int mounts)
{
	const struct message message = { .kind = MESSAGE_TREE };
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int fds[] = { root, mounts };

	return root < 0 ? -errno : message_send(init->socket, &message, fds, N_ELEMENTS(fds));
}

/* Who joins finds it built. */
static int hand_made(const struct init *init, struct place *place, int mounts)
{
	const struct message namespaces = { .kind = MESSAGE_NAMESPACES };
	const struct message listeners = { .kind = MESSAGE_LISTENERS };
	const struct message terminal = { .kind = MESSAGE_TERMINAL };
	const struct kernel *kernel = init->kernel;
	int r = 0;

	if (place->n > 0)
		r = message_send(init->socket, &namespaces, place->fds, place->n);
	if (r == 0 && init->hands_tree)
		r = hand_tree(init, mounts);
	if (r == 0 && kernel->n_listeners > 0)
		r = message_send(init->socket, &listeners, kernel->listeners, kernel->n_listeners);
	if (r == 0 && kernel->pty_master >= 0)
		r = message_send(init->socket, &terminal, &kernel->pty_master, 1);
	return r;
}

/* What the command inherits, what becomes its stdio, and the socket: nothing else is needed any
 * more. The caller frees @ret_fds, which are the command's. */
static int keep_own(const struct init *init, int reaper_fd, int **ret_fds)
{
	size_t n_fds = init->plan->n_fds, n = 0;
	_cleanup_free_ int *kept = calloc(n_fds + N_ELEMENTS(init->stdio) + 3, sizeof(*kept));
	_cleanup_free_ int *fds = calloc(n_fds + 1, sizeof(*fds));
	int r;

	if (!kept || !fds)
		return -ENOMEM;
	for (size_t i = 0; i < n_fds; i++)
		kept[n++] = fds[i] = init->plan->fds[i];
	for (size_t i = 0; i < N_ELEMENTS(init->stdio); i++)
		kept[n++] = init->stdio[i];
	kept[n++] = init->socket;
	kept[n++] = reaper_fd;
	kept[n++] = init->terminal;
	child_sort(fds, n_fds);
	r = child_close_others(kept, n);
	if (r < 0)
		return r;
	*ret_fds = take_ptr(fds);
	return 0;
}

/* The command's process shares our memory until then, so that we get here when it is done. */
static int tell_execution(const struct init *init)
{
	const struct message message = { .kind = MESSAGE_EXECUTED };

	return init->tells_execution ? message_send(init->socket, &message, NULL, 0) : 0;
}

/* Only now something untrusted runs. */
static void serve(const struct init *init, struct reaper *reaper)
{
	int kept[] = { reaper->socket, reaper->cgroup_kill_fd, reaper->terminal };

	/* Not even stdio: whoever is at its other end waits for the command, not for us. */
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	check(init, DOING_CLOSE, child_close_others(kept, N_ELEMENTS(kept)));
	check(init, DOING_REAPER, kernel_confine_reaper());
	reap_run(reaper);
}

noreturn void init_run(const struct init *init)
{
	struct kernel_failure failure = { .step = KERNEL_NO_STEP };
	struct reaper reaper = REAPER_INIT;
	struct command command = COMMAND_INIT;
	struct place place = { .n = 0 };
	int *fds = NULL, mounts = -EBADF;

	check(init, DOING_START, leave_session(init));
	if (init->awaits_place)
		check(init, DOING_SPEAK, await_place(init));
	check(init, DOING_START, open_namespaces(init, &place, &mounts));
	check(init, DOING_START, reap_prepare(&reaper, init->kernel, init->namespaces));
	if (kernel_build(init->kernel, &failure) < 0)
		fail(init, DOING_STEP, &failure);
	check(init, DOING_START, die_with_supervisor(init));
	if (kernel_confine(init->kernel, &failure) < 0)
		fail(init, DOING_STEP, &failure);
	check(init, DOING_START, die_with_supervisor(init));
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		check(init, DOING_START, -errno);
	check(init, DOING_SPEAK, hand_made(init, &place, mounts));
	check(init, DOING_CLOSE, keep_own(init, reaper.cgroup_kill_fd, &fds));

	command.kernel = init->kernel;
	command.plan = init->plan;
	command.socket = init->socket;
	for (size_t i = 0; i < N_ELEMENTS(command.stdio); i++)
		command.stdio[i] = init->stdio[i];
	command.fds = fds;
	command.n_fds = init->plan->n_fds;
	command.in_foreground = init->kernel->pty_master >= 0;
	command.dies_with_us = !(init->namespaces & CLONE_NEWPID);
	command.is_job = init->terminal >= 0;
	reaper.socket = init->socket;
	reaper.terminal = init->terminal;
	/* Without a terminal nobody would do anything about it. */
	if (command.in_foreground || command.is_job)
		reaper.wait_flags |= WUNTRACED;
	reaper.command = command_start(&command);
	if (reaper.command < 0) {
		command_report(&command);
		child_fail();
	}
	check(init, DOING_SPEAK, tell_execution(init));
	serve(init, &reaper);
	child_fail();
}
