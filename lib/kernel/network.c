/* SPDX-License-Identifier: MIT */

/*
 * The network namespace of the sandbox: a loopback device, and listening sockets on it
 *
 * A socket belongs to the network namespace in which it was created, whichever process has its fd.
 * So the listeners that PID 1 creates are sent to the supervisor, which accepts connections from
 * inside, and the namespace needs no other connection to the host.
 *
 * The kernel takes as long to create a network namespace as PID 1 to build the file tree, and no
 * step of the tree needs it. So a process that shares the fds of PID 1, the maker, creates it
 * meanwhile, and PID 1 waits for the maker's end and enters the namespace before it goes on.
 */

#include <errno.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

/* The lowest free pid in a new PID namespace in which only PID 1 runs. */
#define MAKER_PID 2

/* The results of the maker, in memory that it shares with PID 1. */
struct network_maker {
	int namespace;	   /* fd, or negative errno */
	int loopback_code; /* of setting lo up in the namespace: 0 or negative errno */
};

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

	if (kernel->has_network_maker)
		return kernel->network_maker->loopback_code;
	fd = open_socket();
	return fd < 0 ? fd : bring_up(fd);
}

static int make_namespace(const struct plan *plan, int *ret_loopback_code)
{
	_cleanup_close_ int fd = -EBADF;
	int namespace;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = open_socket();
	if (fd < 0)
		return fd;
	if (kernel_find_step(plan, STEP_LOOPBACK) != KERNEL_NO_STEP)
		*ret_loopback_code = bring_up(fd);
	/* Not by /proc, which PID 1 is about to leave. */
	namespace = ioctl(fd, SIOCGSKNS);
	return namespace < 0 ? -errno : namespace;
}

static noreturn void be_maker(const struct kernel *kernel)
{
	struct network_maker *maker = kernel->network_maker;

	maker->namespace = make_namespace(kernel->plan, &maker->loopback_code);
	for (;;)
		(void)syscall(SYS_exit_group, 0);
}

/* Like fork(), but shares the fds of PID 1. set_tid: a pid that alloc_pid() is given does not
 * advance its cursor, so the command has pid 2 although the maker had it before. */
static pid_t clone_maker(void)
{
	static const pid_t pid = MAKER_PID;
	const struct clone_args args = {
		.flags = CLONE_FILES,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int network_begin(struct kernel *kernel)
{
	struct network_maker *maker;
	pid_t pid;

	if (!kernel->has_network_maker)
		return 0;
	maker = mmap(NULL, sizeof(*maker), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (maker == MAP_FAILED)
		return -errno;
	kernel->network_maker = maker;
	/* In case the maker is killed before it answers. */
	*maker = (struct network_maker){ .namespace = -ECHILD, .loopback_code = -ECHILD };
	pid = clone_maker();
	if (pid == 0)
		be_maker(kernel);
	return pid < 0 ? -errno : 0;
}

int network_enter(struct kernel *kernel)
{
	struct network_maker *maker = kernel->network_maker;
	int r = 0;

	if (!kernel->has_network_maker)
		return 0;
	/* __WALL: without it wait4() ignores a child whose exit signal is not SIGCHLD. */
	while (waitpid(MAKER_PID, NULL, __WALL) < 0)
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
