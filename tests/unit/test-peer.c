/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "service/peer.h"
#include "test.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int connected_socket(int type)
{
	int pair[2];

	expect(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0);
	expect(close(pair[1]) == 0);
	return pair[0];
}

static bool kernel_gives_pidfds(void)
{
	_cleanup_close_ int socket = connected_socket(SOCK_SEQPACKET);
	_cleanup_close_ int pidfd = -EBADF;
	socklen_t size = sizeof(pidfd);

	return getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0;
}

static long pid_of_pidfd(int pidfd)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *stream = NULL;
	long pid = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	stream = fopen(path, "re");
	while (stream && fgets(line, sizeof(line), stream))
		if (strncmp(line, "Pid:", 4) == 0)
			pid = strtol(line + 4, NULL, 10);
	return pid;
}

static void knows_its_peer(void)
{
	_cleanup_close_ int socket = connected_socket(SOCK_SEQPACKET);
	_cleanup_peer_ struct peer peer = PEER_INIT;

	expect_eq(peer_identify(socket, &peer), 0);
	expect_eq(peer.pid, getpid());
	expect_eq(peer.uid, getuid());
	expect_eq(peer.gid, getgid());
	expect_eq(peer.place, PLACE_BESIDE);
}

static void holds_on_to_the_process(void)
{
	_cleanup_close_ int socket = connected_socket(SOCK_SEQPACKET);
	_cleanup_peer_ struct peer peer = PEER_INIT;

	if (!kernel_gives_pidfds())
		skip("this kernel has no SO_PEERPIDFD");
	expect_eq(peer_identify(socket, &peer), 0);
	expect(peer.pidfd >= 0);
	expect(fcntl(peer.pidfd, F_GETFD) & FD_CLOEXEC);
	expect_eq(pid_of_pidfd(peer.pidfd), getpid());
}

/* A client that sends and exits is still heard; whatever pidfd comes back is not somebody else's.
 */
static void knows_a_peer_that_has_been_reaped(void)
{
	_cleanup_peer_ struct peer peer = PEER_INIT;
	_cleanup_close_ int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	_cleanup_close_ int client = -EBADF;
	struct sockaddr_storage address = { .ss_family = AF_UNIX };
	socklen_t size = sizeof(sa_family_t);
	pid_t pid;

	/* The kernel chooses an abstract name. */
	expect(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
	size = sizeof(address);
	expect(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	pid = fork();
	if (pid == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		_exit(connect(fd, (struct sockaddr *)&address, size) < 0);
	}
	expect(waitpid(pid, NULL, 0) == pid);
	client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	expect_eq(peer_identify(client, &peer), 0);
	expect_eq(peer.pid, pid);
	expect(peer.pidfd < 0 || pid_of_pidfd(peer.pidfd) == -1);
	expect_eq(peer.place, PLACE_UNKNOWN);
}

static void knows_a_peer_in_another_user_namespace(void)
{
	_cleanup_peer_ struct peer peer = PEER_INIT;
	_cleanup_close_ int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	_cleanup_close_ int client = -EBADF;
	struct sockaddr_storage address = { .ss_family = AF_UNIX };
	socklen_t size = sizeof(sa_family_t);
	char byte = 0;
	pid_t pid;

	expect(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
	size = sizeof(address);
	expect(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	pid = fork();
	if (pid == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		bool is_inside = unshare(CLONE_NEWUSER) == 0;

		if (connect(fd, (struct sockaddr *)&address, size) < 0)
			_exit(1);
		(void)send(fd, is_inside ? "i" : "o", 1, 0);
		_exit(read(fd, &byte, 1) < 0);
	}
	client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	expect(recv(client, &byte, 1, 0) == 1);
	expect_eq(peer_identify(client, &peer), 0);
	close_fd(&client);
	expect(waitpid(pid, NULL, 0) == pid);
	if (byte != 'i')
		skip("this host lets us make no user namespace");
	expect_eq(peer.uid, getuid());
	expect_eq(peer.place, PLACE_IN_NAMESPACE);
}

static void expect_nobody(int socket, int want)
{
	_cleanup_peer_ struct peer peer = PEER_INIT;

	expect_eq(peer_identify(socket, &peer), want);
	expect_eq(peer.pid, 0);
	expect_eq(peer.pidfd, -EBADF);
	expect_eq(peer.uid, (uid_t)-1);
}

static void names_nobody_where_there_is_nobody(void)
{
	_cleanup_close_ int datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	_cleanup_close_ int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	expect_nobody(datagram, -ENODATA);
	if (tcp >= 0)
		expect_nobody(tcp, -ENODATA);
	expect_nobody(null, -ENOTSOCK);
	expect_nobody(-EBADF, -EBADF);
}

/* A weaker identity must not be had by filling the table of fds. */
static void fails_when_there_is_no_room_for_the_pidfd(void)
{
	_cleanup_close_ int socket = connected_socket(SOCK_SEQPACKET);
	struct rlimit saved, none;

	if (!kernel_gives_pidfds())
		skip("this kernel has no SO_PEERPIDFD");
	expect(getrlimit(RLIMIT_NOFILE, &saved) == 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = saved.rlim_max };
	expect(setrlimit(RLIMIT_NOFILE, &none) == 0);
	expect_nobody(socket, -EMFILE);
	expect(setrlimit(RLIMIT_NOFILE, &saved) == 0);
}

static const struct test tests[] = {
	TEST(knows_its_peer),
	TEST(holds_on_to_the_process),
	TEST(knows_a_peer_that_has_been_reaped),
	TEST(knows_a_peer_in_another_user_namespace),
	TEST(names_nobody_where_there_is_nobody),
	TEST(fails_when_there_is_no_room_for_the_pidfd),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
