/* SPDX-License-Identifier: MIT */

/*
 * Attacks on the server of a channel, from the process that has the client's end
 *
 *   ring-inside naive       a server that seals nothing
 *   ring-inside serve       a server by libsbx
 *
 * The client uses no code of sbx, which would not do this:
 *
 *   ring-inside attack      tries each way to change the server's memory; prints what worked
 *   ring-inside execute F   executes what it has written into its own memory, a copy of F
 *   ring-inside lie         says that it has sent more than there is room for
 *   ring-inside ring        wakes the server without a message, until the server ends
 *   ring-inside flood       sends empty messages as fast as it can, until the server ends
 *   ring-inside abort       the same with long messages that it begins and aborts
 *
 * SBX_RING_FD names the socket of either.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/ring.h>

#define FILE_SIZE (SBX_RING_DATA_OFFSET + SBX_RING_CAPACITY_DEFAULT)
/* A place that the server never writes itself. */
#define TARGET (SBX_RING_COUNTERS_OFFSET + 2048)
#define MARK UINT64_C(0x4b52414d4b52414d)

struct channel {
	int socket, server_fd, client_fd, eventfd;
	const uint8_t *server; /* mapped read-only */
	uint8_t *client;
};

static int own_socket(void)
{
	const char *number = getenv("SBX_RING_FD");

	return number ? atoi(number) : -1;
}

/* ---- servers ---- */

static int await_byte_or_end(int socket)
{
	char byte;

	while (recv(socket, &byte, 1, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int make_unsealed(void)
{
	int fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd >= 0 && ftruncate(fd, FILE_SIZE) == 0 ? fd : -1;
}

static int be_naive(void)
{
	uint32_t hello[2] = { SBX_RING_MAGIC, SBX_RING_VERSION };
	int fds[SBX_RING_HELLO_N_FDS] = { make_unsealed(), make_unsealed(), eventfd(0, 0) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = { .bytes = { 0 } };
	struct iovec part = { hello, sizeof(hello) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fds)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	if (sendmsg(own_socket(), &message, 0) < 0)
		return 1;
	return await_byte_or_end(own_socket());
}

static int serve(void)
{
	const struct sbx_ring_config config = { .size = sizeof(config) };
	struct sbx_ring *ring = NULL;
	const void *bytes;
	size_t n_bytes;
	int r;

	if (sbx_ring_open(&config, SBX_RING_SERVER, own_socket(), &ring, NULL) < 0)
		return 1;
	do
		r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER);
	while (r == 0);
	(void)printf("server %s\n", r == SBX_RING_CLOSED       ? "closed"
				    : sbx_ring_violation(ring) ? sbx_ring_violation(ring)
							       : "died");
	sbx_ring_close(ring);
	return 0;
}

/* ---- the client's end ---- */

static int receive(struct channel *channel)
{
	uint32_t hello[2];
	int fds[SBX_RING_HELLO_N_FDS];
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control;
	struct iovec part = { hello, sizeof(hello) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	channel->socket = own_socket();
	if (recvmsg(channel->socket, &message, MSG_CMSG_CLOEXEC) != sizeof(hello) ||
	    message.msg_controllen < CMSG_LEN(sizeof(fds)))
		return -1;
	memcpy(fds, CMSG_DATA(&control.header), sizeof(fds));
	channel->server_fd = fds[0];
	channel->client_fd = fds[1];
	channel->eventfd = fds[2];
	channel->server = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, channel->server_fd, 0);
	channel->client =
		mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, channel->client_fd, 0);
	return channel->server == MAP_FAILED || channel->client == MAP_FAILED ? -1 : 0;
}

static uint64_t *word_at(uint8_t *file, size_t offset)
{
	return (uint64_t *)(void *)(file + offset);
}

static void wake(const struct channel *channel)
{
	static const uint64_t one = 1;

	(void)!write(channel->eventfd, &one, sizeof(one));
}

static void say_closed(const struct channel *channel)
{
	__atomic_store_n((uint32_t *)(void *)(channel->client + SBX_RING_STATE_OFFSET),
			 SBX_RING_STATE_CLOSED, __ATOMIC_SEQ_CST);
	wake(channel);
	(void)send(channel->socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void await_end(const struct channel *channel)
{
	struct pollfd polled = { .fd = channel->socket };

	while (poll(&polled, 1, -1) < 0 && errno == EINTR)
		;
}

/* ---- attacks: each tries to write MARK at TARGET ---- */

static void store_through(void *mapped)
{
	if (mapped != MAP_FAILED)
		*word_at(mapped, TARGET) = MARK;
}

static void map_writable(const struct channel *channel)
{
	store_through(
		mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, channel->server_fd, 0));
}

static void map_all_rights(const struct channel *channel)
{
	store_through(mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED_VALIDATE,
			   channel->server_fd, 0));
}

static void protect_mapping(const struct channel *channel)
{
	void *mapped = (void *)(uintptr_t)channel->server;

	if (mprotect(mapped, FILE_SIZE, PROT_READ | PROT_WRITE) == 0)
		store_through(mapped);
}

/* A copy of the mapping, whose rights might be those of the file. */
static void remap_mapping(const struct channel *channel)
{
	void *mapped = mremap((void *)(uintptr_t)channel->server, 0, FILE_SIZE, MREMAP_MAYMOVE);

	if (mapped != MAP_FAILED && mprotect(mapped, FILE_SIZE, PROT_READ | PROT_WRITE) == 0)
		store_through(mapped);
}

static void write_at(const struct channel *channel)
{
	const uint64_t mark = MARK;

	(void)!pwrite(channel->server_fd, &mark, sizeof(mark), TARGET);
}

static void write_on(const struct channel *channel)
{
	const uint64_t mark = MARK;

	if (lseek(channel->server_fd, TARGET, SEEK_SET) == TARGET)
		(void)!write(channel->server_fd, &mark, sizeof(mark));
}

static int reopen(int fd, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

static void reopen_and_write(const struct channel *channel)
{
	const uint64_t mark = MARK;

	(void)!pwrite(reopen(channel->server_fd, O_RDWR), &mark, sizeof(mark), TARGET);
}

static void reopen_and_map(const struct channel *channel)
{
	store_through(mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			   reopen(channel->server_fd, O_RDWR), 0));
}

static void truncate_by_opening(const struct channel *channel)
{
	(void)reopen(channel->server_fd, O_RDWR | O_TRUNC);
}

static void truncate_it(const struct channel *channel)
{
	(void)!ftruncate(channel->server_fd, 4096);
}

static void grow_it(const struct channel *channel)
{
	(void)!ftruncate(channel->server_fd, FILE_SIZE + 4096);
}

static void allocate_more(const struct channel *channel)
{
	(void)!fallocate(channel->server_fd, 0, FILE_SIZE, 4096);
}

static void punch_hole(const struct channel *channel)
{
	(void)!fallocate(channel->server_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
}

static void remove_pages(const struct channel *channel)
{
	(void)madvise((void *)(uintptr_t)channel->server, 4096, MADV_REMOVE);
}

static void copy_from_own(const struct channel *channel)
{
	off_t from = TARGET, to = TARGET;

	*word_at(channel->client, TARGET) = MARK;
	(void)!copy_file_range(channel->client_fd, &from, channel->server_fd, &to, 8, 0);
}

static void send_from_own(const struct channel *channel)
{
	off_t from = TARGET;

	*word_at(channel->client, TARGET) = MARK;
	if (lseek(channel->server_fd, TARGET, SEEK_SET) == TARGET)
		(void)!sendfile(channel->server_fd, channel->client_fd, &from, 8);
}

static void splice_from_pipe(const struct channel *channel)
{
	const uint64_t mark = MARK;
	off_t to = TARGET;
	int ends[2];

	if (pipe(ends) == 0 && write(ends[1], &mark, sizeof(mark)) == sizeof(mark))
		(void)!splice(ends[0], NULL, channel->server_fd, &to, sizeof(mark), 0);
}

static const struct attack {
	const char *name;
	void (*run)(const struct channel *channel);
} attacks[] = {
	{ "map_writable", map_writable },
	{ "map_with_all_rights", map_all_rights },
	{ "make_the_mapping_writable", protect_mapping },
	{ "make_a_copy_of_the_mapping_writable", remap_mapping },
	{ "write_at_a_place", write_at },
	{ "write", write_on },
	{ "open_again_and_write", reopen_and_write },
	{ "open_again_and_map", reopen_and_map },
	{ "open_again_truncated", truncate_by_opening },
	{ "truncate", truncate_it },
	{ "grow", grow_it },
	{ "allocate_more", allocate_more },
	{ "punch_a_hole", punch_hole },
	{ "remove_pages", remove_pages },
	{ "copy_a_range", copy_from_own },
	{ "send_a_file", send_from_own },
	{ "splice_a_pipe", splice_from_pipe },
};

/* ---- what an attack has changed ---- */

/* For the next attack: what a server without seals lost. */
static void restore(const struct channel *channel, const uint8_t *before)
{
	(void)!ftruncate(channel->server_fd, FILE_SIZE);
	(void)!pwrite(channel->server_fd, before, SBX_RING_DATA_OFFSET, 0);
}

/* The head and counters of a server at work change; the first page has them all, so only what does
 * not is compared. */
static bool has_changed(const struct channel *channel, const uint8_t *before)
{
	struct stat now;
	uint8_t after[SBX_RING_DATA_OFFSET];

	if (fstat(channel->server_fd, &now) < 0 || now.st_size != FILE_SIZE ||
	    pread(channel->server_fd, after, sizeof(after), 0) != sizeof(after))
		return true;
	return memcmp(before, after, SBX_RING_CONTROL_SIZE) != 0 ||
	       memcmp(before + TARGET, after + TARGET, 8) != 0;
}

/* In a child: a store that is refused kills it. */
static bool works(const struct channel *channel, const struct attack *attack, const uint8_t *before)
{
	pid_t child = fork();
	bool r;

	if (child == 0) {
		attack->run(channel);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		exit(4);
	r = has_changed(channel, before);
	restore(channel, before);
	return r;
}

static int attack_all(struct channel *channel, const char *name)
{
	uint8_t before[SBX_RING_DATA_OFFSET];

	/* So that a hole is seen, also where the server has written nothing. */
	(void)!pwrite(channel->server_fd, "naive", 5, 0);
	if (pread(channel->server_fd, before, sizeof(before), 0) != sizeof(before))
		return 4;
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (!name || strcmp(attacks[i].name, name) == 0)
			(void)printf("%s %s\n", attacks[i].name,
				     works(channel, &attacks[i], before) ? "done" : "refused");
	say_closed(channel);
	await_end(channel);
	return 0;
}

/* While the server or the client has it open for writing, it cannot be executed (ETXTBSY). */
static int execute_own_file(struct channel *channel, const char *program)
{
	char *const argv[] = { (char *)(uintptr_t)program, NULL };
	char *const environment[] = { NULL };
	int from = open(program, O_RDONLY | O_CLOEXEC), own = -1;
	struct stat size;
	ssize_t n;

	if (from < 0 || fstat(from, &size) < 0 || size.st_size > FILE_SIZE)
		return 4;
	say_closed(channel);
	await_end(channel);
	n = read(from, channel->client, (size_t)size.st_size);
	if (n != size.st_size)
		return 4;
	(void)fchmod(channel->client_fd, 0700);
	own = reopen(channel->client_fd, O_RDONLY);
	(void)munmap(channel->client, FILE_SIZE);
	(void)close(channel->client_fd);
	(void)syscall(SYS_execveat, own, "", argv, environment, AT_EMPTY_PATH);
	(void)printf("cannot execute: %s\n", strerror(errno));
	return 1;
}

static int lie(struct channel *channel, const char *argument)
{
	__atomic_store_n(word_at(channel->client, SBX_RING_TAIL_OFFSET), UINT64_C(1) << 40,
			 __ATOMIC_SEQ_CST);
	wake(channel);
	await_end(channel);
	return 0;
}

static bool has_ended(const struct channel *channel)
{
	struct pollfd polled = { .fd = channel->socket };

	return poll(&polled, 1, 0) != 0;
}

static int ring_for_nothing(struct channel *channel, const char *argument)
{
	(void)puts("ringing");
	(void)fflush(stdout);
	while (!has_ended(channel))
		wake(channel);
	return 0;
}

static uint64_t header_of(uint64_t n_bytes, uint64_t kind)
{
	return kind << 32 | n_bytes;
}

/* Publishes the same records again and again, in whole laps, as soon as the reader has any room. */
static int publish_for_ever(const struct channel *channel)
{
	const uint64_t *head =
		(const uint64_t *)(const void *)(channel->server + SBX_RING_HEAD_OFFSET);

	bool is_read = false;

	while (!has_ended(channel)) {
		/* The server has read an eighth of the capacity. */
		if (!is_read && __atomic_load_n(head, __ATOMIC_SEQ_CST) > 0) {
			is_read = true;
			(void)puts("publishing");
			(void)fflush(stdout);
		}
		__atomic_store_n(word_at(channel->client, SBX_RING_TAIL_OFFSET),
				 __atomic_load_n(head, __ATOMIC_SEQ_CST) +
					 SBX_RING_CAPACITY_DEFAULT,
				 __ATOMIC_SEQ_CST);
		wake(channel);
	}
	return 0;
}

static int flood(struct channel *channel, const char *argument)
{
	for (uint64_t at = 0; at < SBX_RING_CAPACITY_DEFAULT; at += SBX_RING_RECORD_HEADER_SIZE)
		*word_at(channel->client, SBX_RING_DATA_OFFSET + at) =
			header_of(0, SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END);
	return publish_for_ever(channel);
}

/* A first part of the greatest length, and the end of it without a message: a quarter of a lap. */
static int begin_and_abort(struct channel *channel, const char *argument)
{
	const uint64_t quarter = SBX_RING_CAPACITY_DEFAULT / 4, begin = quarter - 16;

	for (uint64_t at = 0; at < SBX_RING_CAPACITY_DEFAULT; at += quarter) {
		*word_at(channel->client, SBX_RING_DATA_OFFSET + at) =
			header_of(begin, SBX_RING_RECORD_BEGIN);
		*word_at(channel->client, SBX_RING_DATA_OFFSET + at + SBX_RING_RECORD_HEADER_SIZE +
						  begin) = header_of(0, SBX_RING_RECORD_ABORT);
	}
	return publish_for_ever(channel);
}

static const struct {
	const char *name;
	int (*run)(struct channel *channel, const char *argument);
} clients[] = {
	{ "attack", attack_all }, { "execute", execute_own_file },
	{ "lie", lie },		  { "ring", ring_for_nothing },
	{ "flood", flood },	  { "abort", begin_and_abort },
};

int main(int argc, char *argv[])
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct channel channel;

	if (strcmp(mode, "naive") == 0)
		return be_naive();
	if (strcmp(mode, "serve") == 0)
		return serve();
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++)
		if (strcmp(clients[i].name, mode) == 0)
			return receive(&channel) < 0
				       ? 3
				       : clients[i].run(&channel, argc > 2 ? argv[2] : NULL);
	(void)fputs("usage: SBX_RING_FD=N ring-inside MODE\n", stderr);
	return 2;
}
