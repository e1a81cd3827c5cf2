/* SPDX-License-Identifier: MIT */

/*
 * read() and write() at first, splice() for a stream that proves big
 *
 * Small messages are cheapest through a buffer that stays in the CPU's cache: all relays read into
 * one scratch buffer and write it out at once. For a stream of large reads, moving pages through a
 * pipe costs less than copying. A direction borrows a pipe only for bytes that are in it, so an
 * idle tunnel has none, whatever went through it before.
 *
 * A socket is not read while bytes that were read of it wait for the other socket: a slow reader
 * holds one buffer or one pipe, and the kernel tells the sender to wait.
 *
 * The epoll set reports levels, so nothing has to be read until EAGAIN, and a hook may stop
 * anywhere. A socket that waits for nothing stays in the set, edge-triggered, for its reset.
 */

#include "proxy/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPE_BYTES (256 * 1024)
/* The kernel gives smaller pipes to a user who has many; they would cost more than they save. */
#define PIPE_BYTES_MIN (64 * 1024)
#define N_PIPES_MAX 64 /* slow readers hold pipes; a direction without one copies */
#define BIG_BYTES 16384
#define N_BIG_TO_SPLICE 4
#define N_READS_PER_TURN 4 /* before the turn of the next socket */
#define N_BUFFERS_KEPT 8
#define N_PIPES_KEPT 8
/* Waits for EPOLLHUP and EPOLLERR; edge-triggered, because a hangup stays. */
#define WAIT_FOR_RESET (EPOLLHUP | (uint32_t)EPOLLET)
/* A hook has deinitialised the relay, which may not exist any more. */
#define RELAY_IS_GONE 1

/* ---- the pool ---- */

struct relay_buffer {
	struct relay_buffer *next; /* in the pool */
	size_t from, to;	   /* bytes that wait */
	uint8_t bytes[RELAY_BUFFER_BYTES];
};

struct relay_pipe {
	struct relay_pipe *next; /* in the pool */
	int out, in;
	size_t n_bytes;
};

struct relay_pool {
	struct relay_buffer *buffers;
	struct relay_pipe *pipes;
	size_t n_buffers; /* in the pool */
	size_t n_pipes;	  /* in the pool */
	size_t n_pipes_open;
	struct relay *serving; /* whose hooks may be called now; NULL: none, or it is gone */
	uint8_t scratch[RELAY_BUFFER_BYTES];
};

static void close_pipe(struct relay_pool *pool, struct relay_pipe *pipe)
{
	close_fd(&pipe->out);
	close_fd(&pipe->in);
	free(pipe);
	pool->n_pipes_open--;
}

struct relay_pool *relay_pool_free(struct relay_pool *pool)
{
	if (!pool)
		return NULL;
	while (pool->buffers) {
		struct relay_buffer *buffer = pool->buffers;

		pool->buffers = buffer->next;
		free(buffer);
	}
	while (pool->pipes) {
		struct relay_pipe *pipe = pool->pipes;

		pool->pipes = pipe->next;
		close_pipe(pool, pipe);
	}
	free(pool);
	return NULL;
}

int relay_pool_new(struct relay_pool **ret)
{
	struct relay_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	*ret = pool;
	return 0;
}

static struct relay_buffer *take_buffer(struct relay_pool *pool)
{
	struct relay_buffer *buffer = pool->buffers;

	if (buffer) {
		pool->buffers = buffer->next;
		pool->n_buffers--;
	} else {
		buffer = malloc(sizeof(*buffer));
		if (!buffer)
			return NULL;
	}
	buffer->next = NULL;
	buffer->from = buffer->to = 0;
	return buffer;
}

static void give_buffer(struct relay_pool *pool, struct relay_buffer *buffer)
{
	if (!buffer)
		return;
	if (pool->n_buffers == N_BUFFERS_KEPT) {
		free(buffer);
		return;
	}
	buffer->next = pool->buffers;
	pool->buffers = buffer;
	pool->n_buffers++;
}

/* NULL: no memory, no fds, or none of a useful size. */
static struct relay_pipe *open_pipe(struct relay_pool *pool)
{
	struct relay_pipe *pipe = calloc(1, sizeof(*pipe));
	int fds[2];

	if (!pipe)
		return NULL;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(pipe);
		return NULL;
	}
	pipe->out = fds[0];
	pipe->in = fds[1];
	pool->n_pipes_open++;
	/* Fails for a user who already has many; then its size decides. */
	(void)fcntl(pipe->in, F_SETPIPE_SZ, PIPE_BYTES);
	if (fcntl(pipe->in, F_GETPIPE_SZ) >= PIPE_BYTES_MIN)
		return pipe;
	close_pipe(pool, pipe);
	return NULL;
}

static struct relay_pipe *take_pipe(struct relay_pool *pool)
{
	struct relay_pipe *pipe = pool->pipes;

	if (!pipe)
		return pool->n_pipes_open < N_PIPES_MAX ? open_pipe(pool) : NULL;
	pool->pipes = pipe->next;
	pool->n_pipes--;
	return pipe;
}

static void give_pipe(struct relay_pool *pool, struct relay_pipe *pipe)
{
	if (!pipe)
		return;
	/* Bytes that are left in a pipe must not come out in another tunnel. */
	if (pipe->n_bytes > 0 || pool->n_pipes == N_PIPES_KEPT) {
		close_pipe(pool, pipe);
		return;
	}
	pipe->next = pool->pipes;
	pool->pipes = pipe;
	pool->n_pipes++;
}

/* ---- one direction: it begins at @end ---- */

static struct relay_end *other_end(const struct relay_end *end)
{
	struct relay *relay = end->relay;

	return &relay->ends[end == &relay->ends[RELAY_UP] ? RELAY_DOWN : RELAY_UP];
}

static enum relay_direction direction_of(const struct relay_end *end)
{
	return end == &end->relay->ends[RELAY_UP] ? RELAY_UP : RELAY_DOWN;
}

static bool is_waiting(const struct relay_end *end)
{
	return end->buffer || end->pipe;
}

static bool may_read(const struct relay_end *end)
{
	return !end->is_at_end && !end->is_paused && !is_waiting(end);
}

static bool is_for_later(int error)
{
	return error == EAGAIN || error == EINTR;
}

/* Sends from memory: returns how many bytes the socket took, or negative errno. */
static ssize_t send_some(int fd, const uint8_t *bytes, size_t n)
{
	ssize_t n_sent = send(fd, bytes, n, MSG_NOSIGNAL);

	if (n_sent < 0)
		return is_for_later(errno) ? 0 : -errno;
	return n_sent;
}

static int flush_buffer(struct relay_end *end)
{
	struct relay_buffer *buffer = end->buffer;
	ssize_t n = send_some(other_end(end)->socket.fd, buffer->bytes + buffer->from,
			      buffer->to - buffer->from);

	if (n < 0)
		return (int)n;
	buffer->from += (size_t)n;
	if (buffer->from == buffer->to)
		give_buffer(end->relay->pool, take_ptr(end->buffer));
	return 0;
}

static int flush_pipe(struct relay_end *end)
{
	struct relay_pipe *pipe = end->pipe;
	int sink = other_end(end)->socket.fd;

	while (pipe->n_bytes > 0) {
		ssize_t n = splice(pipe->out, NULL, sink, NULL, pipe->n_bytes,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0)
			return is_for_later(errno) ? 0 : -errno;
		if (n == 0)
			return -EIO;
		pipe->n_bytes -= (size_t)n;
	}
	give_pipe(end->relay->pool, take_ptr(end->pipe));
	return 0;
}

/* Passes on what waits, as far as the other socket takes it. 0 or negative errno. */
static int flush_end(struct relay_end *end)
{
	if (end->buffer)
		return flush_buffer(end);
	return end->pipe ? flush_pipe(end) : 0;
}

static int keep_bytes(struct relay_end *end, const uint8_t *bytes, size_t n)
{
	if (!end->buffer)
		end->buffer = take_buffer(end->relay->pool);
	if (!end->buffer)
		return -ENOMEM;
	if (n > sizeof(end->buffer->bytes) - end->buffer->to)
		return -ENOBUFS;
	memcpy(end->buffer->bytes + end->buffer->to, bytes, n);
	end->buffer->to += n;
	return 0;
}

/* What a read returned. Returns @n, or negative errno; 0: nothing to read now, or never. */
static ssize_t note_read(struct relay_end *end, ssize_t n)
{
	if (n < 0)
		return is_for_later(errno) ? 0 : -errno;
	if (n == 0)
		end->is_at_end = true;
	else if (n < BIG_BYTES)
		end->n_big = 0;
	else if (end->n_big < N_BIG_TO_SPLICE)
		end->n_big++;
	return n;
}

static ssize_t copy_once(struct relay_end *end, size_t n_max)
{
	uint8_t *scratch = end->relay->pool->scratch;
	ssize_t n = note_read(end, recv(end->socket.fd, scratch, n_max, 0)), n_sent;
	int r;

	if (n <= 0)
		return n;
	n_sent = send_some(other_end(end)->socket.fd, scratch, (size_t)n);
	if (n_sent < 0 || n_sent == n)
		return n_sent;
	r = keep_bytes(end, scratch + n_sent, (size_t)(n - n_sent));
	return r < 0 ? r : n;
}

static ssize_t splice_once(struct relay_end *end, struct relay_pipe *pipe, size_t n_max)
{
	ssize_t n = note_read(end, splice(end->socket.fd, NULL, pipe->in, NULL, n_max,
					  SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
	int r;

	if (n <= 0) {
		give_pipe(end->relay->pool, pipe);
		return n;
	}
	pipe->n_bytes = (size_t)n;
	end->pipe = pipe;
	r = flush_pipe(end);
	return r < 0 ? r : n;
}

/* Reads once and passes on what the other socket takes now. Returns the number of bytes read, 0 for
 * nothing now or the end, or negative errno. */
static ssize_t move_once(struct relay_end *end, size_t n_max)
{
	struct relay_pipe *pipe = NULL;

	if (end->n_big == N_BIG_TO_SPLICE)
		pipe = take_pipe(end->relay->pool);
	if (pipe)
		return splice_once(end, pipe, n_max);
	return copy_once(end, n_max < RELAY_BUFFER_BYTES ? n_max : RELAY_BUFFER_BYTES);
}

/* ---- hooks ---- */

/* Returns 0, or RELAY_IS_GONE. */
static int ask_allow(struct relay_end *end, size_t wanted, size_t *ret_n)
{
	struct relay *relay = end->relay;
	struct relay_pool *pool = relay->pool;

	*ret_n = wanted;
	if (!relay->hooks->allow)
		return 0;
	/* Before the call, so that relay_resume() from inside it counts. */
	end->is_paused = true;
	*ret_n = relay->hooks->allow(relay->userdata, wanted);
	if (pool->serving != relay)
		return RELAY_IS_GONE;
	if (*ret_n > 0)
		end->is_paused = false;
	if (*ret_n > wanted)
		*ret_n = wanted;
	return 0;
}

/* Returns 0, or RELAY_IS_GONE. */
static int tell_moved(struct relay_end *end, size_t n_bytes)
{
	struct relay *relay = end->relay;
	struct relay_pool *pool = relay->pool;

	if (!relay->hooks->moved)
		return 0;
	relay->hooks->moved(relay->userdata, direction_of(end), n_bytes);
	return pool->serving == relay ? 0 : RELAY_IS_GONE;
}

/* ---- events ---- */

/* Reads a few times. Returns 0, negative errno, or RELAY_IS_GONE. */
static int pump(struct relay_end *end)
{
	for (unsigned i = 0; i < N_READS_PER_TURN && may_read(end); i++) {
		size_t wanted = end->n_big == N_BIG_TO_SPLICE ? PIPE_BYTES : RELAY_BUFFER_BYTES;
		size_t allowed;
		ssize_t n;
		int r = ask_allow(end, wanted, &allowed);

		if (r != 0 || allowed == 0)
			return r;
		n = move_once(end, allowed);
		if (n <= 0)
			return (int)n;
		r = tell_moved(end, (size_t)n);
		if (r != 0)
			return r;
		/* A short read has emptied the socket. */
		if ((size_t)n < allowed && n < RELAY_BUFFER_BYTES)
			return 0;
	}
	return 0;
}

/* Tells the other socket about the end. Nothing waits before it: a socket is not read while bytes
 * of it wait. */
static int pass_on_end(struct relay_end *end)
{
	if (!end->is_at_end || end->is_passed_on)
		return 0;
	if (shutdown(other_end(end)->socket.fd, SHUT_WR) < 0)
		return errno == ENOTCONN ? -ECONNRESET : -errno;
	end->is_passed_on = true;
	return 0;
}

static int socket_error(int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return error == 0 ? -ECONNRESET : -error;
}

/* The other direction goes on at this socket. Returns as pump(). */
static int serve_waiting(struct relay_end *other)
{
	size_t before = 0;
	int r;

	if (other->buffer)
		before = other->buffer->to - other->buffer->from;
	else if (other->pipe)
		before = other->pipe->n_bytes;
	r = flush_end(other);
	if (r < 0)
		return r;
	if (other->buffer && other->buffer->to - other->buffer->from == before)
		return 0;
	if (other->pipe && other->pipe->n_bytes == before)
		return 0;
	return tell_moved(other, 0);
}

/* Returns as pump(). */
static int serve_end(struct relay_end *end, uint32_t events)
{
	struct relay_end *other = other_end(end);
	int r = 0;

	if (is_waiting(other) && events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		r = serve_waiting(other);
	if (r != 0)
		return r;
	/* What arrived before a reset is still there; the read after it fails. */
	if (may_read(end) && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		r = pump(end);
	else if (events & EPOLLERR)
		r = socket_error(end->socket.fd);
	return r != 0 ? r : pass_on_end(end);
}

static int wait_for_more(struct relay_end *end)
{
	uint32_t events = 0;

	if (may_read(end))
		events |= EPOLLIN;
	if (is_waiting(other_end(end)))
		events |= EPOLLOUT;
	return ready_wait(end->relay->ready, &end->socket, events ? events : WAIT_FOR_RESET);
}

static int wait_for_both(struct relay *relay)
{
	int r = wait_for_more(&relay->ends[RELAY_UP]);

	return r < 0 ? r : wait_for_more(&relay->ends[RELAY_DOWN]);
}

static bool is_complete(const struct relay *relay)
{
	return relay->ends[RELAY_UP].is_passed_on && relay->ends[RELAY_DOWN].is_passed_on;
}

static void leave_ready_set(struct relay *relay)
{
	relay->is_running = false;
	for (size_t i = 0; i < N_ELEMENTS(relay->ends); i++)
		(void)ready_wait(relay->ready, &relay->ends[i].socket, 0);
}

static void end_relay(struct relay *relay, int error)
{
	const struct linger at_once = { .l_onoff = 1 };

	leave_ready_set(relay);
	for (size_t i = 0; error < 0 && i < N_ELEMENTS(relay->ends); i++)
		(void)setsockopt(relay->ends[i].socket.fd, SOL_SOCKET, SO_LINGER, &at_once,
				 sizeof(at_once));
	relay->hooks->ended(relay->userdata, error);
}

/*
 * A server may answer and close with bytes of the client unread, which resets the connection. If
 * then the next bytes of the client cannot be sent, the answer is still in the receive queue: pass
 * it on before the reset. Returns 0, or RELAY_IS_GONE.
 */
static int pass_on_rest(struct relay_end *end)
{
	if (flush_end(end) < 0)
		return 0;
	while (may_read(end)) {
		size_t allowed;
		ssize_t n;
		int r = ask_allow(end, RELAY_BUFFER_BYTES, &allowed);

		if (r != 0 || allowed == 0)
			return r;
		n = move_once(end, allowed);
		if (n <= 0)
			return 0;
		r = tell_moved(end, (size_t)n);
		if (r != 0)
			return r;
	}
	return 0;
}

static int pass_on_rests(struct relay *relay)
{
	int r = pass_on_rest(&relay->ends[RELAY_UP]);

	return r != 0 ? r : pass_on_rest(&relay->ends[RELAY_DOWN]);
}

static void serve(struct ready_socket *socket, uint32_t events)
{
	struct relay_end *end =
		(struct relay_end *)((char *)socket - offsetof(struct relay_end, socket));
	struct relay *relay = end->relay;
	struct relay_pool *pool = relay->pool;
	int r;

	pool->serving = relay;
	r = serve_end(end, events);
	if (r == RELAY_IS_GONE || (r < 0 && pass_on_rests(relay) != 0))
		return;
	pool->serving = NULL;
	if (r == 0 && !is_complete(relay))
		r = wait_for_both(relay);
	if (r < 0 || is_complete(relay))
		end_relay(relay, r);
}

/* ---- a relay's life ---- */

int relay_init(struct relay *relay, struct relay_pool *pool, struct ready *ready, int client_fd,
	       int server_fd, const struct relay_hooks *hooks, void *userdata)
{
	if (client_fd < 0 || server_fd < 0)
		return -EBADF;
	*relay = (struct relay){
		.pool = pool, .ready = ready, .hooks = hooks, .userdata = userdata
	};
	for (size_t i = 0; i < N_ELEMENTS(relay->ends); i++)
		relay->ends[i] = (struct relay_end){
			.socket = { .fd = i == RELAY_UP ? client_fd : server_fd, .serve = serve },
			.relay = relay,
		};
	return 0;
}

int relay_add(struct relay *relay, enum relay_direction direction, const void *bytes, size_t n)
{
	return n == 0 ? 0 : keep_bytes(&relay->ends[direction], bytes, n);
}

int relay_start(struct relay *relay)
{
	int r;

	for (size_t i = 0; i < N_ELEMENTS(relay->ends); i++) {
		r = flush_end(&relay->ends[i]);
		if (r < 0)
			return r;
	}
	r = wait_for_both(relay);
	if (r < 0) {
		leave_ready_set(relay);
		return r;
	}
	relay->is_running = true;
	return 0;
}

void relay_resume(struct relay *relay)
{
	for (size_t i = 0; i < N_ELEMENTS(relay->ends); i++)
		relay->ends[i].is_paused = false;
	/* serve() does it after the hook from which this call comes. */
	if (!relay->is_running || relay->pool->serving == relay)
		return;
	/* Only changes events of sockets that are in the set, for which the kernel needs nothing
	 * new. */
	(void)wait_for_both(relay);
}

void relay_deinit(struct relay *relay)
{
	if (!relay->pool)
		return;
	if (relay->pool->serving == relay)
		relay->pool->serving = NULL;
	leave_ready_set(relay);
	for (size_t i = 0; i < N_ELEMENTS(relay->ends); i++) {
		give_buffer(relay->pool, take_ptr(relay->ends[i].buffer));
		give_pipe(relay->pool, take_ptr(relay->ends[i].pipe));
	}
	relay->pool = NULL;
}
