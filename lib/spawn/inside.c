/* SPDX-License-Identifier: MIT */

/*
 * Messages from PID 1 and from the command's process
 *
 * Each may send only the kinds that this plan makes it send, each once; but STOPPED and READS,
 * which tell of the terminal, any number of times. Any other message means that the process was
 * taken over: the sandbox is ended.
 */

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "spawn/spawn-internal.h"

static bool is_awaited(const struct spawn *spawn, enum message_kind kind)
{
	return (spawn->inside.awaited & (1u << kind)) != 0;
}

/* After this message PID 1 sends only the result, which is read when PID 1 ends: do not poll its
 * socket. */
static void await_end(struct spawn *spawn)
{
	if (spawn->terminal.master < 0)
		spawn->inside.source.events = 0;
}

bool inside_tells_execution(const struct spawn *spawn)
{
	return spawn->options->hooks && spawn->options->hooks->executed;
}

static void lost_visit(void *userdata)
{
	struct spawn *spawn = userdata;

	struct pollfd last = { .fd = spawn->inside.source.fd, .events = POLLIN };

	if (spawn->is_over)
		return;
	/* When PID 1 ends, the anchors are killed, too. Its last message, or the end of its socket,
	 * is read before that. */
	if (spawn->ending.cause == SPAWN_REASON_NONE && poll(&last, 1, 0) == 0)
		spawn->ending.cause = SPAWN_REASON_KILLED;
	limits_kill(spawn);
}

static int ask_to_go(const struct spawn *spawn)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;

	return hooks && hooks->going ? hooks->going(hooks->userdata, spawn->err) : 0;
}

int inside_maybe_go(struct spawn *spawn)
{
	int r;

	if (spawn->inside.has_gone || !spawn->is_started || spawn->inside.awaited)
		return 0;
	r = forwarding_open(&spawn->forwarding, &spawn->namespace_set);
	if (r < 0)
		return spawn_fail(spawn, r, "cannot forward connections into the sandbox");
	if (spawn->options->control_socket >= 0)
		r = door_open(&spawn->door, &spawn->loop, spawn->options->control_socket,
			      &spawn->kernel, &spawn->namespace_set, &spawn->unit.scope,
			      spawn->options->hooks);
	spawn->door.lost = lost_visit;
	spawn->door.userdata = spawn;
	if (r < 0)
		return spawn_fail(spawn, r, "cannot listen for 'sbx-ctl exec'");
	r = ask_to_go(spawn);
	if (r < 0)
		return r;
	r = message_send_kind(spawn->inside.source.fd, MESSAGE_GO, NULL, 0);
	/* PID 1 has ended: its messages are read when its pidfd is handled. */
	if (r == -EPIPE || r == -ECONNRESET)
		return 0;
	if (r < 0)
		return spawn_fail(spawn, r, "cannot send a message to the sandbox");
	spawn->inside.has_gone = true;
	if (!inside_tells_execution(spawn))
		await_end(spawn);
	return 0;
}

static int take_namespaces(struct spawn *spawn, int *fds, size_t n_fds)
{
	if (n_fds != spawn->namespace_set.n)
		return -EBADMSG;
	for (size_t i = 0; i < n_fds; i++)
		spawn->namespace_set.fds[i] = take_fd(&fds[i]);
	return 0;
}

static int pass_to_proxy(struct spawn *spawn, const int *fds, size_t n_fds)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;

	if (n_fds == 0)
		return 0;
	if (!hooks || !hooks->listening)
		return spawn_fail(spawn, -ENOTCONN, "no proxy is connected");
	return hooks->listening(hooks->userdata, fds, n_fds, spawn->err);
}

/* Where the kernel has no IPv6, the listener at ::1 is left out: the next fd is that of the next
 * step. */
static bool is_left_out(const struct step *step, const int *fds, size_t n, size_t n_fds)
{
	int domain = AF_UNSPEC;
	socklen_t size = sizeof(domain);

	if (!step->listen.address || strcmp(step->listen.address, LISTEN_IPV6) != 0)
		return false;
	return n == n_fds || getsockopt(fds[n], SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ||
	       domain != AF_INET6;
}

/* In the order of the plan's steps. */
static int take_listeners(struct spawn *spawn, int *fds, size_t n_fds)
{
	int proxied[MESSAGE_FDS_MAX];
	size_t n = 0, n_proxied = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < spawn->plan->n_steps; i++) {
		const struct step *step = &spawn->plan->steps[i];

		if (step->kind != STEP_LISTEN || is_left_out(step, fds, n, n_fds))
			continue;
		if (n == n_fds)
			return -EBADMSG;
		if (forwarding_carries(step))
			r = forwarding_add_listener(&spawn->forwarding, take_fd(&fds[n]),
						    step->listen.port);
		else
			proxied[n_proxied++] = fds[n];
		n++;
	}
	if (r < 0)
		return spawn_fail(spawn, r, "cannot forward connections out of the sandbox");
	return n == n_fds ? pass_to_proxy(spawn, proxied, n_proxied) : -EBADMSG;
}

static int take_terminal(struct spawn *spawn, int *fds, size_t n_fds)
{
	int r = terminal_begin(&spawn->terminal, &spawn->loop, take_fd(&fds[0]),
			       spawn->options->is_terminal, spawn_output_left(spawn));

	return r < 0 ? spawn_fail(spawn, r, "cannot use the sandbox's terminal") : 0;
}

static int mounts_ready(struct source *source, short events)
{
	limits_check_watch(source->userdata);
	return 0;
}

static int take_tree(struct spawn *spawn, int *fds, size_t n_fds)
{
	struct watch *watch = &spawn->watch;
	int r = watch_begin(watch, take_fd(&fds[0]), take_fd(&fds[1]), spawn->err);

	if (r < 0)
		return r;
	watch->changes.ready = mounts_ready;
	watch->changes.userdata = spawn;
	return loop_add(&spawn->loop, &watch->changes);
}

static int take_notifier(struct spawn *spawn, int *fds, size_t n_fds)
{
	int r = notifier_begin(&spawn->notifier, &spawn->loop, take_fd(&fds[0]), take_fd(&fds[1]));

	return r < 0 ? spawn_fail(spawn, r, "cannot answer the sandbox's filter") : 0;
}

static int (*const takers[N_MESSAGE_KINDS])(struct spawn *spawn, int *fds, size_t n_fds) = {
	[MESSAGE_NAMESPACES] = take_namespaces,
	[MESSAGE_LISTENERS] = take_listeners,
	[MESSAGE_TREE] = take_tree,
	[MESSAGE_TERMINAL] = take_terminal,
	[MESSAGE_NOTIFIER] = take_notifier,
};

static int stopped(struct spawn *spawn)
{
	if (spawn->terminal.master < 0 || !spawn->inside.has_gone)
		return -EBADMSG;
	/* Without a terminal no shell would continue the supervisor, and a script would hang. */
	if (spawn->terminal.has_modes)
		stop_with_job(spawn, true);
	else
		(void)pidfd_kill(spawn->kernel.pidfd, SIGCONT);
	return 0;
}

static int reads(struct spawn *spawn)
{
	if (spawn->terminal.master < 0 || !spawn->inside.has_gone)
		return -EBADMSG;
	terminal_want_input(&spawn->terminal);
	return 0;
}

static int executed(struct spawn *spawn)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;

	if (!spawn->inside.has_gone || spawn->inside.has_executed || !inside_tells_execution(spawn))
		return -EBADMSG;
	spawn->inside.has_executed = true;
	hooks->executed(hooks->userdata);
	await_end(spawn);
	return 0;
}

/* The caller closes the fds that are left in @fds. */
static int take(struct spawn *spawn, const struct message *message, int *fds, size_t n_fds)
{
	if (is_awaited(spawn, message->kind)) {
		int r = takers[message->kind](spawn, fds, n_fds);

		spawn->inside.awaited &= ~(1u << message->kind);
		return r < 0 ? r : inside_maybe_go(spawn);
	}
	if (message->kind == MESSAGE_STOPPED)
		return stopped(spawn);
	if (message->kind == MESSAGE_READS)
		return reads(spawn);
	if (spawn->inside.has_failed || spawn->inside.has_result)
		return -EBADMSG;
	if (message->kind == MESSAGE_FAILED) {
		spawn->inside.failure = *message;
		spawn->inside.has_failed = true;
		return 0;
	}
	if (message->kind == MESSAGE_EXECUTED)
		return executed(spawn);
	if (message->kind != MESSAGE_RESULT || !spawn->inside.has_gone)
		return -EBADMSG;
	spawn->inside.result = *message;
	spawn->inside.has_result = true;
	return 0;
}

/* 1 if there may be more messages, else 0. */
static int take_one(struct spawn *spawn)
{
	struct message message;
	int fds[MESSAGE_FDS_MAX];
	size_t n_fds = 0;
	int r = message_receive(spawn->inside.source.fd, FROM_INSIDE, &message, fds, &n_fds);

	if (r == 0)
		spawn->inside.source.events = 0;
	if (r <= 0)
		return r == -EAGAIN ? 0 : r;
	r = take(spawn, &message, fds, n_fds);
	fd_close_many(fds, n_fds);
	return r < 0 ? r : 1;
}

/* Handles a message that breaks the protocol: an error before the command runs; afterwards the
 * sandbox is killed. */
static int refuse(struct spawn *spawn)
{
	if (!spawn->inside.has_gone) {
		(void)spawn_fail(spawn, -EBADMSG, "the sandbox sent an unexpected message");
		sbx_error_why(spawn->err, "PID 1 of the sandbox may have been taken over");
		return -EBADMSG;
	}
	spawn->ending.cause = SPAWN_REASON_KILLED;
	spawn->is_over = true;
	return 0;
}

int inside_ready(struct source *source, short events)
{
	struct spawn *spawn = source->userdata;
	int r = take_one(spawn);

	if (r == -EBADMSG)
		return refuse(spawn);
	return r < 0 ? r : 0;
}

int inside_end_ready(struct source *source, short events)
{
	struct spawn *spawn = source->userdata;
	int r;

	do
		r = take_one(spawn);
	while (r > 0);
	spawn->is_over = true;
	if (r == -EBADMSG)
		return refuse(spawn);
	return r < 0 ? r : 0;
}
