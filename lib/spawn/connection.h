/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One connection that is carried from a socket on one side of the sandbox to one on the other
 */

#include <netinet/in.h>
#include <stdint.h>

#include "spawn/loop.h"
#include "spawn/relay.h"

struct connection {
	struct connection *next;
	struct loop *loop;
	int accepted;
	int connected;
	struct source connecting;
	struct relay there;
	struct relay back;
	void (*ended)(struct connection *connection, void *userdata); /* frees it */
	void *userdata;
};

/* 127.0.0.1:@port */
struct sockaddr_in connection_address(uint16_t port);
/*
 * Connects the non-blocking @socket to 127.0.0.1:@port of its own side and carries what comes.
 * Takes both sockets, also on failure; where no program listens there, @accepted is reset. The
 * caller frees *@ret when told by @ended, or before.
 */
int connection_new(struct loop *loop, int accepted, int socket, uint16_t port,
		   void (*ended)(struct connection *connection, void *userdata), void *userdata,
		   struct connection **ret);
/* Closes an accepted socket whose connection leads nowhere: its peer gets ECONNRESET. */
void connection_refuse(int fd);
struct connection *connection_free(struct connection *connection);
