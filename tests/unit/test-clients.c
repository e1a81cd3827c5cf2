/* SPDX-License-Identifier: MIT */

#include "clients-rig.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "lingering.h"

/* The errno with which the next recv() of the service fails; 0: it succeeds. */
static int recv_errno;

ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
	if (recv_errno == 0)
		return recvfrom(fd, bytes, size, flags, NULL, NULL);
	errno = recv_errno;
	recv_errno = 0;
	return -1;
}

/* The errno with which the kernel refuses to add a file to an epoll set; 0: it does not. */
static int add_errno;

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
	if (operation != EPOLL_CTL_ADD || add_errno == 0)
		return (int)syscall(SYS_epoll_ctl, set, operation, fd, event);
	errno = add_errno;
	return -1;
}

/* ---- messages and replies ---- */

static void replies_to_each_message_in_order(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;
	char packet[16];

	echo_start(&echo);
	fd = connect_to(&echo);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(packet, sizeof(packet), "%d", i);
		expect(say(fd, packet));
	}
	for (int i = 0; i < 100; i++) {
		(void)snprintf(packet, sizeof(packet), "%d", i);
		expect_str(hear(&echo, fd), packet);
	}
}

static void reads_no_further_while_a_message_is_in_work(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF, other = -EBADF;

	echo_start(&echo);
	fd = connect_to(&echo);
	expect(say(fd, "hold") && say(fd, "next"));
	turn_all(&echo);
	expect_eq(echo.n_messages, 1);
	other = connect_as(&echo, MAIN, STRANGER, PEER_BESIDE);
	expect(say(other, "hello"));
	expect_str(hear(&echo, other), "hello");
	close_fd(&other);
	other = -EBADF;
	turn_all(&echo);
	release(&echo, "late");
	expect_str(hear(&echo, fd), "late");
	expect_str(hear(&echo, fd), "next");
}

static void has_as_many_messages_in_work_as_the_limits_say(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;

	echo.limits.n_in_work = 3;
	echo_start(&echo);
	fd = connect_to(&echo);
	for (int i = 0; i < 5; i++)
		expect(say(fd, "hold"));
	turn_all(&echo);
	expect_eq(echo.n_messages, 3);
	release(&echo, "one");
	turn_all(&echo);
	expect_eq(echo.n_messages, 4);
	for (int i = 0; i < 4; i++) {
		release(&echo, "more");
		turn_all(&echo);
	}
	expect_str(hear(&echo, fd), "one");
}

static void reads_no_client_while_the_service_takes_no_messages(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF, late = -EBADF;

	echo_start(&echo);
	fd = connect_to(&echo);
	echo.is_stuck = true;
	clients_update(echo.clients);
	late = connect_to(&echo);
	expect(say(fd, "a") && say(late, "b"));
	turn_all(&echo);
	expect_eq(echo.n_messages, 0);
	echo.is_stuck = false;
	clients_update(echo.clients);
	expect_str(hear(&echo, fd), "a");
	expect_str(hear(&echo, late), "b");
}

/* It must not need a place in the epoll set again, which the kernel may refuse. */
static void reads_its_clients_again_where_none_can_be_added(void)
{
	static const int codes[] = { ENOMEM, ENOSPC };

	for (size_t i = 0; i < N_ELEMENTS(codes); i++) {
		_cleanup_echo_ struct echo echo = echo_of();
		_cleanup_close_ int fd = -EBADF;

		echo.protocol.is_one_way = true;
		echo_start(&echo);
		fd = connect_to(&echo);
		echo.is_stuck = true;
		clients_update(echo.clients);
		expect(say(fd, "a"));
		turn_all(&echo);
		expect_eq(echo.n_messages, 0);
		add_errno = codes[i];
		expect_eq(connect_to(&echo), -codes[i]);
		echo.is_stuck = false;
		clients_update(echo.clients);
		expect_str(hear(&echo, fd), "a");
		add_errno = 0;
	}
}

static void a_service_can_end_a_connection(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;

	echo_start(&echo);
	fd = connect_to(&echo);
	expect(say(fd, "end") && say(fd, "more"));
	expect_str(hear(&echo, fd), "");
	expect_eq(echo.n_messages, 1);
	expect_eq(clients_count(echo.clients), 0);
	/* The same outside of message(), with a message in work. */
	close_fd(&fd);
	fd = connect_to(&echo);
	expect(say(fd, "hold"));
	turn_all(&echo);
	client_end(echo.callers->client);
	expect_eq(clients_count(echo.clients), 1);
	expect_str(hear(&echo, fd), "");
	expect_eq(clients_count(echo.clients), 0);
}

static void a_client_that_the_service_refuses_is_gone(void)
{
	_cleanup_echo_ struct echo echo = echo_of();

	echo_start(&echo);
	echo.opened_result = -ENOENT;
	expect_eq(connect_as(&echo, MAIN, STRANGER, PEER_BESIDE), -ENOENT);
	expect_eq(clients_count(echo.clients), 0);
	expect_eq(echo.n_closed, 0);
}

/* ---- file descriptors ---- */

/* The number of open fds of this process. */
static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool is_same_file(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

static void passes_fds_in_both_directions(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF, directory = open("/", O_PATH | O_CLOEXEC), got = -EBADF;
	char bytes[8];
	size_t n_fds = 0;

	echo.limits.n_fds = 2;
	echo_start(&echo);
	fd = connect_to(&echo);
	expect_eq(fd_send(fd, "take", 4, (int[]){ directory, fd }, 2), 0);
	expect_str(hear(&echo, fd), "take");
	expect_eq(echo.n_taken, 2);
	expect(is_same_file(echo.taken[0], directory));
	expect(fcntl(echo.taken[0], F_GETFD) & FD_CLOEXEC);
	expect(say(fd, "fd"));
	turn_all(&echo);
	expect_eq(fd_receive(fd, bytes, sizeof(bytes), &got, 1, &n_fds), 2);
	expect_eq(n_fds, 1);
	expect(is_same_file(got, echo.inode_fd));
}

static void fds_that_the_service_does_not_take_are_closed(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;
	int before;

	echo.limits.n_fds = 4;
	echo_start(&echo);
	fd = connect_to(&echo);
	before = count_fds();
	expect_eq(fd_send(fd, "hello", 5, (int[]){ fd, fd, fd, fd }, 4), 0);
	expect_str(hear(&echo, fd), "hello");
	expect_eq(count_fds(), before);
}

/* A client whose connection is older than the listener's refusal, or any before Linux 6.16. */
static void without_fds_to_take_a_message_with_fds_ends_the_connection(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;

	echo_start(&echo);
	fd = connect_to(&echo);
	expect_eq(fd_send(fd, "take", 4, &fd, 1), 0);
	expect_str(hear(&echo, fd), "");
	expect_eq(echo.n_taken, 0);
	expect_eq(echo.n_messages, 0);
	expect_eq(clients_count(echo.clients), 0);
}

/* The server's end of a connection, which is not served yet. */
static int socket_made(int *ret_client)
{
	int pair[2];

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	*ret_client = pair[0];
	return pair[1];
}

static int add_stranger(struct echo *echo, int socket)
{
	const struct peer peer = { .pid = 4711, .uid = STRANGER, .pidfd = -EBADF };

	return clients_add(echo->clients, MAIN, socket, &peer);
}

/* A drop-in of the .socket unit can have PassCredentials=. */
static void messages_with_credentials_are_read(void)
{
	const int yes = 1;

	for (int refuses = 0; refuses < 2; refuses++) {
		_cleanup_echo_ struct echo echo = echo_of();
		_cleanup_close_ int fd = -EBADF;
		int socket;

		echo_start(&echo);
		socket = socket_made(&fd);
		expect(setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) == 0);
		if (refuses)
			fd_refuse_fds(socket);
		expect(say(fd, "before"));
		expect_eq(add_stranger(&echo, socket), 0);
		expect_str(hear(&echo, fd), "before");
		expect(say(fd, "after"));
		expect_str(hear(&echo, fd), "after");
	}
}

/* ---- a socket that lingers: close() of its last reference waits ---- */

enum when { BEFORE_IT_IS_SERVED, AFTERWARDS, BEHIND_AN_UNREAD_REPLY, N_WHEN };

static void send_a_lingering_socket(struct echo *echo, enum when when, struct lingering *lingering)
{
	_cleanup_close_ int client = -EBADF;
	int socket = socket_made(&client);

	if (when == BEFORE_IT_IS_SERVED)
		lingering_send(lingering, client);
	expect_eq(add_stranger(echo, socket), echo->opened_result);
	if (when == BEHIND_AN_UNREAD_REPLY) {
		expect(say(client, "hello"));
		turn_all(echo);
	}
	if (when != BEFORE_IT_IS_SERVED)
		lingering_send(lingering, client);
	/* A reset if a reply was not read. */
	close_fd(&client);
	turn_all(echo);
}

static void a_socket_that_lingers_does_not_block_the_service(void)
{
	for (unsigned i = 0; i < 2 * N_WHEN; i++) {
		_cleanup_echo_ struct echo echo = echo_of();
		_cleanup_lingering_ struct lingering lingering = lingering_made();
		_cleanup_close_ int other = -EBADF;

		echo.protocol.is_one_way = i / N_WHEN;
		echo_start(&echo);
		send_a_lingering_socket(&echo, (enum when)(i % N_WHEN), &lingering);
		expect_eq(clients_count(echo.clients), 0);
		other = connect_to(&echo);
		expect(say(other, "hello"));
		expect_str(hear(&echo, other), "hello");
	}
}

/* It is not in the first message. */
static void a_socket_that_lingers_is_found_in_a_queue(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_lingering_ struct lingering lingering = lingering_made();
	_cleanup_close_ int fd = -EBADF;
	int socket;

	echo_start(&echo);
	socket = socket_made(&fd);
	expect(say(fd, "one") && say(fd, "two"));
	lingering_send(&lingering, fd);
	expect_eq(add_stranger(&echo, socket), 0);
	/* The client may see a reset ahead of the replies. */
	turn_all(&echo);
	expect_eq(echo.n_messages, 2);
	expect_eq(clients_count(echo.clients), 0);
}

static void a_client_that_is_refused_does_not_block_the_service(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_lingering_ struct lingering lingering = lingering_made();

	echo_start(&echo);
	echo.opened_result = -EPERM;
	send_a_lingering_socket(&echo, BEFORE_IT_IS_SERVED, &lingering);
}

/* Without a free fd for a pipe no process can be started. */
static void a_connection_that_stays_open_is_logged(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_lingering_ struct lingering lingering = lingering_made();
	struct rlimit before, none;
	char line[256] = "";
	int log[2], client, socket;

	expect(pipe2(log, O_CLOEXEC | O_NONBLOCK) == 0);
	echo.log.stderr_fd = log[1];
	echo.log.most = LOG_LEVEL_DEBUG;
	echo.opened_result = -EPERM;
	echo_start(&echo);
	socket = socket_made(&client);
	lingering_send(&lingering, client);
	expect(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
	expect(setrlimit(RLIMIT_NOFILE, &none) == 0);
	expect_eq(add_stranger(&echo, socket), -EPERM);
	expect(setrlimit(RLIMIT_NOFILE, &before) == 0);
	expect(read(log[0], line, sizeof(line) - 1) > 0);
	expect(strstr(line, "the connection of a client stays open"));
	lingering_end(&lingering);
	fd_close_many((int[]){ client, socket, log[0], log[1] }, 4);
}

static void too_many_fds_are_refused_and_none_is_kept(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;
	int fds[FD_PASS_MAX], before;

	echo.limits.n_fds = 2;
	echo_start(&echo);
	fd = connect_to(&echo);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		fds[i] = fd;
	before = count_fds();
	expect_eq(fd_send(fd, "take", 4, fds, 3), 0);
	expect(strstr(hear(&echo, fd), "too many file descriptors"));
	expect_eq(fd_send(fd, "take", 4, fds, FD_PASS_MAX), 0);
	expect(strstr(hear(&echo, fd), "too many file descriptors"));
	expect_eq(echo.n_taken, 0);
	expect_eq(count_fds(), before);
	expect(say(fd, "hello"));
	expect_str(hear(&echo, fd), "hello");
}

/* Lowers RLIMIT_NOFILE so that this process can open @n more files. */
static struct rlimit limit_files(rlim_t n)
{
	int lowest = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	struct rlimit before, few;

	expect(lowest >= 0 && close(lowest) == 0);
	expect_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ .rlim_cur = (rlim_t)lowest + n, .rlim_max = before.rlim_max };
	expect_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	return before;
}

/* The kernel then truncates the list of fds; the service must not use an incomplete list. */
static void fds_without_room_for_them_are_refused(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;
	struct rlimit before;

	echo.limits.n_fds = 8;
	echo_start(&echo);
	fd = connect_to(&echo);
	expect_eq(fd_send(fd, "take", 4, (int[]){ fd, fd, fd, fd }, 4), 0);
	before = limit_files(2);
	turn_all(&echo);
	expect_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	expect_eq(echo.n_taken, 0);
	expect_eq(echo.n_refused, 1);
	expect(strstr(hear(&echo, fd), "too many file descriptors"));
}

static void an_fd_of_a_reply_that_waits_is_kept_and_sent(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF, got = -EBADF;
	unsigned n_said = 0, n_heard = 0;
	char bytes[8];
	size_t n_fds = 1;

	echo_start(&echo);
	fd = connect_to(&echo);
	for (unsigned before = 1; before != n_said;) {
		before = n_said;
		while (say(fd, "fd"))
			n_said++;
		turn_all(&echo);
	}
	expect(echo.n_messages < n_said);
	/* The service closes its fd, because the kept reply has a duplicate. */
	close_fd(&echo.inode_fd);
	echo.inode_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (; n_heard < n_said; n_heard++) {
		turn_all(&echo);
		close_fd(&got);
		got = -EBADF;
		if (fd_receive(fd, bytes, sizeof(bytes), &got, 1, &n_fds) != 2 || n_fds != 1)
			break;
	}
	expect_eq(n_heard, n_said);
	expect(is_same_file(got, echo.inode_fd));
}

/* A reply without its fds would mean something else. */
static void a_reply_whose_fds_cannot_be_kept_ends_the_connection(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;
	unsigned n_heard = 0;
	struct rlimit before;

	echo_start(&echo);
	fd = connect_to(&echo);
	before = limit_files(0);
	for (unsigned n = 1; n != echo.n_messages;) {
		n = echo.n_messages;
		while (say(fd, "fd"))
			;
		turn_all(&echo);
	}
	expect_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	expect_eq(clients_count(echo.clients), 0);
	while (strcmp(hear(&echo, fd), "fd") == 0)
		n_heard++;
	expect(n_heard > 0);
	expect(recv(fd, &before, 1, 0) <= 0);
}

/* ---- hostile clients ---- */

static void a_message_that_is_too_long_is_refused(void)
{
	for (size_t n_fds = 0; n_fds < 2; n_fds++) {
		_cleanup_echo_ struct echo echo = echo_of();
		_cleanup_close_ int fd = -EBADF;
		char packet[N_BYTES_MAX + 2];

		echo.limits.n_fds = n_fds;
		echo_start(&echo);
		fd = connect_to(&echo);
		memset(packet, 'a', sizeof(packet));
		packet[N_BYTES_MAX + 1] = '\0';
		expect(say(fd, packet));
		expect(strncmp(hear(&echo, fd), "the packet is too long", 22) == 0);
		packet[N_BYTES_MAX] = '\0';
		expect(say(fd, packet));
		expect_str(hear(&echo, fd), packet);
		expect_eq(echo.n_messages, 1);
	}
}

static void an_empty_message_ends_the_connection(void)
{
	for (size_t n_fds = 0; n_fds < 2; n_fds++) {
		_cleanup_echo_ struct echo echo = echo_of();
		_cleanup_close_ int fd = -EBADF;

		echo.limits.n_fds = n_fds;
		echo_start(&echo);
		fd = connect_to(&echo);
		expect(say(fd, ""));
		expect_str(hear(&echo, fd), "");
		expect_eq(echo.n_messages, 0);
		expect_eq(clients_count(echo.clients), 0);
	}
}

/* Each of the others sends one message after each reply; the flooding client fills its socket. */
static void a_flood_leaves_the_other_clients_their_turns(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int flood = -EBADF, other = -EBADF;
	unsigned n_turns = 0;

	echo.limits.n_per_turn = 4;
	echo_start(&echo);
	turn_all(&echo);
	flood = connect_to(&echo);
	other = connect_to(&echo);
	while (say(flood, "mute"))
		;
	for (int i = 0; i < 20; i++) {
		expect(say(other, "hello"));
		for (; !is_readable(other) && n_turns < 1000; n_turns++) {
			unsigned before = echo.n_messages;

			expect_eq(ready_turn(echo.ready, DEADLINE_MSEC), 1);
			expect(echo.n_messages - before <= 4);
		}
		expect_str(hear(&echo, other), "hello");
		while (say(flood, "mute"))
			;
	}
	expect(n_turns < 100);
}

static void a_client_that_does_not_read_its_replies_stops_only_itself(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF, other = -EBADF;
	unsigned n_said = 0, n_heard = 0;
	char packet[8];

	echo.limits.n_per_turn = 16;
	echo_start(&echo);
	fd = connect_to(&echo);
	other = connect_to(&echo);
	for (unsigned before = 1; before != n_said;) {
		before = n_said;
		while (say(fd, "hello"))
			n_said++;
		turn_all(&echo);
	}
	/* Its socket is full of replies, one more is kept, and its other messages were not read. */
	expect(echo.n_messages < n_said);
	for (; is_readable(fd); n_heard++)
		expect(recv(fd, packet, sizeof(packet), 0) == 5);
	expect_eq(echo.n_messages, n_heard + 1);
	expect(say(other, "other"));
	expect_str(hear(&echo, other), "other");
	for (; n_heard < n_said && strcmp(hear(&echo, fd), "hello") == 0; n_heard++)
		;
	expect_eq(n_heard, n_said);
}

static void a_client_that_never_reads_and_hangs_up_is_closed(void)
{
	for (int is_one_way = 0; is_one_way < 2; is_one_way++) {
		_cleanup_echo_ struct echo echo = echo_of();
		unsigned n_said = 0;
		int fd;

		echo.protocol.is_one_way = is_one_way;
		echo_start(&echo);
		fd = connect_to(&echo);
		for (unsigned before = 1; before != n_said;) {
			before = n_said;
			while (say(fd, "hello"))
				n_said++;
			turn_all(&echo);
		}
		(void)close(fd);
		turn_all(&echo);
		expect_eq(clients_count(echo.clients), 0);
		if (is_one_way)
			expect_eq(echo.n_messages, n_said);
	}
}

static void a_client_that_has_closed_one_direction_gets_its_reply(void)
{
	for (int is_one_way = 0; is_one_way < 2; is_one_way++) {
		_cleanup_echo_ struct echo echo = echo_of();
		_cleanup_close_ int fd = -EBADF;

		echo.protocol.is_one_way = is_one_way;
		echo_start(&echo);
		fd = connect_to(&echo);
		expect(say(fd, "hello") && say(fd, "hold"));
		expect_eq(shutdown(fd, SHUT_WR), 0);
		expect_str(hear(&echo, fd), "hello");
		expect_eq(clients_count(echo.clients), 1);
		release(&echo, "late");
		expect_str(hear(&echo, fd), "late");
		expect_str(hear(&echo, fd), "");
		expect_eq(clients_count(echo.clients), 0);
	}
}

static void replies_that_wait_outlive_the_last_message_in_work(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;
	char answer[N_BYTES_MAX + 1];
	unsigned n_heard = 0;

	echo.limits.n_in_work = 1001;
	echo_start(&echo);
	fd = connect_to(&echo);
	for (int i = 0; i < 1000; i++) {
		expect(say(fd, "hold"));
		turn_all(&echo);
	}
	expect_eq(shutdown(fd, SHUT_WR), 0);
	turn_all(&echo);
	memset(answer, 'a', sizeof(answer));
	answer[N_BYTES_MAX] = '\0';
	for (int i = 0; i < 1000; i++)
		release(&echo, answer);
	expect_eq(clients_count(echo.clients), 1);
	while (n_heard < 1000 && strcmp(hear(&echo, fd), answer) == 0)
		n_heard++;
	expect_eq(n_heard, 1000);
	expect_str(hear(&echo, fd), "");
}

static void a_client_can_go_while_its_message_is_answered(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	int fd;

	echo_start(&echo);
	fd = connect_to(&echo);
	expect(say(fd, "bounce"));
	(void)close(fd);
	turn_all(&echo);
	expect_eq(echo.n_messages, 1);
	expect_eq(clients_count(echo.clients), 0);
}

static void a_question_ends_with_its_client(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	int fd;

	echo_start(&echo);
	fd = connect_to(&echo);
	expect(say(fd, "hold") && say(fd, "more"));
	turn_all(&echo);
	(void)close(fd);
	turn_all(&echo);
	expect_eq(clients_count(echo.clients), 0);
	expect_eq(echo.n_messages, 1);
}

static void a_record_outlives_its_client(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	int fd;

	echo.protocol.is_one_way = true;
	echo.limits.n_in_work = 8;
	echo_start(&echo);
	fd = connect_to(&echo);
	expect(say(fd, "hold") && say(fd, "mute") && say(fd, "mute"));
	echo.is_stuck = true;
	clients_update(echo.clients);
	(void)close(fd);
	turn_all(&echo);
	expect_eq(echo.n_messages, 0);
	echo.is_stuck = false;
	clients_update(echo.clients);
	turn_all(&echo);
	expect_eq(echo.n_messages, 3);
	expect_eq(clients_count(echo.clients), 1);
	release(&echo, "to no one");
	expect_eq(clients_count(echo.clients), 0);
}

/* The kernel reports ECONNRESET for unread replies before it returns the remaining packets. */
static void records_are_read_behind_replies_that_were_not(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	int fd;

	echo.protocol.is_one_way = true;
	echo_start(&echo);
	fd = connect_to(&echo);
	expect(say(fd, "hello"));
	turn_all(&echo);
	for (int i = 0; i < 5; i++)
		expect(say(fd, "mute"));
	(void)close(fd);
	turn_all(&echo);
	expect_eq(echo.n_messages, 6);
	expect_eq(clients_count(echo.clients), 0);
}

static void packets_are_read_or_refused_at_the_end_of_the_service(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int a = -EBADF, b = -EBADF;

	echo.protocol.is_one_way = true;
	echo_start(&echo);
	a = connect_to(&echo);
	b = connect_as(&echo, MAIN, STRANGER, PEER_BESIDE);
	for (int i = 0; i < 50; i++)
		expect(say(a, "mute") && say(b, "mute"));
	expect(say(b, "hold"));
	(void)shutdown(a, SHUT_WR);
	clients_read_all(echo.clients);
	expect_eq(echo.n_messages, 101);
	expect_eq(clients_count(echo.clients), 1);
	expect(!say(b, "mute"));
	expect_eq(errno, EPIPE);
	release(&echo, "held");
	expect_str(hear(&echo, b), "held");
}

static void a_message_is_read_again_after_memory_was_short(void)
{
	static const int codes[] = { ENOMEM, ENOBUFS, EINTR, EAGAIN };
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int fd = -EBADF;

	echo_start(&echo);
	fd = connect_to(&echo);
	for (size_t i = 0; i < N_ELEMENTS(codes); i++) {
		expect(say(fd, "hello"));
		recv_errno = codes[i];
		turn_all(&echo);
		expect_eq(recv_errno, 0);
		expect_str(hear(&echo, fd), "hello");
	}
}

static void a_client_that_cannot_be_read_is_disconnected_and_logged(void)
{
	for (int is_one_way = 0; is_one_way < 2; is_one_way++) {
		_cleanup_echo_ struct echo echo = echo_of();
		_cleanup_close_ int fd = -EBADF;
		char line[256] = "";
		int log[2];

		expect(pipe2(log, O_CLOEXEC | O_NONBLOCK) == 0);
		echo.log.stderr_fd = log[1];
		echo.log.most = LOG_LEVEL_DEBUG;
		echo.protocol.is_one_way = is_one_way;
		echo_start(&echo);
		fd = connect_to(&echo);
		expect(say(fd, "hello"));
		recv_errno = EIO;
		turn_all(&echo);
		expect_eq(clients_count(echo.clients), 0);
		expect_eq(echo.n_messages, 0);
		expect(!say(fd, "hello"));
		expect(read(log[0], line, sizeof(line) - 1) > 0);
		expect(strstr(line, "cannot read from a client: Input/output error"));
		(void)close(log[0]);
		(void)close(log[1]);
	}
}

static const struct test tests[] = {
	TEST(replies_to_each_message_in_order),
	TEST(reads_no_further_while_a_message_is_in_work),
	TEST(has_as_many_messages_in_work_as_the_limits_say),
	TEST(reads_no_client_while_the_service_takes_no_messages),
	TEST(reads_its_clients_again_where_none_can_be_added),
	TEST(a_service_can_end_a_connection),
	TEST(a_client_that_the_service_refuses_is_gone),
	TEST(passes_fds_in_both_directions),
	TEST(fds_that_the_service_does_not_take_are_closed),
	TEST(without_fds_to_take_a_message_with_fds_ends_the_connection),
	TEST(messages_with_credentials_are_read),
	TEST(a_socket_that_lingers_does_not_block_the_service),
	TEST(a_socket_that_lingers_is_found_in_a_queue),
	TEST(a_client_that_is_refused_does_not_block_the_service),
	TEST(a_connection_that_stays_open_is_logged),
	TEST(too_many_fds_are_refused_and_none_is_kept),
	TEST(fds_without_room_for_them_are_refused),
	TEST(an_fd_of_a_reply_that_waits_is_kept_and_sent),
	TEST(a_reply_whose_fds_cannot_be_kept_ends_the_connection),
	TEST(a_message_that_is_too_long_is_refused),
	TEST(an_empty_message_ends_the_connection),
	TEST(a_flood_leaves_the_other_clients_their_turns),
	TEST(a_client_that_does_not_read_its_replies_stops_only_itself),
	TEST(a_client_that_never_reads_and_hangs_up_is_closed),
	TEST(a_client_that_has_closed_one_direction_gets_its_reply),
	TEST(replies_that_wait_outlive_the_last_message_in_work),
	TEST(a_client_can_go_while_its_message_is_answered),
	TEST(a_question_ends_with_its_client),
	TEST(a_record_outlives_its_client),
	TEST(records_are_read_behind_replies_that_were_not),
	TEST(packets_are_read_or_refused_at_the_end_of_the_service),
	TEST(a_message_is_read_again_after_memory_was_short),
	TEST(a_client_that_cannot_be_read_is_disconnected_and_logged),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
