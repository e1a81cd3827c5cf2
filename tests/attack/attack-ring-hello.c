/* SPDX-License-Identifier: MIT */

/*
 * A server that greets with the wrong fds, or fills the one that wakes it
 *
 * A client believes its server about messages, but the files that it maps must not be able to kill
 * it: reading past the end of a file raises SIGBUS, and a pipe cannot be mapped. Each row changes
 * one thing of a hello that is accepted without the change.
 */
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "ring-raw.h"

#define HANG_SECONDS 170
#define CAPACITY ((uint64_t)SBX_RING_CAPACITY_MIN)
#define FILE_SIZE (SBX_RING_DATA_OFFSET + CAPACITY)
#define SEALS_OF_SIZE (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define FDS_MAX 8

/* What a hello is made of. */
struct hello {
	uint32_t words[2];
	size_t n_bytes;
	struct file {
		uint64_t control[8];
		uint64_t size;
		unsigned seals;
		int fd; /* instead of a file made of the above; -EBADF: none */
	} files[2];	/* of the server, of the client */
	int eventfd;
	size_t n_fds;
	bool is_swapped, is_twice; /* the files; the server's as both */
};

static void put_u32(struct file *file, size_t offset, uint32_t value)
{
	memcpy((uint8_t *)file->control + offset, &value, sizeof(value));
}

static void put_u64(struct file *file, size_t offset, uint64_t value)
{
	memcpy((uint8_t *)file->control + offset, &value, sizeof(value));
}

static void make_honest(struct hello *hello)
{
	*hello = (struct hello){
		.words = { SBX_RING_MAGIC, SBX_RING_VERSION },
		.n_bytes = SBX_RING_HELLO_SIZE,
		.eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.n_fds = SBX_RING_HELLO_N_FDS,
	};
	for (int i = 0; i < 2; i++) {
		struct file *file = &hello->files[i];

		put_u32(file, SBX_RING_MAGIC_OFFSET, SBX_RING_MAGIC);
		put_u32(file, SBX_RING_VERSION_OFFSET, SBX_RING_VERSION);
		put_u64(file, SBX_RING_SIZE_OFFSET, FILE_SIZE);
		put_u32(file, SBX_RING_FLAGS_OFFSET, i ? SBX_RING_FLAG_CLIENT : 0);
		put_u32(file, SBX_RING_READERS_OFFSET, 1);
		put_u32(file, SBX_RING_WRITERS_OFFSET, 1);
		put_u32(file, SBX_RING_DATA_AT_OFFSET, SBX_RING_DATA_OFFSET);
		put_u64(file, SBX_RING_CAPACITY_OFFSET, CAPACITY);
		put_u64(file, SBX_RING_NONCE_OFFSET, 12345);
		put_u32(file, SBX_RING_RECORD_MAX_OFFSET, CAPACITY / 4 - 16);
		file->size = FILE_SIZE;
		file->seals = SEALS_OF_SIZE | (i ? 0 : F_SEAL_FUTURE_WRITE);
		file->fd = -EBADF;
	}
}

static int make_file(const struct file *file)
{
	int fd = file->fd >= 0 ? fcntl(file->fd, F_DUPFD_CLOEXEC, 3)
			       : memfd_create("hello", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (file->fd >= 0)
		return fd;
	expect_eq(ftruncate(fd, (off_t)file->size), 0);
	expect(file->size < sizeof(file->control) ||
	       pwrite(fd, file->control, sizeof(file->control), 0) == sizeof(file->control));
	expect_eq(fcntl(fd, F_ADD_SEALS, file->seals), 0);
	return fd;
}

/* Says hello to a client in this process; its result. */
static int greet(const struct hello *hello, struct sbx_ring **ret, struct sbx_error *err)
{
	const struct sbx_ring_config config = { .size = sizeof(config), .timeout_usec = 20000 };
	int sockets[2], fds[FDS_MAX], files[2], r;

	expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	files[0] = make_file(&hello->files[0]);
	files[1] = make_file(&hello->files[1]);
	fds[0] = hello->is_swapped ? files[1] : files[0];
	fds[1] = hello->is_swapped || hello->is_twice ? files[0] : files[1];
	for (size_t i = 2; i < FDS_MAX; i++)
		fds[i] = hello->eventfd;
	if (hello->n_bytes > 0)
		expect_eq(fd_send(sockets[0], hello->words, hello->n_bytes, fds, hello->n_fds), 0);
	r = sbx_ring_open(&config, SBX_RING_CLIENT, sockets[1], ret, err);
	/* An accepted channel stays connected. */
	if (r < 0)
		(void)close(sockets[0]);
	fd_close_many(files, 2);
	return r;
}

static unsigned count_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void the_hello_without_a_change_is_accepted(void)
{
	struct hello hello;
	struct sbx_ring *ring = NULL;
	struct sbx_error err = { 0 };

	make_honest(&hello);
	expect_eq(greet(&hello, &ring, &err), 0);
	if (err.code < 0)
		printf("# %s: %s\n", err.what, err.why);
	expect(ring && sbx_ring_is_connected(ring));
	expect_eq(ring ? sbx_ring_send(ring, "hello", 5, 0, 0) : -1, 0);
	sbx_ring_close(ring);
	close_fd(&hello.eventfd);
}

/* ---- one change each ---- */

static int open_pipe(void)
{
	int fds[2];

	expect_eq(pipe2(fds, O_CLOEXEC), 0);
	(void)close(fds[1]);
	return fds[0];
}

static int open_text(void)
{
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static int open_directory(void)
{
	return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_path(void)
{
	return open("/", O_PATH | O_CLOEXEC);
}

static int open_device(void)
{
	return open("/dev/zero", O_RDWR | O_CLOEXEC);
}

static int open_empty(void)
{
	return memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static int open_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static const struct other_fd {
	const char *name;
	int (*open)(void);
} other_fds[] = {
	{ "a pipe", open_pipe },     { "a program", open_text },  { "a directory", open_directory },
	{ "a path", open_path },     { "a device", open_device }, { "an empty file", open_empty },
	{ "a socket", open_socket },
};

static void expect_refused(const char *name, const struct hello *hello)
{
	struct sbx_ring *ring = NULL;
	struct sbx_error err = { 0 };
	unsigned before = test_failures, n_before = count_fds();

	expect(greet(hello, &ring, &err) < 0);
	expect(err.code < 0 && err.what[0]);
	expect(ring == NULL);
	expect_eq(count_fds(), n_before);
	if (test_failures != before)
		printf("# %s\n", name);
	sbx_ring_close(ring);
}

static void an_fd_that_is_no_memory_is_refused(void)
{
	for (size_t i = 0; i < N_ELEMENTS(other_fds); i++)
		for (int which = 0; which < 2; which++) {
			struct hello hello;

			make_honest(&hello);
			hello.files[which].fd = other_fds[i].open();
			expect(hello.files[which].fd >= 0);
			expect_refused(other_fds[i].name, &hello);
			close_fd(&hello.files[which].fd);
			close_fd(&hello.eventfd);
		}
}

static void no_seals(struct hello *hello, int which)
{
	hello->files[which].seals = 0;
}

static void seal_against_growing_only(struct hello *hello, int which)
{
	hello->files[which].seals = F_SEAL_GROW;
}

static void seal_against_shrinking_only(struct hello *hello, int which)
{
	hello->files[which].seals = F_SEAL_SHRINK;
}

static void real_size_smaller(struct hello *hello, int which)
{
	hello->files[which].size = FILE_SIZE - 4096;
}

static void real_size_larger(struct hello *hello, int which)
{
	hello->files[which].size = FILE_SIZE + 4096;
}

static void only_a_control_block(struct hello *hello, int which)
{
	hello->files[which].size = SBX_RING_CONTROL_SIZE;
}

static void a_byte_less_than_a_control_block(struct hello *hello, int which)
{
	hello->files[which].size = SBX_RING_CONTROL_SIZE - 1;
}

static void said_size_smaller(struct hello *hello, int which)
{
	put_u64(&hello->files[which], SBX_RING_SIZE_OFFSET, FILE_SIZE - 4096);
}

static void capacity_doubled(struct hello *hello, int which)
{
	put_u64(&hello->files[which], SBX_RING_CAPACITY_OFFSET, 2 * CAPACITY);
}

static void capacity_and_sizes_doubled(struct hello *hello, int which)
{
	put_u64(&hello->files[which], SBX_RING_CAPACITY_OFFSET, 2 * CAPACITY);
	put_u64(&hello->files[which], SBX_RING_SIZE_OFFSET, FILE_SIZE + CAPACITY);
	put_u32(&hello->files[which], SBX_RING_RECORD_MAX_OFFSET, 2 * CAPACITY / 4 - 16);
	hello->files[which].size = FILE_SIZE + CAPACITY;
}

static void capacity_no_power_of_two(struct hello *hello, int which)
{
	put_u64(&hello->files[which], SBX_RING_CAPACITY_OFFSET, CAPACITY - 4096);
	put_u64(&hello->files[which], SBX_RING_SIZE_OFFSET, FILE_SIZE - 4096);
	hello->files[which].size = FILE_SIZE - 4096;
}

static void capacity_zero(struct hello *hello, int which)
{
	put_u64(&hello->files[which], SBX_RING_CAPACITY_OFFSET, 0);
}

static void capacity_that_overflows(struct hello *hello, int which)
{
	put_u64(&hello->files[which], SBX_RING_CAPACITY_OFFSET, UINT64_C(1) << 63);
	put_u64(&hello->files[which], SBX_RING_SIZE_OFFSET, (UINT64_C(1) << 63) + 4096);
}

static void record_max_larger(struct hello *hello, int which)
{
	put_u32(&hello->files[which], SBX_RING_RECORD_MAX_OFFSET, UINT32_MAX);
}

static void data_elsewhere(struct hello *hello, int which)
{
	put_u32(&hello->files[which], SBX_RING_DATA_AT_OFFSET, 64);
}

static void another_magic(struct hello *hello, int which)
{
	put_u32(&hello->files[which], SBX_RING_MAGIC_OFFSET, 0x12345678);
}

static void another_version(struct hello *hello, int which)
{
	put_u32(&hello->files[which], SBX_RING_VERSION_OFFSET, 99);
}

static void reserved_word_set(struct hello *hello, int which)
{
	put_u32(&hello->files[which], SBX_RING_RESERVED_OFFSET, 1);
}

static void unknown_flags(struct hello *hello, int which)
{
	put_u32(&hello->files[which], SBX_RING_FLAGS_OFFSET,
		64 | (which ? SBX_RING_FLAG_CLIENT : 0));
}

static void another_mode(struct hello *hello, int which)
{
	put_u32(&hello->files[which], SBX_RING_FLAGS_OFFSET,
		SBX_RING_FLAG_CALL | (which ? SBX_RING_FLAG_CLIENT : 0));
}

static const struct change {
	const char *name;
	void (*make)(struct hello *hello, int which);
} changes[] = {
	{ "no seals", no_seals },
	{ "sealed against growing only", seal_against_growing_only },
	{ "sealed against shrinking only", seal_against_shrinking_only },
	{ "a file that is smaller than it says", real_size_smaller },
	{ "a file that is larger than it says", real_size_larger },
	{ "only a control block", only_a_control_block },
	{ "a byte less than a control block", a_byte_less_than_a_control_block },
	{ "a smaller size", said_size_smaller },
	{ "twice the capacity", capacity_doubled },
	{ "files of different capacity", capacity_and_sizes_doubled },
	{ "a capacity that is no power of two", capacity_no_power_of_two },
	{ "no capacity", capacity_zero },
	{ "a capacity that overflows", capacity_that_overflows },
	{ "a larger record maximum", record_max_larger },
	{ "data in the header", data_elsewhere },
	{ "another magic", another_magic },
	{ "another version", another_version },
	{ "a reserved word", reserved_word_set },
	{ "unknown flags", unknown_flags },
	{ "another mode than the other file", another_mode },
};

static void a_file_with_one_thing_wrong_is_refused(void)
{
	for (size_t i = 0; i < N_ELEMENTS(changes); i++)
		for (int which = 0; which < 2; which++) {
			struct hello hello;

			make_honest(&hello);
			changes[i].make(&hello, which);
			expect_refused(changes[i].name, &hello);
			close_fd(&hello.eventfd);
		}
}

static void a_server_that_can_still_be_written_by_others_is_refused(void)
{
	struct hello hello;

	make_honest(&hello);
	hello.files[0].seals = SEALS_OF_SIZE;
	expect_refused("not sealed against writing", &hello);
	close_fd(&hello.eventfd);
}

static void files_in_the_wrong_places_are_refused(void)
{
	struct hello hello;

	make_honest(&hello);
	hello.is_swapped = true;
	expect_refused("swapped", &hello);
	hello.is_swapped = false;
	hello.is_twice = true;
	expect_refused("one file as both", &hello);
	close_fd(&hello.eventfd);
}

static void another_number_of_fds_is_refused(void)
{
	static const size_t numbers[] = { 0, 1, 2, 4, FDS_MAX };

	for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
		struct hello hello;

		make_honest(&hello);
		hello.n_fds = numbers[i];
		expect_refused("number of fds", &hello);
		close_fd(&hello.eventfd);
	}
}

static void another_first_message_is_refused(void)
{
	struct hello hello;

	make_honest(&hello);
	hello.words[0] = 1;
	expect_refused("magic of the hello", &hello);
	hello.words[0] = SBX_RING_MAGIC;
	hello.words[1] = 2;
	expect_refused("version of the hello", &hello);
	hello.words[1] = SBX_RING_VERSION;
	hello.n_bytes = 7;
	expect_refused("a short hello", &hello);
	hello.n_bytes = 1;
	expect_refused("a byte", &hello);
	hello.n_bytes = 0;
	expect_refused("no hello before the time-out", &hello);
	close_fd(&hello.eventfd);
}

/* What the checks are for: the same file without seals, mapped and then cut. */
static void read_and_die(int fd)
{
	uint8_t *at = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, fd, 0);

	signal(SIGBUS, SIG_DFL);
	if (ftruncate(fd, 0) == 0)
		(void)*(const volatile uint8_t *)(at + SBX_RING_DATA_OFFSET);
	_exit(0);
}

static void a_client_that_maps_an_unsealed_file_can_be_killed(void)
{
	struct hello hello;
	int status = 0;

	make_honest(&hello);
	hello.files[0].seals = 0;

	_cleanup_close_ int fd = make_file(&hello.files[0]);
	pid_t pid = fork();

	if (pid == 0)
		read_and_die(fd);
	expect_eq(waitpid(pid, &status, 0), pid);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	close_fd(&hello.eventfd);
}

/* ---- the eventfd that both sides hold ---- */

/* The eventfd that is filled at the worst moment: after a look at it, before its use. */
static int filled = -EBADF;

static void fill(int fd)
{
	uint64_t most = UINT64_MAX - 1;

	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	for (; most > 0; most /= 2)
		(void)!write(fd, &most, sizeof(most));
	(void)fcntl(fd, F_SETFL, 0);
}

/* The library calls this one. */
int poll(struct pollfd *fds, nfds_t n_fds, int timeout_msec)
{
	const struct timespec timeout = { .tv_sec = timeout_msec / 1000,
					  .tv_nsec = timeout_msec % 1000 * 1000000L };
	int r = ppoll(fds, n_fds, timeout_msec < 0 ? NULL : &timeout, NULL);

	if (filled >= 0)
		fill(filled);
	return r;
}

static void write_to(int fd)
{
	static const uint64_t one = 1;

	(void)alarm(1);
	(void)!write(fd, &one, sizeof(one));
}

/* The server says at any time that it sleeps. */
static void wake_a_server(int fd)
{
	static const uint32_t sleeping = SBX_RING_SLEEPING_DATA | SBX_RING_SLEEPING_ROOM;
	struct hello hello;
	struct sbx_ring *ring = NULL;
	struct file *file;

	(void)alarm(HANG_SECONDS / 2);
	make_honest(&hello);
	close_fd(&hello.eventfd);
	hello.eventfd = fd;
	file = &hello.files[0];
	file->seals = 0;
	file->fd = make_file(file);
	if (pwrite(file->fd, &sleeping, sizeof(sleeping), SBX_RING_SLEEPING_OFFSET) < 0 ||
	    fcntl(file->fd, F_ADD_SEALS, SEALS_OF_SIZE | F_SEAL_FUTURE_WRITE) < 0 ||
	    greet(&hello, &ring, NULL) < 0)
		_exit(1);
	for (int i = 0; i < 100; i++)
		if (sbx_ring_send(ring, "hello", 5, 0, 0) != 0)
			_exit(1);
}

/* How a child ends that does @run. */
static int status_of_child(void (*run)(int fd), int fd)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		run(fd);
		_exit(0);
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void an_eventfd_that_blocks_does_not_keep_the_client(void)
{
	static const uint64_t counts[] = { 0, 1, UINT64_MAX - 2, UINT64_MAX - 1 };

	for (size_t i = 0; i < N_ELEMENTS(counts); i++)
		for (int is_filled = 0; is_filled < 2; is_filled++) {
			_cleanup_close_ int fd = eventfd(0, EFD_CLOEXEC);

			expect_eq(eventfd_write(fd, counts[i]), 0);
			filled = is_filled ? fd : -EBADF;
			expect_eq(status_of_child(wake_a_server, fd), 0);
			filled = -EBADF;
		}

	_cleanup_close_ int full = eventfd(0, EFD_CLOEXEC);
	int status;

	fill(full);
	status = status_of_child(write_to, full);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

static const struct test tests[] = {
	TEST(a_client_that_maps_an_unsealed_file_can_be_killed),
	TEST(the_hello_without_a_change_is_accepted),
	TEST(an_fd_that_is_no_memory_is_refused),
	TEST(a_file_with_one_thing_wrong_is_refused),
	TEST(a_server_that_can_still_be_written_by_others_is_refused),
	TEST(files_in_the_wrong_places_are_refused),
	TEST(another_number_of_fds_is_refused),
	TEST(another_first_message_is_refused),
	TEST(an_eventfd_that_blocks_does_not_keep_the_client),
	TEST_END,
};

int main(void)
{
	(void)alarm(HANG_SECONDS);
	return test_run(tests);
}
