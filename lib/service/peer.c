/* SPDX-License-Identifier: MIT */

/*
 * A peer's credentials are those of the process that called connect(), written down by the kernel
 * at that moment. The pid may be reused once that process has been reaped; the pidfd of the same
 * moment may not.
 */

#include "service/peer.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/fd.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5; hppa and sparc, which number it otherwise, are not built */
#endif

void peer_deinit(struct peer *peer)
{
	close_fd(&peer->pidfd);
	*peer = (struct peer)PEER_INIT;
}

/* The kernel has no such option, or the process has been reaped. pidfd_open() would be a guess. */
static bool is_without_pidfd(int code)
{
	return code == -ENOPROTOOPT || code == -ESRCH || code == -EINVAL || code == -ENODATA;
}

/* The pidfd is close-on-exec: the kernel makes no other kind. */
static int peer_pidfd(int socket)
{
	int pidfd = -EBADF;
	socklen_t size = sizeof(pidfd);

	return getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0 ? -errno : pidfd;
}

static bool is_there(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, 0) == 0;
}

/* The pid counts only if the process that had it is still there after /proc has been read. Where
 * the kernel gives no pidfd of the peer (before 6.5), that is the one of this pid now. */
static enum place find_place(pid_t pid, int pidfd, bool is_gone)
{
	_cleanup_close_ int own = pidfd < 0 && !is_gone ? pidfd_of(pid) : -EBADF;
	int fd = pidfd < 0 ? own : pidfd;
	enum place place = fd < 0 ? PLACE_UNKNOWN : place_of(pid);

	return place != PLACE_UNKNOWN && is_there(fd) ? place : PLACE_UNKNOWN;
}

int peer_identify(int socket, struct peer *ret)
{
	struct ucred credentials = { .pid = 0 };
	socklen_t size = sizeof(credentials);
	int pidfd;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return -errno;
	/* 0 is also what a process outside of our pid namespace looks like: nobody to name. */
	if (size != sizeof(credentials) || credentials.pid <= 0)
		return -ENODATA;

	/* No room for another fd is a failure: an attacker who fills our table must not be able to
	 * make identities weaker. */
	pidfd = peer_pidfd(socket);
	if (pidfd < 0 && !is_without_pidfd(pidfd))
		return pidfd;
	*ret = (struct peer){
		.pid = credentials.pid,
		.uid = credentials.uid,
		.gid = credentials.gid,
		.pidfd = pidfd < 0 ? -EBADF : pidfd,
		.place = find_place(credentials.pid, pidfd, pidfd < 0 && pidfd != -ENOPROTOOPT),
	};
	return 0;
}
