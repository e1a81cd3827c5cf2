/* SPDX-License-Identifier: MIT */

/*
 * Channels over a unix socket, or TCP on the loopback
 *
 * The bytes of each direction:
 *
 *   message  u32 little-endian length, at most SBX_RING_MESSAGE_MAX; then so many bytes
 *   goodbye  u32 0xffffffff: the side has closed the channel. An end without it is a death
 *   welcome  u32 0xfffffffe: TCP only, the first word of each side. A side asks the kernel for the
 *            user of the other one, which the kernel does not know any more if that side has sent
 *            all and is gone; so a side waits for this word before it sends messages
 *
 * On SOCK_SEQPACKET these bytes are cut into packets of at most PACKET_MAX. Where a packet ends has
 * no meaning, so there is nothing in it that the peer could get wrong.
 *
 * No call blocks, but the one in a wait for ever: each passes MSG_DONTWAIT. O_NONBLOCK belongs to
 * the file description, and another process that shares it could clear the flag. What the kernel
 * does not take stays in the output buffer and goes with a later call; flush tells whether
 * something is left.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/le32.h"
#include "base/moment.h"
#include "ring/channel.h"
#include "ring/deadline.h"
#include "ring/endpoint.h"
#include "ring/memory.h"
#include "ring/queue.h"
#include "ring/spin.h"
#include "ring/violation.h"

#define HEADER_SIZE 4
#define GOODBYE 0xffffffffu
#define WELCOME 0xfffffffeu

#define PACKET_MAX ((size_t)65536)
#define INPUT_SIZE ((size_t)262144)
/* Messages sent with SBX_RING_MORE wait until there are so many bytes. */
#define BATCH_SIZE 4096
/* Reads in one call: a peer that sends as fast as we read does not keep us in it. */
#define READS_MAX 64
/* Longest wait for the peer to take the last bytes, whatever the time-out. */
#define LINGER_USEC_MAX UINT64_C(5000000)

#define NOT_CONNECTED 1
#define UNARMED UINT32_MAX

struct socket_ring {
	struct sbx_ring ring;
	struct endpoint endpoint; /* listens until there is a client */
	int socket;		  /* -EBADF: not connected yet */
	int pidfd;		  /* of sbx_ring_watch(), or -EBADF */
	bool is_packet;
	bool awaits_welcome;
	struct spin spin;

	struct queue in;
	size_t n_peeked; /* bytes of the record that peek returned, with its header; 0: none */
	bool is_closed;	 /* the peer said goodbye */
	bool is_dry;	 /* the last read took all that was there */
	bool is_at_end;	 /* nothing more comes */
	bool is_exited;	 /* the process of pidfd has ended */

	struct queue out;
	size_t n_wanted;   /* room that reserve or flush lacked, SIZE_MAX: all of it */
	size_t n_deferred; /* bytes committed with SBX_RING_MORE since the last send() */
	bool is_broken;	   /* the kernel takes no more: the peer's end is gone */

	/* Events of the socket in the epoll. UNARMED: it is not there, because the kernel's
	 * callback into the epoll costs each message time, also for a side that never polls. */
	uint32_t armed;
};

static struct socket_ring *of(struct sbx_ring *ring)
{
	return (struct socket_ring *)(void *)ring;
}

static const struct socket_ring *of_const(const struct sbx_ring *ring)
{
	return (const struct socket_ring *)(const void *)ring;
}

/* ---- ends ---- */

/* The other side's violation has ended the channel. */
static void socket_refuse(struct sbx_ring *ring)
{
	(void)shutdown(of(ring)->socket, SHUT_RDWR);
}

static bool has_exited(struct socket_ring *s)
{
	struct pollfd pidfd = { .fd = s->pidfd, .events = POLLIN };

	if (!s->is_exited && s->pidfd >= 0)
		s->is_exited = poll(&pidfd, 1, 0) > 0;
	return s->is_exited;
}

/* Why can nothing be sent any more? 0 if it can. */
static int send_failure(const struct socket_ring *s)
{
	if (s->ring.failure)
		return s->ring.failure;
	if (s->is_closed)
		return -EPIPE;
	return s->is_broken || s->is_at_end || s->is_exited ? -ECONNRESET : 0;
}

/* ---- input ---- */

/* How many bytes does the first message need, as far as is known? */
static size_t count_needed(const struct socket_ring *s)
{
	uint32_t length;

	if (queue_len(&s->in) < HEADER_SIZE)
		return HEADER_SIZE;
	length = le32_load(s->in.bytes + s->in.begin);
	return HEADER_SIZE + (length <= SBX_RING_MESSAGE_MAX ? length : 0);
}

/*
 * Room for one read. A length is only a claim: the buffer doubles when it is full of bytes that
 * have arrived. The first part of a message moves to the front once, where the rest would not fit.
 * A peeked record stays where it is.
 */
static int make_input_room(struct socket_ring *s)
{
	struct queue *in = &s->in;
	size_t needed = count_needed(s), least = s->is_packet ? PACKET_MAX : 1;
	size_t size = in->size * 2 < needed ? in->size * 2 : needed;

	if (in->size == 0)
		return queue_grow(in, INPUT_SIZE);
	if (s->n_peeked > 0)
		return in->size - in->end >= least ? 0 : -ENOBUFS;
	if (in->begin > 0 && (in->size - in->begin < needed || in->size - in->end < least))
		queue_move_to_front(in);
	if (in->size - in->end >= least)
		return 0;
	return queue_grow(in, size < in->end + PACKET_MAX ? in->end + PACKET_MAX : size);
}

/* Returns a read's bytes, 0 at the end of the stream, or negative errno; -EAGAIN: nothing. */
static ssize_t read_some(struct socket_ring *s, int flags)
{
	size_t room;
	ssize_t n;
	int r = make_input_room(s);

	if (r < 0)
		return r;
	/* On a stream this flag means: throw the bytes away. */
	if (s->is_packet)
		flags |= MSG_TRUNC;
	room = s->in.size - s->in.end;
	n = recv(s->socket, s->in.bytes + s->in.end, room, flags);
	/* A unix socket reports once, before packets that are still there, that the peer closed its
	 * end without reading everything. */
	if (n < 0 && (errno == ECONNRESET || errno == EINTR))
		n = recv(s->socket, s->in.bytes + s->in.end, room, flags);
	if (n < 0) {
		s->is_dry = errno == EAGAIN || errno == EINTR;
		return errno == EINTR ? -EAGAIN : -errno;
	}
	s->is_dry = !s->is_packet && (size_t)n < room;
	if ((size_t)n > room)
		return ring_violated(&s->ring, RING_LENGTH_OVER_LIMIT);
	s->in.end += (size_t)n;
	if (s->ring.statistics.high_water_bytes < queue_len(&s->in))
		s->ring.statistics.high_water_bytes = queue_len(&s->in);
	return n;
}

/* Reads once. 1: there are new bytes, or the end; 0: nothing came; or negative errno. */
static int pull_with(struct socket_ring *s, int flags)
{
	bool was_exited = s->is_exited;
	ssize_t n = read_some(s, flags);

	if (n > 0 || n == -ENOMEM || n == -ENOBUFS || s->ring.failure)
		return n > 0 ? 1 : (int)n;
	/* The process may have sent its last bytes after our read and before its exit. */
	if (n == -EAGAIN && !was_exited)
		return has_exited(s) ? pull_with(s, MSG_DONTWAIT) : 0;
	s->is_at_end = true;
	return 1;
}

static int pull(struct socket_ring *s)
{
	return pull_with(s, MSG_DONTWAIT);
}

/* The first word: does it begin a message that is complete? 0, SBX_RING_EMPTY, SBX_RING_CLOSED or
 * -EPROTO. */
static int look(struct socket_ring *s, size_t *ret_n_bytes)
{
	size_t len = queue_len(&s->in);
	uint32_t length;

	if (len < HEADER_SIZE)
		return SBX_RING_EMPTY;
	length = le32_load(s->in.bytes + s->in.begin);
	if (length == GOODBYE) {
		s->is_closed = true;
		return SBX_RING_CLOSED;
	}
	if (length > SBX_RING_MESSAGE_MAX)
		return ring_violated(&s->ring, RING_LENGTH_OVER_LIMIT);
	*ret_n_bytes = length;
	return len - HEADER_SIZE < length ? SBX_RING_EMPTY : 0;
}

/* Finds the goodbye after messages that are not read yet, which tells a close from a death. */
static void learn_end(struct socket_ring *s)
{
	size_t at;

	for (int i = 0; i < READS_MAX && !s->is_at_end; i++)
		if (pull(s) <= 0)
			break;
	at = s->in.begin;
	while (s->in.end - at >= HEADER_SIZE && !s->is_closed) {
		uint32_t length = le32_load(s->in.bytes + at);

		s->is_closed = length == GOODBYE;
		if (length > s->in.end - at - HEADER_SIZE)
			return;
		at += HEADER_SIZE + length;
	}
}

static size_t output_limit(const struct socket_ring *s)
{
	return s->ring.config.total_bytes / 2;
}

/* ---- connecting ---- */

static int set_events(struct socket_ring *s, int operation, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };

	return epoll_ctl(s->ring.fd, operation, fd, &event) < 0 ? -errno : 0;
}

/* With the kernel's default the two sides of a unix socket take turns for messages of 64 KiB; TCP
 * adapts its buffer. The kernel doubles what is set, for its own structures, and may grant less. */
static void widen_buffer(const struct socket_ring *s)
{
	size_t limit = output_limit(s);
	int now = 0, wanted = (int)(limit < INT32_MAX / 2 ? limit : INT32_MAX / 2);
	socklen_t size = sizeof(now);

	if (s->ring.config.transport == SBX_RING_UNIX_SOCKET &&
	    getsockopt(s->socket, SOL_SOCKET, SO_SNDBUF, &now, &size) == 0 && now / 2 < wanted)
		(void)setsockopt(s->socket, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
}

static int add_word(struct socket_ring *s, uint32_t word)
{
	int r = queue_make_room(&s->out, HEADER_SIZE);

	if (r < 0)
		return r;
	le32_store(s->out.bytes + s->out.end, word);
	s->out.end += HEADER_SIZE;
	return 0;
}

/* Over TCP each side says that it knows the user of the other one before it gets messages: the
 * kernel tells the user only while the other side has its socket open. */
static int begin_welcome(struct socket_ring *s)
{
	s->awaits_welcome = true;
	return add_word(s, WELCOME);
}

static int adopt(struct socket_ring *s, int socket)
{
	s->socket = socket;
	fd_refuse_fds(socket);
	widen_buffer(s);
	return s->ring.config.transport == SBX_RING_TCP ? begin_welcome(s) : 0;
}

static int accept_client(struct socket_ring *s)
{
	bool is_tcp = s->endpoint.is_tcp;
	int r, fd = endpoint_accept(&s->endpoint);

	if (fd < 0)
		return fd == -EAGAIN ? NOT_CONNECTED : fd;
	/* A channel has one client. */
	(void)set_events(s, EPOLL_CTL_DEL, s->endpoint.listener, 0);
	endpoint_deinit(&s->endpoint);
	r = adopt(s, fd);
	/* Without the welcome the channel would hang. */
	s->ring.failure = r;
	return r < 0 || !is_tcp ? r : NOT_CONNECTED;
}

static int push(struct socket_ring *s);

static int read_welcome(struct socket_ring *s)
{
	int sent = push(s);

	if (sent < 0)
		return sent;
	while (queue_len(&s->in) < HEADER_SIZE) {
		int r = s->is_at_end ? -ECONNRESET : pull(s);

		if (r <= 0)
			return r < 0 ? r : NOT_CONNECTED;
	}
	if (le32_load(s->in.bytes + s->in.begin) != WELCOME)
		return ring_violated(&s->ring, RING_STATE_UNKNOWN);
	queue_drop(&s->in, HEADER_SIZE);
	s->awaits_welcome = false;
	return 0;
}

/* 0: connected; NOT_CONNECTED; or negative errno. Almost always the first line. */
static int connect_at_last(struct socket_ring *s)
{
	if (s->socket >= 0 && !s->awaits_welcome)
		return s->ring.failure;
	if (s->ring.failure)
		return s->ring.failure;
	return s->socket < 0 ? accept_client(s) : read_welcome(s);
}

/* ---- output ---- */

/* One message may be longer than the limit. */
static bool has_room(const struct socket_ring *s, size_t n_bytes)
{
	size_t len = queue_len(&s->out), limit = output_limit(s);

	return len == 0 || (len <= limit && n_bytes <= limit - len);
}

static ssize_t write_some(struct socket_ring *s)
{
	size_t n_bytes = queue_len(&s->out);
	ssize_t n;

	if (s->is_packet && n_bytes > PACKET_MAX)
		n_bytes = PACKET_MAX;
	do
		n = send(s->socket, s->out.bytes + s->out.begin, n_bytes,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* 0, SBX_RING_FULL if the kernel takes no more now, or why it never will. */
static int push(struct socket_ring *s)
{
	s->n_deferred = 0;
	while (queue_len(&s->out) > 0) {
		ssize_t n = write_some(s);

		if (n == -EAGAIN || n == -ENOBUFS || n == -ENOMEM)
			return SBX_RING_FULL;
		if (n < 0) {
			s->is_broken = true;
			queue_drop(&s->out, queue_len(&s->out));
			learn_end(s);
			return send_failure(s);
		}
		queue_drop(&s->out, (size_t)n);
	}
	return 0;
}

static int socket_reserve(struct sbx_ring *ring, size_t n_bytes, void **ret)
{
	struct socket_ring *s = of(ring);
	int r = connect_at_last(s);

	if (r == 0)
		r = send_failure(s);
	if (r < 0)
		return r;
	if (r == 0 && !has_room(s, HEADER_SIZE + n_bytes)) {
		r = push(s);
		if (r < 0)
			return r;
	}
	s->n_wanted = HEADER_SIZE + n_bytes;
	if (r == NOT_CONNECTED || !has_room(s, s->n_wanted))
		return SBX_RING_FULL;
	r = queue_make_room(&s->out, s->n_wanted);
	if (r < 0)
		return r;
	s->n_wanted = 0;
	s->out.is_held = true;
	*ret = s->out.bytes + s->out.end + HEADER_SIZE;
	return 0;
}

/* The record is a whole message: @kind has both SBX_RING_RECORD_BEGIN and _END. */
static int socket_commit(struct sbx_ring *ring, size_t n_bytes, uint32_t kind, unsigned flags)
{
	struct socket_ring *s = of(ring);
	int r;

	le32_store(s->out.bytes + s->out.end, (uint32_t)n_bytes);
	s->out.end += HEADER_SIZE + n_bytes;
	s->out.is_held = false;
	s->n_deferred += HEADER_SIZE + n_bytes;
	if ((flags & SBX_RING_MORE) && s->n_deferred < BATCH_SIZE)
		return 0;
	r = push(s);
	return r < 0 ? r : 0;
}

static int socket_flush(struct sbx_ring *ring)
{
	struct socket_ring *s = of(ring);
	int r = connect_at_last(s);

	if (r == NOT_CONNECTED || r < 0)
		return r < 0 ? r : 0;
	r = send_failure(s);
	if (r == 0)
		r = push(s);
	if (r == SBX_RING_FULL)
		s->n_wanted = SIZE_MAX;
	return r;
}

/* ---- records ---- */

static int socket_peek(struct sbx_ring *ring, const void **ret, size_t *ret_n_bytes,
		       uint32_t *ret_kind)
{
	struct socket_ring *s = of(ring);
	int n_reads = 0, r = connect_at_last(s);
	size_t n_bytes;

	if (r != 0)
		return r == NOT_CONNECTED ? SBX_RING_EMPTY : r;
	while ((r = look(s, &n_bytes)) == SBX_RING_EMPTY) {
		if (s->is_at_end)
			return -ECONNRESET;
		r = n_reads++ < READS_MAX ? pull(s) : 0;
		if (r <= 0)
			return r < 0 ? r : SBX_RING_EMPTY;
	}
	if (r != 0)
		return r;
	s->n_peeked = HEADER_SIZE + n_bytes;
	*ret = s->in.bytes + s->in.begin + HEADER_SIZE;
	*ret_n_bytes = n_bytes;
	*ret_kind = SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END;
	return 0;
}

static void socket_release(struct sbx_ring *ring)
{
	struct socket_ring *s = of(ring);

	queue_drop(&s->in, s->n_peeked);
	s->n_peeked = 0;
}

/* ---- waiting ---- */

static bool is_readable(struct socket_ring *s)
{
	size_t n_bytes, n_peeked = s->n_peeked;
	const void *bytes;
	uint32_t kind;
	int r = socket_peek(&s->ring, &bytes, &n_bytes, &kind);

	s->n_peeked = n_peeked;
	return r != SBX_RING_EMPTY;
}

/* Without reading what it has sent. */
static bool has_hung_up(struct socket_ring *s)
{
	struct pollfd socket = { .fd = s->socket, .events = POLLRDHUP };

	return has_exited(s) || poll(&socket, 1, 0) > 0;
}

/* Publishes, and reads nothing. An end counts as every event. */
static bool is_possible_unread(struct socket_ring *s, unsigned events)
{
	int r = connect_at_last(s);

	if (r == NOT_CONNECTED)
		return false;
	if (r < 0 || send_failure(s) < 0 || push(s) < 0)
		return true;
	if (!(events & SBX_RING_WRITABLE) || !has_room(s, s->n_wanted))
		return false;
	s->n_wanted = 0;
	return true;
}

static bool is_possible(struct socket_ring *s, unsigned events)
{
	return is_possible_unread(s, events) ||
	       (events == 0 ? has_hung_up(s) : (events & SBX_RING_READABLE) && is_readable(s));
}

/* What must the kernel report about the socket, as POLL* and EPOLL*, which are the same numbers? */
static uint32_t interest(const struct socket_ring *s, unsigned events)
{
	if (s->socket < 0 || s->awaits_welcome)
		return EPOLLIN;
	return ((events & SBX_RING_READABLE) ? (uint32_t)EPOLLIN : 0) |
	       (events == 0 ? (uint32_t)EPOLLRDHUP : 0) |
	       (queue_len(&s->out) > 0 ? (uint32_t)EPOLLOUT : 0);
}

/* Returns false at the deadline. */
static bool sleep_until(struct socket_ring *s, uint32_t events, uint64_t deadline)
{
	uint64_t left = deadline_left(deadline);
	struct timespec timeout = moment_timespec(left);
	struct pollfd fds[] = {
		{ .fd = s->socket < 0 ? s->endpoint.listener : s->socket, .events = (short)events },
		{ .fd = s->is_exited ? -EBADF : s->pidfd, .events = POLLIN },
	};

	if (left == 0)
		return false;
	s->ring.statistics.sleeps++;
	if (ppoll(fds, N_ELEMENTS(fds), deadline == SBX_RING_FOREVER ? NULL : &timeout, NULL) < 0)
		return errno == EINTR;
	if (fds[1].revents)
		s->is_exited = true;
	/* A hang-up is reported again and again, so it must end the wait. */
	if (s->socket >= 0 && (fds[0].revents & (POLLHUP | POLLERR))) {
		s->is_broken = true;
		learn_end(s);
	}
	return true;
}

static bool spin(struct socket_ring *s, unsigned events, uint64_t deadline)
{
	uint64_t usec = spin_begin(&s->spin);
	uint64_t end = usec > 0 ? deadline_sooner(deadline, usec) : 0;
	bool is_found = false;

	if (usec == 0)
		return false;
	while (!is_found && deadline_left(end) > 0) {
		shared_pause();
		is_found = is_possible(s, events);
	}
	spin_end(&s->spin, is_found);
	return is_found;
}

/*
 * A wait for ever, for nothing but bytes: recv() itself sleeps, which costs a system call less than
 * poll() before it. Returns false where only poll() will do, as if another process has set
 * O_NONBLOCK.
 */
static bool sleep_in_read(struct socket_ring *s, unsigned events, uint64_t deadline)
{
	if (deadline != SBX_RING_FOREVER || events != SBX_RING_READABLE || s->pidfd >= 0 ||
	    s->socket < 0 || s->awaits_welcome || queue_len(&s->out) > 0)
		return false;
	s->ring.statistics.sleeps++;
	return pull_with(s, 0) != 0;
}

static int socket_wait(struct sbx_ring *ring, unsigned events, uint64_t timeout_usec)
{
	struct socket_ring *s = of(ring);
	uint64_t deadline;
	size_t n_bytes;
	/* What sleeps looks for more as well as another read does. */
	bool is_read = timeout_usec > 0 && s->is_dry && look(s, &n_bytes) == SBX_RING_EMPTY;

	if (is_read ? is_possible_unread(s, events) : is_possible(s, events))
		return 0;
	if (timeout_usec == 0)
		return SBX_RING_EMPTY;
	deadline = deadline_after(timeout_usec);
	if (spin(s, events, deadline))
		return 0;
	while (sleep_in_read(s, events, deadline) || sleep_until(s, interest(s, events), deadline))
		if (is_possible(s, events))
			return 0;
	return SBX_RING_EMPTY;
}

static int socket_arm(struct sbx_ring *ring, unsigned events)
{
	struct socket_ring *s = of(ring);
	uint32_t wanted;
	int r;

	if (is_possible(s, events))
		return 1;
	wanted = interest(s, events);
	if (s->socket < 0 || s->armed == wanted)
		return 0;
	r = set_events(s, s->armed == UNARMED ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, s->socket, wanted);
	if (r == 0)
		s->armed = wanted;
	return r;
}

static int socket_watch(struct sbx_ring *ring, int pidfd)
{
	struct socket_ring *s = of(ring);
	_cleanup_close_ int own = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
	int r;

	if (own < 0)
		return -errno;
	if (s->pidfd >= 0)
		return -EBUSY;
	r = set_events(s, EPOLL_CTL_ADD, own, EPOLLIN);
	if (r < 0)
		return r;
	s->pidfd = take_fd(&own);
	return 0;
}

static bool socket_is_connected(const struct sbx_ring *ring)
{
	const struct socket_ring *s = of_const(ring);

	return s->socket >= 0 && !s->awaits_welcome && send_failure(s) == 0;
}

static size_t socket_count_bytes(const struct sbx_ring *ring)
{
	return queue_len(&of_const(ring)->out);
}

/* ---- closing ---- */

/* Gives the peer until the time-out to take what is left. */
static void linger(struct socket_ring *s)
{
	uint64_t timeout = s->ring.config.timeout_usec, deadline;

	deadline = deadline_after(timeout < LINGER_USEC_MAX ? timeout : LINGER_USEC_MAX);
	while (push(s) == SBX_RING_FULL && !has_exited(s))
		if (!sleep_until(s, EPOLLOUT, deadline))
			return;
}

/* Input that is left unread makes the kernel reset the connection, and a reset of TCP also discards
 * what the peer has not read yet. */
static void discard_input(struct socket_ring *s)
{
	socket_release(&s->ring);
	for (int i = 0; i < READS_MAX && !s->is_at_end && !s->ring.failure; i++) {
		queue_drop(&s->in, queue_len(&s->in));
		if (pull(s) <= 0)
			return;
	}
}

static void socket_ring_deinit(struct socket_ring *s)
{
	close_fd(&s->socket);
	close_fd(&s->ring.fd);
	close_fd(&s->pidfd);
	endpoint_deinit(&s->endpoint);
	free(s->in.bytes);
	free(s->out.bytes);
}

static void socket_close(struct sbx_ring *ring)
{
	struct socket_ring *s = of(ring);

	/* The goodbye may come after a welcome that the other side has not taken yet. */
	if (s->socket >= 0 && send_failure(s) == 0 && add_word(s, GOODBYE) == 0) {
		linger(s);
		(void)shutdown(s->socket, SHUT_WR);
		discard_input(s);
	}
	socket_ring_deinit(s);
}

/* ---- opening ---- */

#define TRANSPORT(its_name)                                                                        \
	{                                                                                          \
		.name = its_name, .reserve = socket_reserve, .commit = socket_commit,              \
		.flush = socket_flush, .peek = socket_peek, .release = socket_release,             \
		.wait = socket_wait, .arm = socket_arm, .watch = socket_watch,                     \
		.is_connected = socket_is_connected, .count_bytes = socket_count_bytes,            \
		.is_private = true, .refuse = socket_refuse, .close = socket_close,                \
	}

static const struct transport unix_transport = TRANSPORT("unix_socket");
static const struct transport tcp_transport = TRANSPORT("tcp");

static int open_given(struct socket_ring *s, int socket, struct sbx_error *err)
{
	int type;

	s->socket = socket;
	if (s->ring.config.transport == SBX_RING_TCP)
		return error_fill(err, -EINVAL, "a channel over TCP is opened by its endpoint",
				  "set ipc_endpoint, or use unix_socket",
				  "cannot open a channel over fd %d", socket);
	type = endpoint_check_given(socket, err);
	if (type < 0)
		return type;
	s->is_packet = type == SOCK_SEQPACKET;
	return 0;
}

static int open_endpoint(struct socket_ring *s, struct sbx_error *err)
{
	const struct sbx_ring_config *config = &s->ring.config;

	s->is_packet = config->is_datagram;
	if (s->ring.role == SBX_RING_SERVER)
		return endpoint_listen(config, &s->endpoint, &s->ring.endpoint, err);
	s->socket = endpoint_connect(config, err);
	return s->socket < 0 ? s->socket : 0;
}

static int make_pollable(struct socket_ring *s)
{
	s->ring.fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->ring.fd < 0)
		return -errno;
	return s->socket < 0 ? set_events(s, EPOLL_CTL_ADD, s->endpoint.listener, EPOLLIN)
			     : adopt(s, s->socket);
}

static void free_unopened(struct socket_ring **owner)
{
	struct socket_ring *s = *owner;

	if (!s)
		return;
	socket_ring_deinit(s);
	free(s->ring.endpoint);
	free(s);
}

static int refuse(int code, struct sbx_error *err)
{
	return sbx_error_what(err, code, "cannot open a channel over a socket");
}

int socket_open(const struct sbx_ring_config *config, int role, int socket, struct sbx_ring **ret,
		struct sbx_error *err)
{
	_cleanup_(free_unopened) struct socket_ring *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		close_fd(&socket);
		return refuse(-ENOMEM, err);
	}
	*s = (struct socket_ring){
		.ring = { .transport = config->transport == SBX_RING_TCP ? &tcp_transport
									 : &unix_transport,
			  .config = *config,
			  .role = role,
			  .record_max = SBX_RING_MESSAGE_MAX,
			  .fd = -EBADF },
		.endpoint = ENDPOINT_INIT,
		.socket = -EBADF,
		.pidfd = -EBADF,
		.armed = UNARMED,
		.spin = spin_new(config->spin_usec),
	};
	r = socket >= 0 ? open_given(s, socket, err) : open_endpoint(s, err);
	if (r < 0)
		return r;
	r = make_pollable(s);
	if (r < 0)
		return refuse(r, err);
	*ret = &take_ptr(s)->ring;
	return 0;
}
