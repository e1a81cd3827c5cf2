/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Listening sockets: one that the manager handed over, or one of our own at a path
 */

#include <errno.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct sbx_error;

struct listen_socket {
	int fd;
	char *path; /* of our own socket, removed with it; NULL where it was handed over */
	dev_t device;
	ino_t inode;
};

#define LISTEN_SOCKET_INIT                                                                         \
	{                                                                                          \
		.fd = -EBADF                                                                       \
	}
#define _cleanup_listen_socket_ _cleanup_(listen_socket_deinit)

/* Removes the file of our own socket, if it is still that, then closes. */
void listen_socket_deinit(struct listen_socket *socket);

/* @fd must be a listening SOCK_SEQPACKET unix socket, else -ENOTSOCK. Takes @fd on success only. */
int listen_adopt(int fd, const char *name, struct listen_socket *ret, struct sbx_error *err);

/*
 * A new socket at @path whose file has @mode from its first moment on, or less. Replaces a socket
 * file of a dead process: -EADDRINUSE where a process listens, -EEXIST where it is no socket.
 */
int listen_open(const char *path, mode_t mode, struct listen_socket *ret, struct sbx_error *err);

/*
 * The next connection. Feeding the watchdog and answering the connected clients need a few fds, so
 * the last ones are never given to a client: -EMFILE already while these are left.
 */
int listen_accept(int fd);
