/* SPDX-License-Identifier: MIT */

/* Listening stream sockets of 'sbx-proxy --policy': its own, and those of a service manager */

#include "proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/listen-fds.h"
#include "policy/network.h"
#include "registry/handover.h"

#define BACKLOG 4096

union address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
	struct sockaddr_un local;
	struct sockaddr_storage storage;
};

/* The address as the kernel has it: the caller's port may have been 0. */
static int describe(int fd, struct arena *arena, struct handover_listener *ret)
{
	union address address = { .storage = { .ss_family = AF_UNSPEC } };
	socklen_t size = sizeof(address);
	char text[INET6_ADDRSTRLEN + 1] = "";
	const char *shown = text;

	if (getsockname(fd, &address.any, &size) < 0)
		return -errno;
	ret->kind = HANDOVER_HTTP;
	if (address.any.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &address.ipv4.sin_addr, text, sizeof(text));
		ret->port = ntohs(address.ipv4.sin_port);
	} else if (address.any.sa_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &address.ipv6.sin6_addr, text, sizeof(text));
		ret->port = ntohs(address.ipv6.sin6_port);
	} else if (address.any.sa_family == AF_UNIX) {
		address.local.sun_path[sizeof(address.local.sun_path) - 1] = '\0';
		shown = address.local.sun_path;
		ret->port = 0;
	} else {
		return -EAFNOSUPPORT;
	}
	ret->address = arena_copy(arena, shown, strlen(shown));
	return ret->address ? 0 : -ENOMEM;
}

/* Takes @fd on success. */
static int add(struct handover *handover, int *fd, struct arena *arena, const char *name,
	       struct sbx_error *err)
{
	struct handover_listener *listener = &handover->listeners[handover->n_listeners];
	int r;

	if (handover->n_listeners >= HANDOVER_LISTENERS_MAX)
		return error_fill(err, -E2BIG, NULL, "start a second sbx-proxy",
				  "cannot listen on more than %d sockets", HANDOVER_LISTENERS_MAX);
	r = describe(*fd, arena, listener);
	if (r < 0)
		return sbx_error_what(err, r, "cannot use the socket '%s'", name);
	/* A client at a path could send one that makes the proxy wait when it is discarded. */
	fd_refuse_fds(*fd);
	listener->fd = take_fd(fd);
	handover->n_listeners++;
	return 0;
}

/* ---- addresses ---- */

static int fail_to_listen(struct sbx_error *err, int code, const char *where)
{
	static const struct {
		int code;
		const char *fix;
	} fixes[] = {
		{ -EADDRINUSE, "choose another, or stop what uses it: 'ss -lxtp' shows it" },
		{ -EADDRNOTAVAIL, "choose an address of this machine: 'ip address' shows them" },
		{ -EACCES, "choose a port above 1023, or a directory that belongs to you" },
		{ -ENOENT, "create the directory, or correct the path" },
	};

	(void)sbx_error_what(err, code, "cannot listen at '%s'", where);
	for (size_t i = 0; i < N_ELEMENTS(fixes); i++)
		if (fixes[i].code == code)
			sbx_error_fix(err, "%s", fixes[i].fix);
	return code;
}

static int refuse_address(const char *text, struct sbx_error *err)
{
	return error_fill(err, -EINVAL, "it is not an address and a port",
			  "write --listen=127.0.0.1:8080 or --listen=[::1]:8080",
			  "cannot listen at '%s'", text);
}

static int parse_address(const char *text, union address *ret, socklen_t *ret_size,
			 struct sbx_error *err)
{
	struct host_port parsed;
	uint16_t port;

	if (network_parse_host_port(text, &parsed, NULL) < 0 || !parsed.is_address ||
	    parsed.port[0] == '\0')
		return refuse_address(text, err);
	port = htons((uint16_t)strtoul(parsed.port, NULL, 10));
	*ret = (union address){ .storage = { .ss_family = AF_UNSPEC } };
	if (inet_pton(AF_INET, parsed.host, &ret->ipv4.sin_addr) == 1) {
		ret->ipv4.sin_family = AF_INET;
		ret->ipv4.sin_port = port;
		*ret_size = sizeof(ret->ipv4);
		return 0;
	}
	if (inet_pton(AF_INET6, parsed.host, &ret->ipv6.sin6_addr) != 1)
		return refuse_address(text, err);
	ret->ipv6.sin6_family = AF_INET6;
	ret->ipv6.sin6_port = port;
	*ret_size = sizeof(ret->ipv6);
	return 0;
}

static int listen_at(const char *text, struct arena *arena, struct handover *handover,
		     struct sbx_error *err)
{
	const int on = 1;
	union address address = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t size = 0;
	int r = parse_address(text, &address, &size, err);

	if (r < 0)
		return r;
	_cleanup_close_ int fd =
		socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (address.any.sa_family == AF_INET6)
			(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	}
	if (fd < 0 || bind(fd, &address.any, size) < 0 || listen(fd, BACKLOG) < 0)
		return fail_to_listen(err, -errno, text);
	return add(handover, &fd, arena, text, err);
}

/* ---- paths ---- */

/* The file of a process that has ended stays, because a confined process removes no files. */
static bool is_stale(const union address *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	return fd >= 0 && lstat(address->local.sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       connect(fd, &address->any, sizeof(address->local)) < 0 && errno == ECONNREFUSED;
}

static int bind_path(int fd, const union address *address)
{
	mode_t before = umask(0177);
	int r = bind(fd, &address->any, sizeof(address->local)) < 0 ? -errno : 0;

	if (r == -EADDRINUSE && is_stale(address) && unlink(address->local.sun_path) == 0)
		r = bind(fd, &address->any, sizeof(address->local)) < 0 ? -errno : 0;
	(void)umask(before);
	return r;
}

static int listen_on_path(const char *path, struct arena *arena, struct handover *handover,
			  struct sbx_error *err)
{
	union address address = { .local = { .sun_family = AF_UNIX } };
	_cleanup_close_ int fd = -EBADF;
	struct stat st;
	int r;

	/* The kernel would choose an abstract address, which every user can connect to. */
	if (path[0] == '\0')
		return error_fill(err, -EINVAL, "the path is empty",
				  "name the socket file, or leave the option out",
				  "option '--listen-unix' cannot take ''");
	if (strlen(path) >= sizeof(address.local.sun_path)) {
		(void)sbx_error_what(err, -ENAMETOOLONG, "cannot listen at '%s'", path);
		sbx_error_fix(err, "choose a path of at most %zu bytes",
			      sizeof(address.local.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	memcpy(address.local.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = fd < 0 ? -errno : bind_path(fd, &address);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	/* The kernel says of any file that the address is in use. */
	if (r == -EADDRINUSE && lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return error_fill(err, r, "something else than a socket is there",
				  "choose another path, or move it away", "cannot listen at '%s'",
				  path);
	if (r < 0)
		return fail_to_listen(err, r, path);
	return add(handover, &fd, arena, path, err);
}

/* ---- LISTEN_FDS ---- */

static int get_option(int fd, int option)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -1 : value;
}

static int adopt(int passed, struct arena *arena, struct handover *handover, struct sbx_error *err)
{
	_cleanup_close_ int fd = passed;
	int flags = fcntl(fd, F_GETFL);

	if (get_option(fd, SO_TYPE) != SOCK_STREAM || get_option(fd, SO_ACCEPTCONN) != 1) {
		return error_fill(err, -ENOTSOCK,
				  "the service manager passed it, and it is not a listening "
				  "stream socket",
				  "write ListenStream= in the .socket unit",
				  "cannot use the file descriptor %d", passed);
	}
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return sbx_error_what(err, -errno, "cannot use the file descriptor %d", passed);
	return add(handover, &fd, arena, "LISTEN_FDS", err);
}

static int adopt_all(struct arena *arena, struct handover *handover, struct sbx_error *err)
{
	_cleanup_free_ struct listen_fds *passed = calloc(1, sizeof(*passed));
	int r;

	if (!passed)
		return sbx_error_what(err, -ENOMEM, "cannot use LISTEN_FDS");
	r = listen_fds_check(getenv("LISTEN_PID"), getenv("LISTEN_FDS"), getenv("LISTEN_FDNAMES"),
			     getpid(), passed, err);
	for (size_t i = 0; r >= 0 && i < passed->n_fds; i++)
		r = adopt(LISTEN_FDS_START + (int)i, arena, handover, err);
	return r;
}

int proxy_open_listeners(const struct proxy_values *values, struct arena *arena,
			 struct handover *ret, struct sbx_error *err)
{
	int r = adopt_all(arena, ret, err);

	for (size_t i = 0; r >= 0 && i < values->listen.n_items; i++)
		r = listen_at(values->listen.items[i], arena, ret, err);
	for (size_t i = 0; r >= 0 && i < values->listen_unix.n_items; i++)
		r = listen_on_path(values->listen_unix.items[i], arena, ret, err);
	if (r < 0 || ret->n_listeners > 0)
		return r;
	return error_fill(err, -EINVAL,
			  "neither --listen nor --listen-unix is given, and the service manager "
			  "passed no socket",
			  "write --listen=127.0.0.1:8080", "there is no socket to listen on");
}
