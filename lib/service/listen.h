/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Listening sockets: one that was handed over, or one of our own at a path (private to lib/service)
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

/* Removes our own socket's file while it is still ours, then closes. */
void listen_socket_deinit(struct listen_socket *socket);

/* @fd must be a listening SOCK_SEQPACKET unix socket, else -ENOTSOCK. Takes @fd on success only. */
int listen_adopt(int fd, const char *name, struct listen_socket *ret, struct sbx_error *err);

/*
 * A new socket at @path whose file has @mode from its first moment on, or less. Replaces a socket
 * file on which nobody answers: -EADDRINUSE where somebody does, -EEXIST where it is no socket.
 */
int listen_open(const char *path, mode_t mode, struct listen_socket *ret, struct sbx_error *err);

/*
 * The next client. The last few fds are never given to one, because feeding the watchdog and
 * answering the clients that are there need some: -EMFILE already while these are left.
 */
int listen_accept(int fd);
