/* SPDX-License-Identifier: MIT */

/*
 * The network namespace of the sandbox: a loopback device, and listening sockets on it
 *
 * A socket belongs to the namespace it was made in, wherever its fd goes. So the listeners made
 * here are handed to the supervisor, who accepts outside what is connected inside, and the
 * namespace needs no other way out.
 */

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

int network_hostname(struct kernel *kernel, const struct step *step, size_t number)
{
	return sethostname(step->hostname.name, strlen(step->hostname.name)) < 0 ? -errno : 0;
}

/* With the device come 127.0.0.1 and, where the kernel has IPv6, ::1, and nothing else. */
int network_loopback(struct kernel *kernel, const struct step *step, size_t number)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	/* Any family will do; in a sandbox whose filter has no AF_INET this works, too. */
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

int network_listen(struct kernel *kernel, const struct step *step, size_t number)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(step->listen.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	_cleanup_close_ int fd = -EBADF;

	/* Port 0 would be one that the kernel chooses. */
	if (step->listen.port == 0)
		return -EINVAL;
	if (kernel->n_listeners == KERNEL_LISTENERS_MAX)
		return -ENOBUFS;
	/* Non-blocking: a client that goes away between poll() and accept() must not stop whoever
	 * accepts. */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return -errno;
	kernel->listeners[kernel->n_listeners++] = take_fd(&fd);
	return 0;
}
