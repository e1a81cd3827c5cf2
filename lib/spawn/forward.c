/* SPDX-License-Identifier: MIT */

/*
 * Forwarded TCP ports. connect: a listener inside whose connections the supervisor continues
 * outside. bind: a listener outside whose connections it continues inside, with sockets that an
 * agent makes
 *
 * Only ports that were named, only TCP on 127.0.0.1; the supervisor does not interpret the bytes.
 *
 * A connection is a connect() and one relay for each direction. The end of one direction is passed
 * on by shutdown(); the connection is over when both directions have ended, or when one side no
 * longer accepts data.
 *
 * The kernel completes the handshake of a connection before accept(). If no program listens on the
 * other side then, the accepted socket is reset (ECONNRESET), which no program takes for an empty
 * answer. So that the command gets ECONNREFUSED instead, the supervisor keeps a listener inside in
 * TCP_LISTEN only while the host's port can be reached. shutdown() of a listening socket leaves it
 * bound, so no process inside can take the port, and the kernel answers a SYN with RST until the
 * next listen(). A program that begins to listen on the host causes no event: while a listener is
 * closed the supervisor looks four times a second. It asks sock_diag(7), because some servers
 * accept one connection only, and a connection to look would use it up. Where no socket is found,
 * the port may belong to a NAT rule, and the supervisor connects. Where sock_diag does not answer,
 * as in a sandbox, the listener stays open, and connections without a server are reset.
 *
 * A socket belongs to the network namespace in which it was made, and the supervisor cannot enter
 * the sandbox's and return. The agent is a process that can enter: it has the sandbox's uid, no
 * capability, and joins only the user and network namespaces of the sandbox, so that no process
 * inside can see it. It reads single bytes from the supervisor and nothing from the sandbox.
 */

#include "spawn/forward.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "plan/plan.h"
#include "spawn/relay.h"
#include "spawn/signals.h"

#define CONNECTIONS_MAX 64
#define LOOK_NSEC 250000000
/* lo is the first interface of every network namespace. */
#define LOOPBACK_INDEX 1

struct connection {
	struct connection *next;
	struct loop *loop;
	int accepted;
	int connected;
	struct source connecting;
	struct relay there;
	struct relay back;
	bool is_refused; /* no program listens on the other side */
	void (*ended)(struct connection *connection, void *userdata); /* may free it */
	void *userdata;
};

struct forwarded_port {
	struct source source;
	struct forwarding *forwarding;
	uint16_t port;
	bool is_inside;	     /* else it listens outside */
	bool is_listening;   /* else it is only bound */
	struct source probe; /* a socket that connects to the host's port */
};

/* ---- the agent ---- */

/* ANSWER_NONE has no fd. */
enum answer {
	ANSWER_SOCKET = 'y',
	ANSWER_NONE = 'n',
};

static void serve_agent(int socket_to_us)
{
	char byte;

	/* The agent has no children to reap. */
	signals_unblock_all();

	while (read(socket_to_us, &byte, sizeof(byte)) == sizeof(byte)) {
		_cleanup_close_ int fd =
			socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		byte = fd < 0 ? ANSWER_NONE : ANSWER_SOCKET;
		if (fd_send(socket_to_us, &byte, sizeof(byte), &fd, fd < 0 ? 0 : 1) < 0)
			break;
	}
	child_leave(0);
}

static int drop_all_rights(const struct namespace_set *set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (setresgid(set->gid, set->gid, set->gid) < 0 ||
	    setresuid(set->uid, set->uid, set->uid) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &header, none) < 0)
		return -errno;
	return 0;
}

static int agent_start(struct joined *agent, const struct namespace_set *set)
{
	int r = join_fork(agent, set->fds, set->n);

	if (r != 0)
		return r < 0 ? r : 0;
	/* Only the namespaces that a socket needs: in the pid namespace the sandbox could see the
	 * agent. */
	if (namespace_set_enter(set, CLONE_NEWUSER | CLONE_NEWNET) < 0 ||
	    drop_all_rights(set) < 0 || join_die_with_supervisor(agent->socket) < 0)
		child_fail();
	serve_agent(agent->socket);
	child_fail();
}

/* A non-blocking stream socket of the sandbox's network namespace, or negative errno. */
static int agent_make_socket(const struct joined *agent)
{
	char byte = 0;
	size_t n_fds = 0;
	int fd = -EBADF;
	int r = fd_send(agent->socket, &byte, sizeof(byte), NULL, 0);
	ssize_t n;

	if (r < 0)
		return r;
	n = fd_receive(agent->socket, &byte, sizeof(byte), &fd, 1, &n_fds);
	if (n < 0)
		return (int)n;
	return n == 1 && byte == ANSWER_SOCKET && n_fds == 1 ? fd : -EPIPE;
}

/* ---- one connection ---- */

static struct sockaddr_in connection_address(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

/* Begins to connect the non-blocking @socket. */
static int connect_to(int socket, uint16_t port)
{
	const struct sockaddr_in address = connection_address(port);
	int r = connect(socket, (const struct sockaddr *)&address, sizeof(address));

	return r < 0 && errno != EINPROGRESS ? -errno : 0;
}

/* Why it could not be connected: an errno, or 0. */
static int connect_error(int socket)
{
	int error = 0;
	socklen_t size = sizeof(error);

	return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

static void relay_changed(struct relay *relay, void *userdata)
{
	struct connection *connection = userdata;

	if (relay->has_failed || (connection->there.has_ended && connection->back.has_ended))
		connection->ended(connection, connection->userdata);
	else
		(void)shutdown(relay->to, SHUT_WR);
}

static int begin_relay(struct connection *connection, struct relay *relay, int from, int to)
{
	relay->changed = relay_changed;
	relay->userdata = connection;
	return relay_begin(relay, connection->loop, from, to);
}

static int begin_relays(struct connection *connection)
{
	int r = begin_relay(connection, &connection->there, connection->accepted,
			    connection->connected);

	if (r < 0)
		return r;
	return begin_relay(connection, &connection->back, connection->connected,
			   connection->accepted);
}

static int connect_ready(struct source *source, short events)
{
	struct connection *connection = source->userdata;
	int error = connect_error(connection->connected);

	loop_remove(connection->loop, source);
	connection->is_refused = error == ECONNREFUSED;
	if (error || begin_relays(connection) < 0)
		connection->ended(connection, connection->userdata);
	return 0;
}

/* Closes an accepted socket without a connection on the other side: its peer gets ECONNRESET. */
static void connection_refuse(int fd)
{
	/* With SO_LINGER 0 close() sends RST instead of FIN. */
	static const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)close(fd);
}

static int start(struct connection *connection, uint16_t port)
{
	int r = connect_to(connection->connected, port);

	return r < 0 ? r
		     : loop_watch(connection->loop, &connection->connecting, connection->connected,
				  POLLOUT, connect_ready, connection);
}

static struct connection *connection_free(struct connection *connection)
{
	if (!connection)
		return NULL;
	loop_remove(connection->loop, &connection->connecting);
	if (!connection->there.loop)
		connection_refuse(take_fd(&connection->accepted));
	relay_deinit(&connection->there);
	relay_deinit(&connection->back);
	close_fd(&connection->accepted);
	close_fd(&connection->connected);
	free(connection);
	return NULL;
}

/*
 * Connects the non-blocking @socket to 127.0.0.1:@port in its network namespace and copies bytes in
 * both directions. Takes both sockets, even on failure; if no program listens there, @accepted is
 * reset. The caller frees *@ret when @ended is called, or before.
 */
static int connection_new(struct loop *loop, int accepted, int socket, uint16_t port,
			  void (*ended)(struct connection *connection, void *userdata),
			  void *userdata, struct connection **ret)
{
	_cleanup_close_ int first = accepted, second = socket;
	struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection)
		return -ENOMEM;
	*connection = (struct connection){
		.loop = loop,
		.accepted = take_fd(&first),
		.connected = take_fd(&second),
		.connecting = { .fd = -EBADF },
		.there = RELAY_INIT,
		.back = RELAY_INIT,
		.ended = ended,
		.userdata = userdata,
	};
	r = start(connection, port);
	if (r < 0) {
		(void)connection_free(connection);
		return r;
	}
	*ret = connection;
	return 0;
}

/* ---- listeners ---- */

static void watch(struct forwarding *forwarding)
{
	bool can_accept = forwarding->namespaces && forwarding->n_connections < CONNECTIONS_MAX;

	for (size_t i = 0; i < forwarding->n; i++) {
		struct forwarded_port *forwarded = &forwarding->all[i];

		/* The socket of a closed listener reports POLLHUP. */
		forwarded->source.events = can_accept && forwarded->is_listening ? POLLIN : 0;
	}
}

static void look_later(struct forwarding *forwarding)
{
	static const struct itimerspec once = { .it_value.tv_nsec = LOOK_NSEC };

	(void)timerfd_settime(forwarding->look.fd, 0, &once, NULL);
}

/* listen() fails with EADDRINUSE if one of the port's connections does not have SO_REUSEADDR, which
 * they inherit from their listener. A closed listener has it no longer, because another socket that
 * has it, too, could be bound to the port. */
static int set_reuse(int fd, bool reuses)
{
	const int value = reuses;

	return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* Opens or closes a listener inside. */
static void set_listening(struct forwarded_port *forwarded, bool listens)
{
	int fd = forwarded->source.fd;

	if (listens && !forwarded->is_listening) {
		forwarded->is_listening = set_reuse(fd, true) == 0 && listen(fd, SOMAXCONN) == 0;
		if (!forwarded->is_listening)
			(void)set_reuse(fd, false);
	} else if (!listens && forwarded->is_listening) {
		/* First SO_REUSEADDR: a closed listener that has it lets the command bind the port.
		 */
		forwarded->is_listening = set_reuse(fd, false) < 0 || shutdown(fd, SHUT_RDWR) < 0;
	}
	if (!forwarded->is_listening)
		look_later(forwarded->forwarding);
	watch(forwarded->forwarding);
}

enum host_state {
	HOST_LISTENS,
	HOST_HAS_NO_SOCKET,
	HOST_UNKNOWN, /* sock_diag does not answer, as in a sandbox */
};

/* Does a socket of the host accept connections to 127.0.0.1:@port? The kernel finds it as for a
 * SYN, so sockets of all addresses and of IPv6 count. */
static enum host_state find_host_state(uint16_t port)
{
	const struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 wanted;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		.wanted = { .sdiag_family = AF_INET,
			    .sdiag_protocol = IPPROTO_TCP,
			    .id = { .idiag_sport = htons(port),
				    .idiag_src = { htonl(INADDR_LOOPBACK) },
				    .idiag_if = LOOPBACK_INDEX,
				    .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	struct {
		struct nlmsghdr header;
		union {
			struct inet_diag_msg found;
			struct nlmsgerr error;
		};
	} answer = { .header = { .nlmsg_type = NLMSG_DONE } };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	/* The kernel answers before send() returns. */
	if (fd < 0 || send(fd, &request, sizeof(request), 0) != (ssize_t)sizeof(request) ||
	    recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) < (ssize_t)sizeof(answer.header))
		return HOST_UNKNOWN;
	if (answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY)
		return answer.found.idiag_state == TCP_LISTEN ? HOST_LISTENS : HOST_HAS_NO_SOCKET;
	return answer.header.nlmsg_type == NLMSG_ERROR && answer.error.error == -ENOENT
		       ? HOST_HAS_NO_SOCKET
		       : HOST_UNKNOWN;
}

static void probe_end(struct forwarded_port *forwarded)
{
	loop_remove(forwarded->forwarding->loop, &forwarded->probe);
	close_fd(&forwarded->probe.fd);
}

static int probe_ready(struct source *source, short events)
{
	struct forwarded_port *forwarded = source->userdata;
	int error = connect_error(source->fd);

	probe_end(forwarded);
	set_listening(forwarded, error == 0);
	return 0;
}

/*
 * From 127.0.0.1 the kernel could choose the port itself as the source, and the socket would
 * connect to itself; from 127.0.0.2 it cannot. With a linger time of 0 close() sends a reset: a
 * connection in TIME_WAIT could keep a server of the host from binding its port.
 */
static int probe_prepare(int fd)
{
	const struct sockaddr_in from = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1) };
	const struct linger no_linger = { .l_onoff = 1 };
	const int yes = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &no_linger, sizeof(no_linger)) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (const struct sockaddr *)&from, sizeof(from)) < 0)
		return -errno;
	return 0;
}

/* A rule of NAT can lead to a server although no socket of the host listens. */
static int probe_begin(struct forwarded_port *forwarded)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : probe_prepare(fd);

	forwarded->probe.fd = fd;
	if (r == 0)
		r = connect_to(fd, forwarded->port);
	return r < 0 ? r
		     : loop_watch(forwarded->forwarding->loop, &forwarded->probe, fd, POLLOUT,
				  probe_ready, forwarded);
}

/* Opens a listener inside if the host's port can be reached, and closes it until then. Where that
 * is unknown the listener stays open: to connect for an answer would use up a connection of a
 * server. */
static void look(struct forwarded_port *forwarded)
{
	enum host_state state = find_host_state(forwarded->port);

	set_listening(forwarded, state != HOST_HAS_NO_SOCKET);
	if (state != HOST_HAS_NO_SOCKET || (forwarded->probe.fd < 0 && probe_begin(forwarded) < 0))
		probe_end(forwarded);
}

static int look_at_all(struct source *source, short events)
{
	struct forwarding *forwarding = source->userdata;
	uint64_t n_times;

	if (read(source->fd, &n_times, sizeof(n_times)) < 0)
		return 0;
	for (size_t i = 0; i < forwarding->n; i++)
		if (!forwarding->all[i].is_listening)
			look(&forwarding->all[i]);
	return 0;
}

static int look_begin(struct forwarding *forwarding)
{
	int fd;

	if (forwarding->look.fd >= 0)
		return 0;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return fd < 0 ? -errno
		      : loop_watch(forwarding->loop, &forwarding->look, fd, POLLIN, look_at_all,
				   forwarding);
}

/* ---- ports ---- */

static void ended(struct connection *connection, void *userdata)
{
	struct forwarded_port *forwarded = userdata;
	struct forwarding *forwarding = forwarded->forwarding;
	struct connection **at = &forwarding->connections;

	while (*at && *at != connection)
		at = &(*at)->next;
	if (*at)
		*at = connection->next;
	/* Before the reset: a program that connects again because of it is refused. */
	if (connection->is_refused && forwarded->is_inside)
		look(forwarded);
	(void)connection_free(connection);
	forwarding->n_connections--;
	watch(forwarding);
}

/* A socket on the other side than the listener. */
static int make_socket(struct forwarded_port *forwarded)
{
	if (!forwarded->is_inside)
		return agent_make_socket(&forwarded->forwarding->agent);
	return fd_or_errno(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/* A failure here ends this one connection. */
static int accept_one(struct source *source, short events)
{
	struct forwarded_port *forwarded = source->userdata;
	struct forwarding *forwarding = forwarded->forwarding;
	_cleanup_close_ int accepted =
		accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	_cleanup_close_ int other = accepted < 0 ? -EBADF : make_socket(forwarded);
	struct connection *connection = NULL;

	if (accepted < 0)
		return 0;
	if (other < 0) {
		connection_refuse(take_fd(&accepted));
		return 0;
	}
	if (connection_new(forwarding->loop, take_fd(&accepted), take_fd(&other), forwarded->port,
			   ended, forwarded, &connection) < 0)
		return 0;
	connection->next = forwarding->connections;
	forwarding->connections = connection;
	forwarding->n_connections++;
	watch(forwarding);
	return 0;
}

static int add(struct forwarding *forwarding, int fd, uint16_t port, bool is_inside)
{
	struct forwarded_port *forwarded;

	if (!forwarding->all || forwarding->n == forwarding->size) {
		(void)close(fd);
		return -ENOBUFS;
	}
	forwarded = &forwarding->all[forwarding->n];
	*forwarded = (struct forwarded_port){
		.source = { .fd = fd, .ready = accept_one, .userdata = forwarded },
		.forwarding = forwarding,
		.port = port,
		.is_inside = is_inside,
		.is_listening = true,
		.probe = { .fd = -EBADF },
	};
	forwarding->n++;
	return loop_add(forwarding->loop, &forwarded->source);
}

static int listen_outside(uint16_t port)
{
	const struct sockaddr_in address = connection_address(port);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return -errno;
	return take_fd(&fd);
}

static int fail(int code, unsigned port, struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot listen on port %u of 127.0.0.1", port);
	if (code == -EADDRINUSE)
		error_explain(err, "another program listens there",
			      "stop it, or use another port in net.loopback or --listen");
	else if (code == -EACCES)
		error_explain(err, "ports below 1024 need privileges",
			      "use a port from 1024 on in net.loopback or --listen");
	return code;
}

static size_t count_connect(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		n += plan->steps[i].kind == STEP_LISTEN;
	return n;
}

int forwarding_begin(struct forwarding *forwarding, struct loop *loop, const struct plan *plan,
		     struct sbx_error *err)
{
	size_t n = plan->n_inward + count_connect(plan);

	forwarding->loop = loop;
	/* The loop keeps pointers to the sources, so the array has its final size. */
	forwarding->size = n;
	forwarding->all = n > 0 ? calloc(n, sizeof(*forwarding->all)) : NULL;
	if (n > 0 && !forwarding->all)
		return sbx_error_what(err, -ENOMEM, "cannot prepare the forwarded ports");
	for (size_t i = 0; i < plan->n_inward; i++) {
		int fd = listen_outside(plan->inward[i]);
		int r = fd < 0 ? fd : add(forwarding, fd, plan->inward[i], false);

		if (r < 0)
			return fail(r, plan->inward[i], err);
	}
	return 0;
}

bool forwarding_carries(const struct step *step)
{
	return strcmp(step->listen.purpose, "connect") == 0;
}

int forwarding_add_listener(struct forwarding *forwarding, int listener, uint16_t port)
{
	/* The fd came from inside, with any flags. */
	int r = fcntl(listener, F_SETFL, O_NONBLOCK) < 0 ? -errno : set_reuse(listener, true);
	int added = add(forwarding, listener, port, true);

	if (r < 0)
		return r;
	if (added < 0)
		return added;
	r = look_begin(forwarding);
	if (r < 0)
		return r;
	look(&forwarding->all[forwarding->n - 1]);
	return 0;
}

int forwarding_open(struct forwarding *forwarding, const struct namespace_set *set)
{
	_cleanup_close_ int first = -EBADF;
	bool needs_agent = false;
	int r = 0;

	for (size_t i = 0; i < forwarding->n; i++)
		needs_agent = needs_agent || !forwarding->all[i].is_inside;
	if (needs_agent)
		r = agent_start(&forwarding->agent, set);
	/* Make one socket now: if the agent could not enter the sandbox, the start fails. */
	if (needs_agent && r == 0)
		r = first = agent_make_socket(&forwarding->agent);
	if (r < 0)
		return r;
	forwarding->namespaces = set;
	watch(forwarding);
	return 0;
}

void forwarding_deinit(struct forwarding *forwarding)
{
	while (forwarding->connections) {
		struct connection *connection = forwarding->connections;

		forwarding->connections = connection->next;
		(void)connection_free(connection);
	}
	if (forwarding->look.fd >= 0)
		loop_remove(forwarding->loop, &forwarding->look);
	close_fd(&forwarding->look.fd);
	for (size_t i = 0; i < forwarding->n; i++) {
		probe_end(&forwarding->all[i]);
		loop_remove(forwarding->loop, &forwarding->all[i].source);
		close_fd(&forwarding->all[i].source.fd);
	}
	free_ptr(&forwarding->all);
	joined_deinit(&forwarding->agent);
	*forwarding = (struct forwarding)FORWARDING_INIT;
}
