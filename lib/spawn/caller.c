/* SPDX-License-Identifier: MIT */

/*
 * Our own user, from outside of every sandbox
 *
 * The uid alone does not say it: what an ordinary user runs in a sandbox has the same one. But it
 * has a user namespace of its own, for ever. Which one is read by the number of the process, which
 * another may have by then; so where the kernel knows a pidfd of the peer (from 6.5 on) the peer
 * must still be there afterwards.
 */

#include "spawn/caller.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static bool is_in_our_namespace(pid_t pid)
{
	struct stat ours, its;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return stat("/proc/self/ns/user", &ours) == 0 && stat(path, &its) == 0 &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

static bool is_still_there(int socket)
{
	_cleanup_close_ int pidfd = -EBADF;
	socklen_t size = sizeof(pidfd);
	struct pollfd end = { .events = POLLIN };

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0)
		return errno == ENOPROTOOPT;
	end.fd = pidfd;
	return poll(&end, 1, 0) == 0;
}

bool caller_is_own_user(int socket)
{
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       peer.uid == geteuid() && peer.pid > 0 && is_in_our_namespace(peer.pid) &&
	       is_still_there(socket);
}
