/* SPDX-License-Identifier: MIT */

/*
 * producer | sbx-ring pipe -- consumer
 *
 * This process reads stdin directly into the ring; a second one of ours, the writer, gives the
 * bytes from the ring to write(2). Nothing else touches them. The consumer's end is the end of the
 * pipe line: this process then stops reading, so that the producer gets SIGPIPE as in a shell.
 */

#include "ring.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#include "tool.h"

#define CHUNK_MAX 131072
#define CHUNK_MIN 64

struct piping {
	struct tool_run *run;
	struct side side;
	int sockets[2];
	int pipe[2];
	int consumer; /* pidfd */
	pid_t consumer_pid, writer_pid;
};

static void piping_deinit(struct piping *piping)
{
	fd_close_many(piping->sockets, N_ELEMENTS(piping->sockets));
	fd_close_many(piping->pipe, N_ELEMENTS(piping->pipe));
	close_fd(&piping->consumer);
	side_deinit(&piping->side);
}

/* ---- the writer ---- */

/* 0, an end of the channel, or the errno of the pipe. */
static int write_one(struct sbx_ring *ring, int to)
{
	const void *bytes;
	size_t n_bytes;
	int r = sbx_ring_peek(ring, &bytes, &n_bytes);

	if (r == SBX_RING_EMPTY)
		return sbx_ring_wait(ring, SBX_RING_READABLE, SBX_RING_FOREVER);
	if (r != 0)
		return r;
	r = fd_write_all(to, bytes, n_bytes);
	sbx_ring_release(ring);
	return r;
}

static noreturn void be_the_writer(struct piping *piping)
{
	/* The other process may take long to make much memory; its end is an event. */
	struct sbx_ring_config config = { .size = sizeof(config),
					  .timeout_usec = SBX_RING_FOREVER };
	struct sbx_error err = { .code = 0 };
	struct sbx_ring *ring = NULL;
	int r;

	close_fd(&piping->sockets[SBX_RING_SERVER]);
	close_fd(&piping->pipe[0]);
	(void)close(STDIN_FILENO);
	r = sbx_ring_open(&config, SBX_RING_CLIENT, take_fd(&piping->sockets[SBX_RING_CLIENT]),
			  &ring, &err);
	while (r == 0)
		r = write_one(ring, piping->pipe[1]);
	/* The consumer has closed its stdin: that is its right. */
	if (r == SBX_RING_CLOSED || r == -EPIPE)
		r = 0;
	if (r < 0 && err.code == 0)
		(void)sbx_error_what(&err, r, "cannot write to the command");
	if (r < 0 && r != -ECONNRESET)
		tool_tell(piping->run, &err);
	sbx_ring_close(ring);
	_exit(r == 0 ? TOOL_YES : TOOL_FAILED);
}

/* ---- this process ---- */

static noreturn void become_consumer(struct piping *piping, char *const argv[])
{
	if (dup2(piping->pipe[0], STDIN_FILENO) < 0)
		_exit(TOOL_FAILED);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	process_exec(piping->run, argv);
}

static int make_ends(struct piping *piping, struct sbx_error *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, piping->sockets) < 0 ||
	    pipe2(piping->pipe, O_CLOEXEC) < 0)
		return sbx_error_what(err, -errno, "cannot make the channel");
	/* As large as the pipe may be for any user, so that a wake-up moves more. */
	(void)fcntl(piping->pipe[1], F_SETPIPE_SZ, 1048576);
	return 0;
}

static int start(struct piping *piping, char *const argv[], struct sbx_error *err)
{
	piping->consumer_pid = fork();
	if (piping->consumer_pid == 0)
		become_consumer(piping, argv);
	if (piping->consumer_pid < 0)
		return sbx_error_what(err, -errno, "cannot start '%s'", argv[0]);
	piping->consumer = pidfd_of(piping->consumer_pid);
	piping->writer_pid = fork();
	if (piping->writer_pid == 0)
		be_the_writer(piping);
	if (piping->writer_pid < 0)
		return sbx_error_what(err, -errno, "cannot start the process that writes");
	close_fd(&piping->sockets[SBX_RING_CLIENT]);
	fd_close_many(piping->pipe, N_ELEMENTS(piping->pipe));
	return 0;
}

#define CONSUMER_HAS_ENDED 32

/* Waits for stdin, or for the end of the consumer, which a blocked read() would not notice. */
static int wait_for_input(const struct piping *piping)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = piping->consumer, .events = POLLIN } };

	while (poll(fds, N_ELEMENTS(fds), -1) < 0)
		if (errno != EINTR)
			return -errno;
	return fds[1].revents != 0 ? CONSUMER_HAS_ENDED : 0;
}

/* As much room as there is, up to CHUNK_MAX. */
static int reserve(struct sbx_ring *ring, void **ret, size_t *ret_n_bytes)
{
	size_t most = sbx_ring_reserve_max(ring), n = most < CHUNK_MAX ? most : CHUNK_MAX;
	int r;

	for (;;) {
		r = sbx_ring_reserve(ring, n, ret);
		if (r != SBX_RING_FULL)
			break;
		n /= 2;
		if (n >= CHUNK_MIN)
			continue;
		r = sbx_ring_wait(ring, SBX_RING_WRITABLE, SBX_RING_FOREVER);
		if (r < 0)
			return r;
		n = most < CHUNK_MAX ? most : CHUNK_MAX;
	}
	*ret_n_bytes = n;
	return r;
}

#define INPUT_HAS_ENDED 33

/* 0, one of the two ends, or negative errno; *@ret_is_stdin says that the failure is one of
 * stdin. */
static int pass_chunk(struct piping *piping, bool *ret_is_stdin)
{
	struct sbx_ring *ring = piping->side.ring;
	size_t n_room = 0;
	void *room = NULL;
	ssize_t n;
	int r = wait_for_input(piping);

	if (r == 0)
		r = reserve(ring, &room, &n_room);
	if (r != 0)
		return r;
	do
		n = read(STDIN_FILENO, room, n_room);
	while (n < 0 && errno == EINTR);
	*ret_is_stdin = n < 0;
	if (n <= 0)
		return n < 0 ? -errno : INPUT_HAS_ENDED;
	return sbx_ring_commit(ring, (size_t)n, 0);
}

/* The end of the writer, which may come just before that of the consumer, is the consumer's. */
static int pass_all(struct piping *piping, struct sbx_error *err)
{
	bool is_of_stdin = false;
	int r;

	do
		r = pass_chunk(piping, &is_of_stdin);
	while (r == 0);
	if (is_of_stdin)
		return error_fill(err, r, NULL, "check where standard input comes from",
				  "cannot read stdin");
	if (r == -EPROTO)
		return side_fail(&piping->side, r, "write to the command", err);
	return side_close(&piping->side, 0, err);
}

static int finish(struct piping *piping, int r, struct sbx_error *err)
{
	int writer = 0, consumer = 0;

	/* The writer ends with the channel, and the consumer's stdin with the writer. The producer
	 * gets SIGPIPE even if the consumer goes on without its stdin. */
	(void)close(STDIN_FILENO);
	side_deinit(&piping->side);
	close_fd(&piping->sockets[SBX_RING_SERVER]);
	if (piping->writer_pid > 0 && process_wait(piping->writer_pid, &writer) < 0)
		writer = 0;
	close_fd(&piping->pipe[1]);
	if (piping->consumer_pid > 0 && process_wait(piping->consumer_pid, &consumer) < 0)
		return sbx_error_what(err, -ECHILD, "cannot tell how the command has ended");
	if (r != 0)
		return r;
	if (process_status(writer) != 0 && process_status(consumer) == 0) {
		(void)error_fill(err, -EIO, "the process that writes to it has failed", NULL,
				 "the command did not get all of stdin");
		return TOOL_FAILED;
	}
	return process_status(consumer);
}

static int pass(struct piping *piping, char *command[], struct sbx_error *err)
{
	int r = make_ends(piping, err);

	if (r != 0)
		return r;
	r = start(piping, command, err);
	if (r != 0)
		return r;
	r = side_open_socket(&piping->side, take_fd(&piping->sockets[SBX_RING_SERVER]), err);
	return r != 0 ? r : pass_all(piping, err);
}

int ring_verb_pipe(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(piping_deinit) struct piping piping = {
		.run = run,
		.side = SIDE_INIT(run, SBX_RING_SERVER),
		.sockets = { -EBADF, -EBADF },
		.pipe = { -EBADF, -EBADF },
		.consumer = -EBADF,
	};
	const struct ring_values *values = run->values;
	size_t capacity;
	int r = ring_check_size(values->size, &capacity, err);

	if (r < 0)
		return TOOL_USAGE;
	operands[n_operands] = NULL;
	(void)signal(SIGPIPE, SIG_IGN);
	return finish(&piping, pass(&piping, operands, err), err);
}
