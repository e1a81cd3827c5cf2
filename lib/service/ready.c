/* SPDX-License-Identifier: MIT */

/*
 * One epoll set, from which one event is taken at a time: serve() may remove and free any socket of
 * the set, because no already fetched event can point to it. The kernel moves a reported socket to
 * the end of its ready list, so every socket and the loop get their turns.
 */

#include "service/ready.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

struct ready {
	struct sd_event *event;
	int fd;
	bool is_loop_due; /* the loop may have work for which no fd is readable */
};

struct ready *ready_free(struct ready *ready)
{
	if (!ready)
		return NULL;
	close_fd(&ready->fd);
	(void)sd_event_unref(ready->event);
	free(ready);
	return NULL;
}

int ready_new(struct sd_event *event, struct ready **ret)
{
	_cleanup_ready_ struct ready *ready = calloc(1, sizeof(*ready));
	struct epoll_event loop = { .events = EPOLLIN };

	if (!ready)
		return -ENOMEM;
	ready->event = sd_event_ref(event);
	/* sd-event arms the timers of its sources only when it runs: run it once first. */
	ready->is_loop_due = true;
	ready->fd = epoll_create1(EPOLL_CLOEXEC);
	if (ready->fd < 0)
		return -errno;
	if (epoll_ctl(ready->fd, EPOLL_CTL_ADD, sd_event_get_fd(event), &loop) < 0)
		return -errno;
	*ret = take_ptr(ready);
	return 0;
}

/* Tells the kernel for which events the socket waits. */
static int arm(struct ready *ready, struct ready_socket *socket, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = socket };
	int operation = EPOLL_CTL_MOD;

	if (events == 0)
		operation = EPOLL_CTL_DEL;
	else if (socket->armed == 0)
		operation = EPOLL_CTL_ADD;
	if (epoll_ctl(ready->fd, operation, socket->fd, &event) < 0)
		return -errno;
	socket->armed = events;
	return 0;
}

/* With READY_PAUSE the kernel reports a hang-up once, which serve() ignores: the next call must
 * tell the kernel, which then reports it again. */
int ready_wait(struct ready *ready, struct ready_socket *socket, uint32_t events)
{
	bool is_armed = events != 0 && (events & ~socket->armed & ~(uint32_t)EPOLLHUP) == 0 &&
			socket->armed != 0 && socket->armed != READY_PAUSE;
	int r = is_armed || events == socket->armed ? 0 : arm(ready, socket, events);

	if (r == 0)
		socket->events = events;
	return r;
}

static void serve(struct ready *ready, struct ready_socket *socket, uint32_t events)
{
	uint32_t wanted = events & (socket->events | EPOLLERR | EPOLLHUP);

	if (socket->armed == READY_PAUSE)
		return;
	if (wanted)
		socket->serve(socket, wanted);
	else
		(void)arm(ready, socket, socket->events);
}

void ready_wake_loop(struct ready *ready)
{
	ready->is_loop_due = true;
}

int ready_turn(struct ready *ready, int timeout_msec)
{
	struct epoll_event event;
	int n = epoll_wait(ready->fd, &event, 1, ready->is_loop_due ? 0 : timeout_msec), r;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n > 0) {
		struct ready_socket *socket = event.data.ptr;

		if (socket)
			serve(ready, socket, event.events);
		else
			ready->is_loop_due = true;
	}
	if (!ready->is_loop_due)
		return n;
	r = sd_event_run(ready->event, 0);
	if (r < 0)
		return r;
	ready->is_loop_due = r > 0;
	return n > 0 || r > 0;
}

int ready_run(struct ready *ready)
{
	int code;

	while (sd_event_get_state(ready->event) != SD_EVENT_FINISHED) {
		int r = ready_turn(ready, -1);

		if (r < 0)
			return r;
	}
	return sd_event_get_exit_code(ready->event, &code) < 0 ? 0 : code;
}
