/* SPDX-License-Identifier: MIT */

/* Connections to the outside: sockets of each family, and ways around a check of connect() */

#include "escape.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/io_uring.h>

#define MPTCP 262

static enum escape_verdict make_socket(long family)
{
	int fd = socket((int)family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fd = socket((int)family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fd = socket((int)family, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fd = socket((int)family, SOCK_RAW | SOCK_CLOEXEC, 0);
	return escape_judge(fd);
}

static struct sockaddr_in host_port(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)escape_number("ESCAPE_PORT")),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static enum escape_verdict connect_to_host(long protocol)
{
	struct sockaddr_in address = host_port();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, (int)protocol);

	if (fd < 0)
		return REFUSED;
	return escape_judge(connect(fd, (struct sockaddr *)&address, sizeof(address)));
}

/* MSG_FASTOPEN connects with the first packet, without connect(). */
static enum escape_verdict fast_open(long unused)
{
	struct sockaddr_in address = host_port();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return REFUSED;
	return escape_judge(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
				   (struct sockaddr *)&address, sizeof(address)));
}

/* A second datagram reports what the first one met: ECONNREFUSED if no socket takes it. */
static enum escape_verdict send_datagram(long unused)
{
	struct sockaddr_in address = host_port();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    send(fd, "x", 1, MSG_NOSIGNAL) < 0)
		return REFUSED;
	return escape_judge(send(fd, "x", 1, MSG_NOSIGNAL));
}

/* An address of the host outside of its loopback. */
static enum escape_verdict connect_to_address(long is_mapped)
{
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6 };
	struct sockaddr_in address = host_port();
	const char *text = escape_target("ESCAPE_ADDRESS");
	int fd = socket(is_mapped ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!*text)
		return UNKNOWN;
	if (fd < 0 || inet_pton(AF_INET, text, &address.sin_addr) != 1)
		return REFUSED;
	if (!is_mapped)
		return escape_judge(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	mapped.sin6_port = address.sin_port;
	memset(&mapped.sin6_addr.s6_addr[10], 0xff, 2);
	memcpy(&mapped.sin6_addr.s6_addr[12], &address.sin_addr, 4);
	return escape_judge(connect(fd, (struct sockaddr *)&mapped, sizeof(mapped)));
}

static enum escape_verdict send_raw(long protocol)
{
	return escape_judge(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, (int)protocol));
}

static enum escape_verdict datagram_protocol(long protocol)
{
	return escape_judge(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, (int)protocol));
}

static enum escape_verdict netlink_protocol(long protocol)
{
	return escape_judge(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, (int)protocol));
}

/* TCP_ULP: any errno of the kernel about the protocol, even ENOENT, shows that the filter did not
 * refuse it.
 */
static enum escape_verdict upper_layer(long unused)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return REFUSED;
	return setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) < 0 &&
			       errno == ENOPROTOOPT
		       ? REFUSED
		       : ESCAPED;
}

static enum escape_verdict listen_for_all(long unused)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return REFUSED;
	return escape_judge(bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

static enum escape_verdict connect_to_unix(long is_abstract)
{
	const char *name = escape_target(is_abstract ? "ESCAPE_ABSTRACT" : "ESCAPE_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || len + 1 >= sizeof(address.sun_path))
		return REFUSED;
	memcpy(address.sun_path + (is_abstract ? 1 : 0), name, len);
	return escape_judge(connect(fd, (struct sockaddr *)&address,
				    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
						(is_abstract ? 1 : 0))));
}

/* Either end of a datagram socketpair can send or connect to any other address. */
static enum escape_verdict datagram_of_pair(long connects)
{
	const char *name = escape_target("ESCAPE_DATAGRAM");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int pair[2];

	if (len >= sizeof(address.sun_path) ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
		return REFUSED;
	memcpy(address.sun_path, name, len);
	if (connects)
		return escape_judge(connect(pair[0], (struct sockaddr *)&address, sizeof(address)));
	return escape_judge(sendto(pair[0], "x", 1, MSG_DONTWAIT, (struct sockaddr *)&address,
				   sizeof(address)));
}

static enum escape_verdict ring(long unused)
{
	struct io_uring_params parameters = { .flags = 0 };

	return escape_judge(syscall(SYS_io_uring_setup, 4, &parameters));
}

/* io_uring creates the socket without socket(). */
static enum escape_verdict socket_by_ring(long unused)
{
	struct io_uring_params p = { .flags = 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	char *rings;
	struct io_uring_sqe *entry;
	const struct io_uring_cqe *done;

	if (fd < 0)
		return REFUSED;
	rings = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*done), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	entry = mmap(NULL, p.sq_entries * sizeof(*entry), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
	if (rings == MAP_FAILED || entry == MAP_FAILED)
		return REFUSED;
	*entry = (struct io_uring_sqe){ .opcode = 45, .fd = AF_INET, .off = SOCK_STREAM };
	*(unsigned *)(rings + p.sq_off.array) = 0;
	(*(unsigned *)(rings + p.sq_off.tail))++;
	if (syscall(SYS_io_uring_enter, fd, 1, 1, 1, NULL, 0) < 0)
		return REFUSED;
	done = (const struct io_uring_cqe *)(const void *)(rings + p.cq_off.cqes);
	return escape_judge(done->res);
}

/* clang-format off */
const struct escape escapes_sockets[] = {
	{ "without_net_internet_socket", NEEDS_USER, make_socket, AF_INET },
	{ "without_net_internet6_socket", NEEDS_USER, make_socket, AF_INET6 },
	{ "without_net_netlink_socket", NEEDS_USER, make_socket, AF_NETLINK },
	{ "without_net_listen_for_all", NEEDS_USER, listen_for_all, 0 },
	{ "packet_socket", NEEDS_ROOT, make_socket, AF_PACKET },
	{ "raw_socket", NEEDS_ROOT, send_raw, IPPROTO_TCP },
	{ "ping_socket", NEEDS_NOTHING_OUTSIDE, datagram_protocol, IPPROTO_ICMP }, /* depends on ping_group_range */
	{ "udplite_socket", NEEDS_NOTHING_OUTSIDE, datagram_protocol, IPPROTO_UDPLITE }, /* not in all kernels */
	{ "diagnosis_of_sockets", NEEDS_USER, netlink_protocol, NETLINK_SOCK_DIAG },
	{ "upper_layer_of_tcp", NEEDS_USER, upper_layer, 0 },
	{ "vsock_socket", NEEDS_NOTHING_OUTSIDE, make_socket, AF_VSOCK }, /* needs a module */
	{ "alg_socket", NEEDS_NOTHING_OUTSIDE, make_socket, AF_ALG },	  /* like the next five */
	{ "key_socket", NEEDS_NOTHING_OUTSIDE, make_socket, AF_KEY },
	{ "bluetooth_socket", NEEDS_NOTHING_OUTSIDE, make_socket, AF_BLUETOOTH },
	{ "tipc_socket", NEEDS_NOTHING_OUTSIDE, make_socket, AF_TIPC },
	{ "rds_socket", NEEDS_NOTHING_OUTSIDE, make_socket, AF_RDS },
	{ "xdp_socket", NEEDS_NOTHING_OUTSIDE, make_socket, AF_XDP },
	{ "connect_to_host", NEEDS_USER, connect_to_host, 0 },
	{ "connect_by_multipath", NEEDS_NOTHING_OUTSIDE, connect_to_host, MPTCP }, /* often not built in */
	{ "connect_by_fast_open", NEEDS_USER, fast_open, 0 },
	{ "connect_to_address_of_host", NEEDS_USER, connect_to_address, 0 },
	{ "connect_to_mapped_address_of_host", NEEDS_USER, connect_to_address, 1 },
	{ "send_datagram", NEEDS_USER, send_datagram, 0 },
	{ "connect_to_named_socket", NEEDS_USER, connect_to_unix, 0 },
	{ "connect_to_abstract_socket", NEEDS_USER, connect_to_unix, 1 },
	{ "send_to_named_socket_by_pair", NEEDS_USER, datagram_of_pair, 0 },
	{ "connect_pair_to_named_socket", NEEDS_USER, datagram_of_pair, 1 },
	{ "io_uring", NEEDS_USER, ring, 0 },
	{ "socket_by_io_uring", NEEDS_USER, socket_by_ring, 0 },
	{ .name = NULL },
};
/* clang-format on */
