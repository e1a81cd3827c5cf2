/* SPDX-License-Identifier: MIT */

/*
 * The floor of proxy.py: a bare relay, proxy-floor PORT ORIGIN-PORT
 *
 * It accepts, connects to one server and copies, with the calls that a relay cannot do without:
 * read() and write() at first, splice() through a pipe of the connection once a stream is big.
 * No HTTP, no policy, no limits, no records, no names.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_EVENTS 256
#define BUFFER_BYTES 65536
#define PIPE_BYTES (256 * 1024)
#define BIG_BYTES 16384
#define N_BIG 4

/* The bytes from one socket of a tunnel, on their way to the other. */
struct side {
	struct tunnel *tunnel;
	int fd;
	int pipe[2];
	size_t n_piped;
	char *kept; /* what could not be written */
	size_t from, to;
	unsigned n_big;
	bool is_at_end, is_passed_on;
};

struct tunnel {
	struct side sides[2];
	struct tunnel *next_dead;
	bool is_dead;
};

static struct side *other(struct side *side)
{
	return &side->tunnel->sides[side == &side->tunnel->sides[0]];
}

static int flush_side(struct side *side)
{
	while (side->n_piped > 0) {
		ssize_t n = splice(side->pipe[0], NULL, other(side)->fd, NULL, side->n_piped,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n <= 0)
			return -errno;
		side->n_piped -= (size_t)n;
	}
	if (side->kept) {
		ssize_t n = write(other(side)->fd, side->kept + side->from, side->to - side->from);

		if (n < 0)
			return -errno;
		side->from += (size_t)n;
		if (side->from < side->to)
			return -EAGAIN;
		free(side->kept);
		side->kept = NULL;
	}
	return 0;
}

/* gcc's analyser does not follow @side through epoll's pointer and calls each store into it a leak;
 * tunnel_close() frees the bytes. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static int keep(struct side *side, const char *bytes, size_t n)
{
	char *kept = malloc(n);

	if (!kept)
		return -ENOMEM;
	memcpy(kept, bytes, n);
	free(side->kept);
	side->kept = kept;
	side->from = 0;
	side->to = n;
	return -EAGAIN;
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif

static ssize_t note(struct side *side, ssize_t n)
{
	if (n < 0)
		return -errno;
	if (n == 0)
		side->is_at_end = true;
	side->n_big = n < BIG_BYTES ? 0 : side->n_big < N_BIG ? side->n_big + 1 : N_BIG;
	return n;
}

static ssize_t move_once(struct side *side)
{
	static char buffer[BUFFER_BYTES];
	ssize_t n, n_written;

	if (side->n_big == N_BIG) {
		if (side->pipe[0] < 0 && (pipe2(side->pipe, O_NONBLOCK | O_CLOEXEC) < 0 ||
					  fcntl(side->pipe[1], F_SETPIPE_SZ, PIPE_BYTES) < 0))
			return -errno;
		n = note(side, splice(side->fd, NULL, side->pipe[1], NULL, PIPE_BYTES,
				      SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
		side->n_piped = n > 0 ? (size_t)n : 0;
		return n;
	}
	n = note(side, read(side->fd, buffer, sizeof(buffer)));
	if (n <= 0)
		return n;
	n_written = write(other(side)->fd, buffer, (size_t)n);
	if (n_written < 0 && errno != EAGAIN)
		return -errno;
	if (n_written < 0)
		n_written = 0;
	return n_written < n ? keep(side, buffer + n_written, (size_t)(n - n_written)) : n;
}

/* Moves bytes until one of the sockets is not ready. False: the tunnel has failed. */
static bool pump(struct side *side)
{
	for (;;) {
		ssize_t n = flush_side(side);

		if (n == 0 && side->is_at_end) {
			if (!side->is_passed_on)
				(void)shutdown(other(side)->fd, SHUT_WR);
			side->is_passed_on = true;
			return true;
		}
		if (n == 0)
			n = move_once(side);
		if (n < 0)
			return n == -EAGAIN;
	}
}

static void tunnel_close(struct tunnel *tunnel, struct tunnel **dead)
{
	for (size_t i = 0; i < 2; i++) {
		struct side *side = &tunnel->sides[i];

		(void)close(side->fd);
		if (side->pipe[0] >= 0) {
			(void)close(side->pipe[0]);
			(void)close(side->pipe[1]);
		}
		free(side->kept);
	}
	tunnel->is_dead = true;
	tunnel->next_dead = *dead;
	*dead = tunnel;
}

static void tunnel_open(int epoll, int client, const struct sockaddr_in *origin)
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
	int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (!tunnel || server < 0 ||
	    (connect(server, (const struct sockaddr *)origin, sizeof(*origin)) < 0 &&
	     errno != EINPROGRESS)) {
		perror("proxy-floor: cannot connect");
		exit(1);
	}
	for (size_t i = 0; i < 2; i++) {
		struct side *side = &tunnel->sides[i];
		struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP |
						       (uint32_t)EPOLLET,
					     .data.ptr = side };

		*side = (struct side){ .tunnel = tunnel,
				       .fd = i == 0 ? client : server,
				       .pipe = { -EBADF, -EBADF } };
		(void)setsockopt(side->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, side->fd, &event) < 0) {
			perror("proxy-floor: cannot wait");
			exit(1);
		}
	}
}

static void serve(struct side *side, struct tunnel **dead)
{
	struct tunnel *tunnel = side->tunnel;

	if (tunnel->is_dead)
		return;
	if (!pump(side) || !pump(other(side)) ||
	    (tunnel->sides[0].is_passed_on && tunnel->sides[1].is_passed_on))
		tunnel_close(tunnel, dead);
}

static void run(int epoll, int listener, const struct sockaddr_in *origin)
{
	struct epoll_event events[N_EVENTS];

	for (;;) {
		int n = epoll_wait(epoll, events, N_EVENTS, -1), client;
		struct tunnel *dead = NULL;

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr) {
				serve(events[i].data.ptr, &dead);
				continue;
			}
			while ((client = accept4(listener, NULL, NULL,
						 SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
				tunnel_open(epoll, client, origin);
		}
		while (dead) {
			struct tunnel *next = dead->next_dead;

			free(dead);
			dead = next;
		}
	}
}

int main(int argc, char *argv[])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in origin = address;
	struct epoll_event event = { .events = EPOLLIN };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (argc != 3)
		return 2;
	(void)signal(SIGPIPE, SIG_IGN);
	address.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
	origin.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	if (listener < 0 || epoll < 0 ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, SOMAXCONN) < 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) < 0) {
		perror("proxy-floor: cannot listen");
		return 1;
	}
	run(epoll, listener, &origin);
	return 0;
}
