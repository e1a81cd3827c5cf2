/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A socket that lingers: close() of its last reference waits for a day, because its bytes cannot be
 * sent. After lingering_end() it does not wait any longer.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "test.h"

struct lingering {
	int sender;
	int silent; /* the other end, which does not read */
};

#define LINGERING_INIT                                                                             \
	{                                                                                          \
		.sender = -EBADF, .silent = -EBADF                                                 \
	}

static inline struct lingering lingering_made(void)
{
	const struct linger day = { .l_onoff = 1, .l_linger = 86400 };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr *at = (struct sockaddr *)&address;
	socklen_t n = sizeof(address);
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct lingering made = LINGERING_INIT;
	char bytes[65536] = "";

	expect(bind(listener, at, n) == 0 && listen(listener, 1) == 0);
	expect(getsockname(listener, at, &n) == 0);
	made.sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	expect(connect(made.sender, at, n) == 0);
	made.silent = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	expect(made.silent >= 0);
	expect(setsockopt(made.sender, SOL_SOCKET, SO_LINGER, &day, sizeof(day)) == 0);
	while (send(made.sender, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	expect_eq(errno, EAGAIN);
	return made;
}

/* Sends it over @socket: afterwards the last reference is in the message. */
static inline void lingering_send(struct lingering *lingering, int socket)
{
	expect_eq(fd_send(socket, "poison", 6, &lingering->sender, 1), 0);
	close_fd(&lingering->sender);
}

static inline void lingering_end(struct lingering *lingering)
{
	close_fd(&lingering->silent);
	close_fd(&lingering->sender);
}

#define _cleanup_lingering_ _cleanup_(lingering_end)
