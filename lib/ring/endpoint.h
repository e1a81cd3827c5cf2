/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where the two sides of a channel over sockets meet: a socket file, or a port of the loopback
 *
 * The process on the other side must have the same effective user, or be root's; another one is
 * turned away by the server and refused by the client.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct sbx_error;
struct sbx_ring_config;

struct endpoint {
	int listener; /* -EBADF: it does not listen */
	bool is_tcp;
	char *path; /* of the socket file, if it is ours to remove */
	dev_t device;
	ino_t inode;
};

#define ENDPOINT_INIT                                                                              \
	{                                                                                          \
		.listener = -EBADF                                                                 \
	}

/* The effective user at the other end of a connected unix socket, or (@is_tcp) of a connection on
 * the loopback: loopback_find_user(). 0 or negative errno. */
int endpoint_find_user(int socket, bool is_tcp, uid_t *ret);
/* Is it that of this process, or root? Only then is the other end a side, or a keeper. */
bool endpoint_is_trusted(uid_t uid);

/* Stops listening and removes the socket file. */
void endpoint_deinit(struct endpoint *endpoint);

/*
 * The server's side: listens at config->endpoint. For TCP *@ret_name is the endpoint with the port
 * that was chosen, which the caller frees; else it is not written.
 */
int endpoint_listen(const struct sbx_ring_config *config, struct endpoint *ret, char **ret_name,
		    struct sbx_error *err);
/*
 * Returns the connected socket of the first client, -EAGAIN if there is none yet, or another
 * negative errno.
 */
int endpoint_accept(const struct endpoint *endpoint);
/* The client's side: returns a connected socket, or negative errno with @err. */
int endpoint_connect(const struct sbx_ring_config *config, struct sbx_error *err);
/* Is @socket a connected unix socket of type SOCK_STREAM or SOCK_SEQPACKET? Returns its type, or
 * negative errno with @err. */
int endpoint_check_given(int socket, struct sbx_error *err);
