/* SPDX-License-Identifier: MIT */

/* Where the transports over sockets meet: paths, ports, given sockets, and the user at the other
 * end */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "ring/loopback.h"
#include "ring-socket-rig.h"
#include "ring/violation.h"
#include "test.h"

#define OTHER_USER 12345

/* ---- endpoints ---- */

static void talk(struct sbx_ring *server, struct sbx_ring *client)
{
	for (int i = 0; i < 1000 && !(server->transport->is_connected(server) &&
				      client->transport->is_connected(client));
	     i++) {
		(void)server->transport->wait(server, SBX_RING_WRITABLE, 0);
		(void)client->transport->wait(client, SBX_RING_WRITABLE, 1000);
	}
	expect(server->transport->is_connected(server));
	expect(client->transport->is_connected(client));
	expect_eq(send_text(client, "question"), 0);
	expect_message(server, "question");
	expect_eq(send_text(server, "answer"), 0);
	expect_message(client, "answer");
}

static void a_server_waits_for_its_client_at_a_path(void)
{
	char directory[32], path[64];
	size_t n_fds = count_fds();
	struct sbx_ring *server, *client;
	struct stat st;
	void *room;

	make_place(directory, path);
	server = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_SERVER);
	expect_str(server->transport->name, "unix_socket");
	expect(lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
	expect(!server->transport->is_connected(server));
	expect_eq(peek_result(server), SBX_RING_EMPTY);
	expect_eq(server->transport->reserve(server, 1, &room), SBX_RING_FULL);
	expect_eq(server->transport->flush(server), 0);
	expect_eq(server->transport->wait(server, SBX_RING_WRITABLE, 1000), SBX_RING_EMPTY);
	expect_eq(server->transport->arm(server, SBX_RING_WRITABLE), 0);
	expect_eq(poll_once(server->fd, 0), 0);

	client = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_CLIENT);
	expect_eq(poll_once(server->fd, -1), POLLIN);
	expect_eq(server->transport->arm(server, SBX_RING_WRITABLE), 1);
	talk(server, client);
	/* One client a channel: nothing listens any more. */
	expect(!exists(path));
	expect_eq(server->transport->arm(server, SBX_RING_READABLE), 0);
	expect_eq(poll_once(server->fd, 0), 0);

	(void)ring_free(server);
	expect_end(client, SBX_RING_CLOSED);
	(void)ring_free(client);
	expect_eq(rmdir(directory), 0);
	expect_eq(count_fds(), n_fds);
}

static void a_client_may_send_and_close_before_the_server_looks(void)
{
	char directory[32], path[64];
	_cleanup_ring_ struct sbx_ring *server = NULL;
	struct sbx_ring *client;

	make_place(directory, path);
	server = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_SERVER);
	client = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_CLIENT);
	expect_eq(send_text(client, "early"), 0);
	(void)ring_free(client);
	expect_message(server, "early");
	expect_end(server, SBX_RING_CLOSED);
	expect_eq(rmdir(directory), 0);
}

static void a_server_comes_back_to_its_path_at_once(void)
{
	char directory[32], path[64];

	make_place(directory, path);
	for (int i = 0; i < 3; i++) {
		_cleanup_ring_ struct sbx_ring *server =
			open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_SERVER);
		_cleanup_ring_ struct sbx_ring *client =
			i == 1 ? NULL : open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_CLIENT);

		if (client)
			talk(server, client);
	}
	expect_eq(rmdir(directory), 0);
}

static void bind_at(int type, const char *path, int *ret)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)strcpy(address.sun_path, path);
	*ret = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	expect_eq(bind(*ret, (const struct sockaddr *)&address, sizeof(address)), 0);
}

static int open_result(const struct sbx_ring_config *config, int role, int socket,
		       struct sbx_error *err)
{
	struct sbx_ring *ring = NULL;
	int r = socket_open(config, role, socket, &ring, err);

	expect((r == 0) == (ring != NULL));
	(void)ring_free(ring);
	return r;
}

static int open_path(const char *path, int role, struct sbx_error *err)
{
	struct sbx_ring_config config = config_of(SBX_RING_UNIX_SOCKET, path);

	*err = (struct sbx_error){ 0 };
	return open_result(&config, role, -EBADF, err);
}

static void replaces_a_dead_socket_only(void)
{
	_cleanup_close_ int live = -EBADF;
	char directory[32], path[64];
	struct sbx_error err;
	int dead;

	make_place(directory, path);
	bind_at(SOCK_STREAM, path, &dead);
	expect_eq(close(dead), 0);
	expect_eq(open_path(path, SBX_RING_SERVER, &err), 0);
	expect(!exists(path));

	bind_at(SOCK_DGRAM, path, &live);
	expect_eq(open_path(path, SBX_RING_SERVER, &err), -EADDRINUSE);
	expect(strstr(err.what, path) && strstr(err.why, "another process listens there"));
	expect(exists(path));
	expect_eq(unlink(path), 0);

	expect_eq(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	expect_eq(open_path(path, SBX_RING_SERVER, &err), -EEXIST);
	expect(strstr(err.why, "not a socket") && err.fix[0]);
	expect(exists(path));
	expect_eq(unlink(path), 0);
	expect_eq(symlink("/etc/passwd", path), 0);
	expect_eq(open_path(path, SBX_RING_SERVER, &err), -EEXIST);
	expect_eq(unlink(path), 0);
	expect_eq(rmdir(directory), 0);
}

static void a_second_server_leaves_the_first_alone(void)
{
	char directory[32], path[64];
	_cleanup_ring_ struct sbx_ring *server = NULL;
	struct sbx_error err;

	make_place(directory, path);
	server = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_SERVER);
	/* The probe is a client that has gone: it fills the queue of one. */
	expect_eq(open_path(path, SBX_RING_SERVER, &err), -EADDRINUSE);
	expect(exists(path));
	(void)ring_free(take_ptr(server));
	expect_eq(rmdir(directory), 0);
}

static void removes_only_its_own_file(void)
{
	_cleanup_close_ int other = -EBADF;
	char directory[32], path[64];
	struct sbx_ring *server;

	make_place(directory, path);
	server = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_SERVER);
	expect_eq(unlink(path), 0);
	bind_at(SOCK_STREAM, path, &other);
	(void)ring_free(server);
	expect(exists(path));
	expect_eq(unlink(path), 0);
	expect_eq(rmdir(directory), 0);
}

static const struct {
	const char *endpoint;
	int role, code;
	const char *why, *fix;
} path_refusals[] = {
	{ NULL, SBX_RING_SERVER, -EINVAL, "neither a connected socket nor the path",
	  "ipc_endpoint" },
	{ "", SBX_RING_CLIENT, -EINVAL, "neither a connected socket nor the path", "ipc_endpoint" },
	{ "@name", SBX_RING_SERVER, -EINVAL, "abstract socket has no owner", "path of a socket" },
	{ "@name", SBX_RING_CLIENT, -EINVAL, "abstract socket has no owner", "path of a socket" },
	{ "ring.sock", SBX_RING_SERVER, -EINVAL, "not absolute", "begin it with '/'" },
	{ "/nonexistent/ring.sock", SBX_RING_SERVER, -ENOENT, "directory does not exist",
	  "create" },
	{ "/nonexistent/ring.sock", SBX_RING_CLIENT, -ENOENT, "no server listens", "start" },
	{ "/dev/null/ring.sock", SBX_RING_SERVER, -ENOTDIR, "not a directory", "another path" },
	{ "/tmp/12345678901234567890123456789012345678901234567890123456789012345678901234567890"
	  "1234567890123456789012345678",
	  SBX_RING_SERVER, -ENAMETOOLONG, "at most 107 bytes", "shorter" },
	{ "/tmp/12345678901234567890123456789012345678901234567890123456789012345678901234567890"
	  "1234567890123456789012345678",
	  SBX_RING_CLIENT, -ENAMETOOLONG, "at most 107 bytes", "shorter" },
};

static void refuses_paths_that_cannot_work(void)
{
	size_t n_fds = count_fds();

	for (size_t i = 0; i < N_ELEMENTS(path_refusals); i++) {
		struct sbx_error err;

		printf("# %s\n", path_refusals[i].endpoint ? path_refusals[i].endpoint : "NULL");
		expect_eq(open_path(path_refusals[i].endpoint, path_refusals[i].role, &err),
			  path_refusals[i].code);
		expect_eq(err.code, path_refusals[i].code);
		expect(strstr(err.what, "cannot open a channel at"));
		expect(strstr(err.why, path_refusals[i].why));
		expect(strstr(err.fix, path_refusals[i].fix));
	}
	expect_eq(count_fds(), n_fds);
}

static void the_longest_path_of_the_kernel_works(void)
{
	char directory[32], unused[64], path[108];
	_cleanup_ring_ struct sbx_ring *server = NULL, *client = NULL;

	make_place(directory, unused);
	memset(path, 'x', sizeof(path));
	path[107] = '\0';
	memcpy(path, directory, strlen(directory));
	path[strlen(directory)] = '/';
	server = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_SERVER);
	client = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_CLIENT);
	talk(server, client);
	expect_eq(rmdir(directory), 0);
}

static void the_two_sides_must_agree_on_datagrams(void)
{
	char directory[32], path[64];
	struct sbx_ring_config config;
	struct sbx_ring *server = NULL, *client = NULL;
	struct sbx_error err;

	make_place(directory, path);
	config = config_of(SBX_RING_UNIX_SOCKET, path);
	config.is_datagram = true;
	expect_eq(socket_open(&config, SBX_RING_SERVER, -EBADF, &server, &err), 0);
	expect_eq(open_path(path, SBX_RING_CLIENT, &err), -EPROTOTYPE);
	expect(strstr(err.why, "stream or datagram") && strstr(err.fix, "is_datagram"));
	expect_eq(socket_open(&config, SBX_RING_CLIENT, -EBADF, &client, &err), 0);
	talk(server, client);
	(void)ring_free(client);
	(void)ring_free(server);
	expect_eq(rmdir(directory), 0);
}

static void a_port_is_chosen_and_told(void)
{
	size_t n_fds = count_fds();
	static const char *const endpoints[] = { NULL, "", "localhost:0", "127.0.0.1:0",
						 "[::1]:0" };
	static const char *const begins[] = { "localhost:", "localhost:", "localhost:",
					      "127.0.0.1:", "[::1]:" };

	for (size_t i = 0; i < N_ELEMENTS(endpoints); i++) {
		_cleanup_ring_ struct sbx_ring *server = NULL, *client = NULL;
		struct sbx_ring_config config = config_of(SBX_RING_TCP, endpoints[i]);
		struct sbx_error err = { 0 };
		int r = socket_open(&config, SBX_RING_SERVER, -EBADF, &server, &err);

		if (i == 4 && (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT))
			skip("this host has no IPv6 loopback");
		expect_eq(r, 0);
		expect_str(server->transport->name, "tcp");
		expect(strncmp(server->endpoint, begins[i], strlen(begins[i])) == 0);
		expect(strtol(server->endpoint + strlen(begins[i]), NULL, 10) > 0);
		expect(!server->transport->is_connected(server));
		client = open_at(SBX_RING_TCP, server->endpoint, SBX_RING_CLIENT);
		/* The server has not looked for it yet. */
		expect(!client->transport->is_connected(client));
		expect_eq(send_text(client, "x"), SBX_RING_FULL);
		expect_eq(peek_result(client), SBX_RING_EMPTY);
		talk(server, client);
		struct sbx_ring_config again = config_of(SBX_RING_TCP, server->endpoint);

		expect_eq(open_result(&again, SBX_RING_CLIENT, -EBADF, &err), -ECONNREFUSED);
		expect(strstr(err.why, "it has its client already"));
	}
	expect_eq(count_fds(), n_fds);
}

static void a_server_comes_back_to_its_port_at_once(void)
{
	_cleanup_free_ char *endpoint = NULL;

	for (int i = 0; i < 3; i++) {
		_cleanup_ring_ struct sbx_ring *server =
			open_at(SBX_RING_TCP, endpoint, SBX_RING_SERVER);
		_cleanup_ring_ struct sbx_ring *client = NULL;

		if (!endpoint)
			endpoint = strdup(server->endpoint);
		if (!endpoint)
			abort();
		expect_str(server->endpoint, endpoint);
		client = open_at(SBX_RING_TCP, endpoint, SBX_RING_CLIENT);
		talk(server, client);
		/* The end that closes first keeps the port in TIME_WAIT. */
		(void)ring_free(take_ptr(server));
		expect_end(client, SBX_RING_CLOSED);
	}
}

static void closing_tcp_does_not_lose_what_was_sent(void)
{
	static char bytes[20000];
	struct sbx_ring *server = open_at(SBX_RING_TCP, NULL, SBX_RING_SERVER);
	_cleanup_ring_ struct sbx_ring *client =
		open_at(SBX_RING_TCP, server->endpoint, SBX_RING_CLIENT);
	size_t n_sent = 0, n_received = 0;

	talk(server, client);
	/* What the server leaves unread must not reset the connection. */
	expect_eq(send_text(client, "unread"), 0);
	while (n_sent < 10 && send_flags(server, bytes, sizeof(bytes), 0) == 0)
		n_sent++;
	(void)ring_free(server);
	expect_eq(wait_for(client, SBX_RING_READABLE), 0);
	while (wait_for(client, SBX_RING_READABLE) == 0 && peek_result(client) == 0) {
		n_received++;
		client->transport->release(client);
	}
	expect_eq(n_received, n_sent);
	expect_eq(peek_result(client), SBX_RING_CLOSED);
}

static void the_first_word_of_a_server_must_be_the_welcome(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_ring_ struct sbx_ring *client = NULL, *other = NULL;
	socklen_t size = sizeof(address);
	char endpoint[32];
	int fd;

	expect_eq(bind(listener, (const struct sockaddr *)&address, size), 0);
	expect_eq(listen(listener, 2), 0);
	expect_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	(void)snprintf(endpoint, sizeof(endpoint), "localhost:%u", ntohs(address.sin_port));
	client = open_at(SBX_RING_TCP, endpoint, SBX_RING_CLIENT);
	fd = accept(listener, NULL, NULL);
	expect_eq(send(fd, "\1\0\0\0a", 5, 0), 5);
	expect_eq(wait_for(client, SBX_RING_WRITABLE), 0);
	expect_eq(peek_result(client), -EPROTO);
	expect_eq(client->violation, RING_STATE_UNKNOWN);
	expect_eq(close(fd), 0);

	other = open_at(SBX_RING_TCP, endpoint, SBX_RING_CLIENT);
	fd = accept(listener, NULL, NULL);
	expect_eq(send(fd, "\xfe\xff", 2, 0), 2);
	expect_eq(peek_result(other), SBX_RING_EMPTY);
	expect_eq(close(fd), 0);
	expect_eq(wait_for(other, SBX_RING_WRITABLE), 0);
	expect_eq(peek_result(other), -ECONNRESET);
	expect_eq(send_text(other, "x"), -ECONNRESET);
}

static const struct {
	const char *endpoint;
	int role;
	const char *why, *fix;
} tcp_refusals[] = {
	{ "example.com:9000", SBX_RING_CLIENT, "must be on this host", "ssh -L" },
	{ "example.com:9000", SBX_RING_SERVER, "must be on this host", "stunnel" },
	{ "192.0.2.1:9000", SBX_RING_CLIENT, "must be on this host", "ssh -L" },
	{ "0.0.0.0:0", SBX_RING_SERVER, "must be on this host", "ssh -L" },
	{ "*:9000", SBX_RING_SERVER, "must be on this host", "ssh -L" },
	{ ":9000", SBX_RING_SERVER, "must be on this host", "ssh -L" },
	{ "[::]:9000", SBX_RING_SERVER, "must be on this host", "ssh -L" },
	{ "::1:9000", SBX_RING_SERVER, "must be on this host", "ssh -L" },
	{ "LOCALHOST:9000", SBX_RING_SERVER, "must be on this host", "ssh -L" },
	{ "localhost.example.com:9000", SBX_RING_SERVER, "must be on this host", "ssh -L" },
	{ "9000", SBX_RING_SERVER, "must be on this host", "ssh -L" },
	{ "localhost", SBX_RING_SERVER, "port is not a number up to 65535", "localhost:9000" },
	{ "localhost:", SBX_RING_SERVER, "port is not a number up to 65535", "localhost:9000" },
	{ "localhost:65536", SBX_RING_SERVER, "port is not a number", "localhost:9000" },
	{ "localhost:-1", SBX_RING_SERVER, "port is not a number", "localhost:9000" },
	{ "localhost: 1", SBX_RING_SERVER, "port is not a number", "localhost:9000" },
	{ "localhost:http", SBX_RING_SERVER, "port is not a number", "localhost:9000" },
	{ "localhost:0", SBX_RING_CLIENT, "port is not known", "the server tells" },
};

static void refuses_endpoints_of_tcp_that_cannot_work(void)
{
	for (size_t i = 0; i < N_ELEMENTS(tcp_refusals); i++) {
		struct sbx_ring_config config = config_of(SBX_RING_TCP, tcp_refusals[i].endpoint);
		struct sbx_error err = { 0 };

		printf("# %s\n", tcp_refusals[i].endpoint);
		expect_eq(open_result(&config, tcp_refusals[i].role, -EBADF, &err), -EINVAL);
		expect(strstr(err.what, tcp_refusals[i].endpoint));
		expect(strstr(err.why, tcp_refusals[i].why));
		expect(strstr(err.fix, tcp_refusals[i].fix));
	}
}

static void refuses_datagrams_over_tcp(void)
{
	struct sbx_ring_config config = config_of(SBX_RING_TCP, "localhost:0");
	struct sbx_error err = { 0 };

	config.is_datagram = true;
	expect_eq(open_result(&config, SBX_RING_SERVER, -EBADF, &err), -EINVAL);
	expect(strstr(err.why, "no datagrams") && err.fix[0]);
}

static void refuses_a_port_on_which_another_process_listens(void)
{
	_cleanup_ring_ struct sbx_ring *server = open_at(SBX_RING_TCP, NULL, SBX_RING_SERVER);
	struct sbx_ring_config config = config_of(SBX_RING_TCP, server->endpoint);
	struct sbx_error err = { 0 };

	expect_eq(open_result(&config, SBX_RING_SERVER, -EBADF, &err), -EADDRINUSE);
	expect(strstr(err.why, "another process listens") && strstr(err.fix, "port 0"));
}

/* A given socket is taken, even on failure. */
static void refuses_sockets_that_are_no_connected_unix_sockets(void)
{
	struct sbx_ring_config config = config_of(SBX_RING_UNIX_SOCKET, NULL);
	struct sbx_error err = { 0 };
	size_t n_fds = count_fds();
	int pair[2];

	expect_eq(open_result(&config, SBX_RING_SERVER, open("/dev/null", O_RDWR | O_CLOEXEC),
			      &err),
		  -ENOTSOCK);
	expect(strstr(err.why, "not a unix socket") && strstr(err.fix, "socketpair"));
	expect_eq(open_result(&config, SBX_RING_SERVER, socket(AF_INET, SOCK_STREAM, 0), &err),
		  -EINVAL);
	expect(strstr(err.why, "not a unix socket"));
	expect_eq(open_result(&config, SBX_RING_SERVER, socket(AF_UNIX, SOCK_STREAM, 0), &err),
		  -EINVAL);
	expect(strstr(err.why, "not connected"));
	expect_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	expect_eq(open_result(&config, SBX_RING_SERVER, pair[0], &err), -EINVAL);
	expect(strstr(err.why, "can be lost"));
	config.transport = SBX_RING_TCP;
	expect_eq(open_result(&config, SBX_RING_SERVER, pair[1], &err), -EINVAL);
	expect(strstr(err.why, "by its endpoint"));
	expect_eq(count_fds(), n_fds);
}

/* ---- other users ---- */

/* Runs @run as another user in a child, and returns its answer. */
static int as_other_user(int (*run)(const char *endpoint), const char *endpoint)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgid(OTHER_USER) < 0 || setuid(OTHER_USER) < 0)
			_exit(100);
		_exit(run(endpoint));
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int connect_to(const char *endpoint)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_port = htons((in_port_t)strtol(strrchr(endpoint, ':') + 1, NULL, 10));
	return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? fd
											       : -1;
}

/* Kernels before 6.16 report user 0 for such a socket. */
static int send_and_close(const char *endpoint)
{
	int fd = connect_to(endpoint);

	return fd >= 0 && send(fd, "\1\0\0\0a", 5, 0) == 5 && close(fd) == 0 ? 0 : 1;
}

static void a_client_of_another_user_is_turned_away(void)
{
	_cleanup_ring_ struct sbx_ring *server = NULL, *client = NULL;
	_cleanup_close_ int attacker = -EBADF;
	char byte;

	if (geteuid() != 0)
		skip("needs root, to be two users");
	server = open_at(SBX_RING_TCP, NULL, SBX_RING_SERVER);
	expect_eq(seteuid(OTHER_USER), 0);
	attacker = connect_to(server->endpoint);
	expect_eq(seteuid(0), 0);
	expect(attacker >= 0);
	expect_eq(peek_result(server), SBX_RING_EMPTY);
	expect_eq(recv(attacker, &byte, 1, 0), 0);
	expect(!server->transport->is_connected(server));

	expect_eq(as_other_user(send_and_close, server->endpoint), 0);
	expect_eq(server->transport->wait(server, SBX_RING_READABLE, 1000), SBX_RING_EMPTY);
	expect(!server->transport->is_connected(server));
	/* The right one still finds it. */
	client = open_at(SBX_RING_TCP, server->endpoint, SBX_RING_CLIENT);
	talk(server, client);
}

static int open_as_client(const char *endpoint)
{
	struct sbx_ring_config config =
		config_of(endpoint[0] == '/' ? SBX_RING_UNIX_SOCKET : SBX_RING_TCP, endpoint);
	struct sbx_error err = { 0 };
	int r = open_result(&config, SBX_RING_CLIENT, -EBADF, &err);

	if (r == -EPERM && !(strstr(err.why, "the server there has user 0") ||
			     strstr(err.why, "the server there has user 54321")))
		return 101;
	return -r;
}

static void a_server_of_another_user_is_refused(void)
{
	_cleanup_ring_ struct sbx_ring *server = NULL;
	char directory[32], path[64];

	if (geteuid() != 0)
		skip("needs root, to be two users");
	/* A client trusts root's server. */
	server = open_at(SBX_RING_TCP, NULL, SBX_RING_SERVER);
	expect_eq(as_other_user(open_as_client, server->endpoint), 0);
	(void)ring_free(take_ptr(server));

	expect_eq(seteuid(54321), 0);
	server = open_at(SBX_RING_TCP, NULL, SBX_RING_SERVER);
	expect_eq(seteuid(0), 0);
	expect_eq(as_other_user(open_as_client, server->endpoint), EPERM);
	expect_eq(open_as_client(server->endpoint), EPERM);
	(void)ring_free(take_ptr(server));

	make_place(directory, path);
	expect_eq(chown(directory, 54321, 54321), 0);
	expect_eq(seteuid(54321), 0);
	server = open_at(SBX_RING_UNIX_SOCKET, path, SBX_RING_SERVER);
	expect_eq(seteuid(0), 0);
	expect_eq(open_as_client(path), EPERM);
	expect_eq(chmod(directory, 0755), 0);
	expect_eq(as_other_user(open_as_client, path), EACCES);
	(void)ring_free(take_ptr(server));
	expect_eq(rmdir(directory), 0);
}

static void knows_the_user_before_and_after_accept(void)
{
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_close_ int client = -EBADF, accepted = -EBADF;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	char endpoint[32];
	uid_t uid = 77;

	expect_eq(bind(listener, (const struct sockaddr *)&address, size), 0);
	expect_eq(listen(listener, 1), 0);
	expect_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	(void)snprintf(endpoint, sizeof(endpoint), "x:%u", ntohs(address.sin_port));
	expect_eq(loopback_find_user(listener, &uid), -ENOTCONN);
	client = connect_to(endpoint);
	expect_eq(loopback_find_user(client, &uid), 0);
	expect_eq(uid, geteuid());
	accepted = accept(listener, NULL, NULL);
	uid = 77;
	expect_eq(loopback_find_user(client, &uid), 0);
	expect_eq(uid, geteuid());
	uid = 77;
	expect_eq(loopback_find_user(accepted, &uid), 0);
	expect_eq(uid, geteuid());
	close_fd(&client);
	uid = 77;
	expect_eq(loopback_find_user(accepted, &uid), -ENOTCONN);
	expect_eq(uid, 77);
}

static void *accept_one(void *data)
{
	struct sbx_ring *server = data;

	expect_eq(server->transport->wait(server, SBX_RING_READABLE, DEADLINE_USEC), 0);
	expect_message(server, "here");
	return NULL;
}

static struct sbx_ring *open_beside_accept(void)
{
	_cleanup_ring_ struct sbx_ring *server = open_at(SBX_RING_TCP, NULL, SBX_RING_SERVER);
	struct sbx_ring *client;
	pthread_t thread;

	expect_eq(pthread_create(&thread, NULL, accept_one, server), 0);
	client = open_at(SBX_RING_TCP, server->endpoint, SBX_RING_CLIENT);
	expect_eq(client->transport->wait(client, SBX_RING_WRITABLE, DEADLINE_USEC), 0);
	expect_eq(send_text(client, "here"), 0);
	expect_eq(pthread_join(thread, NULL), 0);
	return client;
}

/* The server accepts, and closes its listener, between two questions of the client. */
static void a_client_knows_a_server_that_accepts_meanwhile(void)
{
	for (int i = 0; i < 1000; i++)
		(void)ring_free(open_beside_accept());
}

static void ignore_signal(int number)
{
	(void)number;
}

static void signals_do_not_end_the_opening(void)
{
	static const struct itimerval often = { { 0, 100 }, { 0, 100 } },
				      never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = ignore_signal }, old;

	expect_eq(sigaction(SIGALRM, &action, &old), 0);
	for (int i = 0; i < 100; i++) {
		_cleanup_ring_ struct sbx_ring *server =
			open_at(SBX_RING_TCP, NULL, SBX_RING_SERVER);
		_cleanup_ring_ struct sbx_ring *client = NULL;

		expect_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
		client = open_at(SBX_RING_TCP, server->endpoint, SBX_RING_CLIENT);
		expect_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
		expect(client != NULL);
	}
	expect_eq(sigaction(SIGALRM, &old, NULL), 0);
}

static const struct test tests[] = {
	TEST(a_server_waits_for_its_client_at_a_path),
	TEST(a_client_may_send_and_close_before_the_server_looks),
	TEST(a_server_comes_back_to_its_path_at_once),
	TEST(replaces_a_dead_socket_only),
	TEST(a_second_server_leaves_the_first_alone),
	TEST(removes_only_its_own_file),
	TEST(refuses_paths_that_cannot_work),
	TEST(the_longest_path_of_the_kernel_works),
	TEST(the_two_sides_must_agree_on_datagrams),
	TEST(a_port_is_chosen_and_told),
	TEST(a_server_comes_back_to_its_port_at_once),
	TEST(closing_tcp_does_not_lose_what_was_sent),
	TEST(the_first_word_of_a_server_must_be_the_welcome),
	TEST(refuses_endpoints_of_tcp_that_cannot_work),
	TEST(refuses_datagrams_over_tcp),
	TEST(refuses_a_port_on_which_another_process_listens),
	TEST(refuses_sockets_that_are_no_connected_unix_sockets),
	TEST(a_client_of_another_user_is_turned_away),
	TEST(a_server_of_another_user_is_refused),
	TEST(knows_the_user_before_and_after_accept),
	TEST(a_client_knows_a_server_that_accepts_meanwhile),
	TEST(signals_do_not_end_the_opening),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
