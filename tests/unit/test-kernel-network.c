/* SPDX-License-Identifier: MIT */

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include "kernel-rig.h"

#define PORT 8765

static const struct step nothing;

static int enter(struct kernel *kernel)
{
	int r = become_ordinary();

	return r < 0 ? r : enter_namespaces(kernel, CLONE_NEWNET | CLONE_NEWUTS);
}

static int connect_to(uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

static int listen_at(struct kernel *kernel, uint16_t port)
{
	const struct step step = { .kind = STEP_LISTEN, .listen.port = port };

	return network_listen(kernel, &step, 0);
}

static int name_the_host(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step step = { .kind = STEP_HOSTNAME, .hostname.name = "inside" };
	const struct step too_long = { .kind = STEP_HOSTNAME,
				       .hostname.name = "0123456789012345678901234567890123456789"
							"0123456789012345678901234" };
	struct utsname name;

	check(enter(&kernel) == 0);
	check(network_hostname(&kernel, &too_long, 0) == -EINVAL);
	check(network_hostname(&kernel, &step, 0) == 0);
	check(uname(&name) == 0 && strcmp(name.nodename, "inside") == 0);
	return 0;
}

static void gives_the_sandbox_a_host_name(void)
{
	struct utsname before, after;

	NEEDS_USERNS();
	expect_eq(uname(&before), 0);
	expect_eq(in_child(name_the_host), 0);
	expect_eq(uname(&after), 0);
	expect_str(after.nodename, before.nodename);
}

static int bring_up(void)
{
	struct kernel kernel = KERNEL_INIT;
	struct ifreq request = { .ifr_name = "lo" };
	_cleanup_close_ int fd = -EBADF;

	check(enter(&kernel) == 0);
	/* With the loopback device down, even 127.0.0.1 is unreachable. */
	check(connect_to(PORT) == -ENETUNREACH);
	check(network_loopback(&kernel, &nothing, 0) == 0);
	check(connect_to(PORT) == -ECONNREFUSED);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP));
	return 0;
}

static void brings_the_loopback_device_up(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(bring_up), 0);
}

static int listen_inside(void)
{
	struct kernel kernel = KERNEL_INIT;
	int accepted;

	check(enter(&kernel) == 0);
	check(network_loopback(&kernel, &nothing, 0) == 0);
	check(connect_to(PORT) == -ECONNREFUSED);
	check(listen_at(&kernel, PORT) == 0 && kernel.n_listeners == 1);
	check(fcntl(kernel.listeners[0], F_GETFD) == FD_CLOEXEC);
	/* The listener is non-blocking: accept() without a connection returns EAGAIN. */
	check(accept(kernel.listeners[0], NULL, NULL) < 0 && errno == EAGAIN);
	check(connect_to(PORT) == 0);
	accepted = accept(kernel.listeners[0], NULL, NULL);
	check(accepted >= 0);
	(void)close(accepted);
	/* A privileged port of the host. */
	check(listen_at(&kernel, 443) == 0 && kernel.n_listeners == 2);
	check(connect_to(443) == 0);
	return 0;
}

static void listens_in_the_namespace(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(listen_inside), 0);
}

static int accept_outside(void)
{
	int pair[2], listener = -1, accepted;
	size_t n_fds;
	char byte;
	pid_t inside;

	check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	inside = fork();
	if (inside == 0) {
		struct kernel kernel = KERNEL_INIT;

		if (enter(&kernel) < 0 || network_loopback(&kernel, &nothing, 0) < 0 ||
		    listen_at(&kernel, PORT) < 0 ||
		    fd_send(pair[1], "x", 1, kernel.listeners, 1) < 0)
			_exit(1);
		_exit(connect_to(PORT) < 0);
	}
	check(close(pair[1]) == 0);
	check(fd_receive(pair[0], &byte, 1, &listener, 1, &n_fds) == 1 && n_fds == 1);
	check(waitpid(inside, NULL, 0) == inside);
	/* This process is in the host's network namespace, where no socket listens on this port. */
	check(connect_to(PORT) == -ECONNREFUSED);
	accepted = accept(listener, NULL, NULL);
	check(accepted >= 0);
	return 0;
}

static void a_listener_that_is_handed_out_still_accepts_what_is_inside(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(accept_outside), 0);
}

static int listen_at_ipv6(struct kernel *kernel)
{
	const struct step step = { .kind = STEP_LISTEN,
				   .listen = { .address = LISTEN_IPV6, .port = PORT } };

	return network_listen(kernel, &step, 0);
}

static int listen_at_both(void)
{
	struct sockaddr_in6 bound = { .sin6_family = AF_UNSPEC };
	struct kernel kernel = KERNEL_INIT;
	socklen_t size = sizeof(bound);

	check(enter(&kernel) == 0);
	/* Before the loopback is up there is no ::1, as on a kernel without IPv6. */
	check(listen_at_ipv6(&kernel) == 0 && kernel.n_listeners == 0);
	check(network_loopback(&kernel, &nothing, 0) == 0);
	check(listen_at(&kernel, PORT) == 0);
	check(listen_at_ipv6(&kernel) == 0);
	if (kernel.n_listeners == 1)
		return 0;
	check(getsockname(kernel.listeners[1], (struct sockaddr *)&bound, &size) == 0);
	check(bound.sin6_family == AF_INET6 && ntohs(bound.sin6_port) == PORT);
	check(IN6_IS_ADDR_LOOPBACK(&bound.sin6_addr));
	check(listen_at_ipv6(&kernel) == -EADDRINUSE);
	return 0;
}

static void listens_at_both_loopbacks_where_there_is_ipv6(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(listen_at_both), 0);
}

static int listen_wrongly(void)
{
	struct kernel kernel = KERNEL_INIT;

	check(enter(&kernel) == 0);
	check(network_loopback(&kernel, &nothing, 0) == 0);
	check(listen_at(&kernel, 0) == -EINVAL);
	check(listen_at(&kernel, PORT) == 0);
	check(listen_at(&kernel, PORT) == -EADDRINUSE);
	for (uint64_t port = 1; kernel.n_listeners < KERNEL_LISTENERS_MAX; port++)
		check(listen_at(&kernel, port) == 0);
	check(listen_at(&kernel, 999) == -ENOBUFS);
	check(kernel.n_listeners == KERNEL_LISTENERS_MAX);
	return 0;
}

static void refuses_ports_that_are_none_or_taken_or_too_many(void)
{
	NEEDS_USERNS();
	expect_eq(in_child(listen_wrongly), 0);
}

static int touch_the_host(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step step = { .kind = STEP_HOSTNAME, .hostname.name = "mine" };

	check(become_ordinary() == 0);
	check(network_hostname(&kernel, &step, 0) == -EPERM);
	return network_loopback(&kernel, &nothing, 0);
}

static void an_ordinary_user_changes_nothing_of_the_host(void)
{
	expect_eq(in_child(touch_the_host), -EPERM);
}

static const struct test tests[] = {
	TEST(gives_the_sandbox_a_host_name),
	TEST(brings_the_loopback_device_up),
	TEST(listens_in_the_namespace),
	TEST(listens_at_both_loopbacks_where_there_is_ipv6),
	TEST(a_listener_that_is_handed_out_still_accepts_what_is_inside),
	TEST(refuses_ports_that_are_none_or_taken_or_too_many),
	TEST(an_ordinary_user_changes_nothing_of_the_host),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
