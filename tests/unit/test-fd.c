/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "test.h"

struct pair {
	int left;
	int right;
};
#define _cleanup_pair_ _cleanup_(pair_deinit)

static void pair_deinit(struct pair *pair)
{
	close_fd(&pair->left);
	close_fd(&pair->right);
}

static struct pair pair_make(int type)
{
	int fds[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) < 0)
		abort();
	return (struct pair){ .left = fds[0], .right = fds[1] };
}

static struct pair pair_make_pipe(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		abort();
	return (struct pair){ .left = fds[0], .right = fds[1] };
}

/* The number of open fds of this process. */
static unsigned count_fds(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	if (!dir)
		abort();
	while (readdir(dir))
		n++;
	return n;
}

static bool is_same_file(int a, int b)
{
	struct stat left, right;

	return fstat(a, &left) == 0 && fstat(b, &right) == 0 && left.st_ino == right.st_ino &&
	       left.st_dev == right.st_dev;
}

/* Expects that receiving fails: nothing is stored and every fd is closed. */
static void expect_refused(int socket, size_t max_bytes, size_t max_fds, int code)
{
	unsigned before = count_fds();
	int fds[FD_PASS_MAX + 1];
	size_t n_fds = 77;
	char bytes[64];

	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		fds[i] = -77;
	expect_eq(fd_receive(socket, bytes, max_bytes, fds, max_fds, &n_fds), code);
	expect_eq(n_fds, 77);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		expect(fds[i] == -77);
	expect_eq(count_fds(), before);
}

static void writes_and_reads_more_than_a_pipe_holds(void)
{
	_cleanup_pair_ struct pair pipe = pair_make_pipe();
	static uint8_t sent[1 << 20], got[(1 << 20) + 1];
	int status;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 7 >> 2);

	pid_t child = fork();

	if (child == 0)
		_exit(fd_write_all(pipe.right, sent, sizeof(sent)) < 0);
	close_fd(&pipe.right);
	pipe.right = -EBADF;
	expect_eq(fd_read_full(pipe.left, got, sizeof(got)), sizeof(sent));
	expect(memcmp(sent, got, sizeof(sent)) == 0);
	expect_eq(waitpid(child, &status, 0), child);
	expect_eq(status, 0);
}

static void reads_no_more_than_asked(void)
{
	_cleanup_pair_ struct pair pipe = pair_make_pipe();
	char bytes[8] = "";

	expect_eq(fd_write_all(pipe.right, "abcdef", 6), 0);
	expect_eq(fd_read_full(pipe.left, bytes, 4), 4);
	expect_str(bytes, "abcd");
	expect_eq(fd_read_full(pipe.left, bytes, 0), 0);
	expect_eq(fd_write_all(pipe.right, bytes, 0), 0);
}

static void ignore(int signal) {}

/* The child reads slowly and sends a signal after each part, to interrupt the parent's write. */
static _Noreturn void read_and_interrupt(int fd, size_t n_bytes, pid_t parent)
{
	size_t n_read = 0;
	char bytes[5000];

	while (n_read < n_bytes) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n <= 0 || kill(parent, SIGUSR1) < 0)
			_exit(1);
		n_read += (size_t)n;
	}
	_exit(0);
}

/* Waits for @child; signals may interrupt the wait. */
static int wait_for(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

static void a_signal_interrupts_no_transfer(void)
{
	_cleanup_pair_ struct pair pipe = pair_make_pipe();
	_cleanup_pair_ struct pair pair = pair_make(SOCK_STREAM);
	static char bytes[1 << 20];
	const struct sigaction action = { .sa_handler = ignore };
	struct sigaction saved;
	pid_t parent = getpid(), child;

	expect_eq(sigaction(SIGUSR1, &action, &saved), 0);
	child = fork();
	if (child == 0) {
		close_fd(&pipe.right);
		read_and_interrupt(pipe.left, sizeof(bytes), parent);
	}
	expect_eq(fd_write_all(pipe.right, bytes, sizeof(bytes)), 0);
	close_fd(&pipe.right);
	pipe.right = -EBADF;
	expect_eq(wait_for(child), 0);

	child = fork();
	if (child == 0) {
		close_fd(&pair.right);
		read_and_interrupt(pair.left, sizeof(bytes), parent);
	}
	expect_eq(fd_send(pair.right, bytes, sizeof(bytes), NULL, 0), 0);
	close_fd(&pair.right);
	pair.right = -EBADF;
	expect_eq(wait_for(child), 0);
	expect_eq(sigaction(SIGUSR1, &saved, NULL), 0);
}

static void transfers_say_what_failed(void)
{
	_cleanup_pair_ struct pair pipe = pair_make_pipe();
	char byte;
	void (*saved)(int) = signal(SIGPIPE, SIG_IGN);

	expect_eq(fd_write_all(-EBADF, "x", 1), -EBADF);
	expect_eq(fd_read_full(-EBADF, &byte, 1), -EBADF);
	expect_eq(fcntl(pipe.left, F_SETFL, O_NONBLOCK), 0);
	expect_eq(fd_read_full(pipe.left, &byte, 1), -EAGAIN);
	close_fd(&pipe.left);
	pipe.left = -EBADF;
	expect_eq(fd_write_all(pipe.right, "x", 1), -EPIPE);
	expect(signal(SIGPIPE, saved) == SIG_IGN);
}

static void passes_fds_that_are_close_on_exec(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	_cleanup_pair_ struct pair pipe = pair_make_pipe();
	const int sent[] = { pipe.left, pipe.right };
	int got[4] = { -1, -1, -1, -1 };
	char bytes[8] = "";
	size_t n_fds;

	expect_eq(fd_clear_cloexec(pipe.left), 0);
	expect_eq(fd_send(pair.left, "hi", 2, sent, 2), 0);
	expect_eq(fd_receive(pair.right, bytes, sizeof(bytes), got, N_ELEMENTS(got), &n_fds), 2);
	expect_str(bytes, "hi");
	expect_eq(n_fds, 2);
	expect(is_same_file(got[0], pipe.left));
	expect(is_same_file(got[1], pipe.right));
	expect_eq(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	expect_eq(fcntl(got[1], F_GETFD), FD_CLOEXEC);
	expect_eq(got[2], -1);
	fd_close_many(got, 2);
}

static void passes_messages_without_fds(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	char bytes[8] = "";
	size_t n_fds = 77;

	expect_eq(fd_send(pair.left, "plain", 5, NULL, 0), 0);
	expect_eq(fd_receive(pair.right, bytes, sizeof(bytes), NULL, 0, &n_fds), 5);
	expect_str(bytes, "plain");
	expect_eq(n_fds, 0);
}

/* Fills @fds with copies of @fd; the caller closes them. */
static void copy_fd(int fd, int *fds, size_t n_fds)
{
	for (size_t i = 0; i < n_fds; i++)
		fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static void passes_as_many_fds_as_the_kernel_takes(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	int sent[FD_PASS_MAX + 1], got[FD_PASS_MAX];
	unsigned before = count_fds();
	char byte;
	size_t n_fds = 0;

	copy_fd(pair.left, sent, N_ELEMENTS(sent));
	expect_eq(fd_send(pair.left, "x", 1, sent, FD_PASS_MAX + 1), -EINVAL);
	expect_eq(fd_send(pair.left, "x", 1, sent, FD_PASS_MAX), 0);
	expect_eq(fd_receive(pair.right, &byte, 1, got, N_ELEMENTS(got), &n_fds), 1);
	expect_eq(n_fds, FD_PASS_MAX);
	for (size_t i = 0; i < n_fds; i++)
		expect(is_same_file(got[i], pair.left));
	fd_close_many(got, n_fds);
	fd_close_many(sent, N_ELEMENTS(sent));
	expect_eq(sent[0], -EBADF);
	expect_eq(count_fds(), before);
}

static void refuses_and_closes_more_fds_than_wanted(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	int sent[FD_PASS_MAX];

	copy_fd(pair.left, sent, N_ELEMENTS(sent));
	for (size_t max_fds = 0; max_fds < 6; max_fds++) {
		/* Also one more than wanted, which would fit into the padding of a control buffer.
		 */
		expect_eq(fd_send(pair.left, "x", 1, sent, max_fds + 1), 0);
		expect_refused(pair.right, 64, max_fds, -EMSGSIZE);
	}
	expect_eq(fd_send(pair.left, "x", 1, sent, FD_PASS_MAX), 0);
	expect_refused(pair.right, 64, FD_PASS_MAX - 1, -EMSGSIZE);
	fd_close_many(sent, N_ELEMENTS(sent));
}

static void refuses_a_message_whose_bytes_were_cut(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	char bytes[8];
	size_t n_fds;

	expect_eq(fd_send(pair.left, "123456789", 9, &pair.left, 1), 0);
	expect_refused(pair.right, 8, 1, -EMSGSIZE);
	/* The next message is received completely. */
	expect_eq(fd_send(pair.left, "12345678", 8, NULL, 0), 0);
	expect_eq(fd_receive(pair.right, bytes, 8, NULL, 0, &n_fds), 8);
}

/* In a child at RLIMIT_NOFILE, where the kernel installs only some of the fds. */
static _Noreturn void receive_at_the_limit(int socket, int wanted_room)
{
	int got[8], next = fcntl(socket, F_DUPFD_CLOEXEC, 0);
	unsigned before;
	size_t n_fds = 77;
	char byte;

	(void)close(next);
	before = count_fds();

	struct rlimit limit = { .rlim_cur = (rlim_t)(next + wanted_room), .rlim_max = 4096 };

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		_exit(1);
	if (fd_receive(socket, &byte, 1, got, N_ELEMENTS(got), &n_fds) != -EMSGSIZE || n_fds != 77)
		_exit(2);
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		_exit(3);
	_exit(count_fds() == before ? 0 : 4);
}

static void refuses_a_message_whose_control_data_was_cut(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	int sent[8], status;

	copy_fd(pair.left, sent, N_ELEMENTS(sent));
	for (int room = 0; room < 8; room += 3) {
		expect_eq(fd_send(pair.left, "x", 1, sent, N_ELEMENTS(sent)), 0);

		pid_t child = fork();

		if (child == 0) {
			/* Frees one fd number after another, from the end of the table. */
			fd_close_many(sent, N_ELEMENTS(sent));
			receive_at_the_limit(pair.right, room);
		}
		expect_eq(waitpid(child, &status, 0), child);
		expect_eq(status, 0);
	}
	fd_close_many(sent, N_ELEMENTS(sent));
}

static void finds_the_fds_between_other_control_data(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	unsigned before = count_fds();
	const int on = 1, sent[] = { pair.left, pair.right, pair.left };
	int got[3];
	size_t n_fds = 0;
	char byte;

	/* SO_PASSCRED and SO_TIMESTAMP add control messages before SCM_RIGHTS. */
	expect_eq(setsockopt(pair.right, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	expect_eq(setsockopt(pair.right, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on)), 0);
	expect_eq(fd_send(pair.left, "x", 1, sent, 3), 0);
	expect_eq(fd_receive(pair.right, &byte, 1, got, 3, &n_fds), 1);
	expect_eq(n_fds, 3);
	expect(is_same_file(got[0], pair.left) && is_same_file(got[1], pair.right));
	fd_close_many(got, n_fds);
	expect_eq(count_fds(), before);

	expect_eq(fd_send(pair.left, "x", 1, sent, 3), 0);
	expect_refused(pair.right, 1, 2, -EMSGSIZE);
}

/* Two SCM_RIGHTS parts in one message; the kernel may join them. */
static ssize_t send_in_two_parts(int socket, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[2 * CMSG_SPACE(2 * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec vector = { .iov_base = "x", .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part;
	     part = CMSG_NXTHDR(&message, part)) {
		const int fds[2] = { fd, fd };

		*part = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(fds)),
		};
		memcpy(CMSG_DATA(part), fds, sizeof(fds));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL);
}

static void finds_the_fds_of_several_parts(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	int got[4];
	size_t n_fds = 0;
	char byte;

	expect_eq(send_in_two_parts(pair.left, pair.left), 1);
	expect_eq(fd_receive(pair.right, &byte, 1, got, 4, &n_fds), 1);
	expect_eq(n_fds, 4);
	for (size_t i = 0; i < n_fds; i++)
		expect(is_same_file(got[i], pair.left));
	fd_close_many(got, n_fds);
	expect_eq(send_in_two_parts(pair.left, pair.left), 1);
	expect_refused(pair.right, 1, 3, -EMSGSIZE);
}

static void the_end_of_a_stream_is_no_bytes_and_no_fds(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_STREAM);
	size_t n_fds = 77;
	char byte;

	close_fd(&pair.left);
	pair.left = -EBADF;
	expect_eq(fd_receive(pair.right, &byte, 1, NULL, 0, &n_fds), 0);
	expect_eq(n_fds, 0);
}

static void an_empty_packet_smuggles_no_fd(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	const struct msghdr message = { .msg_control = &control,
					.msg_controllen = sizeof(control) };
	unsigned before = count_fds();
	int got[1] = { -77 };
	size_t n_fds = 77;
	char byte;

	memcpy(CMSG_DATA(&control.head), &pair.left, sizeof(int));
	expect_eq(sendmsg(pair.left, &message, 0), 0);
	expect_eq(fd_receive(pair.right, &byte, 1, got, 1, &n_fds), 0);
	expect_eq(n_fds, 0);
	expect_eq(got[0], -77);
	expect_eq(count_fds(), before);
}

static void sending_refuses_what_cannot_be_one_message(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	const int closed = -EBADF;

	expect_eq(fd_send(pair.left, "", 0, &pair.left, 1), -EINVAL);
	expect_eq(fd_send(pair.left, "x", 1, &closed, 1), -EBADF);
	expect_eq(fd_send(-EBADF, "x", 1, NULL, 0), -EBADF);
}

static void sending_to_a_closed_socket_raises_no_sigpipe(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_STREAM);
	void (*saved)(int) = signal(SIGPIPE, SIG_DFL);

	close_fd(&pair.right);
	pair.right = -EBADF;
	expect_eq(fd_send(pair.left, "x", 1, NULL, 0), -EPIPE);
	(void)signal(SIGPIPE, saved);
}

static void tells_that_it_would_wait(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	char byte = 'x';
	size_t n_fds = 7;
	int r;

	expect_eq(fd_receive_now(pair.left, &byte, 1, NULL, 0, &n_fds), -EAGAIN);
	do
		r = fd_send_now(pair.left, &byte, 1, NULL, 0);
	while (r == 0);
	expect_eq(r, -EAGAIN);
	expect_eq(fd_receive_now(pair.right, &byte, 1, NULL, 0, &n_fds), 1);
	expect_eq(n_fds, 0);
}

static void connects_to_a_path_that_is_there(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	_cleanup_close_ int fd = -EBADF;
	char directory[] = "/tmp/test-fd-XXXXXX", too_long[sizeof(address.sun_path) + 1];

	expect(mkdtemp(directory));
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	expect_eq(fd_connect(address.sun_path, 0), -ENOENT);
	expect_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	expect_eq(fd_connect(address.sun_path, 0), -ECONNREFUSED);
	expect_eq(listen(listener, 1), 0);
	fd = fd_connect(address.sun_path, SOCK_NONBLOCK);
	expect(fd >= 0);
	expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	memset(too_long, 'a', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = '\0';
	expect_eq(fd_connect(too_long, 0), -ENAMETOOLONG);
	expect_eq(unlink(address.sun_path), 0);
	expect_eq(rmdir(directory), 0);
}

static void sets_and_clears_close_on_exec(void)
{
	_cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	expect_eq(fd_clear_cloexec(fd), 0);
	expect_eq(fcntl(fd, F_GETFD), 0);
	expect_eq(fd_set_cloexec(fd), 0);
	expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	expect_eq(fd_set_cloexec(-EBADF), -EBADF);
	expect_eq(fd_clear_cloexec(-EBADF), -EBADF);
}

static void kills_by_pidfd(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		for (;;)
			(void)pause();

	_cleanup_close_ int pidfd = pidfd_of(child);

	expect(pidfd >= 0);
	expect_eq(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
	expect_eq(pidfd_kill(pidfd, 0), 0);
	expect_eq(pidfd_kill(pidfd, SIGTERM), 0);
	expect_eq(waitpid(child, &status, 0), child);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	/* The PID may have been reused; the pidfd still refers to the old process. */
	expect_eq(pidfd_kill(pidfd, SIGTERM), -ESRCH);
	expect_eq(pidfd_of(-1), -EINVAL);
	expect_eq(pidfd_kill(-EBADF, SIGTERM), -EBADF);
}

static void finds_control_data_without_taking_the_message(void)
{
	_cleanup_pair_ struct pair pair = pair_make(SOCK_SEQPACKET);
	char bytes[8];
	size_t n_fds = 0;
	int fd = -EBADF;

	expect_eq(fd_has_control(pair.right), -EAGAIN);
	expect_eq(fd_send(pair.left, "a", 1, NULL, 0), 0);
	expect_eq(fd_send(pair.left, "b", 1, &pair.left, 1), 0);
	expect_eq(fd_has_control(pair.right), 0);
	expect_eq(fd_receive(pair.right, bytes, sizeof(bytes), &fd, 1, &n_fds), 1);
	expect_eq(fd_has_control(pair.right), 1);
	expect_eq(fd_has_control(pair.right), 1);
	expect_eq(fd_receive(pair.right, bytes, sizeof(bytes), &fd, 1, &n_fds), 1);
	expect_eq(n_fds, 1);
	close_fd(&fd);
	close_fd(&pair.left);
	expect_eq(fd_has_control(pair.right), 0);
}

static int connect_to(const struct sockaddr_un *address, socklen_t n)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	expect(connect(fd, (const struct sockaddr *)address, n) == 0);
	return fd;
}

/* A connection has the refusal of its listener from connect() on, or never. Kernels before 6.16
 * cannot refuse. */
static void a_connection_refuses_fds_if_its_listener_did(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t n = sizeof(address);
	_cleanup_close_ int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool is_possible;

	/* The kernel chooses an abstract address. */
	expect(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0);
	expect(listen(listener, 2) == 0);
	expect(getsockname(listener, (struct sockaddr *)&address, &n) == 0);
	expect(!fd_refuses_fds(listener));
	_cleanup_close_ int early = connect_to(&address, n);
	fd_refuse_fds(listener);
	is_possible = fd_refuses_fds(listener);
	_cleanup_close_ int late = connect_to(&address, n);
	_cleanup_close_ int of_early = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	_cleanup_close_ int of_late = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	expect(!fd_refuses_fds(of_early));
	expect_eq(fd_send(early, "a", 1, &early, 1), 0);
	expect_eq(fd_refuses_fds(of_late), is_possible);
	expect_eq(fd_send(late, "a", 1, &late, 1), is_possible ? -EPERM : 0);
}

static const struct test tests[] = {
	TEST(writes_and_reads_more_than_a_pipe_holds),
	TEST(reads_no_more_than_asked),
	TEST(a_signal_interrupts_no_transfer),
	TEST(transfers_say_what_failed),
	TEST(passes_fds_that_are_close_on_exec),
	TEST(passes_messages_without_fds),
	TEST(passes_as_many_fds_as_the_kernel_takes),
	TEST(refuses_and_closes_more_fds_than_wanted),
	TEST(refuses_a_message_whose_bytes_were_cut),
	TEST(refuses_a_message_whose_control_data_was_cut),
	TEST(finds_the_fds_between_other_control_data),
	TEST(finds_the_fds_of_several_parts),
	TEST(the_end_of_a_stream_is_no_bytes_and_no_fds),
	TEST(an_empty_packet_smuggles_no_fd),
	TEST(sending_refuses_what_cannot_be_one_message),
	TEST(sending_to_a_closed_socket_raises_no_sigpipe),
	TEST(tells_that_it_would_wait),
	TEST(connects_to_a_path_that_is_there),
	TEST(sets_and_clears_close_on_exec),
	TEST(kills_by_pidfd),
	TEST(finds_control_data_without_taking_the_message),
	TEST(a_connection_refuses_fds_if_its_listener_did),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
