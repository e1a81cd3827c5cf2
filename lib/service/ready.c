/* SPDX-License-Identifier: MIT */

/*
 * One epoll set, from which one event is taken at a time: whoever is served may remove any socket
 * of the set, and no event that was taken before can speak of it afterwards. The kernel puts what
 * it has reported at the end of its queue, so nobody is passed over, neither a socket nor the loop.
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
	bool is_loop_due; /* it has, or may have, something to do that no fd tells */
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

void ready_free_ptr(struct ready **ready)
{
	*ready = ready_free(*ready);
}

static int control(struct ready *ready, int operation, int fd, struct ready_socket *socket,
		   uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = socket };

	return epoll_ctl(ready->fd, operation, fd, &event) < 0 ? -errno : 0;
}

int ready_new(struct sd_event *event, struct ready **ret)
{
	_cleanup_ready_ struct ready *ready = calloc(1, sizeof(*ready));
	int r;

	if (!ready)
		return -ENOMEM;
	ready->event = sd_event_ref(event);
	/* Its timers are not set yet. */
	ready->is_loop_due = true;
	ready->fd = epoll_create1(EPOLL_CLOEXEC);
	if (ready->fd < 0)
		return -errno;
	r = control(ready, EPOLL_CTL_ADD, sd_event_get_fd(event), NULL, EPOLLIN);
	if (r < 0)
		return r;
	*ret = take_ptr(ready);
	return 0;
}

int ready_add(struct ready *ready, struct ready_socket *socket, uint32_t events)
{
	return control(ready, EPOLL_CTL_ADD, socket->fd, socket, events);
}

int ready_change(struct ready *ready, struct ready_socket *socket, uint32_t events)
{
	return control(ready, EPOLL_CTL_MOD, socket->fd, socket, events);
}

void ready_remove(struct ready *ready, struct ready_socket *socket)
{
	(void)control(ready, EPOLL_CTL_DEL, socket->fd, socket, 0);
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
			socket->serve(socket, event.events);
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
