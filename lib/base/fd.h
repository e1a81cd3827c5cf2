/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * File descriptors: whole transfers, passing over unix sockets, pidfds
 *
 * Every fd that these functions create is close-on-exec from the start.
 */

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The kernel's limit of fds in one message (SCM_MAX_FD). */
#define FD_PASS_MAX 253

/* What a call that makes an fd has returned: the fd, or negative errno. */
static inline int fd_or_errno(int fd)
{
	return fd < 0 ? -errno : fd;
}

/* Writes all bytes, and continues after short writes and EINTR. 0 or negative errno. */
int fd_write_all(int fd, const void *bytes, size_t n_bytes);
/* Reads until @n_bytes or the end; returns how many, or negative errno. */
ssize_t fd_read_full(int fd, void *bytes, size_t n_bytes);

/* A unix socket for packets that is connected to @path; @flags as of socket(2), such as
 * SOCK_NONBLOCK. The fd or negative errno. */
int fd_connect(const char *path, int flags);
/*
 * Sends @n_bytes (at least one) and @n_fds fds as one message; never raises SIGPIPE. 0 or negative
 * errno.
 */
int fd_send(int socket, const void *bytes, size_t n_bytes, const int *fds, size_t n_fds);
/* The same, but -EAGAIN instead of a wait: O_NONBLOCK does not do if another process that shares
 * the socket may clear it. */
int fd_send_now(int socket, const void *bytes, size_t n_bytes, const int *fds, size_t n_fds);
/*
 * Receives one message. Stores *@ret_n_fds fds in @fds; the caller owns them. A message with more
 * fds than @max_fds, or whose bytes or control data were cut, is refused as -EMSGSIZE and every fd
 * in it is closed. Returns the number of bytes, 0 at the end of the stream, or negative errno.
 */
ssize_t fd_receive(int socket, void *bytes, size_t max_bytes, int *fds, size_t max_fds,
		   size_t *ret_n_fds);
/* The same, but -EAGAIN instead of a wait. */
ssize_t fd_receive_now(int socket, void *bytes, size_t max_bytes, int *fds, size_t max_fds,
		       size_t *ret_n_fds);
/*
 * Lets the kernel refuse messages with fds to @socket, and to what it accepts if it listens: a TCP
 * socket with SO_LINGER blocks the process that discards it. Before Linux 6.16 the kernel cannot.
 */
void fd_refuse_fds(int socket);
/* Takes that back. */
void fd_accept_fds(int socket);
/* Does the kernel refuse them? */
bool fd_refuses_fds(int socket);
/*
 * Does the next message at @socket have control data, such as fds? It stays queued. 1, 0 (also at
 * the end), -EAGAIN if no message is queued, or the error of the socket, which the kernel reports
 * once: after any of the errors recv() may take a message that was not asked about.
 */
int fd_has_control(int socket);
/* Messages to @socket have no control data but what their sender adds, whatever a .socket unit
 * says (PassCredentials=, PassSecurity=). */
void fd_drop_control(int socket);

/* Closes @n_fds fds and sets each to -EBADF. */
void fd_close_many(int *fds, size_t n_fds);

/*
 * A listing of @directory, with a file description of its own: readdir() moves the
 * file offset, which every dup() of a file description shares. NULL with errno.
 */
DIR *fd_open_dir(int directory);

/* Sets or clears close-on-exec. 0 or negative errno. */
int fd_set_cloexec(int fd);
int fd_clear_cloexec(int fd);

/*
 * Why @fd is not a unix socket over which two processes can pass fds until one of them ends, or
 * NULL if it is: connected, a stream or seqpackets. None of fds 0 to 2, which other programs
 * replace.
 */
const char *fd_find_socket_fault(int fd);

/* A pidfd for @pid, or negative errno. The caller must know that @pid has not been reaped. */
int pidfd_of(pid_t pid);
int pidfd_kill(int pidfd, int signal);
