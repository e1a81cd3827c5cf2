/* SPDX-License-Identifier: MIT */

/*
 * The kernel's own ways between two processes, used directly: the least that a transport over them
 * needs
 */

#include "ring-bench.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/error.h>
#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "bench.h"

#define MESSAGE_MAX 65536
#define LENGTH_SIZE sizeof(uint32_t)
#define READ_SIZE 262144
#define SOCKET_BUFFER (1024 * 1024)

static int refuse(struct sbx_error *err, int r, const char *what)
{
	return sbx_error_what(err, r, "cannot %s", what);
}

/* ---- connecting ---- */

/* The near process makes a pair and sends the other end. */
static int connect_unix(struct pair_run *run, enum pair_side side, int type)
{
	_cleanup_close_ int own = -EBADF;
	_cleanup_close_ int other = -EBADF;
	int ends[2], r, size = SOCKET_BUFFER;
	size_t n_fds;
	char byte = 0;

	if (side == PAIR_FAR) {
		r = (int)fd_receive(run->socket, &byte, 1, &own, 1, &n_fds);
		return r < 0 ? r : n_fds == 1 ? take_fd(&own) : -EPROTO;
	}
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	own = ends[0];
	other = ends[1];
	(void)setsockopt(own, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	r = fd_send(run->socket, &byte, 1, &other, 1);
	return r < 0 ? r : take_fd(&own);
}

static int connect_tcp_near(struct pair_run *run)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(address);
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || bind(listener, (struct sockaddr *)&address, n) < 0 ||
	    listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&address, &n) < 0 ||
	    send(run->socket, &address, sizeof(address), MSG_NOSIGNAL) < 0)
		return -errno;

	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int connect_tcp_far(struct pair_run *run)
{
	struct sockaddr_in address;
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || recv(run->socket, &address, sizeof(address), 0) != sizeof(address) ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return errno > 0 ? -errno : -EPROTO;
	return take_fd(&fd);
}

static int connect_bare(struct pair_run *run, enum pair_side side)
{
	const struct contender *contender = run->contender;
	int one = 1, fd;

	if (contender->transport != SBX_RING_TCP)
		return connect_unix(run, side,
				    contender->is_datagram ? SOCK_SEQPACKET : SOCK_STREAM);
	fd = side == PAIR_NEAR ? connect_tcp_near(run) : connect_tcp_far(run);
	if (fd >= 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* ---- many messages through a unix stream socket ---- */

int ring_stream_socket_near(struct pair_run *run, struct sbx_error *err)
{
	uint8_t message[MESSAGE_MAX] = { 0 };
	_cleanup_close_ int fd = connect_bare(run, PAIR_NEAR);
	struct pair_clock clock;

	if (fd < 0)
		return refuse(err, fd, "connect two sockets");
	pair_meet(run);
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		int r = fd_write_all(fd, message, run->contender->n_bytes);

		if (r < 0)
			return refuse(err, r, "write into a socket");
		pair_clock_tick(&clock);
	}
	return 0;
}

/* Reads as much as is there, not message by message: the best for the socket. */
int ring_stream_socket_far(struct pair_run *run, struct sbx_error *err)
{
	static uint8_t bytes[READ_SIZE];
	_cleanup_close_ int fd = connect_bare(run, PAIR_FAR);
	uint64_t left = run->n_operations * run->contender->n_bytes;

	if (fd < 0)
		return refuse(err, fd, "connect two sockets");
	pair_meet(run);
	while (left > 0) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n <= 0)
			return refuse(err, n < 0 ? -errno : -EPIPE, "read from a socket");
		left -= (uint64_t)n;
	}
	return 0;
}

/* ---- round trips through a socket ---- */

/* A message and, on a stream, its length before it: two processes need to know where it ends. */
static size_t trip_size(const struct contender *contender)
{
	return contender->n_bytes + (contender->is_datagram ? 0 : LENGTH_SIZE);
}

static int trip_receive(int fd, uint8_t *bytes, size_t n_bytes)
{
	for (size_t at = 0; at < n_bytes;) {
		ssize_t n = recv(fd, bytes + at, MESSAGE_MAX - at, 0);

		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		at += (size_t)n;
	}
	return 0;
}

static int trip_send(int fd, const uint8_t *bytes, size_t n_bytes)
{
	ssize_t n = send(fd, bytes, n_bytes, MSG_NOSIGNAL);

	return n == (ssize_t)n_bytes ? 0 : n < 0 ? -errno : -EIO;
}

int ring_bare_trip_near(struct pair_run *run, struct sbx_error *err)
{
	uint8_t bytes[MESSAGE_MAX] = { 0 };
	size_t n_bytes = trip_size(run->contender);
	_cleanup_close_ int fd = connect_bare(run, PAIR_NEAR);
	struct pair_clock clock;

	if (fd < 0)
		return refuse(err, fd, "connect two sockets");
	pair_meet(run);
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		int r = trip_send(fd, bytes, n_bytes);

		if (r == 0)
			r = trip_receive(fd, bytes, n_bytes);
		if (r < 0)
			return refuse(err, r, "exchange messages over a socket");
		pair_clock_tick(&clock);
	}
	return 0;
}

int ring_bare_trip_far(struct pair_run *run, struct sbx_error *err)
{
	uint8_t bytes[MESSAGE_MAX];
	size_t n_bytes = trip_size(run->contender);
	_cleanup_close_ int fd = connect_bare(run, PAIR_FAR);

	if (fd < 0)
		return refuse(err, fd, "connect two sockets");
	pair_meet(run);
	for (uint64_t i = 0; i < run->n_operations; i++) {
		int r = trip_receive(fd, bytes, n_bytes);

		if (r == 0)
			r = trip_send(fd, bytes, n_bytes);
		if (r < 0)
			return refuse(err, r, "exchange messages over a socket");
	}
	return 0;
}

/* ---- eventfds ---- */

/* Makes both eventfds in the near process. @ret: the one to write, the one to read. */
static int exchange_eventfds(struct pair_run *run, enum pair_side side, int ret[2])
{
	size_t n_fds;
	char byte = 0;

	if (side == PAIR_FAR) {
		int fds[2];
		ssize_t n = fd_receive(run->socket, &byte, 1, fds, 2, &n_fds);

		if (n < 0 || n_fds != 2)
			return n < 0 ? (int)n : -EPROTO;
		ret[0] = fds[1];
		ret[1] = fds[0];
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		ret[i] = eventfd(0, EFD_CLOEXEC);
		if (ret[i] < 0)
			return -errno;
	}
	return fd_send(run->socket, &byte, 1, ret, 2);
}

static int ring_bell(int fd)
{
	uint64_t one = 1;

	return write(fd, &one, sizeof(one)) == sizeof(one) ? 0 : -errno;
}

static int await_bell(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? 0 : -errno;
}

/* The process ends soon: its fds are closed then. */
int ring_eventfd_near(struct pair_run *run, struct sbx_error *err)
{
	struct pair_clock clock;
	int fds[2] = { -EBADF, -EBADF };
	int r = exchange_eventfds(run, PAIR_NEAR, fds);

	if (r < 0)
		return refuse(err, r, "exchange eventfds");
	pair_meet(run);
	pair_clock_start(&clock, run);
	for (uint64_t i = 0; r == 0 && i < run->n_operations; i++) {
		r = ring_bell(fds[0]);
		if (r == 0)
			r = await_bell(fds[1]);
		pair_clock_tick(&clock);
	}
	return r < 0 ? refuse(err, r, "wake the other process") : 0;
}

int ring_eventfd_far(struct pair_run *run, struct sbx_error *err)
{
	int fds[2] = { -EBADF, -EBADF };
	int r = exchange_eventfds(run, PAIR_FAR, fds);

	if (r < 0)
		return refuse(err, r, "exchange eventfds");
	pair_meet(run);
	for (uint64_t i = 0; r == 0 && i < run->n_operations; i++) {
		r = await_bell(fds[1]);
		if (r == 0)
			r = ring_bell(fds[0]);
	}
	return r < 0 ? refuse(err, r, "wake the other process") : 0;
}

/* ---- what an opened channel consists of ---- */

/* One file, mapped as both sides map it: the header and the data, and the data again. */
static int map_twice(size_t capacity)
{
	size_t size = SBX_RING_DATA_OFFSET + capacity, n_mapped = size + capacity;
	_cleanup_close_ int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint8_t *at;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return -errno;
	for (int side = 0; side < 2; side++) {
		at = mmap(NULL, n_mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED ||
		    mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
			 fd, 0) == MAP_FAILED ||
		    mmap(at + size, capacity, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
			 SBX_RING_DATA_OFFSET) == MAP_FAILED ||
		    munmap(at, n_mapped) < 0)
			return -errno;
	}
	return 0;
}

int ring_files_near(struct pair_run *run, struct sbx_error *err)
{
	struct pair_clock clock;
	int r = 0;

	pair_clock_start(&clock, run);
	for (uint64_t i = 0; r == 0 && i < run->n_operations; i++) {
		r = map_twice(SBX_RING_CAPACITY_DEFAULT);
		if (r == 0)
			r = map_twice(SBX_RING_CAPACITY_DEFAULT);
		pair_clock_tick(&clock);
	}
	return r < 0 ? refuse(err, r, "map two files") : 0;
}
