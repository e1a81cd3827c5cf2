/* SPDX-License-Identifier: MIT */

/*
 * File descriptors
 *
 * When recvmsg() returns, all fds of the message are already open in this process, wanted or not.
 * Therefore they are collected first, and then either all go to the caller or all are closed:
 * otherwise a peer could exhaust RLIMIT_NOFILE with leaked fds.
 */

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef SO_PASSRIGHTS
#if defined(__hppa__) || defined(__sparc__)
#error "SO_PASSRIGHTS has another number on this architecture"
#endif
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif
#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* Linux 6.5 */
#endif

/* Fds, and beside them what other socket options add (credentials, a security label). */
#define CONTROL_SIZE (CMSG_SPACE(FD_PASS_MAX * sizeof(int)) + 512)

union control {
	struct cmsghdr align;
	char bytes[CONTROL_SIZE];
};

/* As many as the control data can contain. */
struct received {
	int fds[CONTROL_SIZE / sizeof(int)];
	size_t n;
};

int fd_write_all(int fd, const void *bytes, size_t n_bytes)
{
	const char *at = bytes;

	while (n_bytes > 0) {
		ssize_t n = write(fd, at, n_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		n_bytes -= (size_t)n;
	}
	return 0;
}

ssize_t fd_read_full(int fd, void *bytes, size_t n_bytes)
{
	size_t n_read = 0;

	while (n_read < n_bytes) {
		ssize_t n = read(fd, (char *)bytes + n_read, n_bytes - n_read);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		n_read += (size_t)n;
	}
	return (ssize_t)n_read;
}

/* Sends the rest after a short write to a stream socket; the fds were sent with the first part. */
static int send_rest(int socket, const char *bytes, size_t n_bytes, int flags)
{
	while (n_bytes > 0) {
		ssize_t n = send(socket, bytes, n_bytes, flags);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		n_bytes -= (size_t)n;
	}
	return 0;
}

static int send_message(int socket, const void *bytes, size_t n_bytes, const int *fds, size_t n_fds,
			int flags)
{
	union control control = { .bytes = { 0 } };
	struct iovec vector = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = n_bytes };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
	ssize_t n;

	if (n_bytes == 0 || n_fds > FD_PASS_MAX)
		return -EINVAL;
	if (n_fds > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));

		/* The first header is at the start of the control buffer. */
		struct cmsghdr *part = (struct cmsghdr *)control.bytes;

		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(part), fds, n_fds * sizeof(int));
	}

	do
		n = sendmsg(socket, &message, flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return send_rest(socket, (const char *)bytes + n, n_bytes - (size_t)n, flags);
}

int fd_send(int socket, const void *bytes, size_t n_bytes, const int *fds, size_t n_fds)
{
	return send_message(socket, bytes, n_bytes, fds, n_fds, MSG_NOSIGNAL);
}

int fd_send_now(int socket, const void *bytes, size_t n_bytes, const int *fds, size_t n_fds)
{
	return send_message(socket, bytes, n_bytes, fds, n_fds, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int fd_connect(const char *path, int flags)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(path);

	if (fd < 0)
		return -errno;
	if (len >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, len);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return take_fd(&fd);
}

static void collect_fds(struct msghdr *message, struct received *received)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;

		size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		memcpy(received->fds + received->n, CMSG_DATA(part), n * sizeof(int));
		received->n += n;
	}
}

static ssize_t receive_message(int socket, void *bytes, size_t max_bytes, int *fds, size_t max_fds,
			       size_t *ret_n_fds, int flags)
{
	union control control = { .bytes = { 0 } };
	struct iovec vector = { .iov_base = bytes, .iov_len = max_bytes };
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct received received = { .n = 0 };
	ssize_t n;

	do
		n = recvmsg(socket, &message, flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;

	collect_fds(&message, &received);
	/*
	 * The kernel sets MSG_CTRUNC also if RLIMIT_NOFILE kept it from installing some of the fds.
	 */
	if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || received.n > max_fds) {
		fd_close_many(received.fds, received.n);
		return -EMSGSIZE;
	}
	/* A caller takes an empty packet for the end of the stream and would leak its fds. */
	if (n == 0) {
		fd_close_many(received.fds, received.n);
		received.n = 0;
	}
	if (received.n > 0)
		memcpy(fds, received.fds, received.n * sizeof(int));
	*ret_n_fds = received.n;
	return n;
}

ssize_t fd_receive(int socket, void *bytes, size_t max_bytes, int *fds, size_t max_fds,
		   size_t *ret_n_fds)
{
	return receive_message(socket, bytes, max_bytes, fds, max_fds, ret_n_fds, MSG_CMSG_CLOEXEC);
}

ssize_t fd_receive_now(int socket, void *bytes, size_t max_bytes, int *fds, size_t max_fds,
		       size_t *ret_n_fds)
{
	return receive_message(socket, bytes, max_bytes, fds, max_fds, ret_n_fds,
			       MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
}

static void set_passing(int socket, int passes)
{
	(void)setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &passes, sizeof(passes));
}

void fd_refuse_fds(int socket)
{
	set_passing(socket, 0);
}

void fd_accept_fds(int socket)
{
	set_passing(socket, 1);
}

bool fd_refuses_fds(int socket)
{
	int passes = 1;
	socklen_t n_bytes = sizeof(passes);

	return getsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &passes, &n_bytes) == 0 && !passes;
}

/* The kernel sets MSG_CTRUNC because no buffer for control data is given. */
int fd_has_control(int socket)
{
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT) < 0)
		return -errno;
	return (message.msg_flags & MSG_CTRUNC) != 0;
}

void fd_drop_control(int socket)
{
	static const int options[] = { SO_PASSCRED, SO_PASSSEC, SO_PASSPIDFD };
	const int no = 0;

	for (size_t i = 0; i < N_ELEMENTS(options); i++)
		(void)setsockopt(socket, SOL_SOCKET, options[i], &no, sizeof(no));
}

void fd_close_many(int *fds, size_t n_fds)
{
	for (size_t i = 0; i < n_fds; i++)
		close_fd(&fds[i]);
}

static int change_flags(int fd, int set, int clear)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0 || fcntl(fd, F_SETFD, (flags | set) & ~clear) < 0)
		return -errno;
	return 0;
}

DIR *fd_open_dir(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		close_fd(&fd);
	return dir;
}

int fd_set_cloexec(int fd)
{
	return change_flags(fd, FD_CLOEXEC, 0);
}

int fd_clear_cloexec(int fd)
{
	return change_flags(fd, 0, FD_CLOEXEC);
}

const char *fd_find_socket_fault(int fd)
{
	struct sockaddr_un peer;
	socklen_t length = sizeof(int), n_peer = sizeof(peer);
	int family, type, listens = 0;

	if (fcntl(fd, F_GETFD) < 0)
		return "it is not open";
	if (fd <= STDERR_FILENO)
		return "it is stdin, stdout or stderr";
	if (isatty(fd))
		return "it is a terminal";
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) < 0)
		return "it is not a socket";
	if (family != AF_UNIX)
		return "it is not a unix socket";
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0 || type == SOCK_DGRAM)
		return "it is a datagram socket, which does not tell when the other end is closed";
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens)
		return "it is listening, so it has no other end";
	return getpeername(fd, (struct sockaddr *)&peer, &n_peer) < 0 ? "it is not connected"
								      : NULL;
}

int pidfd_of(pid_t pid)
{
	return fd_or_errno(pidfd_open(pid, 0));
}

int pidfd_kill(int pidfd, int signal)
{
	return pidfd_send_signal(pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}
