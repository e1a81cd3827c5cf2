/* SPDX-License-Identifier: MIT */

/*
 * The transport shared_memory: both directions in two files, and how a side sleeps
 *
 * A side that finds nothing spins for a short time, then says in its own file what it waits for
 * (SLEEPING), looks once more, and sleeps in the kernel. The other side publishes, then looks at
 * SLEEPING. A full fence on each side between its store and its load makes one of them see the
 * other's; without it both could miss (tests/unit/test-ring-model.c).
 *
 *   the server sleeps in epoll_wait() on an eventfd, edge-triggered, which it never reads or
 *   writes: the client can neither silence it nor make the server block by clearing O_NONBLOCK
 *   the client sleeps on a futex in the server's file, which it can only read, for at most
 *   FUTEX_USEC, then in poll() on the socket, where the server's death is an event
 *
 * Death of the other side is the end of its socket, or of the process of sbx_ring_watch().
 */

#include "ring/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "ring/cells.h"
#include "ring/deadline.h"
#include "ring/endpoint.h"
#include "ring/named.h"
#include "ring/region.h"
#include "ring/spin.h"
#include "ring/stream.h"

/* Committed bytes that are published even with SBX_RING_MORE. */
#define PUBLISH_BYTES 16384

#define FUTEX_USEC 2000
/* After so many wake-ups for nothing in one wait, the eventfd is no longer listened to. */
#define EMPTY_WAKES_MAX 64
#define DEAF_USEC 1000

#define SPINS_PER_CLOCK 64
#define QUICK_PEEKS 64
#define MISSES_PER_LOOK 1024
#define PACKETS_MAX 512
#define PUBLISHES_PER_COUNTERS 64

enum { FROM_DOORBELL, FROM_SOCKET, FROM_PROCESS };

struct shared {
	struct sbx_ring ring;
	struct region region;
	struct flow_producer producer;
	struct flow_consumer consumer;
	int socket;
	int keeper;  /* of a name; its end tells the keeper that this side has left */
	int eventfd; /* the client takes from it, the server only polls it */
	int epoll;   /* server */
	int pidfd;
	bool is_dead; /* the other side */
	struct spin spin;
	unsigned n_publishes;
	unsigned n_misses; /* neither room nor a record */
};

static struct shared *shared_of(struct sbx_ring *ring)
{
	return (struct shared *)(void *)ring;
}

static const struct shared *shared_of_const(const struct sbx_ring *ring)
{
	return (const struct shared *)(const void *)ring;
}

/* ---- the end of the channel ---- */

/* Not inline: its array would give each sent message a stack protector. */
static __attribute__((__noinline__)) void publish_counters(struct shared *shared)
{
	const struct sbx_ring_statistics *now = &shared->ring.statistics;
	const uint64_t counters[SBX_RING_N_COUNTERS] = {
		[SBX_RING_COUNTER_SENT] = now->messages_sent,
		[SBX_RING_COUNTER_RECEIVED] = now->messages_received,
		[SBX_RING_COUNTER_SEND_FAILURES] = now->send_failures,
		[SBX_RING_COUNTER_RECEIVE_FAILURES] = now->receive_failures,
		[SBX_RING_COUNTER_BYTES_SENT] = now->bytes_sent,
		[SBX_RING_COUNTER_BYTES_RECEIVED] = now->bytes_received,
		[SBX_RING_COUNTER_DROPPED] = now->dropped,
		[SBX_RING_COUNTER_FULL] = now->full,
		[SBX_RING_COUNTER_SLEEPS] = now->sleeps,
		[SBX_RING_COUNTER_WAKES] = now->wakes,
		[SBX_RING_COUNTER_HIGH_WATER] = shared->consumer.high_water,
		[SBX_RING_COUNTER_VIOLATION] = (uint64_t)shared->ring.violation,
	};

	for (size_t i = 0; i < SBX_RING_N_COUNTERS; i++)
		shared_store_u64(shared->region.own + SBX_RING_COUNTERS_OFFSET +
					 i * sizeof(counters[0]),
				 counters[i]);
}

static void shared_refuse(struct sbx_ring *ring)
{
	struct shared *shared = shared_of(ring);

	publish_counters(shared);
	shared_store_u32(shared->region.own + SBX_RING_STATE_OFFSET, SBX_RING_STATE_CLOSED);
	(void)shutdown(shared->socket, SHUT_RDWR);
}

/* The other side's state word. 0: open, SBX_RING_CLOSED, or -EPROTO. */
static int other_state(struct shared *shared)
{
	uint32_t state = shared_load_u32_acquire(shared->region.other + SBX_RING_STATE_OFFSET);

	if (state == SBX_RING_STATE_OPEN)
		return 0;
	return state == SBX_RING_STATE_CLOSED ? SBX_RING_CLOSED
					      : ring_violated(&shared->ring, RING_STATE_UNKNOWN);
}

/* ---- waking the other side ---- */

/* A full socket buffer holds wake-ups that the client has not read yet. */
static void wake_by_socket(struct shared *shared)
{
	static const char byte = 0;

	if (send(shared->socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    (errno == EPIPE || errno == ECONNRESET))
		shared->is_dead = true;
}

static void wake_by_futex(struct shared *shared)
{
	uint8_t *word = shared->region.own + SBX_RING_DOORBELL_OFFSET;

	(void)__atomic_fetch_add((uint32_t *)(void *)word, 1, __ATOMIC_SEQ_CST);
	/* Wakes all waiters: with FUTEX_REQUEUE the client could put a thread of its own first. */
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* A write would wait for a server that has cleared O_NONBLOCK and fills the counter just then, and
 * the kernel has no write to an eventfd that never waits. It has such a read, which wakes those who
 * poll for room. */
static void wake_by_eventfd(struct shared *shared)
{
	uint64_t one;
	const struct iovec to = { .iov_base = &one, .iov_len = sizeof(one) };

	(void)!preadv2(shared->eventfd, &to, 1, -1, RWF_NOWAIT);
}

static void wake_other(struct shared *shared, uint32_t sleeping)
{
	shared->ring.statistics.wakes++;
	if (shared->ring.role == SBX_RING_CLIENT)
		wake_by_eventfd(shared);
	else if (sleeping & SBX_RING_SLEEPING_SOCKET)
		wake_by_socket(shared);
	else
		wake_by_futex(shared);
}

/* After this side has published: wakes the other side if it waits for @events. */
static inline void wake_if_asleep(struct shared *shared, uint32_t events)
{
	uint32_t sleeping = shared_load_u32(shared->region.other + SBX_RING_SLEEPING_OFFSET);

	if (__builtin_expect(sleeping & events, 0))
		wake_other(shared, sleeping);
}

/* ---- the end of the other side ---- */

/* Only the ends of the socket and of the process are looked at, whatever the client writes. */
static void poll_for_death(struct shared *shared, short events, int timeout_msec)
{
	struct pollfd polled[2] = {
		{ .fd = shared->socket, .events = events },
		{ .fd = shared->pidfd, .events = POLLIN },
	};
	char wakes[64];

	if (poll(polled, 2, timeout_msec) <= 0)
		return;
	if ((polled[0].revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) ||
	    polled[1].revents != 0)
		shared->is_dead = true;
	/* Each packet is one wake-up, and those that stay are sleeps without rest. */
	for (unsigned n = 0; (polled[0].revents & POLLIN) && n < PACKETS_MAX; n++)
		if (recv(shared->socket, wakes, sizeof(wakes), MSG_DONTWAIT) <= 0)
			break;
}

/* A side that only tries, and never waits, would not learn that the other one is gone. */
static void look_after_misses(struct shared *shared)
{
	if (++shared->n_misses % MISSES_PER_LOOK == 0)
		poll_for_death(shared, POLLRDHUP, 0);
}

/* ---- sending ---- */

/* Is there still a reader? It may close as soon as it has read, so this is asked before a record is
 * published, not after. */
static int look_before_publish(struct shared *shared)
{
	int r = other_state(shared);

	if (__builtin_expect(r == 0 && !shared->is_dead, 1))
		return 0;
	return r == SBX_RING_CLOSED ? -EPIPE : r < 0 ? r : -ECONNRESET;
}

static int shared_reserve(struct sbx_ring *ring, size_t n_bytes, void **ret)
{
	struct shared *shared = shared_of(ring);
	uint8_t *at = NULL;
	int r = shared->region.is_call ? cells_reserve(&shared->producer, n_bytes, &at)
				       : stream_reserve(&shared->producer, n_bytes, &at);

	if (__builtin_expect(r == 0 && !shared->is_dead, 1)) {
		*ret = at;
		return 0;
	}
	if (r < 0)
		return ring_violated(&shared->ring, -r);
	look_after_misses(shared);
	r = look_before_publish(shared);
	return r < 0 ? r : SBX_RING_FULL;
}

static void look_after_publish(struct shared *shared)
{
	wake_if_asleep(shared, SBX_RING_SLEEPING_DATA);
	if (++shared->n_publishes % PUBLISHES_PER_COUNTERS == 0)
		publish_counters(shared);
}

static int shared_flush(struct sbx_ring *ring)
{
	struct shared *shared = shared_of(ring);
	int r;

	/* A record in cells was published by its commit. */
	if (shared->region.is_call || shared->producer.published == shared->producer.tail)
		return 0;
	r = look_before_publish(shared);
	if (r < 0)
		return r;
	stream_publish(&shared->producer);
	shared_fence();
	look_after_publish(shared);
	return 0;
}

static int commit_cells(struct shared *shared, size_t n_bytes, uint32_t kind)
{
	int r = look_before_publish(shared);

	if (r < 0)
		return r;
	cells_commit(&shared->producer, n_bytes, kind);
	look_after_publish(shared);
	return 0;
}

static inline __attribute__((__always_inline__)) int shared_commit(struct sbx_ring *ring,
								   size_t n_bytes, uint32_t kind,
								   unsigned flags)
{
	struct shared *shared = shared_of(ring);

	if (shared->region.is_call)
		return commit_cells(shared, n_bytes, kind);
	stream_commit(&shared->producer, n_bytes, kind);
	if ((flags & SBX_RING_MORE) &&
	    shared->producer.tail - shared->producer.published < PUBLISH_BYTES)
		return 0;
	return shared_flush(ring);
}

static int shared_put(struct sbx_ring *ring, const void *bytes, size_t n_bytes, unsigned flags)
{
	void *at = NULL;

	if (shared_reserve(ring, n_bytes, &at) != 0)
		return TRANSPORT_NOT_DONE;
	shared_copy_in(at, bytes, n_bytes);
	return shared_commit(ring, n_bytes, RING_RECORD_WHOLE, flags);
}

/* ---- receiving ---- */

static int peek_record(struct shared *shared, const void **ret, size_t *ret_n_bytes,
		       uint32_t *ret_kind)
{
	const uint8_t *at = NULL;
	uint32_t n_bytes = 0;
	int r = shared->region.is_call ? cells_peek(&shared->consumer, &at, &n_bytes, ret_kind)
				       : stream_peek(&shared->consumer, &at, &n_bytes, ret_kind);

	if (r < 0)
		return ring_violated(&shared->ring, -r);
	*ret = at;
	*ret_n_bytes = n_bytes;
	return r;
}

/* Nothing was there. What the other side published before its end must be read first: its end is
 * looked at before its records. */
static int peek_at_end(struct shared *shared, const void **ret, size_t *ret_n_bytes,
		       uint32_t *ret_kind)
{
	look_after_misses(shared);

	bool was_dead = shared->is_dead;
	int state = other_state(shared);

	if (state == 0 && !was_dead)
		return SBX_RING_EMPTY;
	if (state < 0)
		return state;

	int r = peek_record(shared, ret, ret_n_bytes, ret_kind);

	if (r != FLOW_NOTHING)
		return r;
	return state == SBX_RING_CLOSED ? SBX_RING_CLOSED : -ECONNRESET;
}

static int shared_peek(struct sbx_ring *ring, const void **ret, size_t *ret_n_bytes,
		       uint32_t *ret_kind)
{
	struct shared *shared = shared_of(ring);
	int r = peek_record(shared, ret, ret_n_bytes, ret_kind);

	return r == FLOW_NOTHING ? peek_at_end(shared, ret, ret_n_bytes, ret_kind) : r;
}

static void shared_release(struct sbx_ring *ring)
{
	struct shared *shared = shared_of(ring);

	if (__builtin_expect(!flow_release(&shared->consumer), 1))
		return;
	shared_fence();
	wake_if_asleep(shared, SBX_RING_SLEEPING_ROOM);
}

static int shared_take(struct sbx_ring *ring)
{
	struct shared *shared = shared_of(ring);
	const void *at;
	size_t n_bytes;
	uint32_t kind;
	int r = peek_record(shared, &at, &n_bytes, &kind);

	if (__builtin_expect(r != 0, 0))
		return r == FLOW_NOTHING ? SBX_RING_EMPTY : TRANSPORT_NOT_DONE;
	if (shared->region.is_call)
		cells_expect_write(&shared->producer);
	if (__builtin_expect(kind != RING_RECORD_WHOLE || n_bytes > ring->n_allocated, 0)) {
		ring->found = (struct record){ at, n_bytes, kind };
		return TRANSPORT_NOT_DONE;
	}
	shared_copy(ring->message, at, n_bytes);
	shared_release(ring);
	ring->message_size = n_bytes;
	return 0;
}

/* ---- waiting ---- */

static bool can_read(struct shared *shared)
{
	return (shared->region.is_call ? cells_is_ready(&shared->consumer)
				       : stream_is_ready(&shared->consumer)) ||
	       other_state(shared) != 0;
}

/* For a record of any size: then a producer does not wake up for each record that is read. */
static bool can_write(struct shared *shared)
{
	int r = flow_find_room(&shared->producer,
			       shared->region.record_max + SBX_RING_CELL_PAYLOAD_OFFSET);

	if (r < 0)
		(void)ring_violated(&shared->ring, -r);
	return r <= 0 || other_state(shared) != 0;
}

static bool is_ready(struct shared *shared, unsigned events)
{
	return shared->is_dead || shared->ring.failure != 0 ||
	       ((events & SBX_RING_READABLE) && can_read(shared)) ||
	       ((events & SBX_RING_WRITABLE) && can_write(shared));
}

static bool look_for(struct shared *shared, unsigned events, uint64_t end)
{
	do {
		for (unsigned i = 0; i < SPINS_PER_CLOCK; i++) {
			if (is_ready(shared, events))
				return true;
			shared_pause();
		}
	} while (deadline_left(end) > 0);
	return false;
}

static bool spin(struct shared *shared, unsigned events, uint64_t deadline)
{
	uint64_t usec = spin_begin(&shared->spin);
	bool is_found;

	if (usec == 0)
		return false;
	is_found = look_for(shared, events, deadline_sooner(deadline, usec));
	spin_end(&shared->spin, is_found);
	shared->ring.n_quick_peeks = shared->spin.usec > 0 ? QUICK_PEEKS : 0;
	return is_found;
}

static void say_sleeping(struct shared *shared, unsigned events, uint32_t how)
{
	bool tells_head = shared->consumer.published != shared->consumer.head;
	uint32_t sleeping = how;

	if (events & SBX_RING_READABLE)
		sleeping |= SBX_RING_SLEEPING_DATA;
	if (events & SBX_RING_WRITABLE)
		sleeping |= SBX_RING_SLEEPING_ROOM;
	/* The other side may need the room while this one sleeps. */
	if (tells_head)
		flow_publish_head(&shared->consumer);
	shared_store_u32(shared->region.own + SBX_RING_SLEEPING_OFFSET, sleeping);
	shared_fence();
	/* Only for news: two sides that wait for room would wake each other without an end. */
	if (tells_head)
		wake_if_asleep(shared, SBX_RING_SLEEPING_ROOM);
}

static void say_awake(struct shared *shared)
{
	shared_store_u32(shared->region.own + SBX_RING_SLEEPING_OFFSET, 0);
}

static void take_server_events(struct shared *shared, int timeout_msec)
{
	struct epoll_event events[3];
	int n = epoll_wait(shared->epoll, events, N_ELEMENTS(events), timeout_msec);

	for (int i = 0; i < n; i++)
		if (events[i].data.u32 != FROM_DOORBELL)
			shared->is_dead = true;
}

static void sleep_as_server(struct shared *shared, uint64_t deadline, unsigned n_before)
{
	if (n_before < EMPTY_WAKES_MAX)
		take_server_events(shared, deadline_msec(deadline));
	else
		poll_for_death(shared, POLLRDHUP,
			       deadline_msec(deadline_sooner(deadline, DEAF_USEC)));
}

/* The first sleep of a wait; @word was read before this side said that it sleeps. */
static void sleep_on_futex(struct shared *shared, uint32_t word, uint64_t deadline)
{
	uint64_t usec = deadline_left(deadline_sooner(deadline, FUTEX_USEC));
	struct timespec timeout = { .tv_nsec = (long)usec * 1000 };

	(void)syscall(SYS_futex, shared->region.other + SBX_RING_DOORBELL_OFFSET, FUTEX_WAIT, word,
		      &timeout, NULL, 0);
}

/* One sleep, until a wake-up, an end, or the deadline. */
static void sleep_once(struct shared *shared, unsigned events, uint64_t deadline, unsigned n_before)
{
	bool is_client = shared->ring.role == SBX_RING_CLIENT;
	bool by_futex = is_client && n_before == 0;
	uint32_t word =
		by_futex ? shared_load_u32(shared->region.other + SBX_RING_DOORBELL_OFFSET) : 0;

	say_sleeping(shared, events, is_client && !by_futex ? SBX_RING_SLEEPING_SOCKET : 0);
	if (!is_ready(shared, events)) {
		shared->ring.statistics.sleeps++;
		if (by_futex)
			sleep_on_futex(shared, word, deadline);
		else if (is_client)
			poll_for_death(shared, POLLIN | POLLRDHUP, deadline_msec(deadline));
		else
			sleep_as_server(shared, deadline, n_before);
	}
	say_awake(shared);
}

static int shared_wait(struct sbx_ring *ring, unsigned events, uint64_t timeout_usec)
{
	struct shared *shared = shared_of(ring);
	uint64_t deadline;

	(void)shared_flush(ring);
	if (is_ready(shared, events))
		return 0;
	if (timeout_usec == 0)
		return SBX_RING_EMPTY;
	deadline = deadline_after(timeout_usec);
	if (spin(shared, events, deadline))
		return 0;
	publish_counters(shared);
	for (unsigned n = 0; deadline_left(deadline) > 0; n++) {
		sleep_once(shared, events, deadline, n);
		if (is_ready(shared, events))
			return 0;
	}
	return SBX_RING_EMPTY;
}

static int shared_arm(struct sbx_ring *ring, unsigned events)
{
	struct shared *shared = shared_of(ring);

	(void)shared_flush(ring);
	if (shared->ring.role == SBX_RING_SERVER)
		take_server_events(shared, 0);
	else
		poll_for_death(shared, POLLIN | POLLRDHUP, 0);
	say_sleeping(shared, events, ring->role == SBX_RING_CLIENT ? SBX_RING_SLEEPING_SOCKET : 0);
	if (!is_ready(shared, events))
		return 0;
	say_awake(shared);
	return 1;
}

/* ---- the rest of the table ---- */

static int epoll_watch(int epoll, int fd, uint32_t events, uint32_t from)
{
	struct epoll_event event = { .events = events, .data.u32 = from };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int shared_watch(struct sbx_ring *ring, int pidfd)
{
	struct shared *shared = shared_of(ring);
	_cleanup_close_ int own = fcntl(pidfd, F_DUPFD_CLOEXEC, 3);

	if (own < 0)
		return -errno;
	if (shared->pidfd >= 0)
		return -EBUSY;
	if (shared->epoll >= 0) {
		int r = epoll_watch(shared->epoll, own, EPOLLIN, FROM_PROCESS);

		if (r < 0)
			return r;
	}
	shared->pidfd = take_fd(&own);
	return 0;
}

static bool shared_is_connected(const struct sbx_ring *ring)
{
	const struct shared *shared = shared_of_const(ring);

	return !shared->is_dead && ring->failure == 0 &&
	       shared_load_u32(shared->region.other + SBX_RING_STATE_OFFSET) == SBX_RING_STATE_OPEN;
}

static size_t shared_count_bytes(const struct sbx_ring *ring)
{
	const struct shared *shared = shared_of_const(ring);
	uint64_t head = shared_load_u64_acquire(shared->region.other + SBX_RING_HEAD_OFFSET);
	uint64_t waiting = shared->producer.tail - head;

	return waiting <= shared->producer.capacity ? waiting : shared->producer.capacity;
}

static size_t shared_count_high_water(const struct sbx_ring *ring)
{
	return shared_of_const(ring)->consumer.high_water;
}

static void shared_close(struct sbx_ring *ring)
{
	struct shared *shared = shared_of(ring);

	if (shared->region.own && shared->region.other) {
		(void)shared_flush(ring);
		publish_counters(shared);
		__atomic_store_n((uint32_t *)(void *)(shared->region.own + SBX_RING_STATE_OFFSET),
				 SBX_RING_STATE_CLOSED, __ATOMIC_RELEASE);
		shared_fence();
		wake_if_asleep(shared, SBX_RING_SLEEPING_DATA | SBX_RING_SLEEPING_ROOM);
	}
	region_deinit(&shared->region);
	close_fd(&shared->epoll);
	close_fd(&shared->eventfd);
	close_fd(&shared->pidfd);
	/* Another process may have the socket, and be the client of the next channel over it. */
	if (shared->ring.role == SBX_RING_CLIENT && shared->keeper < 0 && shared->socket >= 0)
		fd_accept_fds(shared->socket);
	close_fd(&shared->socket);
	close_fd(&shared->keeper);
}

static const struct transport shared_transport = {
	.name = "shared_memory",
	.reserve = shared_reserve,
	.commit = shared_commit,
	.flush = shared_flush,
	.peek = shared_peek,
	.release = shared_release,
	.put = shared_put,
	.take = shared_take,
	.wait = shared_wait,
	.arm = shared_arm,
	.watch = shared_watch,
	.is_connected = shared_is_connected,
	.count_bytes = shared_count_bytes,
	.count_high_water = shared_count_high_water,
	.refuse = shared_refuse,
	.close = shared_close,
};

/* ---- opening ---- */

static void shared_free_ptr(struct shared **owner)
{
	if (*owner)
		shared_close(&(*owner)->ring);
	free(*owner);
	*owner = NULL;
}

static struct shared *shared_new(const struct sbx_ring_config *config, int role, int socket)
{
	struct shared *shared = calloc(1, sizeof(*shared));

	if (!shared) {
		close_fd(&socket);
		return NULL;
	}
	shared->ring.transport = &shared_transport;
	shared->ring.config = *config;
	shared->ring.role = role;
	shared->ring.fd = -EBADF;
	shared->socket = socket;
	shared->keeper = shared->eventfd = shared->epoll = shared->pidfd = -EBADF;
	shared->spin = spin_new(config->spin_usec);
	shared->ring.n_quick_peeks = shared->spin.usec > 0 ? QUICK_PEEKS : 0;
	return shared;
}

static void begin_flows(struct shared *shared)
{
	const struct region *region = &shared->region;

	shared->producer = (struct flow_producer){
		.own = region->own,
		.other = region->other,
		.capacity = region->capacity,
		.nonce = region->own_nonce,
		.record_max = region->record_max,
	};
	shared->consumer = (struct flow_consumer){
		.own = region->own,
		.other = region->other,
		.capacity = region->capacity,
		.nonce = region->other_nonce,
		.record_max = region->record_max,
	};
	shared->ring.record_max = region->record_max;
	shared->ring.config.mode = region->is_call ? SBX_RING_CALL : SBX_RING_STREAM;
	shared->ring.config.total_bytes = 2 * region->capacity;
}

static int begin_polling(struct shared *shared)
{
	int r;

	if (shared->ring.role == SBX_RING_CLIENT) {
		shared->ring.fd = shared->socket;
		return 0;
	}
	shared->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (shared->epoll < 0)
		return -errno;
	shared->ring.fd = shared->epoll;
	/* EPOLLIN: a client that trusts its server may write. */
	r = epoll_watch(shared->epoll, shared->eventfd, EPOLLIN | EPOLLOUT | EPOLLET,
			FROM_DOORBELL);
	return r < 0 ? r : epoll_watch(shared->epoll, shared->socket, EPOLLRDHUP, FROM_SOCKET);
}

static int send_hello(int socket, const struct region_files *files, int eventfd)
{
	static const uint32_t hello[2] = { SBX_RING_MAGIC, SBX_RING_VERSION };
	const int fds[SBX_RING_HELLO_N_FDS] = { files->server_fd, files->client_fd, eventfd };

	return fd_send_now(socket, hello, sizeof(hello), fds, N_ELEMENTS(fds));
}

static uint32_t peer_pid(int socket)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (uint32_t)peer.pid
									      : 0;
}

/* The client of an open channel refuses fds, see shared_open(). */
static int fail_to_send(struct sbx_error *err, int code)
{
	(void)sbx_error_what(err, code, "cannot send the channel over its socket");
	if (code == -EPERM) {
		sbx_error_why(err, "the other end has a channel already, which refuses fds");
		sbx_error_fix(err, "wait until its client has ended, or use a new socket");
	}
	return code;
}

/* The client's file and the hello leave only after the server's file is sealed. */
static int make_as_server(struct shared *shared, struct sbx_error *err)
{
	const struct sbx_ring_config *config = &shared->ring.config;
	_cleanup_(region_files_deinit) struct region_files files = REGION_FILES_INIT;
	int r = region_make(config->total_bytes / 2, config->mode == SBX_RING_CALL,
			    (uint32_t)getpid(), peer_pid(shared->socket), &files, err);

	if (r == 0)
		r = region_map(&files, SBX_RING_SERVER, &shared->region, err);
	if (r < 0)
		return r;
	shared->eventfd = region_make_eventfd();
	if (shared->eventfd < 0)
		return sbx_error_what(err, shared->eventfd,
				      "cannot make an eventfd for the channel");
	r = send_hello(shared->socket, &files, shared->eventfd);
	return r < 0 ? fail_to_send(err, r) : 0;
}

static int fail_to_hear(struct sbx_error *err, int code)
{
	(void)sbx_error_what(err, code, "cannot receive the channel over its socket");
	if (code == -ETIMEDOUT)
		sbx_error_why(err, "the server sent nothing");
	if (code == -ECONNRESET)
		sbx_error_why(err, "the server closed the socket");
	if (code == -EBADMSG || code == -EMSGSIZE)
		sbx_error_why(err, "what arrived is not the hello of a channel");
	return code;
}

/* Neither a pipe, which can raise SIGPIPE, nor a file of a file system in user space: only files
 * without an inode of their own have no type, and of those none has a read of 8 bytes that waits in
 * spite of RWF_NOWAIT, or that takes more than a number. */
static bool is_eventfd(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == 0;
}

static int receive_hello(struct shared *shared, struct region_files *ret_files)
{
	uint64_t deadline = deadline_after(shared->ring.config.timeout_usec);
	uint32_t hello[2];
	int fds[SBX_RING_HELLO_N_FDS];
	size_t n_fds = 0;
	int r = deadline_await(shared->socket, deadline);

	if (r < 0)
		return r;

	ssize_t n =
		fd_receive_now(shared->socket, hello, sizeof(hello), fds, N_ELEMENTS(fds), &n_fds);

	if (n <= 0)
		return n < 0 ? (int)n : -ECONNRESET;
	if (n != sizeof(hello) || n_fds != N_ELEMENTS(fds) || hello[0] != SBX_RING_MAGIC ||
	    hello[1] != SBX_RING_VERSION || !is_eventfd(fds[2])) {
		fd_close_many(fds, n_fds);
		return -EBADMSG;
	}
	ret_files->server_fd = fds[0];
	ret_files->client_fd = fds[1];
	shared->eventfd = fds[2];
	return 0;
}

static int attach_as_client(struct shared *shared, struct sbx_error *err)
{
	_cleanup_(region_files_deinit) struct region_files files = REGION_FILES_INIT;
	int r = receive_hello(shared, &files);

	if (r < 0)
		return fail_to_hear(err, r);
	return region_map(&files, SBX_RING_CLIENT, &shared->region, err);
}

/* poll() of a file in user space may wait for ever, and a write to a pipe may kill this process. */
static int check_given(const struct named_channel *channel, struct sbx_error *err)
{
	if (is_eventfd(channel->eventfd) && endpoint_check_given(channel->socket, NULL) >= 0)
		return 0;
	return error_fill(err, -EPROTO,
			  "its keeper has passed something else than an eventfd and a unix socket",
			  "check that both are of the same version of sbx",
			  "cannot use the channel '%s'", channel->name);
}

/* Through the keeper of a name, which has made the files. */
static int open_by_name(struct shared *shared, const char *name, struct sbx_error *err)
{
	_cleanup_named_channel_ struct named_channel channel = NAMED_CHANNEL_INIT;
	int role = shared->ring.role;
	int r = named_take(name, role, shared->ring.config.timeout_usec, &channel, err);

	if (r < 0)
		return r;
	r = check_given(&channel, err);
	if (r == 0)
		r = region_map(&channel.files, role, &shared->region, err);
	if (r < 0)
		return r;
	if (role == SBX_RING_SERVER) {
		r = named_tell_sealed(&channel, shared->ring.config.timeout_usec, err);
		if (r < 0)
			return r;
	}
	shared->socket = take_fd(&channel.socket);
	shared->eventfd = take_fd(&channel.eventfd);
	shared->keeper = take_fd(&channel.keeper);
	return 0;
}

int shared_open(const struct sbx_ring_config *config, int role, int socket, struct sbx_ring **ret,
		struct sbx_error *err)
{
	__attribute__((__cleanup__(shared_free_ptr))) struct shared *shared =
		shared_new(config, role, socket);
	int r;

	if (!shared)
		return sbx_error_what(err, -ENOMEM, "cannot open a channel");
	if (socket < 0)
		r = open_by_name(shared, config->endpoint, err);
	else if (role == SBX_RING_SERVER)
		r = make_as_server(shared, err);
	else
		r = attach_as_client(shared, err);
	if (r < 0)
		return r;
	fd_refuse_fds(shared->socket);
	begin_flows(shared);
	r = begin_polling(shared);
	if (r < 0)
		return sbx_error_what(err, r, "cannot wait for the channel");
	*ret = &take_ptr(shared)->ring;
	return 0;
}
