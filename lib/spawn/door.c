/* SPDX-License-Identifier: MIT */

/*
 * The control socket: each connection of a client is one request with three fds, one process inside
 * and one answer
 *
 * Only a client with the supervisor's uid that is in no sandbox may ask, and for a sandbox of root
 * only root. When a client closes its connection, the process that it has started is ended.
 */

#include "spawn/door.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "spawn/door-request.h"
#include "spawn/explain.h"
#include "spawn/message.h"
#include "spawn/notify.h"
#include "spawn/spawn.h"
#include "spawn/visit.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define VISITORS_MAX 16

struct visitor {
	struct visitor *next;
	struct door *door;
	struct source client;
	struct source inside;
	struct joined joined;
	struct notifier notifier;
	char **argv;	 /* what it runs */
	bool is_entered; /* the start was recorded, so the end is, too */
	int status;	 /* exit status; -1 before the end */
};

/* ---- the client's identity ---- */

/*
 * The uid alone does not prove that a client is outside: a sandbox of the same user has the same
 * uid, but a user namespace of its own. The namespace is read through /proc/PID, and the PID could
 * have been reused; so with SO_PEERPIDFD (Linux 6.5) the peer must still be alive afterwards.
 */
static bool is_in_our_namespace(pid_t pid)
{
	struct stat ours, its;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return stat("/proc/self/ns/user", &ours) == 0 && stat(path, &its) == 0 &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

static bool is_still_there(int socket)
{
	_cleanup_close_ int pidfd = -EBADF;
	socklen_t size = sizeof(pidfd);
	struct pollfd end = { .events = POLLIN };

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0)
		return errno == ENOPROTOOPT;
	end.fd = pidfd;
	return poll(&end, 1, 0) == 0;
}

static bool caller_is_own_user(int socket)
{
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       peer.uid == geteuid() && peer.pid > 0 && is_in_our_namespace(peer.pid) &&
	       is_still_there(socket);
}

/* ---- visitors ---- */

static struct visitor *visitor_free(struct visitor *visitor)
{
	if (!visitor)
		return NULL;
	loop_remove(visitor->door->loop, &visitor->client);
	loop_remove(visitor->door->loop, &visitor->inside);
	notifier_deinit(&visitor->notifier);
	joined_deinit(&visitor->joined);
	close_fd(&visitor->client.fd);
	free(visitor->argv);
	free(visitor);
	return NULL;
}

static int tell_entering(struct visitor *visitor)
{
	const struct spawn_hooks *hooks = visitor->door->hooks;
	int r = hooks && hooks->entering ? hooks->entering(hooks->userdata, visitor->argv) : 0;

	visitor->is_entered = r == 0;
	return r;
}

static void tell_left(const struct visitor *visitor)
{
	const struct spawn_hooks *hooks = visitor->door->hooks;

	if (visitor->is_entered && hooks && hooks->left)
		hooks->left(hooks->userdata, visitor->argv, visitor->status);
}

static void leave(struct visitor *visitor)
{
	struct door *door = visitor->door;
	bool has_ended = joined_end(&visitor->joined);
	struct visitor **at = &door->visitors;

	while (*at && *at != visitor)
		at = &(*at)->next;
	if (*at)
		*at = visitor->next;
	tell_left(visitor);
	(void)visitor_free(visitor);
	door->n_visitors--;
	door->listening.events = POLLIN;
	if (!has_ended)
		door->lost(door->userdata);
}

/* Answers the client and ends the visit. */
static void answer(struct visitor *visitor, int status, const char *error, const char *fix)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	visitor->status = status;
	door_add_answer(&out, status, error, fix);
	if (text_status(&out) == 0)
		(void)send(visitor->client.fd, text_string(&out), out.len,
			   MSG_NOSIGNAL | MSG_DONTWAIT);
	leave(visitor);
}

static void answer_failure(struct visitor *visitor, const struct message *message)
{
	struct sbx_error err = { .code = 0 };
	_cleanup_text_ struct text text = TEXT_INIT;

	(void)explain_failure(visitor->door->plan, visitor->argv[0], message, &err);
	text_addf(&text, "%s: %s", err.what, err.why[0] ? err.why : strerror(-message->code));
	answer(visitor, explain_status(message), text_string(&text), NULL);
}

/* Takes the fds, also on failure. */
static bool take_notifier(struct visitor *visitor, const struct message *message, int *fds,
			  size_t n_fds)
{
	if (message->kind == MESSAGE_NOTIFIER && !visitor->notifier.loop)
		return notifier_begin(&visitor->notifier, visitor->door->loop, fds[0], fds[1]) == 0;
	fd_close_many(fds, n_fds);
	return false;
}

/* The anchor was killed or taken over, so it no longer ends the command's descendants. */
static void lose(struct visitor *visitor)
{
	struct door *door = visitor->door;

	answer(visitor, -1,
	       "the sandbox has ended, or a process in it has killed that of the command",
	       "start the sandbox again");
	door->lost(door->userdata);
}

/* An unexpected message ends the sandbox: the process inside may have been taken over. */
static int from_inside(struct source *source, short events)
{
	struct visitor *visitor = source->userdata;
	struct message message;
	int fds[MESSAGE_FDS_MAX];
	size_t n_fds = 0;
	int r = message_receive(source->fd, FROM_INSIDE, &message, fds, &n_fds);

	if (r == 1 && take_notifier(visitor, &message, fds, n_fds))
		return 0;
	if (r == 1 && message.kind == MESSAGE_RESULT)
		answer(visitor, process_status(message.status), NULL, NULL);
	else if (r == 1 && message.kind == MESSAGE_FAILED)
		answer_failure(visitor, &message);
	else
		lose(visitor);
	return 0;
}

static int start(struct visitor *visitor, const int *stdio)
{
	const struct door *door = visitor->door;
	struct visit visit = {
		.kernel = door->kernel,
		.plan = door->plan,
		.namespaces = door->namespaces,
		.scope = door->scope,
		.argv = visitor->argv,
	};
	int r;

	memcpy(visit.stdio, stdio, sizeof(visit.stdio));
	r = visit_start(&visit, &visitor->joined);
	if (r < 0)
		return r;
	r = loop_watch(door->loop, &visitor->inside, visitor->joined.socket, POLLIN, from_inside,
		       visitor);
	return r < 0 ? r : message_send_kind(visitor->joined.socket, MESSAGE_GO, NULL, 0);
}

/*
 * Without Landlock the processes inside can open the fds of the one that enters again through
 * /proc, with another access mode: write to the file that is its stdin, or read the one that is its
 * stdout. Neither is in the sandbox.
 */
static bool lends_file(const struct door *door, const int *fds, size_t n_fds)
{
	struct stat st;

	if (door->plan->layers & LAYER_LANDLOCK)
		return false;
	for (size_t i = 0; i < n_fds; i++)
		if (fstat(fds[i], &st) < 0 || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
			return true;
	return false;
}

static bool refuse(struct visitor *visitor, const char *why, const char *fix)
{
	answer(visitor, -1, why, fix);
	return false;
}

static bool refuse_to_start(struct visitor *visitor, int code)
{
	_cleanup_text_ struct text why = TEXT_INIT;

	text_addf(&why, "cannot create a process for it (%s, %d)", strerror(-code), -code);
	return refuse(visitor, text_string(&why),
		      code == -EAGAIN
			      ? "raise the limit of processes: that of the sandbox (--pids), "
				"of its supervisor's user (ulimit -u) or of its unit (TasksMax)"
		      : code == -ENOMEM ? "free memory, or raise the limit of memory"
		      : code == -EMFILE ? "wait until other commands of 'sbx-ctl exec' have ended"
					: "see with 'sbx-ctl list' whether it is still running");
}

/* Answers, and returns false, if it cannot be met. */
static bool start_request(struct visitor *visitor, const char *bytes, size_t n_bytes,
			  const int *fds, size_t n_fds)
{
	static const char other_version[] =
		"give fewer arguments, or use the sbx-ctl of the version of the sandbox's sbx-spawn";
	const char *problem = NULL;
	int r;

	if (!visitor->door->plan->may_exec)
		return refuse(
			visitor,
			"this sandbox may not be entered: its policy does not allow it, or it was "
			"not started with --debug",
			"start it with --debug; with a policy, add the rule {name: enter, match: "
			"{op: container.run, mode: debug}, action: allow}");
	if (door_parse_request(bytes, n_bytes, &visitor->argv, &problem) < 0)
		return refuse(visitor, problem ? problem : "no memory",
			      problem ? other_version : "free memory");
	if (n_fds != 3)
		return refuse(visitor, "the request comes without stdin, stdout and stderr",
			      other_version);
	if (lends_file(visitor->door, fds, n_fds))
		return refuse(
			visitor,
			"this sandbox has no Landlock, so every process in it could read and write "
			"a file that is stdin, stdout or stderr",
			"use pipes: cat FILE | sbx-ctl exec ... | cat");
	if (tell_entering(visitor) < 0)
		return refuse(
			visitor, "the audit record of it cannot be written",
			"look where its records go ('sbx-ctl inspect', audit): disk space, or "
			"a service that does not run");
	r = start(visitor, fds);
	return r < 0 ? refuse_to_start(visitor, r) : true;
}

static int from_client(struct source *source, short events)
{
	struct visitor *visitor = source->userdata;
	_cleanup_free_ char *bytes = malloc(REQUEST_BYTES_MAX);
	int fds[3] = { -EBADF, -EBADF, -EBADF };
	size_t n_fds = 0;
	ssize_t n = bytes ? fd_receive(source->fd, bytes, REQUEST_BYTES_MAX, fds, N_ELEMENTS(fds),
				       &n_fds)
			  : -ENOMEM;

	if (n == -EAGAIN)
		return 0;
	/* The client has closed the connection, or sent a second request. */
	if (n <= 0 || visitor->argv) {
		fd_close_many(fds, n_fds);
		leave(visitor);
		return 0;
	}
	(void)start_request(visitor, bytes, (size_t)n, fds, n_fds);
	fd_close_many(fds, n_fds);
	return 0;
}

static int accept_one(struct source *source, short events)
{
	struct door *door = source->userdata;
	_cleanup_close_ int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct visitor *visitor;

	if (fd < 0 || !caller_is_own_user(fd))
		return 0;
	visitor = calloc(1, sizeof(*visitor));
	if (!visitor)
		return 0;
	*visitor = (struct visitor){
		.next = door->visitors,
		.door = door,
		.inside = { .fd = -EBADF },
		.joined = JOINED_INIT,
		.notifier = NOTIFIER_INIT,
		.status = -1,
	};
	if (loop_watch(door->loop, &visitor->client, take_fd(&fd), POLLIN, from_client, visitor) <
	    0) {
		(void)visitor_free(visitor);
		return 0;
	}
	door->visitors = visitor;
	if (++door->n_visitors == VISITORS_MAX)
		door->listening.events = 0;
	return 0;
}

int door_open(struct door *door, struct loop *loop, int socket, const struct kernel *kernel,
	      const struct namespace_set *set, const struct scope_cgroup *scope,
	      const struct spawn_hooks *hooks)
{
	*door = (struct door){
		.loop = loop,
		.plan = kernel->plan,
		.kernel = kernel,
		.namespaces = set,
		.scope = scope,
		.hooks = hooks,
	};
	return loop_watch(loop, &door->listening, socket, POLLIN, accept_one, door);
}

void door_close(struct door *door)
{
	while (door->visitors)
		answer(door->visitors, -1, "the sandbox has ended", "start the sandbox again");
	if (door->loop)
		loop_remove(door->loop, &door->listening);
	*door = (struct door)DOOR_INIT;
}
