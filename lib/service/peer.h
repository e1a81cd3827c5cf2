/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The process at the other end of a unix socket
 *
 * By the kernel's word, never the peer's own: SO_PEERCRED, and SO_PEERPIDFD where the kernel has
 * it, so that the pid cannot have been recycled in between. Asked once, when the connection is
 * accepted.
 *
 * A uid does not say whether a process is inside a sandbox: what an ordinary user runs in one has
 * the same uid as outside. A user namespace says it, because no process returns from one; and a
 * sandbox without a user namespace (the tier "reduced") has a cgroup of its own.
 */

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* Where a process is, as seen from this one. All but PLACE_BESIDE is never trusted. */
enum place {
	PLACE_UNKNOWN, /* it has ended, or /proc does not show it: treated as inside */
	PLACE_BESIDE,  /* in our user namespace and in no sandbox's cgroup, or in our sandbox's */
	PLACE_IN_NAMESPACE,
	PLACE_IN_SANDBOX,
};

/* By its pid: the caller makes sure afterwards that it is still the same process. */
enum place place_of(pid_t pid);
/* Are two processes in the same sandbox's cgroup, or both in none? By the contents of
 * /proc/PID/cgroup. A sandbox inside the other's is a different one. */
bool place_is_same_sandbox(const char *ours, const char *its);
/* For records: NULL for PLACE_BESIDE. */
const char *place_name(enum place place);

struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	int pidfd;	  /* -EBADF where the kernel gives none (before 6.5, or the process has been
			     reaped): the pid is then a hint, not an identity */
	enum place place; /* when it was accepted */
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
