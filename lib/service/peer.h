/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who is at the other end of a unix socket
 *
 * The kernel's answer, never the peer's own: SO_PEERCRED, and SO_PEERPIDFD where the kernel has it,
 * so that the pid cannot have been recycled in between. Asked once, when the connection is
 * accepted.
 */

#include <errno.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "service/place.h"

struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	int pidfd; /* -EBADF where the kernel cannot give one (before 6.5, or the process is gone
		      already): the pid is then a hint, not an identity */
	enum place place; /* when it was asked for; all but PLACE_BESIDE is not to be trusted */
};

#define PEER_INIT                                                                                  \
	{                                                                                          \
		.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1, .pidfd = -EBADF                      \
	}
#define _cleanup_peer_ _cleanup_(peer_deinit)

/* 0 or negative errno. -ENODATA where the socket has no peer process (a datagram socket, a pid of
 * 0). */
int peer_identify(int socket, struct peer *ret);
void peer_deinit(struct peer *peer);
