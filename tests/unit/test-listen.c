/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "service/listen.h"
#include "test.h"

/* What a client got that connected as soon as it could, and sent an fd. */
static bool is_client_quick;
static int answer_to_quick;

static void send_fd_to(int listening)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	socklen_t size = sizeof(address);

	expect(getsockname(listening, (struct sockaddr *)&address, &size) == 0);
	expect(connect(fd, (const struct sockaddr *)&address, size) == 0);
	answer_to_quick = fd_send(fd, "x", 1, &fd, 1);
}

int listen(int fd, int n)
{
	int r = (int)syscall(SYS_listen, fd, n);

	if (r == 0 && is_client_quick)
		send_fd_to(fd);
	return r;
}

/* A directory for one socket. */
struct place {
	char directory[32];
	struct sockaddr_un address;
};

static const char *place_path(const struct place *place)
{
	return place->address.sun_path;
}

static struct place place_init(void)
{
	struct place place = { .directory = "/tmp/listen-XXXXXX", .address.sun_family = AF_UNIX };

	expect(mkdtemp(place.directory));
	(void)snprintf(place.address.sun_path, sizeof(place.address.sun_path), "%s/socket",
		       place.directory);
	return place;
}

/* Only the socket may be left: no lock file, no temporary file. */
static void place_deinit(struct place *place)
{
	(void)unlink(place_path(place));
	expect(rmdir(place->directory) == 0);
}

#define _cleanup_place_ _cleanup_(place_deinit)

static int bound_socket(const struct place *place, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	expect(bind(fd, (const struct sockaddr *)&place->address, sizeof(place->address)) == 0);
	return fd;
}

static bool answers(const struct place *place)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)&place->address, sizeof(place->address)) == 0;
}

static void expect_refusal(const char *path, int want)
{
	_cleanup_listen_socket_ struct listen_socket own = LISTEN_SOCKET_INIT;
	struct sbx_error err = { .code = 0 };

	expect_eq(listen_open(path, 0600, false, &own, &err), want);
	expect_eq(err.code, want);
	expect(strstr(err.what, path));
	expect(*err.fix);
	expect(own.fd < 0 && !own.path);
}

static void listens_and_cleans_up(void)
{
	_cleanup_place_ struct place place = place_init();
	struct listen_socket own = LISTEN_SOCKET_INIT;

	expect_eq(listen_open(place_path(&place), 0600, false, &own, NULL), 0);
	expect(answers(&place));
	expect(fcntl(own.fd, F_GETFD) & FD_CLOEXEC);
	expect(fcntl(own.fd, F_GETFL) & O_NONBLOCK);
	listen_socket_deinit(&own);
	expect(access(place_path(&place), F_OK) < 0 && errno == ENOENT);
	listen_socket_deinit(&own);
}

/* -EPERM, or 0 before Linux 6.16. */
static int find_refusal(void)
{
	int ends[2], r;

	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	fd_refuse_fds(ends[0]);
	r = fd_send(ends[1], "x", 1, &ends[1], 1);
	fd_close_many(ends, N_ELEMENTS(ends));
	return r;
}

static void the_first_client_cannot_send_fds_either(void)
{
	const int refusal = find_refusal();

	is_client_quick = true;
	for (int takes_fds = 0; takes_fds < 2; takes_fds++) {
		_cleanup_place_ struct place place = place_init();
		_cleanup_listen_socket_ struct listen_socket own = LISTEN_SOCKET_INIT;

		expect_eq(listen_open(place_path(&place), 0600, takes_fds, &own, NULL), 0);
		expect_eq(answer_to_quick, takes_fds ? 0 : refusal);
	}
	is_client_quick = false;
}

static void gives_the_socket_its_mode_whatever_the_umask(void)
{
	static const struct {
		mode_t umask, mode;
	} rows[] = { { 0000, 0600 }, { 0022, 0666 }, { 0077, 0660 }, { 0777, 0640 } };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_place_ struct place place = place_init();
		_cleanup_listen_socket_ struct listen_socket own = LISTEN_SOCKET_INIT;
		mode_t saved = umask(rows[i].umask);
		struct stat st;

		expect_eq(listen_open(place_path(&place), rows[i].mode, false, &own, NULL), 0);
		expect_eq(umask(saved), rows[i].umask);
		expect(stat(place_path(&place), &st) == 0);
		expect_eq(st.st_mode, S_IFSOCK | rows[i].mode);
	}
}

static void replaces_the_socket_file_of_a_dead_process(void)
{
	_cleanup_place_ struct place place = place_init();
	_cleanup_listen_socket_ struct listen_socket own = LISTEN_SOCKET_INIT;

	expect(close(bound_socket(&place, SOCK_SEQPACKET)) == 0);
	expect(!answers(&place));
	expect_eq(listen_open(place_path(&place), 0600, false, &own, NULL), 0);
	expect(answers(&place));
}

static void leaves_a_live_socket_alone(void)
{
	_cleanup_place_ struct place place = place_init();
	_cleanup_close_ int live = bound_socket(&place, SOCK_SEQPACKET);

	expect(listen(live, 1) == 0);
	expect_refusal(place_path(&place), -EADDRINUSE);
	expect(answers(&place));
}

static void leaves_a_live_socket_with_a_full_queue_alone(void)
{
	_cleanup_place_ struct place place = place_init();
	_cleanup_close_ int live = bound_socket(&place, SOCK_SEQPACKET);

	expect(listen(live, 0) == 0);
	expect(answers(&place));
	expect_refusal(place_path(&place), -EADDRINUSE);
}

static void leaves_a_live_socket_of_another_type_alone(void)
{
	_cleanup_place_ struct place place = place_init();
	_cleanup_close_ int live = bound_socket(&place, SOCK_DGRAM);

	expect(live >= 0);
	expect_refusal(place_path(&place), -EADDRINUSE);
	expect(access(place_path(&place), F_OK) == 0);
}

static void refuses_to_replace_what_is_no_socket(void)
{
	_cleanup_place_ struct place place = place_init();
	struct stat st;

	expect(close(open(place_path(&place), O_WRONLY | O_CREAT, 0600)) == 0);
	expect_refusal(place_path(&place), -EEXIST);
	expect(stat(place_path(&place), &st) == 0 && S_ISREG(st.st_mode));

	expect(unlink(place_path(&place)) == 0);
	expect(symlink("/nonexistent", place_path(&place)) == 0);
	expect_refusal(place_path(&place), -EEXIST);
	expect(lstat(place_path(&place), &st) == 0 && S_ISLNK(st.st_mode));
}

static void refuses_paths_that_cannot_be(void)
{
	char longest[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];

	expect_refusal("", -EINVAL);
	expect_refusal("run/socket", -EINVAL);
	expect_refusal("@abstract", -EINVAL);
	expect_refusal("/nonexistent/socket", -ENOENT);
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	expect_refusal(longest, -ENAMETOOLONG);
}

static void refuses_a_lock_of_another_user(void)
{
	_cleanup_place_ struct place place = place_init();
	char lock_path[128];

	if (geteuid() != 0)
		skip("only root can make a file of another user");
	(void)snprintf(lock_path, sizeof(lock_path), "%s.sbx-lock", place_path(&place));
	expect(close(open(lock_path, O_WRONLY | O_CREAT, 0600)) == 0);
	if (chown(lock_path, 65534, 65534) < 0) {
		(void)unlink(lock_path);
		skip("no other user is mapped here");
	}
	expect_refusal(place_path(&place), -EPERM);
	expect(unlink(lock_path) == 0);
}

static void leaves_a_file_with_content_alone(void)
{
	_cleanup_place_ struct place place = place_init();
	char lock_path[128];
	int fd;

	(void)snprintf(lock_path, sizeof(lock_path), "%s.sbx-lock", place_path(&place));
	fd = open(lock_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	expect_eq(write(fd, "precious", 8), 8);
	close_fd(&fd);
	expect_refusal(place_path(&place), -EPERM);
	expect(unlink(lock_path) == 0);
}

static void removes_only_its_own_file(void)
{
	_cleanup_place_ struct place place = place_init();
	struct listen_socket own = LISTEN_SOCKET_INIT;

	expect_eq(listen_open(place_path(&place), 0600, false, &own, NULL), 0);
	expect(unlink(place_path(&place)) == 0);
	expect(close(bound_socket(&place, SOCK_SEQPACKET)) == 0);
	listen_socket_deinit(&own);
	expect(access(place_path(&place), F_OK) == 0);
}

#define N_RIVALS 8

/* Writes to @result whether it got the socket, and waits until the other end of @go is closed. */
static void compete(const struct place *place, int go, int result)
{
	struct listen_socket own = LISTEN_SOCKET_INIT;
	char byte;
	ssize_t n = read(go, &byte, 1);
	int r = n == 1 ? listen_open(place_path(place), 0600, false, &own, NULL) : -EPIPE;

	n = write(result, r == 0 ? "w" : r == -EADDRINUSE ? "l" : "?", 1);
	_exit(n != 1 || read(go, &byte, 1) != 0);
}

static void only_one_of_many_rivals_gets_the_socket(void)
{
	_cleanup_place_ struct place place = place_init();
	int go[N_RIVALS][2], result[2], winners = 0, losers = 0;
	char byte;

	expect(close(bound_socket(&place, SOCK_SEQPACKET)) == 0);
	expect(pipe2(result, O_CLOEXEC) == 0);
	for (int i = 0; i < N_RIVALS; i++) {
		expect(pipe2(go[i], O_CLOEXEC) == 0);
		if (fork() == 0) {
			for (int k = 0; k <= i; k++)
				(void)close(go[k][1]);
			compete(&place, go[i][0], result[1]);
		}
	}
	for (int i = 0; i < N_RIVALS; i++)
		expect(write(go[i][1], "g", 1) == 1);
	for (int i = 0; i < N_RIVALS && read(result[0], &byte, 1) == 1; i++) {
		winners += byte == 'w';
		losers += byte == 'l';
	}
	expect_eq(winners, 1);
	expect_eq(losers, N_RIVALS - 1);
	for (int i = 0; i < N_RIVALS; i++)
		expect(close(go[i][0]) == 0 && close(go[i][1]) == 0);
	for (int i = 0, status; i < N_RIVALS; i++)
		expect(wait(&status) > 0 && status == 0);
	expect(close(result[0]) == 0 && close(result[1]) == 0);
}

/* Does a process wait for the lock on @fd? /proc/locks marks it with an arrow. */
static bool is_awaited(int fd)
{
	_cleanup_fclose_ FILE *locks = fopen("/proc/locks", "re");
	char line[256], place[64];
	struct stat st = { .st_ino = 0 };
	bool found = false;

	expect(locks && fstat(fd, &st) == 0);
	(void)snprintf(place, sizeof(place), ":%llu 0 EOF", (unsigned long long)st.st_ino);
	while (locks && fgets(line, sizeof(line), locks))
		found = found || (strstr(line, "-> FLOCK") && strstr(line, place));
	return found;
}

static void await_rival(int lock)
{
	time_t deadline = time(NULL) + 60;

	while (!is_awaited(lock) && time(NULL) < deadline)
		(void)sched_yield();
	expect(is_awaited(lock));
}

static int held_lock(const char *lock_path)
{
	int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	expect(fd >= 0 && flock(fd, LOCK_EX) == 0);
	return fd;
}

/*
 * A socket that is bound but does not listen yet refuses connections, like a stale one. This
 * process is the starting instance; the rival must wait for its lock, and for the lock of a third
 * instance.
 */
static void waits_for_an_instance_that_is_just_starting(void)
{
	_cleanup_place_ struct place place = place_init();
	_cleanup_close_ int starting = bound_socket(&place, SOCK_SEQPACKET);
	char lock_path[128];
	int first, second, status;
	pid_t pid;

	(void)snprintf(lock_path, sizeof(lock_path), "%s.sbx-lock", place_path(&place));
	first = held_lock(lock_path);
	pid = fork();
	if (pid == 0) {
		struct listen_socket own = LISTEN_SOCKET_INIT;

		/* The lock must belong to the parent's fds only. */
		(void)close(first);
		_exit(listen_open(place_path(&place), 0600, false, &own, NULL) == -EADDRINUSE ? 0
											      : 1);
	}
	await_rival(first);
	expect(unlink(lock_path) == 0);
	second = held_lock(lock_path);
	expect(close(first) == 0);
	await_rival(second);
	expect(listen(starting, 1) == 0);
	expect(unlink(lock_path) == 0 && close(second) == 0);
	expect(waitpid(pid, &status, 0) == pid && status == 0);
	expect(answers(&place));
}

static void adopts_a_listening_socket(void)
{
	_cleanup_place_ struct place place = place_init();
	struct listen_socket own = LISTEN_SOCKET_INIT;
	int fd = bound_socket(&place, SOCK_SEQPACKET);

	expect(listen(fd, 1) == 0);
	expect_eq(listen_adopt(fd, "probe", &own, NULL), 0);
	expect_eq(own.fd, fd);
	expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	/* The service manager created the file, and removes it. */
	listen_socket_deinit(&own);
	expect(fcntl(fd, F_GETFD) < 0);
	expect(access(place_path(&place), F_OK) == 0);
}

static void expect_no_adoption(int fd)
{
	struct listen_socket own = LISTEN_SOCKET_INIT;
	struct sbx_error err = { .code = 0 };

	expect_eq(listen_adopt(fd, "probe", &own, &err), -ENOTSOCK);
	expect(strstr(err.what, "'probe'"));
	expect(strstr(err.fix, "ListenSequentialPacket="));
	expect(own.fd < 0);
	expect(fcntl(fd, F_GETFD) >= 0);
}

static void refuses_to_adopt_any_other_fd(void)
{
	_cleanup_place_ struct place stream_place = place_init(), place = place_init();
	_cleanup_close_ int stream = bound_socket(&stream_place, SOCK_STREAM);
	_cleanup_close_ int not_listening = bound_socket(&place, SOCK_SEQPACKET);
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	expect(listen(stream, 1) == 0);
	expect_no_adoption(stream);
	expect_no_adoption(not_listening);
	expect_no_adoption(null);
}

static const struct test tests[] = {
	TEST(listens_and_cleans_up),
	TEST(the_first_client_cannot_send_fds_either),
	TEST(gives_the_socket_its_mode_whatever_the_umask),
	TEST(replaces_the_socket_file_of_a_dead_process),
	TEST(leaves_a_live_socket_alone),
	TEST(leaves_a_live_socket_with_a_full_queue_alone),
	TEST(leaves_a_live_socket_of_another_type_alone),
	TEST(refuses_to_replace_what_is_no_socket),
	TEST(refuses_paths_that_cannot_be),
	TEST(refuses_a_lock_of_another_user),
	TEST(leaves_a_file_with_content_alone),
	TEST(removes_only_its_own_file),
	TEST(only_one_of_many_rivals_gets_the_socket),
	TEST(waits_for_an_instance_that_is_just_starting),
	TEST(adopts_a_listening_socket),
	TEST(refuses_to_adopt_any_other_fd),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
