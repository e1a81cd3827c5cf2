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

/* Non-blocking: if a client disconnects between poll() and accept(), the supervisor must not
 * block. */
static int listen_on(const struct sockaddr *address, socklen_t size, int *ret_fd)
{
	_cleanup_close_ int fd =
		socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, address, size) < 0 || listen(fd, SOMAXCONN) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int listen_on_ipv6(uint16_t port, int *ret_fd)
{
	const struct sockaddr_in6 address = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};

	return listen_on((const struct sockaddr *)&address, sizeof(address), ret_fd);
}

static int listen_on_ipv4(uint16_t port, int *ret_fd)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return listen_on((const struct sockaddr *)&address, sizeof(address), ret_fd);
}

int network_listen(struct kernel *kernel, const struct step *step, size_t number)
{
	bool is_ipv6 = step->listen.address && strcmp(step->listen.address, LISTEN_IPV6) == 0;
	int fd = -EBADF, r;

	/* For port 0 the kernel would choose a port. */
	if (step->listen.port == 0)
		return -EINVAL;
	if (kernel->n_listeners == KERNEL_LISTENERS_MAX)
		return -ENOBUFS;
	r = is_ipv6 ? listen_on_ipv6(step->listen.port, &fd)
		    : listen_on_ipv4(step->listen.port, &fd);
	/* No IPv6 in the kernel, or not in new namespaces: then no program inside can connect to
	 * ::1 either. */
	if (is_ipv6 && (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL))
		return 0;
	if (r == 0)
		kernel->listeners[kernel->n_listeners++] = fd;
	return r;
}
