/* SPDX-License-Identifier: MIT */

/*
 * The network namespace of the sandbox: a loopback device, and listening sockets on it
 *
 * A socket belongs to the network namespace in which it was created, whichever process has its fd.
 * So the listeners that PID 1 creates are sent to the supervisor, which accepts connections from
 * inside, and the namespace needs no other connection to the host.
 */

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

int network_hostname(struct kernel *kernel, const struct step *step, size_t number)
{
	return sethostname(step->hostname.name, strlen(step->hostname.name)) < 0 ? -errno : 0;
}

/* Setting lo up adds only 127.0.0.1 and, if the kernel has IPv6, ::1. Any family of socket works
 * for the request; an outer sandbox's filter may refuse AF_INET. */
int network_loopback(struct kernel *kernel, const struct step *step, size_t number)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

int network_listen(struct kernel *kernel, const struct step *step, size_t number)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(step->listen.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	_cleanup_close_ int fd = -EBADF;

	/* For port 0 the kernel would choose a port. */
	if (step->listen.port == 0)
		return -EINVAL;
	if (kernel->n_listeners == KERNEL_LISTENERS_MAX)
		return -ENOBUFS;
	/* Non-blocking: if a client disconnects between poll() and accept(), the supervisor must
	 * not block. */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return -errno;
	kernel->listeners[kernel->n_listeners++] = take_fd(&fd);
	return 0;
}
