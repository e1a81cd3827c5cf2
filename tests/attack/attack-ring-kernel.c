/* SPDX-License-Identifier: MIT */

/*
 * A client of a channel that attacks the server through the kernel: files, futexes, fds, sockets
 *
 * Each attack first runs against memory, a sleeper or an fd that is not protected, where it must
 * succeed, and then against the server of a channel.
 */
#include "test.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "ring-raw.h"

#define TOTAL_BYTES (2 * SBX_RING_CAPACITY_MIN)
#define WHOLE (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)
#define HANG_SECONDS 170
#define SIZE 65536
#define SEALS_OF_SIZE (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* ---- victims without protection ---- */

/* Writable memory in a memfd with these seals. */
struct victim {
	int fd;
	uint8_t *at;
};

#define _cleanup_victim_ _cleanup_(victim_deinit)

static void victim_init(struct victim *victim, unsigned seals)
{
	victim->fd = memfd_create("victim", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	expect_eq(ftruncate(victim->fd, SIZE), 0);
	expect_eq(fcntl(victim->fd, F_ADD_SEALS, seals), 0);

	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, victim->fd, 0);

	if (at == MAP_FAILED)
		abort();
	victim->at = at;
}

static void victim_deinit(struct victim *victim)
{
	(void)munmap(victim->at, SIZE);
	close_fd(&victim->fd);
}

/* The signal that ends a child which runs @run; 0: it exits. */
static int signal_of_child(void (*run)(void *context), void *context)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		signal(SIGBUS, SIG_DFL);
		signal(SIGALRM, SIG_DFL);
		run(context);
		_exit(0);
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int receive_one(struct raw *raw)
{
	const void *bytes;
	size_t n_bytes;

	return sbx_ring_receive(raw->server, &bytes, &n_bytes, 0);
}

/* The server still does its work in both directions. */
static void expect_works(struct raw *raw)
{
	uint64_t tail = raw_get(raw->other, SBX_RING_TAIL_OFFSET);

	raw_record(raw, 100, WHOLE);
	raw_publish(raw);
	expect_eq(receive_one(raw), 0);
	expect_eq(receive_one(raw), SBX_RING_EMPTY);
	expect_eq(sbx_ring_send(raw->server, "hello", 5, 0, 0), 0);
	expect_eq(raw_get(raw->other, SBX_RING_TAIL_OFFSET), tail + 16);
	expect(sbx_ring_is_connected(raw->server));
}

/* ---- files ---- */

static void read_victim(void *context)
{
	const struct victim *victim = context;

	(void)*(const volatile uint8_t *)victim->at;
}

static void a_file_that_is_cut_raises_no_sigbus(void)
{
	_cleanup_victim_ struct victim victim;
	_cleanup_raw_ struct raw raw = RAW_INIT;

	victim_init(&victim, 0);
	expect_eq(signal_of_child(read_victim, &victim), 0);
	expect_eq(ftruncate(victim.fd, 0), 0);
	expect_eq(signal_of_child(read_victim, &victim), SIGBUS);

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	for (int i = 0; i < 2; i++) {
		expect(ftruncate(raw.fds[i], 0) < 0 && errno == EPERM);
		expect(ftruncate(raw.fds[i], SBX_RING_DATA_OFFSET) < 0 && errno == EPERM);
		expect(ftruncate(raw.fds[i], 1 << 30) < 0 && errno == EPERM);
		expect(fallocate(raw.fds[i], 0, 0, 1 << 24) < 0 && errno == EPERM);
		expect(fallocate(raw.fds[i], FALLOC_FL_COLLAPSE_RANGE, 0, 4096) < 0);
	}
	expect_works(&raw);
}

static int punch(int fd, off_t at, off_t n_bytes)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, n_bytes) < 0 ? -errno
											  : 0;
}

static void a_hole_does_not_reach_what_the_server_has_written(void)
{
	_cleanup_victim_ struct victim victim;
	_cleanup_raw_ struct raw raw = RAW_INIT;
	int r;

	/* In memory that both sides write, seals of the size do not help, nor does mlock(). */
	victim_init(&victim, SEALS_OF_SIZE);
	victim.at[0] = 1;
	(void)mlock(victim.at, SIZE);
	expect_eq(punch(victim.fd, 0, SIZE), 0);
	expect_eq(victim.at[0], 0);

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	expect_eq(sbx_ring_send(raw.server, "kept", 4, 0, 0), 0);
	expect_eq(punch(raw.fds[0], 0, SBX_RING_DATA_OFFSET + SIZE), -EPERM);
	expect_eq(punch(raw.fds[0], SBX_RING_DATA_OFFSET, 4096), -EPERM);
	expect(memcmp(raw.other + SBX_RING_DATA_OFFSET + 8, "kept", 4) == 0);

	/* Holes in the client's own file read as zeros: a record with neither beginning nor end. */
	raw_record(&raw, 100, WHOLE);
	raw_publish(&raw);
	expect_eq(punch(raw.fds[1], SBX_RING_DATA_OFFSET, SIZE), 0);
	expect_eq(receive_one(&raw), -EPROTO);
	expect_eq(punch(raw.fds[1], 0, SBX_RING_DATA_OFFSET + SIZE), 0);
	r = receive_one(&raw);
	expect_eq(r, -EPROTO);
}

/* The same file through another open file description, with write access. */
static int reopen(int fd)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

static void expect_not_writable(int fd)
{
	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	expect(at == MAP_FAILED && errno == EPERM);
	expect(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM);
	expect_eq(punch(fd, 0, 4096), -EPERM);
	expect(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 4096) < 0);
	at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	expect(at != MAP_FAILED);
	if (at == MAP_FAILED)
		return;
	expect(mprotect(at, SIZE, PROT_READ | PROT_WRITE) < 0 && errno == EACCES);
	expect(madvise(at, SIZE, MADV_REMOVE) < 0);
	expect_eq(munmap(at, SIZE), 0);
}

static void a_reopened_fd_does_not_write_into_the_file_of_the_server(void)
{
	_cleanup_victim_ struct victim victim;
	_cleanup_raw_ struct raw raw = RAW_INIT;

	/* A read-only fd does not protect: the file can be opened again. */
	victim_init(&victim, SEALS_OF_SIZE);

	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", victim.fd);

	_cleanup_close_ int read_only = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int writable = reopen(read_only);

	expect(pwrite(read_only, "x", 1, 0) < 0);
	expect_eq(pwrite(writable, "x", 1, 0), 1);
	expect_eq(victim.at[0], 'x');

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));

	_cleanup_close_ int again = reopen(raw.fds[0]);

	expect_not_writable(raw.fds[0]);
	if (again >= 0)
		expect_not_writable(again);
	expect_works(&raw);
}

static void no_seal_can_be_added(void)
{
	_cleanup_victim_ struct victim victim;
	_cleanup_raw_ struct raw raw = RAW_INIT;

	victim_init(&victim, F_SEAL_SHRINK | F_SEAL_GROW);
	expect_eq(fcntl(victim.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	for (int i = 0; i < 2; i++)
		expect(fcntl(raw.fds[i], F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM);
	expect_works(&raw);
}

/* ---- sleepers ---- */

static long futex(const void *word, int op, uint32_t value, const void *timeout, const void *second)
{
	return syscall(SYS_futex, word, op, value, timeout, second, 0);
}

struct sleeper {
	struct raw *raw;
	const uint8_t *word;
	int result;
};

static void *sleep_on_word(void *context)
{
	struct sleeper *sleeper = context;

	sleeper->result = (int)futex(sleeper->word, FUTEX_WAIT, 0, NULL, NULL);
	return NULL;
}

static void *sleep_in_receive(void *context)
{
	struct sleeper *sleeper = context;
	const void *bytes;
	size_t n_bytes;

	sleeper->result =
		sbx_ring_receive(sleeper->raw->server, &bytes, &n_bytes, SBX_RING_FOREVER);
	return NULL;
}

/* Moves all waiters from a word to another one, and wakes none. */
static long requeue(const uint8_t *from, const uint8_t *to)
{
	return futex(from, FUTEX_REQUEUE, 0, (void *)(uintptr_t)INT32_MAX, to);
}

static void requeue_steals_a_sleeper_that_is_woken_by_a_futex(void)
{
	_cleanup_victim_ struct victim victim;
	pthread_t thread;

	victim_init(&victim, SEALS_OF_SIZE);

	struct sleeper sleeper = { .word = victim.at };

	expect_eq(pthread_create(&thread, NULL, sleep_on_word, &sleeper), 0);
	while (requeue(victim.at, victim.at + 8) == 0)
		(void)sched_yield();
	/* The honest wake-up finds no sleeper. */
	expect_eq(futex(victim.at, FUTEX_WAKE, INT32_MAX, NULL, NULL), 0);
	expect_eq(futex(victim.at + 8, FUTEX_WAKE, INT32_MAX, NULL, NULL), 1);
	expect_eq(pthread_join(thread, NULL), 0);
}

static void requeue_does_not_find_the_server(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	pthread_t thread;
	long n_moved = 0;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));

	struct sleeper sleeper = { .raw = &raw, .result = -1 };

	expect_eq(pthread_create(&thread, NULL, sleep_in_receive, &sleeper), 0);
	while (raw_get_u32(raw.other, SBX_RING_SLEEPING_OFFSET) == 0)
		(void)sched_yield();
	for (int turn = 0; turn < 20; turn++)
		for (size_t at = 0; at < SBX_RING_DATA_OFFSET; at += 4) {
			n_moved += requeue(raw.other + at, raw.own + 2048);
			n_moved += at == 2048 ? 0 : requeue(raw.own + at, raw.own + 2048);
		}
	expect_eq(n_moved, 0);
	raw_record(&raw, 8, WHOLE);
	raw_publish(&raw);
	raw_ring_doorbell(&raw);
	expect_eq(pthread_join(thread, NULL), 0);
	expect_eq(sleeper.result, 0);
}

/* ---- the fds that both sides hold ---- */

static void clear_nonblock(int fd)
{
	expect_eq(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
}

static void saturate(int eventfd)
{
	uint64_t most = UINT64_MAX - 1;
	struct pollfd polled = { .fd = eventfd, .events = POLLOUT };

	/* The count that is already there limits what can be added. */
	(void)fcntl(eventfd, F_SETFL, O_NONBLOCK);
	while (poll(&polled, 1, 0) == 1 && most > 0)
		if (write(eventfd, &most, sizeof(most)) < 0)
			most /= 2;
}

static void write_to_eventfd(void *context)
{
	const int *fd = context;
	uint64_t one = 1;

	/* Only a write that blocks for ever meets it. */
	(void)alarm(fcntl(*fd, F_GETFL) & O_NONBLOCK ? HANG_SECONDS : 1);
	(void)!write(*fd, &one, sizeof(one));
}

static void clearing_nonblock_does_not_block_the_server(void)
{
	_cleanup_close_ int eventfd_of_victim = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	_cleanup_raw_ struct raw raw = RAW_INIT;

	saturate(eventfd_of_victim);
	expect_eq(signal_of_child(write_to_eventfd, &eventfd_of_victim), 0);
	clear_nonblock(eventfd_of_victim);
	expect_eq(signal_of_child(write_to_eventfd, &eventfd_of_victim), SIGALRM);

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	saturate(raw.fds[2]);
	clear_nonblock(raw.fds[2]);
	clear_nonblock(raw.socket);
	raw_put_u32(&raw, SBX_RING_SLEEPING_OFFSET,
		    SBX_RING_SLEEPING_DATA | SBX_RING_SLEEPING_ROOM | SBX_RING_SLEEPING_SOCKET);
	for (int i = 0; i < 1000; i++)
		expect_works(&raw);

	const void *bytes;
	size_t n_bytes;

	expect_eq(sbx_ring_receive(raw.server, &bytes, &n_bytes, 20000), SBX_RING_EMPTY);
	expect_eq(sbx_ring_arm(raw.server, SBX_RING_READABLE), 0);
}

static void reading_the_eventfd_does_not_silence_it(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	struct pollfd polled;
	uint64_t count;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	polled = (struct pollfd){ .fd = sbx_ring_fd(raw.server), .events = POLLIN };
	for (int i = 0; i < 100; i++) {
		expect_eq(sbx_ring_arm(raw.server, SBX_RING_READABLE), 0);
		expect_eq(poll(&polled, 1, 0), 0);
		raw_ring_doorbell(&raw);
		expect_eq(poll(&polled, 1, 0), 1);
		expect_eq(read(raw.fds[2], &count, sizeof(count)), sizeof(count));
	}
	expect_works(&raw);
}

static void a_full_socket_does_not_block_the_server(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	static const char bytes[8];
	struct pollfd polled;
	char byte;
	unsigned n_bytes = 0;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	clear_nonblock(raw.socket);
	raw_put_u32(&raw, SBX_RING_SLEEPING_OFFSET,
		    SBX_RING_SLEEPING_DATA | SBX_RING_SLEEPING_SOCKET);
	/* More bytes than any socket buffer takes, one for each message. */
	for (int i = 0; i < 5000; i++) {
		raw_put(&raw, SBX_RING_HEAD_OFFSET, raw_get(raw.other, SBX_RING_TAIL_OFFSET));
		expect_eq(sbx_ring_send(raw.server, bytes, sizeof(bytes), 0, 0), 0);
	}
	polled = (struct pollfd){ .fd = raw.socket, .events = POLLIN };
	expect_eq(poll(&polled, 1, 0), 1);
	while (recv(raw.socket, &byte, 1, MSG_DONTWAIT) == 1)
		n_bytes++;
	printf("# %u wake-ups fitted\n", n_bytes);
	expect(n_bytes > 0 && n_bytes < 5000);
	expect_works(&raw);
}

/* Both sides with the library. */
static void wake_ups_that_were_answered_do_not_wake_again(void)
{
	const struct sbx_ring_config config = { .size = sizeof(config) };
	struct sbx_ring *server = NULL, *client = NULL;
	struct pollfd polled;
	const void *bytes;
	size_t n_bytes;
	int sockets[2];

	expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	expect_eq(sbx_ring_open(&config, SBX_RING_SERVER, sockets[0], &server, NULL), 0);
	expect_eq(sbx_ring_open(&config, SBX_RING_CLIENT, sockets[1], &client, NULL), 0);
	expect_eq(sbx_ring_arm(client, SBX_RING_READABLE), 0);
	polled = (struct pollfd){ .fd = sbx_ring_fd(client), .events = POLLIN };
	for (int i = 0; i < 200; i++)
		expect_eq(sbx_ring_send(server, "x", 1, 0, 0), 0);
	expect_eq(poll(&polled, 1, 0), 1);
	for (int i = 0; i < 200; i++)
		expect_eq(sbx_ring_receive(client, &bytes, &n_bytes, 0), 0);
	expect_eq(sbx_ring_arm(client, SBX_RING_READABLE), 0);
	expect_eq(poll(&polled, 1, 0), 0);
	sbx_ring_close(server);
	sbx_ring_close(client);
}

/* ---- the socket ---- */

static void shutting_the_socket_down_is_the_end_and_no_signal(void)
{
	static const int ways[] = { SHUT_RD, SHUT_WR, SHUT_RDWR };

	for (size_t i = 0; i < N_ELEMENTS(ways); i++) {
		_cleanup_raw_ struct raw raw = RAW_INIT;
		const void *bytes;
		size_t n_bytes;
		int r = 0;

		expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
		raw_record(&raw, 8, WHOLE);
		raw_publish(&raw);
		expect_eq(shutdown(raw.socket, ways[i]), 0);
		raw_put_u32(&raw, SBX_RING_SLEEPING_OFFSET,
			    SBX_RING_SLEEPING_DATA | SBX_RING_SLEEPING_SOCKET);
		r = sbx_ring_send(raw.server, "x", 1, 0, 0);
		expect(r == 0 || r == -ECONNRESET || r == -EPIPE);
		/* The record that was sent before is still received. */
		expect_eq(sbx_ring_receive(raw.server, &bytes, &n_bytes, SBX_RING_FOREVER), 0);
		expect_eq(sbx_ring_receive(raw.server, &bytes, &n_bytes, SBX_RING_FOREVER),
			  -ECONNRESET);
		expect(!sbx_ring_is_connected(raw.server));
	}
}

static unsigned count_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static ssize_t send_fds(int socket, const int *fds, size_t n_fds)
{
	char control[CMSG_SPACE(16 * sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = control, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(n_fds * sizeof(int)),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (!header)
		return -1;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
	memcpy(CMSG_DATA(header), fds, n_fds * sizeof(int));
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Fds in flight, sockets inside of sockets among them; the server takes none. */
static void a_flood_of_fds_does_not_reach_the_server(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	unsigned n_sent = 0, n_before;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	n_before = count_fds();
	for (int i = 0; i < 2000; i++) {
		int pair[2], fds[16];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			break;
		for (size_t n = 0; n < N_ELEMENTS(fds); n++)
			fds[n] = n % 2 ? raw.socket : pair[1];
		/* A loop: each socket travels through the other one. */
		(void)send_fds(pair[0], (int[]){ raw.socket, pair[0], pair[1] }, 3);
		if (send_fds(raw.socket, fds, N_ELEMENTS(fds)) > 0)
			n_sent++;
		(void)close(pair[0]);
		(void)close(pair[1]);
	}
	printf("# %u messages with fds fitted\n", n_sent);
	expect_eq(count_fds(), n_before);
	for (int i = 0; i < 100; i++)
		expect_works(&raw);

	const void *bytes;
	size_t n_bytes;

	expect_eq(sbx_ring_receive(raw.server, &bytes, &n_bytes, 5000), SBX_RING_EMPTY);
	expect_eq(sbx_ring_arm(raw.server, SBX_RING_READABLE), 0);
	expect_eq(count_fds(), n_before);
}

/* ---- ends in the middle ---- */

/* As a child of this process, the client dies with @run; the server has what it may have. */
static void expect_then_reset(struct raw *raw, unsigned n_whole)
{
	const void *bytes;
	size_t n_bytes;

	for (unsigned i = 0; i < n_whole; i++)
		expect_eq(sbx_ring_receive(raw->server, &bytes, &n_bytes, SBX_RING_FOREVER), 0);
	expect_eq(sbx_ring_receive(raw->server, &bytes, &n_bytes, SBX_RING_FOREVER), -ECONNRESET);
	expect_eq(sbx_ring_receive(raw->server, &bytes, &n_bytes, 0), -ECONNRESET);
	expect_eq(sbx_ring_send(raw->server, "x", 1, 0, SBX_RING_FOREVER), -ECONNRESET);
}

static void a_client_that_dies_in_a_record_leaves_the_whole_ones(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	raw_record(&raw, 8, WHOLE);
	raw_record(&raw, 16, WHOLE);
	raw_publish(&raw);
	raw_record(&raw, 100, WHOLE); /* never published */
	close_fd(&raw.socket);
	expect_then_reset(&raw, 2);
}

static void a_client_that_dies_in_a_message_leaves_the_whole_ones(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	raw_record(&raw, 8, WHOLE);
	raw_record(&raw, raw.record_max, SBX_RING_RECORD_BEGIN);
	raw_publish(&raw);
	close_fd(&raw.socket);
	expect_then_reset(&raw, 1);
}

static void a_client_that_dies_in_a_cell_leaves_the_whole_ones(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	uint32_t length = 100;

	expect(raw_open(&raw, SBX_RING_CALL, TOTAL_BYTES));
	raw_cell(&raw, 8, WHOLE);
	raw_cell(&raw, 100, WHOLE);
	memcpy(raw_data(&raw, raw.tail) + SBX_RING_CELL_LENGTH_OFFSET, &length, sizeof(length));
	close_fd(&raw.socket);
	expect_then_reset(&raw, 2);
}

static void a_side_that_never_waits_learns_of_a_death(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	static const char bytes[4000];
	int received = SBX_RING_EMPTY, sent = 0;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	close_fd(&raw.socket);
	for (int i = 0; i < 100000 && received == SBX_RING_EMPTY; i++)
		received = receive_one(&raw);
	expect_eq(received, -ECONNRESET);

	_cleanup_raw_ struct raw full = RAW_INIT;

	expect(raw_open(&full, SBX_RING_STREAM, TOTAL_BYTES));
	close_fd(&full.socket);
	for (int i = 0; i < 100000 && sent >= 0; i++)
		sent = sbx_ring_send(full.server, bytes, sizeof(bytes), 0, 0);
	expect_eq(sent, -ECONNRESET);
}

static const struct test tests[] = {
	TEST(a_file_that_is_cut_raises_no_sigbus),
	TEST(a_hole_does_not_reach_what_the_server_has_written),
	TEST(a_reopened_fd_does_not_write_into_the_file_of_the_server),
	TEST(no_seal_can_be_added),
	TEST(requeue_steals_a_sleeper_that_is_woken_by_a_futex),
	TEST(requeue_does_not_find_the_server),
	TEST(clearing_nonblock_does_not_block_the_server),
	TEST(reading_the_eventfd_does_not_silence_it),
	TEST(a_full_socket_does_not_block_the_server),
	TEST(wake_ups_that_were_answered_do_not_wake_again),
	TEST(shutting_the_socket_down_is_the_end_and_no_signal),
	TEST(a_flood_of_fds_does_not_reach_the_server),
	TEST(a_client_that_dies_in_a_record_leaves_the_whole_ones),
	TEST(a_client_that_dies_in_a_message_leaves_the_whole_ones),
	TEST(a_client_that_dies_in_a_cell_leaves_the_whole_ones),
	TEST(a_side_that_never_waits_learns_of_a_death),
	TEST_END,
};

int main(void)
{
	(void)alarm(HANG_SECONDS);
	return test_run(tests);
}
