/* SPDX-License-Identifier: MIT */

/*
 * TCP has no SO_PEERCRED, and every local user can connect to a port of the loopback. The kernel
 * tells the user of a socket by its addresses (NETLINK_SOCK_DIAG), to everybody in its network
 * namespace.
 *
 * Kernels before 6.16 report user 0 for a socket that has no inode: one that was closed, or one
 * that was not accepted yet. An attacker could connect, send and close, and so appear as root. The
 * user of a socket without inode is therefore never used.
 */

#include "ring/loopback.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static void put_address(const union address *address, __be32 ret_host[4], __be16 *ret_port)
{
	if (address->any.sa_family == AF_INET6) {
		memcpy(ret_host, &address->in6.sin6_addr, sizeof(address->in6.sin6_addr));
		*ret_port = address->in6.sin6_port;
	} else {
		ret_host[0] = address->in.sin_addr.s_addr;
		*ret_port = address->in.sin_port;
	}
}

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 of;
};

struct answer {
	struct nlmsghdr header;
	struct inet_diag_msg socket;
	char attributes[1024];
};

/* @to is NULL for a socket that listens. */
static struct question make_question(const union address *at, const union address *to)
{
	struct question question = {
		.header = { .nlmsg_len = sizeof(question),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		.of = { .sdiag_family = (uint8_t)at->any.sa_family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = ~0u,
			.id.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } },
	};

	put_address(at, question.of.id.idiag_src, &question.of.id.idiag_sport);
	if (to)
		put_address(to, question.of.id.idiag_dst, &question.of.id.idiag_dport);
	return question;
}

/* The kernel answers within send(). */
static int ask(const union address *at, const union address *to, struct inet_diag_msg *ret)
{
	_cleanup_close_ int netlink =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct question question = make_question(at, to);
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	socklen_t from_size = sizeof(from);
	struct answer answer;
	ssize_t n;

	if (netlink < 0 || sendto(netlink, &question, sizeof(question), 0,
				  (const struct sockaddr *)&from, sizeof(from)) < 0)
		return -errno;
	n = recvfrom(netlink, &answer, sizeof(answer), MSG_DONTWAIT, (struct sockaddr *)&from,
		     &from_size);
	if (n < 0)
		return -errno;
	if (from.nl_pid != 0 || (size_t)n < offsetof(struct answer, attributes) ||
	    answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ENOTCONN;
	*ret = answer.socket;
	return 0;
}

static bool is_waiting(const struct inet_diag_msg *socket)
{
	return socket->idiag_state == TCP_ESTABLISHED && socket->idiag_inode == 0;
}

int loopback_find_user(int socket, uid_t *ret)
{
	union address own = { .any = { .sa_family = AF_UNSPEC } }, other = own;
	socklen_t own_size = sizeof(own), other_size = sizeof(other);
	struct inet_diag_msg end = { .idiag_state = 0 }, listener = end;
	int r, heard;

	if (getsockname(socket, &own.any, &own_size) < 0 ||
	    getpeername(socket, &other.any, &other_size) < 0)
		return -errno;
	r = ask(&other, &own, &end);
	if (r == 0 && is_waiting(&end)) {
		/* It waits in the queue of a listener, and would be reset with it: if it still
		 * waits afterwards, this was that listener. If it has been accepted meanwhile, the
		 * listener may be gone. */
		heard = ask(&other, NULL, &listener);
		r = ask(&other, &own, &end);
		if (r == 0 && is_waiting(&end) && heard == 0 && listener.idiag_state == TCP_LISTEN)
			end = (struct inet_diag_msg){ .idiag_state = TCP_ESTABLISHED,
						      .idiag_inode = listener.idiag_inode,
						      .idiag_uid = listener.idiag_uid };
	}
	if (r < 0)
		return r;
	if (end.idiag_state != TCP_ESTABLISHED || end.idiag_inode == 0)
		return -ENOTCONN;
	*ret = end.idiag_uid;
	return 0;
}
