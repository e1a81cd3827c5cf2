/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Two protocols of a service manager, without libsystemd: readiness (NOTIFY_SOCKET) and passed
 * sockets (LISTEN_FDS)
 *
 * The values of the environment variables are parameters: the tool reads its environment once, at
 * the start.
 */

#include <stddef.h>
#include <sys/types.h>

struct sbx_error;

/*
 * Sends @state ("READY=1\nSTATUS=...") to @notify_socket ("/path" or "@abstract"). 0 if
 * @notify_socket is NULL or empty, 1 when sent, or negative errno.
 */
int notify_send(const char *notify_socket, const char *state);

#define LISTEN_FDS_START 3
#define LISTEN_FDS_MAX 64
#define LISTEN_NAME_SIZE 256

struct listen_fds {
	size_t n_fds; /* they are LISTEN_FDS_START + 0 ... n_fds - 1, now close-on-exec */
	char names[LISTEN_FDS_MAX][LISTEN_NAME_SIZE]; /* "" for an fd without a name */
};

/*
 * Checks the sockets that the service manager has passed: unless @listen_pid is @self, they are for
 * another process, and there are none; every fd must be open. Malformed values are -EINVAL, an fd
 * that is not open is -EBADF.
 */
int listen_fds_check(const char *listen_pid, const char *listen_fds, const char *listen_names,
		     pid_t self, struct listen_fds *ret, struct sbx_error *err);
/* The fd of that name, or -ENOENT. */
int listen_fds_find(const struct listen_fds *fds, const char *name);
