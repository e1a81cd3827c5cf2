/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Listening sockets: one from the service manager (socket activation), or our own at a path
 */

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct sbx_error;

struct listen_socket {
	int fd;
	char *path; /* of our own socket, unlinked at deinit; NULL for one of the manager's */
	dev_t device;
	ino_t inode;
};

#define LISTEN_SOCKET_INIT                                                                         \
	{                                                                                          \
		.fd = -EBADF                                                                       \
	}
#define _cleanup_listen_socket_ _cleanup_(listen_socket_deinit)

/* Unlinks our own socket file, if it is still the same inode, then closes the fd. */
void listen_socket_deinit(struct listen_socket *socket);

/*
 * Refuses new connections; those that wait can still be accepted. Unlinks our own socket file
 * first. A socket of the manager stays open to new ones: its next service accepts them.
 */
void listen_socket_stop(struct listen_socket *socket);

/* @fd must be a listening SOCK_SEQPACKET unix socket, else -ENOTSOCK. Takes @fd on success only. */
int listen_adopt(int fd, const char *name, struct listen_socket *ret, struct sbx_error *err);

/*
 * Creates a socket at @path whose file never has more than @mode. Replaces the socket file of a
 * dead process: -EADDRINUSE if a process listens on it, -EEXIST if the file is not a socket.
 * Without @takes_fds even the first client cannot send fds: see fd_refuse_fds().
 */
int listen_open(const char *path, mode_t mode, bool takes_fds, struct listen_socket *ret,
		struct sbx_error *err);
/* Fails as listen_open() would because of the path, its directory or what is there; changes
 * nothing. */
int listen_check(const char *path, struct sbx_error *err);

/*
 * Accepts the next connection. The watchdog and the answers to connected clients need a few fds, so
 * clients never get the last ones: -EMFILE once only these are left.
 */
int listen_accept(int fd);
/* Would listen_accept() accept a client, beside what the process has open now and @n_fds more? */
int listen_check_room(int fd, size_t n_fds, const char *name, struct sbx_error *err);
