/* SPDX-License-Identifier: MIT */

#include "service/unread.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "lingering.h"

#define DEADLINE_SEC 300

/* Fds of the process that exits, which this test shares with it. */
static int *n_held;

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Called by the process that exits, while it waits. */
ssize_t read(int fd, void *bytes, size_t size)
{
	if (n_held)
		*n_held = count_fds();
	return syscall(SYS_read, fd, bytes, size);
}

struct pair {
	int service, client;
};

static struct pair pair_made(void)
{
	int ends[2];

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
	return (struct pair){ .service = ends[0], .client = ends[1] };
}

static void pair_deinit(struct pair *pair)
{
	close_fd(&pair->service);
	close_fd(&pair->client);
}
#define _cleanup_pair_ _cleanup_(pair_deinit)

/* The client sees the end, or a reset if messages of it were not received; and the service has no
 * child that it could not reap. */
static void expect_closed(const struct pair *pair)
{
	struct pollfd wait = { .fd = pair->client, .events = POLLIN };
	char bytes[16];
	ssize_t n;

	expect_eq(pair->service, -EBADF);
	expect_eq(poll(&wait, 1, DEADLINE_SEC * 1000), 1);
	n = recv(pair->client, bytes, sizeof(bytes), MSG_DONTWAIT);
	expect(n == 0 || (n < 0 && errno == ECONNRESET));
	expect(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
}

static void closes_a_connection_without_messages(void)
{
	_cleanup_pair_ struct pair pair = pair_made();
	int none = -EBADF;

	expect(unread_close(&pair.service));
	expect_closed(&pair);
	expect(unread_close(&none));
	expect_eq(none, -EBADF);
}

static void closes_a_connection_that_its_peer_has_closed(void)
{
	_cleanup_pair_ struct pair pair = pair_made();

	close_fd(&pair.client);
	expect(unread_close(&pair.service));
	expect_eq(pair.service, -EBADF);
}

static void discard_by_close(int fd)
{
	(void)close(fd);
}

static void discard_by_recv(int fd)
{
	char bytes[16];

	(void)!recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
}

/* Does a process that has the last reference to @fd wait when it discards what was sent? */
static void expect_to_wait(void (*discard)(int fd), int *fd, struct lingering *lingering)
{
	struct pollfd wait = { .events = POLLIN };
	int done[2];
	pid_t pid;

	expect(pipe2(done, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Until the parent has closed its end of the connection. */
		(void)raise(SIGSTOP);
		close_fd(&lingering->silent);
		discard(*fd);
		(void)!write(done[1], "x", 1);
		_exit(0);
	}
	expect(pid > 0);
	close_fd(&done[1]);
	expect_eq(waitpid(pid, NULL, WUNTRACED), pid);
	close_fd(fd);
	expect(kill(pid, SIGCONT) == 0);
	/* A process that has not come to @discard yet does not fail the test. */
	wait.fd = done[0];
	expect_eq(poll(&wait, 1, 500), 0);
	lingering_end(lingering);
	expect_eq(poll(&wait, 1, DEADLINE_SEC * 1000), 1);
	expect_eq(waitpid(pid, NULL, 0), pid);
	(void)close(done[0]);
}

/* Without these two the other tests could not fail. */
static void close_alone_waits_for_a_socket_that_lingers(void)
{
	_cleanup_pair_ struct pair pair = pair_made();
	_cleanup_lingering_ struct lingering lingering = lingering_made();

	lingering_send(&lingering, pair.client);
	expect_to_wait(discard_by_close, &pair.service, &lingering);
}

static void recv_alone_waits_for_a_socket_that_lingers(void)
{
	_cleanup_pair_ struct pair pair = pair_made();
	_cleanup_lingering_ struct lingering lingering = lingering_made();

	lingering_send(&lingering, pair.client);
	expect_to_wait(discard_by_recv, &pair.service, &lingering);
}

static void does_not_wait_for_a_socket_that_lingers(void)
{
	_cleanup_pair_ struct pair pair = pair_made();
	_cleanup_lingering_ struct lingering lingering = lingering_made();

	lingering_send(&lingering, pair.client);
	expect(unread_close(&pair.service));
	expect_closed(&pair);
}

/* An empty message looks like the end. */
static void finds_a_socket_that_lingers_behind_an_empty_message(void)
{
	_cleanup_pair_ struct pair pair = pair_made();
	_cleanup_lingering_ struct lingering lingering = lingering_made();

	expect_eq(send(pair.client, "", 0, 0), 0);
	lingering_send(&lingering, pair.client);
	expect(unread_close(&pair.service));
	expect_closed(&pair);
}

/* The kernel reports the reset ahead of the message. */
static void finds_a_socket_that_lingers_behind_a_reset(void)
{
	_cleanup_pair_ struct pair pair = pair_made();
	_cleanup_lingering_ struct lingering lingering = lingering_made();

	expect_eq(send(pair.service, "reply", 5, 0), 5);
	lingering_send(&lingering, pair.client);
	close_fd(&pair.client);
	expect(unread_close(&pair.service));
	expect_eq(pair.service, -EBADF);
}

static void leaves_no_process_behind(void)
{
	_cleanup_pair_ struct pair pair = pair_made();
	_cleanup_lingering_ struct lingering lingering = lingering_made();
	siginfo_t info;

	/* Its children become this process's instead of init's. */
	expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	lingering_send(&lingering, pair.client);
	expect(unread_close(&pair.service));
	expect_eq(waitid(P_ALL, 0, &info, WEXITED | __WALL), 0);
	expect_eq(info.si_code, CLD_EXITED);
	expect_eq(info.si_status, 0);
	expect(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
	expect_closed(&pair);
}

static void keeps_the_connection_if_no_process_can_be_started(void)
{
	_cleanup_pair_ struct pair pair = pair_made();
	_cleanup_lingering_ struct lingering lingering = lingering_made();
	struct rlimit before, none = { .rlim_cur = 3 };
	int kept = pair.service;

	lingering_send(&lingering, pair.client);
	/* No fd is left for the pipe. */
	expect(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none.rlim_max = before.rlim_max;
	expect(setrlimit(RLIMIT_NOFILE, &none) == 0);
	expect(!unread_close(&pair.service));
	expect(setrlimit(RLIMIT_NOFILE, &before) == 0);
	expect_closed(&pair);
	expect(fcntl(kept, F_GETFD) >= 0);
	lingering_end(&lingering);
	(void)close(kept);
}

/* The process that exits has the connection and a pipe: anything else that it held would stay open
 * although the service closes it. */
static void the_process_that_exits_holds_nothing_else(void)
{
	_cleanup_pair_ struct pair pair = pair_made();

	n_held = mmap(NULL, sizeof(*n_held), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	expect(n_held != MAP_FAILED);
	expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	expect_eq(send(pair.client, "x", 1, 0), 1);
	expect(unread_close(&pair.service));
	expect(waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | __WALL) == 0);
	expect(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
	expect_eq(*n_held, 2);
	expect(munmap(n_held, sizeof(*n_held)) == 0);
	n_held = NULL;
}

/* A connection that is not accepted has its messages in the listening socket. */
static int listener_made(struct lingering *lingering)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t n = sizeof(address);
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	_cleanup_close_ int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	/* The kernel chooses an abstract address. */
	expect(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0);
	expect(listen(listener, 1) == 0);
	expect(getsockname(listener, (struct sockaddr *)&address, &n) == 0);
	expect(connect(client, (struct sockaddr *)&address, n) == 0);
	lingering_send(lingering, client);
	return listener;
}

static void close_of_a_listener_alone_waits(void)
{
	_cleanup_lingering_ struct lingering lingering = lingering_made();
	int listener = listener_made(&lingering);

	expect_to_wait(discard_by_close, &listener, &lingering);
}

static void a_listener_is_closed_without_a_wait(void)
{
	_cleanup_lingering_ struct lingering lingering = lingering_made();
	int listener = listener_made(&lingering), refusing, fd;

	expect(unread_close_listener(&listener));
	expect_eq(listener, -EBADF);
	expect(unread_close_listener(&listener));
	expect(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	/* With or without a process. */
	refusing = fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	fd_refuse_fds(refusing);
	expect(unread_close_listener(&refusing));
	expect_eq(refusing, -EBADF);
	expect(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
}

static const struct test tests[] = {
	TEST(closes_a_connection_without_messages),
	TEST(closes_a_connection_that_its_peer_has_closed),
	TEST(close_alone_waits_for_a_socket_that_lingers),
	TEST(recv_alone_waits_for_a_socket_that_lingers),
	TEST(does_not_wait_for_a_socket_that_lingers),
	TEST(finds_a_socket_that_lingers_behind_an_empty_message),
	TEST(finds_a_socket_that_lingers_behind_a_reset),
	TEST(leaves_no_process_behind),
	TEST(the_process_that_exits_holds_nothing_else),
	TEST(keeps_the_connection_if_no_process_can_be_started),
	TEST(close_of_a_listener_alone_waits),
	TEST(a_listener_is_closed_without_a_wait),
	TEST_END,
};

int main(void)
{
	(void)alarm(DEADLINE_SEC);
	return test_run(tests);
}
