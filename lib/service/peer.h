/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The process at the other end of a unix socket
 *
 * Its identity comes from the kernel, never from the peer's messages: SO_PEERCRED, and SO_PEERPIDFD
 * (Linux 6.5) so that the pid cannot have been reused in between. Read once, when the connection is
 * accepted.
 *
 * A uid does not tell whether a process is sandboxed: an ordinary user has the same uid inside and
 * outside. The user namespace tells it, because no process can return from one; and a sandbox
 * without a user namespace (tier "reduced") has its own cgroup.
 */

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* Where a process runs, as seen from this one. Only PEER_BESIDE may be trusted. */
enum peer_place {
	PEER_UNKNOWN, /* it has exited, or /proc does not show it: treated as inside a sandbox */
	PEER_BESIDE,  /* in our user namespace, and in our sandbox's cgroup or in none */
	PEER_IN_NAMESPACE,
	PEER_IN_SANDBOX,
};

/* Looks the pid up in /proc: the caller checks afterwards that the process is still alive. */
enum peer_place peer_place_of(pid_t pid);
/* Compares the contents of two /proc/PID/cgroup: are the processes in the same sandbox's cgroup, or
 * both in none? A sandbox inside the other's is a different one. */
bool peer_is_same_sandbox(const char *ours, const char *its);
/* The name in records; NULL for PEER_BESIDE. */
const char *peer_place_name(enum peer_place place);

struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	int pidfd; /* -EBADF without SO_PEERPIDFD (before 6.5) or if the process has been reaped:
		      the pid is then only a hint, not an identity */
	enum peer_place place; /* when the connection was accepted */
};

#define PEER_INIT                                                                                  \
	{                                                                                          \
		.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1, .pidfd = -EBADF                      \
	}
#define _cleanup_peer_ _cleanup_(peer_deinit)

/* 0 or negative errno. -ENODATA if the socket has no peer process (a datagram socket, or pid 0). */
int peer_identify(int socket, struct peer *ret);
void peer_deinit(struct peer *peer);
