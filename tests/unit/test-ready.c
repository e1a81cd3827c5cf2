/* SPDX-License-Identifier: MIT */
#include "service/ready.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#define DEADLINE_MSEC 60000
#define N_SEATS 3

/* A socket of the set: serve() counts its calls and leaves the packets unread. */
struct seat {
	struct ready_socket socket;
	struct table *table;
	int other_end;
	unsigned n_served;
	uint32_t events;
	void (*then)(struct seat *seat);
};

struct table {
	sd_event *event;
	struct ready *ready;
	struct seat seats[N_SEATS];
	sd_event_source *source;
	unsigned n_dispatched;
};

static void serve(struct ready_socket *socket, uint32_t events)
{
	struct seat *seat = (struct seat *)((char *)socket - offsetof(struct seat, socket));

	seat->n_served++;
	seat->events = events;
	if (seat->then)
		seat->then(seat);
}

static void table_init(struct table *table)
{
	*table = (struct table){ .n_dispatched = 0 };
	expect(sd_event_new(&table->event) >= 0);
	expect_eq(ready_new(table->event, &table->ready), 0);
	for (size_t i = 0; i < N_SEATS; i++) {
		int pair[2];

		expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
		table->seats[i] = (struct seat){ .socket = { .fd = pair[0], .serve = serve },
						 .table = table,
						 .other_end = pair[1] };
		expect_eq(ready_wait(table->ready, &table->seats[i].socket, EPOLLIN), 0);
	}
}

static void table_deinit(struct table *table)
{
	for (size_t i = 0; i < N_SEATS; i++) {
		close_fd(&table->seats[i].socket.fd);
		close_fd(&table->seats[i].other_end);
	}
	(void)sd_event_source_disable_unref(table->source);
	(void)ready_free(table->ready);
	(void)sd_event_unref(table->event);
}

#define _cleanup_table_ _cleanup_(table_deinit)

static void say(const struct seat *seat)
{
	expect_eq(send(seat->other_end, "x", 1, MSG_NOSIGNAL), 1);
}

static void turn_all(struct table *table)
{
	while (ready_turn(table->ready, 0) > 0)
		;
}

static void listen_again(struct seat *seat)
{
	char byte;

	expect_eq(recv(seat->socket.fd, &byte, 1, 0), 1);
}

static void serves_the_socket_that_is_readable(void)
{
	_cleanup_table_ struct table table;

	table_init(&table);
	table.seats[1].then = listen_again;
	turn_all(&table);
	say(&table.seats[1]);
	expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	expect_eq(table.seats[1].n_served, 1);
	expect_eq(table.seats[1].events, EPOLLIN);
	turn_all(&table);
	expect_eq(table.seats[0].n_served + table.seats[1].n_served + table.seats[2].n_served, 1);
}

static void tells_the_kernel_late_about_fewer_events(void)
{
	_cleanup_table_ struct table table;
	struct seat *seat = &table.seats[0];

	table_init(&table);
	turn_all(&table);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLHUP), 0);
	expect_eq(seat->socket.armed, EPOLLIN);
	say(seat);
	turn_all(&table);
	expect_eq(seat->n_served, 0);
	expect_eq(seat->socket.armed, EPOLLHUP);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLIN), 0);
	expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	expect_eq(seat->n_served, 1);
	expect_eq(seat->events, EPOLLIN);
}

static void serves_no_event_that_is_not_wanted(void)
{
	_cleanup_table_ struct table table;
	struct seat *seat = &table.seats[0];

	table_init(&table);
	turn_all(&table);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLIN | EPOLLOUT), 0);
	say(seat);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLOUT), 0);
	expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	expect_eq(seat->events, EPOLLOUT);
}

static void removes_a_socket_at_once(void)
{
	_cleanup_table_ struct table table;
	struct seat *seat = &table.seats[0];

	table_init(&table);
	turn_all(&table);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLHUP), 0);
	expect_eq(ready_wait(table.ready, &seat->socket, 0), 0);
	expect_eq(seat->socket.armed, 0);
	say(seat);
	turn_all(&table);
	expect_eq(seat->n_served, 0);
}

static void waits_no_longer_than_its_timeout(void)
{
	_cleanup_table_ struct table table;

	table_init(&table);
	turn_all(&table);
	expect_eq(ready_turn(table.ready, 0), 0);
	expect_eq(ready_turn(table.ready, 1), 0);
}

static int on_defer(sd_event_source *source, void *userdata)
{
	((struct table *)userdata)->n_dispatched++;
	return 0;
}

/* All sockets are always ready. */
static void every_socket_and_the_loop_get_their_turn(void)
{
	_cleanup_table_ struct table table;

	table_init(&table);
	for (size_t i = 0; i < N_SEATS; i++)
		say(&table.seats[i]);
	expect(sd_event_add_defer(table.event, &table.source, on_defer, &table) >= 0);
	expect(sd_event_source_set_enabled(table.source, SD_EVENT_ON) >= 0);
	for (int i = 0; i < 100; i++)
		expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	for (size_t i = 0; i < N_SEATS; i++)
		expect(table.seats[i].n_served >= 20);
	expect(table.n_dispatched >= 20);
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	((struct table *)userdata)->n_dispatched++;
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static void the_loop_turns_for_an_fd_of_its_own_while_sockets_are_busy(void)
{
	_cleanup_table_ struct table table;
	int pair[2];

	table_init(&table);
	turn_all(&table);
	for (size_t i = 0; i < N_SEATS; i++)
		say(&table.seats[i]);
	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	expect(sd_event_add_io(table.event, &table.source, pair[0], EPOLLIN, on_readable, &table) >=
	       0);
	expect_eq(send(pair[1], "x", 1, MSG_NOSIGNAL), 1);
	for (int i = 0; i < 10; i++)
		expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	expect_eq(table.n_dispatched, 1);
	close_fd(&pair[0]);
	close_fd(&pair[1]);
}

static void remove_the_others(struct seat *seat)
{
	for (size_t i = 0; i < N_SEATS; i++) {
		struct seat *other = &seat->table->seats[i];

		if (other == seat)
			continue;
		expect_eq(ready_wait(seat->table->ready, &other->socket, 0), 0);
		other->socket.serve = NULL;
	}
}

/* The first one that is served removes the others, which must not be served although they are
 * ready.
 */
static void serve_may_remove_any_other_socket(void)
{
	_cleanup_table_ struct table table;
	unsigned n_silent = 0;

	table_init(&table);
	for (size_t i = 0; i < N_SEATS; i++) {
		table.seats[i].then = remove_the_others;
		say(&table.seats[i]);
	}
	for (int i = 0; i < 10; i++)
		expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	for (size_t i = 0; i < N_SEATS; i++)
		n_silent += table.seats[i].n_served == 0;
	expect_eq(n_silent, N_SEATS - 1);
}

static void serves_only_the_events_that_are_asked_for(void)
{
	_cleanup_table_ struct table table;
	struct seat *seat = &table.seats[0];

	table_init(&table);
	say(seat);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLHUP), 0);
	turn_all(&table);
	expect_eq(seat->n_served, 0);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLOUT), 0);
	expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	expect_eq(seat->events, EPOLLOUT);
}

static void a_hang_up_is_always_reported(void)
{
	_cleanup_table_ struct table table;
	struct seat *seat = &table.seats[0];

	table_init(&table);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLHUP), 0);
	turn_all(&table);
	close_fd(&seat->other_end);
	expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	expect(seat->n_served == 1 && (seat->events & EPOLLHUP));
}

/* The kernel reports it once although nobody waits for it, and again when somebody does. */
static void a_pause_keeps_a_hang_up_for_later(void)
{
	_cleanup_table_ struct table table;
	struct seat *seat = &table.seats[0];

	table_init(&table);
	say(seat);
	expect_eq(ready_wait(table.ready, &seat->socket, READY_PAUSE), 0);
	turn_all(&table);
	close_fd(&seat->other_end);
	turn_all(&table);
	expect_eq(seat->n_served, 0);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLHUP), 0);
	expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	expect(seat->n_served == 1 && (seat->events & EPOLLHUP));
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct table *table = userdata;

	table->n_dispatched++;
	return sd_event_exit(table->event, 7);
}

static void set_a_timer(struct seat *seat)
{
	struct table *table = seat->table;

	listen_again(seat);
	expect(sd_event_add_time_relative(table->event, &table->source, CLOCK_MONOTONIC, 1000, 1,
					  on_time, table) >= 0);
	ready_wake_loop(table->ready);
}

static void a_timer_that_is_set_while_a_socket_is_served_goes_off(void)
{
	_cleanup_table_ struct table table;

	table_init(&table);
	turn_all(&table);
	table.seats[0].then = set_a_timer;
	say(&table.seats[0]);
	expect_eq(ready_run(table.ready), 7);
	expect_eq(table.n_dispatched, 1);
}

static void exit_the_loop(struct seat *seat)
{
	expect(sd_event_exit(seat->table->event, 3) >= 0);
	ready_wake_loop(seat->table->ready);
}

static void runs_until_the_loop_exits(void)
{
	_cleanup_table_ struct table table;

	table_init(&table);
	table.seats[2].then = exit_the_loop;
	say(&table.seats[2]);
	expect_eq(ready_run(table.ready), 3);
	expect_eq(table.seats[2].n_served, 1);
	expect_eq(ready_run(table.ready), 3);
	expect_eq(table.seats[2].n_served, 1);
}

static void refuses_an_fd_that_is_not_open(void)
{
	_cleanup_table_ struct table table;
	struct ready_socket none = { .fd = -EBADF, .serve = serve };

	table_init(&table);
	expect_eq(ready_wait(table.ready, &none, EPOLLIN), -EBADF);
	expect_eq(none.events, 0);
	expect_eq(ready_wait(table.ready, &none, 0), 0);
}

static void waits_for_a_socket_again_after_it_was_removed(void)
{
	_cleanup_table_ struct table table;
	struct seat *seat = &table.seats[0];

	table_init(&table);
	say(seat);
	expect_eq(ready_wait(table.ready, &seat->socket, 0), 0);
	expect_eq(ready_wait(table.ready, &seat->socket, 0), 0);
	turn_all(&table);
	expect_eq(seat->n_served, 0);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLIN), 0);
	expect_eq(ready_wait(table.ready, &seat->socket, EPOLLIN), 0);
	expect_eq(ready_turn(table.ready, DEADLINE_MSEC), 1);
	expect_eq(seat->n_served, 1);
}

static const struct test tests[] = {
	TEST(serves_the_socket_that_is_readable),
	TEST(tells_the_kernel_late_about_fewer_events),
	TEST(serves_no_event_that_is_not_wanted),
	TEST(removes_a_socket_at_once),
	TEST(waits_no_longer_than_its_timeout),
	TEST(every_socket_and_the_loop_get_their_turn),
	TEST(the_loop_turns_for_an_fd_of_its_own_while_sockets_are_busy),
	TEST(serve_may_remove_any_other_socket),
	TEST(serves_only_the_events_that_are_asked_for),
	TEST(a_hang_up_is_always_reported),
	TEST(a_pause_keeps_a_hang_up_for_later),
	TEST(a_timer_that_is_set_while_a_socket_is_served_goes_off),
	TEST(runs_until_the_loop_exits),
	TEST(refuses_an_fd_that_is_not_open),
	TEST(waits_for_a_socket_again_after_it_was_removed),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
