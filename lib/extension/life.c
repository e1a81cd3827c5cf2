/* SPDX-License-Identifier: MIT */

/* Creates and frees an extension; extension_ask() for callers without an event loop */

#include "extension/extension-internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <sbx/error.h>

void extension_ask(struct extension *extension, const char *request_json, size_t n_bytes,
		   struct policy_vote *ret)
{
	struct pollfd wait = { .fd = extension->epoll_fd, .events = POLLIN };
	uint64_t number;

	if (extension_submit(extension, request_json, n_bytes, ret) == 0)
		return;
	/* At the deadline the timer makes the epoll fd readable. */
	while (extension_next(extension, &number, ret) == 0)
		(void)poll(&wait, 1, -1);
}

int extension_fd(const struct extension *extension)
{
	return extension->epoll_fd;
}

const char *extension_name(const struct extension *extension)
{
	return extension->name;
}

uint64_t extension_restarts(const struct extension *extension)
{
	return extension->n_starts - 1;
}

pid_t extension_pid(const struct extension *extension)
{
	return extension->restart_usec == 0 ? extension->program.pid : 0;
}

struct extension *extension_free(struct extension *extension)
{
	if (!extension)
		return NULL;
	program_kill(&extension->program);
	program_wait(&extension->program);
	close_fd(&extension->epoll_fd);
	close_fd(&extension->timer_fd);
	text_deinit(&extension->unsent);
	text_deinit(&extension->read);
	text_deinit(&extension->reason);
	free((void *)extension->argv);
	free(extension->name);
	free(extension);
	return NULL;
}

static int make(const char *name, const char *const *argv, struct extension **ret)
{
	_cleanup_extension_ struct extension *extension = calloc(1, sizeof(*extension));
	int r;

	if (!extension)
		return -ENOMEM;
	extension->program = (struct program)PROGRAM_INIT;
	extension->limit_usec = EXTENSION_DEADLINE_USEC;
	extension->pause_usec = EXTENSION_PAUSE_FIRST_USEC;
	extension->timer_fd = -EBADF;
	extension->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (extension->epoll_fd < 0)
		return -errno;
	extension->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (extension->timer_fd < 0)
		return -errno;
	extension->name = strdup(name);
	extension->argv = program_copy_argv(argv);
	if (!extension->name || !extension->argv)
		return -ENOMEM;
	r = extension_watch(extension, extension->timer_fd, EPOLLIN, EPOLL_CTL_ADD);
	if (r < 0)
		return r;
	r = extension_start(extension);
	if (r < 0)
		return r;
	*ret = take_ptr(extension);
	return 0;
}

int extension_new(const char *name, const char *const *argv, struct extension **ret,
		  struct sbx_error *err)
{
	int r = argv[0] && argv[0][0] == '/' ? make(name, argv, ret) : -EINVAL;

	if (r == 0)
		return 0;
	(void)sbx_error_what(err, r, "cannot start the extension '%s'", name);
	if (r == -EINVAL) {
		sbx_error_why(err, "the path of its program is not absolute");
		sbx_error_fix(err, "write the path from '/' on, as in /usr/lib/sbx/rule");
		return r;
	}
	sbx_error_fix(err, "check that '%s' exists and may be executed", argv[0]);
	return r;
}

void extension_set_deadline(struct extension *extension, uint64_t usec)
{
	extension->limit_usec = usec;
}
