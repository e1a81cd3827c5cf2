/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Sockets that a service manager has passed (LISTEN_FDS), without libsystemd
 *
 * The values of the environment variables are parameters: the tool reads its environment once, at
 * the start.
 */

#include <stddef.h>
#include <sys/types.h>

struct sbx_error;

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
