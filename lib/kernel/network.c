/* SPDX-License-Identifier: MIT */

/*
 * The network namespace of the sandbox: a loopback device, and listening sockets on it
 *
 * A socket belongs to the network namespace in which it was created, whichever process has its fd.
 * So the listeners that PID 1 creates are sent to the supervisor, which accepts connections from
 * inside, and the namespace needs no other connection to the host.
 *
 * The kernel takes as long to create a network namespace as PID 1 to build the file tree, and no
 * step of the tree needs it. So a process that shares PID 1's memory and fds, the maker, creates it
 * meanwhile, and PID 1 waits for the maker's end and enters the namespace before it goes on.
 */

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

#define STACK_SIZE (16 * 1024)

int network_hostname(struct kernel *kernel, const struct step *step, size_t number)
{
	return sethostname(step->hostname.name, strlen(step->hostname.name)) < 0 ? -errno : 0;
}

/* Setting lo up adds only 127.0.0.1 and, if the kernel has IPv6, ::1. */
static int bring_up(int socket)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	return ioctl(socket, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

/* Any family works for the requests below; an outer sandbox's filter may refuse AF_INET. */
static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int network_loopback(struct kernel *kernel, const struct step *step, size_t number)
{
	_cleanup_close_ int fd = -EBADF;

	if (kernel->network_maker.is_used)
		return kernel->network_maker.loopback_code;
	fd = open_socket();
	return fd < 0 ? fd : bring_up(fd);
}

static int make_namespace(struct network_maker *maker)
{
	_cleanup_close_ int fd = -EBADF;
	int namespace;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = open_socket();
	if (fd < 0)
		return fd;
	maker->loopback_code = bring_up(fd);
	/* Not by /proc, which PID 1 is about to leave. */
	namespace = ioctl(fd, SIOCGSKNS);
	return namespace < 0 ? -errno : namespace;
}

/* Its errno is PID 1's: a call of PID 1 that fails in the same moment as one of the maker may
 * report the wrong error, but then network_enter() fails and the command does not run. */
static int be_maker(void *argument)
{
	struct network_maker *maker = argument;

	maker->namespace = make_namespace(maker);
	return 0;
}

int network_begin(struct kernel *kernel)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	struct network_maker *maker = &kernel->network_maker;

	if (!maker->is_used)
		return 0;
	/* In case the maker is killed before it answers. */
	maker->namespace = -ECHILD;
	maker->loopback_code = -ECHILD;
	maker->pid = clone(be_maker, stack + STACK_SIZE, CLONE_VM | CLONE_FILES, maker);
	return maker->pid < 0 ? -errno : 0;
}

int network_enter(struct kernel *kernel)
{
	struct network_maker *maker = &kernel->network_maker;
	int r = 0;

	if (!maker->is_used)
		return 0;
	/* __WALL: the maker's end sends no signal. */
	while (waitpid(maker->pid, NULL, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	if (maker->namespace < 0)
		return maker->namespace;
	if (setns(maker->namespace, CLONE_NEWNET) < 0)
		r = -errno;
	fd_close_many(&maker->namespace, 1);
	return r;
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
