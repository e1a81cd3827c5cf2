/* SPDX-License-Identifier: MIT */

/*
 * Opening of sockets
 *
 * A socket file outlives its process, and only connect() tells whether a process still listens
 * there. Another server can do the same between our connect() and bind(), and one that has bound
 * but does not listen yet refuses connections like a dead one. So connect, unlink, bind and listen
 * happen under a lock file beside the socket, which no other user can open.
 *
 * The file goes when the server stops listening, at its first client or at its end: a path that
 * exists leads to a server that waits, or is dead.
 */

#include "ring/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/error.h"
#include "base/path-lock.h"
#include "base/units.h"
#include "ring/deadline.h"
#include "ring/loopback.h"

#define TCP_DEFAULT "localhost:0"
#define PORT_MAX 65535
#define ACCEPTS_MAX 16 /* in one call: clients of other users cannot keep the server busy in it */
#define CONNECT_PAUSE_NSEC 20000000
#define CONNECT_SEC_MAX 3600

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	};
	socklen_t size;
	const char *host; /* as written, for TCP */
};

static int refuse(int code, const char *endpoint, const char *why, const char *fix,
		  struct sbx_error *err)
{
	return error_fill(err, code, why, fix, "cannot open a channel at '%s'", endpoint);
}

struct reason {
	int code;
	const char *why, *fix;
};

static int refuse_for(int code, const char *endpoint, const struct reason *reasons,
		      struct sbx_error *err)
{
	while (reasons->code && reasons->code != code)
		reasons++;
	return refuse(code, endpoint, reasons->why, reasons->fix, err);
}

static const struct reason reasons_to_listen[] = {
	{ -ENOENT, "its directory does not exist", "create the directory first" },
	{ -ENOTDIR, "a part of the path is not a directory", "choose another path" },
	{ -EACCES, NULL, "choose a directory, or a port above 1023, that is yours" },
	{ -EPERM, "the lock file beside it belongs to another user",
	  "choose a directory that only you can write" },
	{ -EADDRINUSE, "another process listens there",
	  "stop it, or choose another endpoint (port 0 chooses a free port)" },
	{ 0, NULL, "check the endpoint, or choose another one" },
};

static const struct reason reasons_to_connect[] = {
	{ -ENOENT, "no server listens there", "start the server first" },
	{ -ECONNREFUSED, "no server listens there, or it has its client already",
	  "start the server first; a channel has one client" },
	{ -EPROTOTYPE, "the two sides differ in stream or datagram",
	  "open both with is_datagram (--datagram), or both without" },
	{ -EAGAIN, "the server did not take the connection before the time-out",
	  "look what the server does, or raise ipc_timeout_ms" },
	{ -EINPROGRESS, "the server did not take the connection before the time-out",
	  "look what the server does, or raise ipc_timeout_ms" },
	{ 0, NULL, "check the endpoint and its server" },
};

/* ---- addresses ---- */

static int parse_path(const char *path, struct address *ret, struct sbx_error *err)
{
	size_t len = path ? strlen(path) : 0;

	if (len == 0)
		return refuse(-EINVAL, "",
			      "neither a connected socket nor the path of a socket file was given",
			      "set ipc_endpoint to a path such as '/run/user/1000/worker.sock'",
			      err);
	if (path[0] == '@')
		return refuse(-EINVAL, path,
			      "an abstract socket has no owner and no mode: every process of the "
			      "network namespace could connect",
			      "write the path of a socket file", err);
	if (path[0] != '/')
		return refuse(-EINVAL, path, "the path is not absolute", "begin it with '/'", err);
	if (len >= sizeof(ret->un.sun_path))
		return refuse(-ENAMETOOLONG, path,
			      "the kernel takes at most 107 bytes for a socket's path",
			      "choose a shorter path", err);
	*ret = (struct address){ .un.sun_family = AF_UNIX, .size = sizeof(ret->un) };
	memcpy(ret->un.sun_path, path, len);
	return 0;
}

/* The names of the loopback. A resolver could be told another address for "localhost". */
static const struct loopback_host {
	const char *name;
	int family;
} loopback_hosts[] = {
	{ "localhost", AF_INET },
	{ "127.0.0.1", AF_INET },
	{ "[::1]", AF_INET6 },
};

static const struct loopback_host *find_host(const char *name, size_t len)
{
	for (size_t i = 0; i < N_ELEMENTS(loopback_hosts); i++)
		if (strlen(loopback_hosts[i].name) == len &&
		    strncmp(loopback_hosts[i].name, name, len) == 0)
			return &loopback_hosts[i];
	return NULL;
}

static int refuse_host(const char *endpoint, struct sbx_error *err)
{
	return refuse(-EINVAL, endpoint,
		      "a channel over TCP is neither encrypted nor authenticated, so both sides "
		      "must be on this host: localhost:PORT, 127.0.0.1:PORT or [::1]:PORT",
		      "for another host, tunnel the port and connect to the near end: 'ssh -L "
		      "9000:localhost:9000 HOST', or stunnel, then 'localhost:9000'",
		      err);
}

static int parse_port(const char *endpoint, const char *digits, in_port_t *ret,
		      struct sbx_error *err)
{
	uint64_t port = PORT_MAX + 1;

	if (units_parse_count(digits, &port, NULL) < 0 || port > PORT_MAX)
		return refuse(-EINVAL, endpoint, "the port is not a number up to 65535",
			      "write a port, such as 'localhost:9000'; port 0 lets the server "
			      "choose one",
			      err);
	*ret = htons((in_port_t)port);
	return 0;
}

static int parse_tcp(const char *endpoint, struct address *ret, struct sbx_error *err)
{
	const char *colon = strrchr(endpoint, ':');
	const struct loopback_host *host =
		find_host(endpoint, colon ? (size_t)(colon - endpoint) : strlen(endpoint));
	in_port_t port = 0;
	int r;

	if (!host)
		return refuse_host(endpoint, err);
	r = parse_port(endpoint, colon ? colon + 1 : "", &port, err);
	if (r < 0)
		return r;
	*ret = (struct address){ .host = host->name };
	if (host->family == AF_INET6) {
		ret->in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
						  .sin6_port = port,
						  .sin6_addr = IN6ADDR_LOOPBACK_INIT };
		ret->size = sizeof(ret->in6);
	} else {
		ret->in = (struct sockaddr_in){ .sin_family = AF_INET,
						.sin_port = port,
						.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		ret->size = sizeof(ret->in);
	}
	return 0;
}

static bool is_tcp(const struct sbx_ring_config *config)
{
	return config->transport == SBX_RING_TCP;
}

static const char *text_of(const struct sbx_ring_config *config)
{
	if (is_tcp(config) && (!config->endpoint || !config->endpoint[0]))
		return TCP_DEFAULT;
	return config->endpoint ? config->endpoint : "";
}

static int parse_address(const struct sbx_ring_config *config, struct address *ret,
			 struct sbx_error *err)
{
	if (is_tcp(config) && config->is_datagram)
		return refuse(-EINVAL, text_of(config), "TCP has no datagrams",
			      "leave is_datagram out, or use unix_socket", err);
	return is_tcp(config) ? parse_tcp(text_of(config), ret, err)
			      : parse_path(text_of(config), ret, err);
}

static uint16_t port_of(const struct address *address)
{
	return ntohs(address->any.sa_family == AF_INET6 ? address->in6.sin6_port
							: address->in.sin_port);
}

static int make_socket(const struct sbx_ring_config *config, const struct address *address,
		       int flags)
{
	int type = config->is_datagram ? SOCK_SEQPACKET : SOCK_STREAM;
	int fd = socket(address->any.sa_family, type | SOCK_CLOEXEC | flags, 0);

	return fd < 0 ? -errno : fd;
}

static int set_option(int fd, int level, int option)
{
	static const int one = 1;

	return setsockopt(fd, level, option, &one, sizeof(one)) < 0 ? -errno : 0;
}

/* ---- the other side's user ---- */

int endpoint_find_user(int socket, bool is_tcp, uid_t *ret)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);

	if (is_tcp)
		return loopback_find_user(socket, ret);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return -errno;
	*ret = credentials.uid;
	return 0;
}

bool endpoint_is_trusted(uid_t uid)
{
	return uid == geteuid() || uid == 0;
}

static int check_server(int socket, const struct sbx_ring_config *config, struct sbx_error *err)
{
	uid_t uid = (uid_t)-1;
	int r = endpoint_find_user(socket, is_tcp(config), &uid);

	if (r < 0)
		return refuse(r, text_of(config),
			      "the kernel does not tell which user the server has",
			      "use unix_socket, or a kernel with CONFIG_INET_DIAG", err);
	if (endpoint_is_trusted(uid))
		return 0;
	(void)refuse(-EPERM, text_of(config), NULL,
		     "start the server as the user of the client, or choose another endpoint", err);
	sbx_error_why(err, "the server there has user %u: neither that of the client nor root",
		      uid);
	return -EPERM;
}

/* ---- listening ---- */

static bool is_own_file(const struct endpoint *endpoint)
{
	struct stat st;

	return lstat(endpoint->path, &st) == 0 && st.st_dev == endpoint->device &&
	       st.st_ino == endpoint->inode;
}

void endpoint_deinit(struct endpoint *endpoint)
{
	/* Unlink before closing: another server leaves a live socket alone, so it cannot have
	 * bound its own here between lstat() and unlink(). */
	if (endpoint->path && is_own_file(endpoint))
		(void)unlink(endpoint->path);
	free_ptr(&endpoint->path);
	/* A process that was forked meanwhile may still have the fd. */
	if (endpoint->listener >= 0)
		(void)shutdown(endpoint->listener, SHUT_RDWR);
	close_fd(&endpoint->listener);
	*endpoint = (struct endpoint)ENDPOINT_INIT;
}

/* Only ECONNREFUSED means a dead socket: a full queue (EAGAIN), another socket type (EPROTOTYPE)
 * and EACCES all come from a live one. */
static int remove_dead(const struct sbx_ring_config *config, const struct address *address,
		       struct sbx_error *err)
{
	const char *path = address->un.sun_path;
	_cleanup_close_ int probe = make_socket(config, address, SOCK_NONBLOCK);
	struct stat st;

	if (probe < 0)
		return refuse_for(probe, path, reasons_to_listen, err);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : refuse_for(-errno, path, reasons_to_listen, err);
	if (!S_ISSOCK(st.st_mode))
		return refuse(-EEXIST, path, "the path exists and is not a socket",
			      "remove it, or choose another path", err);
	if (connect(probe, &address->any, address->size) == 0 || errno != ECONNREFUSED)
		return refuse_for(-EADDRINUSE, path, reasons_to_listen, err);
	if (unlink(path) < 0 && errno != ENOENT)
		return refuse_for(-errno, path, reasons_to_listen, err);
	return 0;
}

/* bind() creates the file with the mode of the socket's inode minus the umask: never more than
 * 0600, not even for a moment. */
static int bind_path(const struct address *address, struct endpoint *endpoint)
{
	struct stat st;

	if (fchmod(endpoint->listener, 0600) < 0 ||
	    bind(endpoint->listener, &address->any, address->size) < 0)
		return -errno;
	endpoint->path = strdup(address->un.sun_path);
	if (!endpoint->path || lstat(address->un.sun_path, &st) < 0) {
		(void)unlink(address->un.sun_path);
		return -ENOMEM;
	}
	endpoint->device = st.st_dev;
	endpoint->inode = st.st_ino;
	return listen(endpoint->listener, 1) < 0 ? -errno : 0;
}

static int listen_at_path(const struct sbx_ring_config *config, const struct address *address,
			  struct endpoint *endpoint, struct sbx_error *err)
{
	int r, lock_fd = path_lock(address->un.sun_path);

	if (lock_fd < 0)
		return refuse_for(lock_fd, address->un.sun_path, reasons_to_listen, err);
	r = remove_dead(config, address, err);
	if (r == 0) {
		r = bind_path(address, endpoint);
		if (r < 0)
			(void)refuse_for(r, address->un.sun_path, reasons_to_listen, err);
	}
	path_unlock(lock_fd, address->un.sun_path);
	return r;
}

/* SO_REUSEADDR: without it a server could not come back to its port for a minute (TIME_WAIT). It
 * does not let two sockets listen. */
static int listen_at_port(const struct sbx_ring_config *config, struct address *address,
			  struct endpoint *endpoint, struct sbx_error *err)
{
	int r = set_option(endpoint->listener, SOL_SOCKET, SO_REUSEADDR);

	if (r == 0 && (bind(endpoint->listener, &address->any, address->size) < 0 ||
		       listen(endpoint->listener, 1) < 0 ||
		       getsockname(endpoint->listener, &address->any, &address->size) < 0))
		r = -errno;
	return r < 0 ? refuse_for(r, text_of(config), reasons_to_listen, err) : 0;
}

int endpoint_listen(const struct sbx_ring_config *config, struct endpoint *ret, char **ret_name,
		    struct sbx_error *err)
{
	_cleanup_(endpoint_deinit) struct endpoint endpoint = ENDPOINT_INIT;
	struct address address = { .size = 0 };
	int r = parse_address(config, &address, err);

	if (r < 0)
		return r;
	endpoint.is_tcp = is_tcp(config);
	endpoint.listener = make_socket(config, &address, SOCK_NONBLOCK);
	if (endpoint.listener < 0)
		return refuse_for(endpoint.listener, text_of(config), reasons_to_listen, err);
	r = endpoint.is_tcp ? listen_at_port(config, &address, &endpoint, err)
			    : listen_at_path(config, &address, &endpoint, err);
	if (r < 0)
		return r;
	if (endpoint.is_tcp && asprintf(ret_name, "%s:%u", address.host, port_of(&address)) < 0)
		return refuse(-ENOMEM, text_of(config), NULL, NULL, err);
	*ret = endpoint;
	endpoint = (struct endpoint)ENDPOINT_INIT;
	return 0;
}

/* A client of another user, or one whose user is not known, is hung up on. */
int endpoint_accept(const struct endpoint *endpoint)
{
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		_cleanup_close_ int fd = accept4(endpoint->listener, NULL, NULL, SOCK_CLOEXEC);
		uid_t uid = (uid_t)-1;

		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return -errno;
		if (fd < 0 || endpoint_find_user(fd, endpoint->is_tcp, &uid) < 0 ||
		    !endpoint_is_trusted(uid) ||
		    (endpoint->is_tcp && set_option(fd, IPPROTO_TCP, TCP_NODELAY) < 0))
			continue;
		return take_fd(&fd);
	}
	return -EAGAIN;
}

/* ---- connecting ---- */

/* connect() to a port of the range for clients at which no server listens may choose this very port
 * for its own end, and then succeeds: the socket is connected to itself. */
static bool is_to_itself(int fd, const struct address *address)
{
	struct address own = { .size = sizeof(own.in6) };

	return address->host && getsockname(fd, &own.any, &own.size) == 0 &&
	       port_of(&own) == port_of(address);
}

/* connect() waits while the queue of the server is full, for SO_SNDTIMEO. After a signal it goes on
 * with the same connection. */
static int connect_within(int fd, const struct address *address, uint64_t deadline)
{
	struct timeval timeout = { .tv_sec = CONNECT_SEC_MAX };
	uint64_t timeout_usec = deadline_left(deadline);

	if (timeout_usec < CONNECT_SEC_MAX * UINT64_C(1000000))
		timeout = (struct timeval){ .tv_sec = (time_t)(timeout_usec / 1000000),
					    .tv_usec = (suseconds_t)(timeout_usec % 1000000) };
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0)
		return -errno;
	while (connect(fd, &address->any, address->size) < 0)
		if (errno != EINTR || deadline_left(deadline) == 0)
			return -errno;
	return is_to_itself(fd, address) ? -ECONNREFUSED : 0;
}

/* Until the time-out: the server may be starting, or come back. */
static int connect_to_server(const struct sbx_ring_config *config, const struct address *address)
{
	static const struct timespec pause = { .tv_nsec = CONNECT_PAUSE_NSEC };
	uint64_t deadline = deadline_after(config->timeout_usec);

	for (;;) {
		_cleanup_close_ int fd = make_socket(config, address, 0);
		int r = fd < 0 ? fd : connect_within(fd, address, deadline);

		if (r == 0)
			return take_fd(&fd);
		if ((r != -ENOENT && r != -ECONNREFUSED) || deadline_left(deadline) == 0)
			return r;
		(void)nanosleep(&pause, NULL);
	}
}

static int connect_once(const struct sbx_ring_config *config, const struct address *address,
			struct sbx_error *err)
{
	_cleanup_close_ int fd = connect_to_server(config, address);
	int r = fd < 0 ? fd : 0;

	if (r == 0 && is_tcp(config))
		r = set_option(fd, IPPROTO_TCP, TCP_NODELAY);
	if (r < 0)
		return refuse_for(r, text_of(config), reasons_to_connect, err);
	r = check_server(fd, config, err);
	return r < 0 ? r : take_fd(&fd);
}

int endpoint_connect(const struct sbx_ring_config *config, struct sbx_error *err)
{
	struct address address = { .size = 0 };
	uint64_t deadline = deadline_after(config->timeout_usec);
	int r = parse_address(config, &address, err);

	if (r < 0)
		return r;
	if (is_tcp(config) && port_of(&address) == 0)
		return refuse(-EINVAL, text_of(config), "the server's port is not known",
			      "set ipc_endpoint to the endpoint that the server tells", err);
	/* A server hangs up on a client of which the kernel does not tell the user at this moment.
	 */
	do
		r = connect_once(config, &address, err);
	while (r == -ENOTCONN && deadline_left(deadline) > 0);
	if (r >= 0 && err)
		*err = (struct sbx_error){ .code = 0 };
	return r;
}

/* ---- a given socket ---- */

static int get_option(int fd, int option)
{
	int value;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -errno : value;
}

int endpoint_check_given(int socket, struct sbx_error *err)
{
	int type = get_option(socket, SO_TYPE), domain = get_option(socket, SO_DOMAIN);
	struct sockaddr_un peer;
	socklen_t size = sizeof(peer);
	const char *why = NULL;

	if (type < 0 || domain != AF_UNIX)
		why = "it is not a unix socket";
	else if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
		why = "datagrams of this type can be lost, and do not tell when the peer ends";
	else if (getpeername(socket, (struct sockaddr *)&peer, &size) < 0)
		why = "it is not connected";
	if (!why)
		return type;
	return error_fill(err, type < 0 ? type : -EINVAL, why,
			  "give one end of socketpair(AF_UNIX, SOCK_STREAM or SOCK_SEQPACKET)",
			  "cannot open a channel over fd %d", socket);
}
