/* SPDX-License-Identifier: MIT */

/*
 * Ports of the loopback, forwarded in and out. The programs inside are written in perl, which every
 * Debian has.
 */

#include <netinet/in.h>
#include <sys/socket.h>

#include "spawn-rig.h"

#define WORDS "use Socket; $| = 1; $SIG{PIPE} = 'IGNORE'; "
#define ADDRESS "pack_sockaddr_in($ARGV[0], inet_aton('127.0.0.1'))"
/* A RST that arrives before connect(2) returns makes connect(2) itself fail. */
#define CONNECT                                                                                    \
	WORDS "socket(my $s, PF_INET, SOCK_STREAM, 0) or die; "                                    \
	      "connect($s, " ADDRESS ") or die $!{ECONNRESET} ? \"reset\\n\" : \"refused\\n\"; "   \
	      "select($s); $| = 1; select(STDOUT); "
#define SERVE                                                                                      \
	WORDS "socket(my $l, PF_INET, SOCK_STREAM, 0) or die; bind($l, " ADDRESS ") or die; "      \
	      "listen($l, 100) or die; print \"ready\\n\"; "

struct server {
	int fd;
	uint16_t port;
};

/* A free port of this host, reserved as long as its socket is open. */
static struct server serve(bool listens)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server server = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	socklen_t size = sizeof(address);

	if (server.fd < 0 || bind(server.fd, (struct sockaddr *)&address, size) < 0 ||
	    getsockname(server.fd, (struct sockaddr *)&address, &size) < 0 ||
	    (listens && listen(server.fd, 100) < 0))
		abort();
	server.port = ntohs(address.sin_port);
	return server;
}

static uint16_t find_port(void)
{
	struct server server = serve(false);

	(void)close(server.fd);
	return server.port;
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close_fd(&fd);
		return -errno;
	}
	return fd;
}

static void init(struct rig *rig, uid_t uid, const char *perl, uint16_t port, char port_text[8])
{
	(void)snprintf(port_text, 8, "%u", port);
	rig_init(rig, uid, NULL);
	rig->argv[0] = "/usr/bin/perl";
	rig->argv[1] = "-e";
	rig->argv[2] = perl;
	rig->argv[3] = port_text;
	rig_insert(rig, (struct step){ .kind = STEP_LOOPBACK });
}

static bool reads(int fd, const char *wanted)
{
	char bytes[64] = "";
	size_t n = 0;

	while (n < strlen(wanted) && rig_is_ready(fd, POLLIN)) {
		ssize_t got = read(fd, bytes + n, sizeof(bytes) - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return strcmp(bytes, wanted) == 0;
}

static bool ends(int fd)
{
	char byte;

	return rig_is_ready(fd, POLLIN) && read(fd, &byte, 1) <= 0;
}

static bool is_reset(int fd)
{
	char byte;

	return rig_is_ready(fd, POLLIN) && read(fd, &byte, 1) < 0 && errno == ECONNRESET;
}

/* ---- connect ---- */

static void add_connect(struct rig *rig, uint16_t port)
{
	rig_insert(rig, (struct step){ .kind = STEP_LISTEN,
				       .listen.port = port,
				       .listen.purpose = "connect" });
}

FOR_BOTH(a_named_port_of_the_host_is_reached_from_inside)
{
	struct server server = serve(true);
	_cleanup_rig_ struct rig rig;
	char port[8];
	int peer;

	init(&rig, uid, CONNECT "print $s \"hello\\n\"; shutdown($s, 1); print <$s>;", server.port,
	     port);
	add_connect(&rig, server.port);
	rig_start(&rig);
	expect(rig_is_ready(server.fd, POLLIN));
	peer = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC);
	expect(reads(peer, "hello\n"));
	/* The peer has shut down its direction; ours is still open. */
	expect(ends(peer));
	expect_eq(fd_write_all(peer, "world\n", 6), 0);
	(void)close(peer);
	rig_wait(&rig);
	rig_expect(&rig, 0, SPAWN_REASON_EXIT);
	expect_str(rig.output, "world\n");
	(void)close(server.fd);
}

FOR_BOTH(other_ports_of_the_host_are_not_reached)
{
	struct server server = serve(true), other = serve(true);
	_cleanup_rig_ struct rig rig;
	char port[8];

	init(&rig, uid, CONNECT "print \"connected\\n\";", other.port, port);
	add_connect(&rig, server.port);
	rig_run(&rig);
	expect_str(rig.output, "refused\n");
	(void)close(server.fd);
	(void)close(other.fd);
}

FOR_BOTH(a_connection_without_an_outer_listener_is_refused)
{
	_cleanup_rig_ struct rig rig;
	uint16_t number = find_port();
	char port[8];

	init(&rig, uid, CONNECT "print \"connected\\n\";", number, port);
	add_connect(&rig, number);
	rig_run(&rig);
	expect_str(rig.output, "refused\n");
}

FOR_BOTH(a_server_that_listens_later_gets_the_first_connection)
{
	struct server server = serve(false);
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;
	char port[8];
	int peer;

	init(&rig, uid,
	     WORDS "for (my $n = 0;; $n++) { socket(my $s, PF_INET, SOCK_STREAM, 0) or die; "
		   "if (connect($s, " ADDRESS ")) { print <$s>; exit } "
		   "print $!{ECONNREFUSED} ? \"refused\\n\" : \"$!\\n\" if $n == 0; "
		   "select(undef, undef, undef, 0.02) }",
	     server.port, port);
	add_connect(&rig, server.port);
	rig_start_with_pipe(&rig, &end);
	expect(rig_hears(end, "refused\n"));
	expect_eq(listen(server.fd, 100), 0);
	/* The supervisor does not use up a connection to find the server. */
	expect(rig_is_ready(server.fd, POLLIN));
	peer = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC);
	expect_eq(fd_write_all(peer, "world\n", 6), 0);
	(void)close(peer);
	expect(rig_hears(end, "world\n"));
	rig_wait(&rig);
	rig_expect(&rig, 0, SPAWN_REASON_EXIT);
	(void)close(server.fd);
}

FOR_BOTH(much_passes_in_both_directions)
{
	struct server server = serve(true);
	_cleanup_rig_ struct rig rig;
	char port[8];
	size_t n = 0;
	int peer;

	init(&rig, uid,
	     CONNECT "my $n = 0; print $s 'x' x 3000000; shutdown($s, 1); "
		     "while (sysread($s, my $b, 65536)) { $n += length $b } print \"$n\\n\";",
	     server.port, port);
	add_connect(&rig, server.port);
	rig_start(&rig);
	peer = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC);
	for (;;) {
		char bytes[65536];
		ssize_t got = rig_is_ready(peer, POLLIN) ? read(peer, bytes, sizeof(bytes)) : -1;

		if (got <= 0 || fd_write_all(peer, bytes, (size_t)got / 2) < 0)
			break;
		n += (size_t)got / 2;
	}
	(void)close(peer);
	rig_wait(&rig);
	expect(n > 1000000 && strtoul(rig.output, NULL, 10) == n);
	(void)close(server.fd);
}

/* ---- bind ---- */

FOR_BOTH(what_listens_inside_is_reached_from_the_host)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;
	uint16_t number = find_port();
	char port[8];

	init(&rig, uid,
	     SERVE "for (1 .. 100) { accept(my $c, $l) or die; my $w = <$c>; "
		   "syswrite($c, \"got $w\"); close($c); }",
	     number, port);
	rig.plan.inward = &number;
	rig.plan.n_inward = 1;
	rig_start_with_pipe(&rig, &end);
	expect(rig_hears(end, "ready\n"));
	for (int i = 0; i < 100; i++) {
		_cleanup_close_ int fd = connect_to(number);

		expect(fd >= 0);
		expect_eq(fd_write_all(fd, "hello\n", 6), 0);
		expect(reads(fd, "got hello\n"));
		expect(ends(fd));
	}
	rig_wait(&rig);
	rig_expect(&rig, 0, SPAWN_REASON_EXIT);
	expect_eq(connect_to(number), -ECONNREFUSED);
}

FOR_BOTH(a_connection_without_an_inner_listener_is_reset)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF, fd = -EBADF;
	uint16_t number = find_port();
	char port[8];

	init(&rig, uid, WORDS "print \"ready\\n\"; sleep 1000;", number, port);
	rig.plan.inward = &number;
	rig.plan.n_inward = 1;
	rig_start_with_pipe(&rig, &end);
	expect(rig_hears(end, "ready\n"));
	fd = connect_to(number);
	/* The reset may arrive before connect(2) returns. */
	expect(fd == -ECONNRESET || (fd >= 0 && is_reset(fd)));
	expect_eq(kill(rig.supervisor, SIGTERM), 0);
	rig_wait(&rig);
}

FOR_BOTH(a_port_that_is_taken_is_refused)
{
	struct server server = serve(true);
	_cleanup_rig_ struct rig rig;
	char port[8];

	init(&rig, uid, WORDS "print \"ran\\n\";", server.port, port);
	rig.plan.inward = &server.port;
	rig.plan.n_inward = 1;
	rig_run(&rig);
	expect_eq(rig.outcome->code, -EADDRINUSE);
	rig_expect(&rig, SPAWN_FAILED, SPAWN_REASON_SETUP);
	expect(rig.outcome->err.why[0] && rig.outcome->err.fix[0]);
	expect_str(rig.output, "");
	(void)close(server.fd);
}

FOR_BOTH(more_connections_than_there_is_room_for_wait)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;
	uint16_t number = find_port();
	int fds[90];
	char port[8];

	init(&rig, uid,
	     SERVE "my @all; for (1 .. 90) { accept(my $c, $l) or die; my $w = <$c>; "
		   "syswrite($c, $w); close($c); }",
	     number, port);
	rig.plan.inward = &number;
	rig.plan.n_inward = 1;
	rig_start_with_pipe(&rig, &end);
	expect(rig_hears(end, "ready\n"));
	/* The connections may arrive in any order. */
	for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
		fds[i] = connect_to(number);
		expect_eq(fd_write_all(fds[i], "x\n", 2), 0);
	}
	for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
		expect(reads(fds[i], "x\n"));
		(void)close(fds[i]);
	}
	rig_wait(&rig);
	rig_expect(&rig, 0, SPAWN_REASON_EXIT);
}

/* ---- listeners of a proxy ---- */

static int take_listeners(void *userdata, const int *fds, size_t n_fds, struct sbx_error *err)
{
	struct outcome *outcome = userdata;
	int listens = 0;
	socklen_t size = sizeof(listens);

	outcome->note = n_fds == 1 &&
			getsockopt(fds[0], SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
			listens;
	return 0;
}

FOR_BOTH(a_proxy_gets_its_listeners_before_the_command_runs)
{
	_cleanup_rig_ struct rig rig;
	struct spawn_hooks hooks = { .listening = take_listeners };
	char port[8];

	init(&rig, uid, WORDS "print \"ran\\n\";", 3128, port);
	rig_insert(&rig, (struct step){ .kind = STEP_LISTEN,
					.listen.port = 3128,
					.listen.purpose = "proxy" });
	add_connect(&rig, 3129);
	hooks.userdata = rig.outcome;
	rig.options.hooks = &hooks;
	rig_run(&rig);
	expect_eq(rig.outcome->note, 1);
	expect_str(rig.output, "ran\n");
}

FOR_BOTH(without_a_listeners_hook_nothing_runs)
{
	_cleanup_rig_ struct rig rig;
	char port[8];

	init(&rig, uid, WORDS "print \"ran\\n\";", 3128, port);
	rig_insert(&rig, (struct step){ .kind = STEP_LISTEN,
					.listen.port = 3128,
					.listen.purpose = "proxy" });
	rig_run(&rig);
	expect_eq(rig.outcome->code, -ENOTCONN);
	expect_str(rig.output, "");
}

static const struct test tests[] = {
	BOTH(a_named_port_of_the_host_is_reached_from_inside),
	BOTH(other_ports_of_the_host_are_not_reached),
	BOTH(a_connection_without_an_outer_listener_is_refused),
	BOTH(a_server_that_listens_later_gets_the_first_connection),
	BOTH(much_passes_in_both_directions),
	BOTH(what_listens_inside_is_reached_from_the_host),
	BOTH(a_connection_without_an_inner_listener_is_reset),
	BOTH(a_port_that_is_taken_is_refused),
	BOTH(more_connections_than_there_is_room_for_wait),
	BOTH(a_proxy_gets_its_listeners_before_the_command_runs),
	BOTH(without_a_listeners_hook_nothing_runs),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
