/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
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
	expect_eq(peer.place, PEER_BESIDE);
}

static void keeps_a_pidfd_of_the_process(void)
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

/* A client that sent a packet and exited is still served; its pidfd must not refer to a later
 * process. */
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
	expect_eq(peer.place, PEER_UNKNOWN);
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
	expect_eq(peer.place, PEER_IN_NAMESPACE);
}

static void expect_nobody(int socket, int want)
{
	_cleanup_peer_ struct peer peer = PEER_INIT;

	expect_eq(peer_identify(socket, &peer), want);
	expect_eq(peer.pid, 0);
	expect_eq(peer.pidfd, -EBADF);
	expect_eq(peer.uid, (uid_t)-1);
}

static void refuses_a_socket_without_a_peer_process(void)
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

/* An attacker who fills the table of fds must not get a weaker identity. */
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

/* ---- where a peer runs ---- */

static int stay(void)
{
	return 0;
}

static int enter_namespace(void)
{
	return unshare(CLONE_NEWUSER) < 0 ? -errno : 0;
}

/* A child that calls @go and waits to be killed; negative errno if @go failed. */
static pid_t start(int (*go)(void))
{
	int pipe_fds[2], result = -ECHILD;
	pid_t pid;

	expect(pipe(pipe_fds) == 0);
	pid = fork();
	if (pid == 0) {
		result = go();
		(void)!write(pipe_fds[1], &result, sizeof(result));
		for (;;)
			(void)pause();
	}
	expect(read(pipe_fds[0], &result, sizeof(result)) == sizeof(result));
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	if (result == 0)
		return pid;
	expect(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	return result;
}

static void end(pid_t pid)
{
	expect(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

/* Looks as a user who may not trace this process or its children. */
static enum peer_place place_by_user_nobody(pid_t pid)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0
			      ? 99
			      : (int)peer_place_of(pid));
	expect(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return (enum peer_place)WEXITSTATUS(status);
}

static bool has_all_ids(void)
{
	_cleanup_fclose_ FILE *map = fopen("/proc/self/uid_map", "re");
	char line[128] = "";

	return map && fgets(line, sizeof(line), map) && strstr(line, " 4294967295");
}

static void distinguishes_a_host_process_from_one_in_a_user_namespace(void)
{
	pid_t beside = start(stay), inside = start(enter_namespace);

	expect_eq(peer_place_of(getpid()), PEER_BESIDE);
	expect_eq(peer_place_of(beside), PEER_BESIDE);
	if (inside > 0) {
		expect_eq(peer_place_of(inside), PEER_IN_NAMESPACE);
		end(inside);
	}
	end(beside);
	if (inside < 0)
		skip("this host lets us make no user namespace");
}

static void distinguishes_them_without_the_right_to_trace_them(void)
{
	pid_t beside, inside;

	if (getuid() != 0 || !has_all_ids())
		skip("not root of the host");
	beside = start(stay);
	inside = start(enter_namespace);
	expect_eq(place_by_user_nobody(beside), PEER_BESIDE);
	if (inside > 0) {
		expect_eq(place_by_user_nobody(inside), PEER_IN_NAMESPACE);
		end(inside);
	}
	end(beside);
}

static void the_place_of_a_process_that_has_ended_is_unknown(void)
{
	pid_t pid = start(stay);

	end(pid);
	expect_eq(peer_place_of(pid), PEER_UNKNOWN);
}

static void a_sandbox_has_a_cgroup_of_its_own(void)
{
	static const char none[] = "0::/user.slice/session-1.scope\n";
	static const char policy[] = "0::/sbx.slice/sbx-policy.service\n";
	static const char box[] = "0::/user.slice/session-1.scope/sbx-a\n";
	static const char other[] = "0::/user.slice/session-1.scope/sbx-b\n";
	static const char within[] = "0::/user.slice/session-1.scope/sbx-a/sbx-c\n";
	static const char scope[] = "1:name=systemd:/\n0::/user.slice/sbx-a.scope/sbx-a\n";

	expect(peer_is_same_sandbox(none, none));
	expect(peer_is_same_sandbox(policy, none));
	expect(peer_is_same_sandbox(none, policy));
	expect(!peer_is_same_sandbox(policy, box));
	expect(!peer_is_same_sandbox(none, scope));
	expect(peer_is_same_sandbox(box, box));
	expect(!peer_is_same_sandbox(box, other));
	expect(!peer_is_same_sandbox(box, within));
	expect(!peer_is_same_sandbox(box, none));
}

static void a_place_that_is_not_beside_has_a_name(void)
{
	expect(peer_place_name(PEER_BESIDE) == NULL);
	expect_str(peer_place_name(PEER_UNKNOWN), "unknown");
	expect_str(peer_place_name(PEER_IN_NAMESPACE), "user_namespace");
	expect_str(peer_place_name(PEER_IN_SANDBOX), "sandbox_cgroup");
}

static const struct test tests[] = {
	TEST(knows_its_peer),
	TEST(keeps_a_pidfd_of_the_process),
	TEST(knows_a_peer_that_has_been_reaped),
	TEST(knows_a_peer_in_another_user_namespace),
	TEST(refuses_a_socket_without_a_peer_process),
	TEST(fails_when_there_is_no_room_for_the_pidfd),
	TEST(distinguishes_a_host_process_from_one_in_a_user_namespace),
	TEST(distinguishes_them_without_the_right_to_trace_them),
	TEST(the_place_of_a_process_that_has_ended_is_unknown),
	TEST(a_sandbox_has_a_cgroup_of_its_own),
	TEST(a_place_that_is_not_beside_has_a_name),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
