/* SPDX-License-Identifier: MIT */

/* Which clients are trusted, and how many connections and log lines the others may use */

#include "clients-rig.h"

/* ---- trust ---- */

static void trusts_root_and_its_own_user_at_one_listener_and_outside_of_sandboxes(void)
{
	static const struct {
		const char *listener;
		uid_t uid;
		enum peer_place place;
		bool is_trusted;
	} rows[] = {
		{ MAIN, 0, PEER_BESIDE, true },
		{ MAIN, STRANGER, PEER_BESIDE, false },
		{ MAIN, 0, PEER_UNKNOWN, false },
		{ MAIN, 0, PEER_IN_NAMESPACE, false },
		{ MAIN, 0, PEER_IN_SANDBOX, false },
		{ SANDBOX, 0, PEER_BESIDE, false },
		{ SANDBOX, STRANGER, PEER_IN_SANDBOX, false },
	};
	_cleanup_echo_ struct echo echo = echo_of();
	_cleanup_close_ int own = -EBADF;

	echo_start(&echo);
	own = connect_to(&echo);
	expect(echo.was_trusted);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_close_ int fd =
			connect_as(&echo, rows[i].listener, rows[i].uid, rows[i].place);

		expect(fd >= 0);
		expect_eq(echo.was_trusted, rows[i].is_trusted);
	}
}

/* ---- limits ---- */

static int stranger(struct echo *echo, uid_t uid)
{
	return connect_as(echo, MAIN, STRANGER + uid, PEER_BESIDE);
}

static void strangers(struct echo *echo, uid_t uid, int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fds[i] = stranger(echo, uid);
		expect(fds[i] >= 0);
	}
}

#define _cleanup_fds_ _cleanup_(close_all)

struct fds {
	int fds[16];
};

static void close_all(struct fds *fds)
{
	for (size_t i = 0; i < N_ELEMENTS(fds->fds); i++)
		if (fds->fds[i] > 0)
			(void)close(fds->fds[i]);
}

static void untrusted_clients_leave_a_quarter_to_root(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();

	echo_start(&echo);
	for (uid_t uid = 0; uid < 3; uid++)
		strangers(&echo, uid, all.fds + 4 * uid, 4);
	expect_eq(stranger(&echo, 4), -EUSERS);
	for (size_t i = 12; i < 16; i++) {
		expect(!clients_are_full(echo.clients));
		all.fds[i] = connect_to(&echo);
		expect(all.fds[i] >= 0);
	}
	expect(clients_are_full(echo.clients));
	expect_eq(echo.n_closed, 0);
}

static void each_user_of_each_listener_has_a_quarter(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();

	echo_start(&echo);
	strangers(&echo, 0, all.fds, 4);
	expect_eq(stranger(&echo, 0), -EUSERS);
	all.fds[4] = connect_as(&echo, SANDBOX, STRANGER, PEER_IN_SANDBOX);
	expect(all.fds[4] >= 0);
	/* In a sandbox, root is still the same user. */
	for (size_t i = 5; i < 9; i++)
		all.fds[i] = connect_as(&echo, MAIN, 0, PEER_IN_NAMESPACE);
	expect_eq(connect_as(&echo, MAIN, 0, PEER_IN_SANDBOX), -EUSERS);
}

static void the_idlest_client_makes_room_for_another_of_the_same_user(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();

	echo.limits.idle_usec = 0;
	echo_start(&echo);
	strangers(&echo, 0, all.fds, 4);
	expect(say(all.fds[0], "hello"));
	expect_str(hear(&echo, all.fds[0]), "hello");
	strangers(&echo, 0, all.fds + 4, 1);
	expect_str(hear(&echo, all.fds[1]), "");
	expect(!is_readable(all.fds[0]) && !is_readable(all.fds[2]));
	expect_eq(clients_count(echo.clients), 4);
}

static void the_user_with_most_clients_makes_room_for_one_with_less(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();

	echo.limits.idle_usec = 0;
	echo_start(&echo);
	strangers(&echo, 4, all.fds + 10, 2);
	strangers(&echo, 1, all.fds, 4);
	strangers(&echo, 2, all.fds + 4, 3);
	strangers(&echo, 3, all.fds + 7, 3);
	strangers(&echo, 5, all.fds + 12, 1);
	expect_eq(echo.closed_uid, STRANGER + 1);
	/* Each user has three: a fourth would only displace a client that then displaces it. */
	strangers(&echo, 4, all.fds + 13, 1);
	expect_eq(echo.closed_uid, STRANGER + 4);
	expect_eq(clients_count(echo.clients), 12);
}

static void a_client_with_work_or_without_idleness_keeps_its_place(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();

	echo.limits.idle_usec = 0;
	echo_start(&echo);
	strangers(&echo, 0, all.fds, 2);
	expect(say(all.fds[0], "hold") && say(all.fds[1], "hold"));
	turn_all(&echo);
	strangers(&echo, 0, all.fds + 2, 3);
	expect_str(hear(&echo, all.fds[2]), "");
	expect(say(all.fds[3], "hold") && say(all.fds[4], "hold"));
	turn_all(&echo);
	expect_eq(stranger(&echo, 0), -EUSERS);
	expect_eq(clients_count(echo.clients), 4);
}

static void a_client_that_was_active_lately_keeps_its_place(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();

	echo.limits.idle_usec = CLIENTS_IDLE_USEC * 360;
	echo_start(&echo);
	strangers(&echo, 0, all.fds, 4);
	expect_eq(stranger(&echo, 0), -EUSERS);
	expect_eq(echo.n_closed, 0);
}

static void a_place_that_was_left_is_free(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();

	echo_start(&echo);
	for (uid_t uid = 0; uid < 3; uid++)
		strangers(&echo, uid, all.fds + 4 * uid, 4);
	close_fd(&all.fds[5]);
	all.fds[5] = 0;
	turn_all(&echo);
	strangers(&echo, 4, all.fds + 12, 1);
	expect_eq(stranger(&echo, 4), -EUSERS);
}

/* Its replies would stay unsent for ever, so they are dropped; it no longer counts as a client. */
static void a_client_that_made_room_has_its_records_read_and_keeps_no_reply(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();
	unsigned n_said = 0;

	echo.protocol.is_one_way = true;
	echo.limits.idle_usec = 0;
	echo.limits.n_in_work = 8;
	echo_start(&echo);
	strangers(&echo, 0, all.fds, 1);
	for (unsigned before = 1; before != n_said;) {
		before = n_said;
		while (say(all.fds[0], "hello"))
			n_said++;
		turn_all(&echo);
	}
	expect(echo.n_messages < n_said);
	strangers(&echo, 0, all.fds + 1, 3);
	expect_eq(clients_count(echo.clients), 4);
	strangers(&echo, 0, all.fds + 4, 1);
	expect_eq(echo.n_messages, n_said);
	expect_eq(clients_count(echo.clients), 4);
}

/* More than may be in work at once: the rest is read when there is room for it. */
static void records_that_wait_in_a_client_that_made_room_are_read_later(void)
{
	_cleanup_fds_ struct fds all = { { 0 } };
	_cleanup_echo_ struct echo echo = echo_of();
	struct caller *first;

	echo.protocol.is_one_way = true;
	echo.limits.idle_usec = 0;
	echo_start(&echo);
	strangers(&echo, 0, all.fds, 1);
	first = echo.callers;
	strangers(&echo, 0, all.fds + 1, 3);
	expect(say(all.fds[0], "hold") && say(all.fds[0], "mute") && say(all.fds[0], "mute"));
	strangers(&echo, 0, all.fds + 4, 1);
	expect_eq(echo.n_messages, 1);
	expect_eq(clients_count(echo.clients), 5);
	expect(!say(all.fds[0], "mute"));
	client_release(first->client);
	turn_all(&echo);
	expect_eq(echo.n_messages, 3);
	expect_eq(clients_count(echo.clients), 4);
}

/* ---- the log ---- */

/* clients_accept() logs about new clients; here without a listener. */
static void refusals_do_not_fill_the_log(void)
{
	_cleanup_echo_ struct echo echo = echo_of();
	struct sockaddr_storage address = { .ss_family = AF_UNIX };
	_cleanup_close_ int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(sa_family_t);
	static char lines[65536];
	unsigned n_lines = 0;
	int log[2];

	/* The kernel chooses an abstract name. */
	expect(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 8) == 0);
	size = sizeof(address);
	expect(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	expect(pipe2(log, O_CLOEXEC | O_NONBLOCK) == 0);
	echo.log.stderr_fd = log[1];
	echo.log.most = LOG_LEVEL_DEBUG;
	echo_start(&echo);
	echo.opened_result = -ENOENT;
	for (int i = 0; i < 200; i++) {
		_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		expect(connect(fd, (struct sockaddr *)&address, size) == 0);
		expect_eq(clients_accept(echo.clients, MAIN, listener), 0);
	}
	expect(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
	expect_eq(clients_accept(echo.clients, MAIN, listener), -EAGAIN);
	expect(read(log[0], lines, sizeof(lines) - 1) > 0);
	for (const char *at = lines; (at = strstr(at, "cannot serve a client of 'main'")); at++)
		n_lines++;
	/* On a slow host a second minute may have begun. */
	expect(n_lines >= LOG_RATE_MESSAGES && n_lines <= 5 * LOG_RATE_MESSAGES);
	(void)close(log[0]);
	(void)close(log[1]);
}

static const struct test tests[] = {
	TEST(trusts_root_and_its_own_user_at_one_listener_and_outside_of_sandboxes),
	TEST(untrusted_clients_leave_a_quarter_to_root),
	TEST(each_user_of_each_listener_has_a_quarter),
	TEST(the_idlest_client_makes_room_for_another_of_the_same_user),
	TEST(the_user_with_most_clients_makes_room_for_one_with_less),
	TEST(a_client_with_work_or_without_idleness_keeps_its_place),
	TEST(a_client_that_was_active_lately_keeps_its_place),
	TEST(a_place_that_was_left_is_free),
	TEST(a_client_that_made_room_has_its_records_read_and_keeps_no_reply),
	TEST(records_that_wait_in_a_client_that_made_room_are_read_later),
	TEST(refusals_do_not_fill_the_log),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
