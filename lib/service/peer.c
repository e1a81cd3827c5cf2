/* SPDX-License-Identifier: MIT */

/*
 * SO_PEERCRED gives the credentials of the process that called connect(), taken by the kernel at
 * that moment. Its pid may be reused once that process has been reaped; the pidfd (SO_PEERPIDFD)
 * cannot.
 *
 * A user namespace is identified by the inode of /proc/PID/ns/user. Reading it needs
 * PTRACE_MODE_READ, which a service with its own user and no capabilities has for itself only.
 * /proc/PID/uid_map needs no right, and is enough in one case: our own map is the identity map of
 * all ids. Only CAP_SETUID outside of all sandboxes can write that map into a child namespace; sbx
 * maps one id, and an unprivileged user can map no more.
 */

#include "service/peer.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/file.h"

#ifndef SO_PEERPIDFD
#if defined(__hppa__) || defined(__sparc__)
#error "SO_PEERPIDFD has another number on this architecture"
#endif
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

#define PROC_BYTES_MAX 65536
#define ALL_IDS 4294967295u

/* ---- place ---- */

const char *peer_place_name(enum peer_place place)
{
	static const char *const names[] = {
		[PEER_UNKNOWN] = "unknown",
		[PEER_IN_NAMESPACE] = "user_namespace",
		[PEER_IN_SANDBOX] = "sandbox_cgroup",
	};

	return names[place];
}

static int read_proc(const char *of, const char *name, char **ret)
{
	char path[64];
	size_t n_bytes;

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", of, name);
	return file_read(AT_FDCWD, path, PROC_BYTES_MAX, ret, &n_bytes, NULL);
}

static bool maps_all_ids(const char *of)
{
	_cleanup_free_ char *map = NULL;
	unsigned first, outside, count;

	return read_proc(of, "uid_map", &map) == 0 &&
	       sscanf(map, "%u %u %u", &first, &outside, &count) == 3 && first == 0 &&
	       outside == 0 && count == ALL_IDS;
}

static enum peer_place by_namespace(const char *pid)
{
	struct stat ours, its;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/ns/user", pid);
	if (stat("/proc/self/ns/user", &ours) < 0)
		return PEER_UNKNOWN;
	if (stat(path, &its) == 0)
		return ours.st_dev == its.st_dev && ours.st_ino == its.st_ino ? PEER_BESIDE
									      : PEER_IN_NAMESPACE;
	if ((errno != EACCES && errno != EPERM) || !maps_all_ids("self"))
		return PEER_UNKNOWN;
	return maps_all_ids(pid) ? PEER_BESIDE : PEER_IN_NAMESPACE;
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	return len >= strlen(end) && memcmp(name + len - strlen(end), end, strlen(end)) == 0;
}

/* Matches "sbx-ID", and "sbx-ID.scope" with "sbx-ID" in it. Our own services and slices are not
 * sandboxes. */
static bool is_sandbox(const char *name, size_t len)
{
	return len > 4 && memcmp(name, "sbx-", 4) == 0 && !ends_with(name, len, ".service") &&
	       !ends_with(name, len, ".slice");
}

/* The length of @cgroups (/proc/PID/cgroup) up to the name of the innermost sandbox; 0 if there is
 * none. */
static size_t count_to_sandbox(const char *cgroups)
{
	size_t n = 0;

	for (const char *at = cgroups; *at;) {
		size_t len = strcspn(at, "/\n");

		if (is_sandbox(at, len))
			n = (size_t)(at - cgroups) + len;
		at += len;
		at += *at != '\0';
	}
	return n;
}

bool peer_is_same_sandbox(const char *ours, const char *its)
{
	size_t n = count_to_sandbox(its);

	return n == count_to_sandbox(ours) && memcmp(ours, its, n) == 0;
}

static enum peer_place by_cgroup(const char *pid)
{
	_cleanup_free_ char *ours = NULL, *its = NULL;

	if (read_proc("self", "cgroup", &ours) < 0 || read_proc(pid, "cgroup", &its) < 0)
		return PEER_UNKNOWN;
	return peer_is_same_sandbox(ours, its) ? PEER_BESIDE : PEER_IN_SANDBOX;
}

enum peer_place peer_place_of(pid_t pid)
{
	char number[16];
	enum peer_place place;

	(void)snprintf(number, sizeof(number), "%d", pid);
	place = by_namespace(number);
	return place == PEER_BESIDE ? by_cgroup(number) : place;
}

/* ---- peer ---- */

void peer_deinit(struct peer *peer)
{
	close_fd(&peer->pidfd);
	*peer = (struct peer)PEER_INIT;
}

/* The kernel lacks SO_PEERPIDFD, or the process has been reaped. Do not fall back to pidfd_open():
 * the pid may belong to another process by now. */
static bool is_without_pidfd(int code)
{
	return code == -ENOPROTOOPT || code == -ESRCH || code == -EINVAL || code == -ENODATA;
}

/* The kernel always creates this pidfd close-on-exec. */
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

/* The pid may be reused while /proc is read: the place counts only if the peer is still alive
 * afterwards. Without SO_PEERPIDFD (before 6.5) we take the process that has this pid now for the
 * peer. */
static enum peer_place find_place(pid_t pid, int pidfd, bool is_gone)
{
	_cleanup_close_ int own = pidfd < 0 && !is_gone ? pidfd_of(pid) : -EBADF;
	int fd = pidfd < 0 ? own : pidfd;
	enum peer_place place = fd < 0 ? PEER_UNKNOWN : peer_place_of(pid);

	return place != PEER_UNKNOWN && is_there(fd) ? place : PEER_UNKNOWN;
}

int peer_identify(int socket, struct peer *ret)
{
	struct ucred credentials = { .pid = 0 };
	socklen_t size = sizeof(credentials);
	int pidfd;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return -errno;
	/* The kernel reports pid 0 for a process outside of our pid namespace. */
	if (size != sizeof(credentials) || credentials.pid <= 0)
		return -ENODATA;

	/* EMFILE is a failure: an attacker that exhausts our fds must not be able to weaken
	 * identities. */
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
