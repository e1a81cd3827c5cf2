/* SPDX-License-Identifier: MIT */

/*
 * The clients of proxy.py: proxy-load MODE PROXY-PORT ORIGIN PATH N-CONNECTIONS N-OPERATIONS
 *
 * One thread, one epoll set, a fixed number of operations, so that the CPU time of a proxy can be
 * divided by it. An operation is one GET. It prints the bytes of all bodies, or "ready" when all
 * tunnels of the mode "idle" are open, which then stay until stdin ends.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MAX 4096
#define N_EVENTS 256

struct mode {
	const char *name;
	bool connects; /* through a tunnel */
	bool absolute; /* the proxy reads each request */
	bool closes;   /* a connection for each operation */
	bool idles;
};

static const struct mode modes[] = {
	{ .name = "connect", .connects = true, .closes = true },
	{ .name = "get", .absolute = true },
	{ .name = "bulk", .connects = true },
	{ .name = "idle", .connects = true, .idles = true },
	/* for a relay that knows no HTTP */
	{ .name = "direct-connect", .closes = true },
	{ .name = "direct-bulk" },
};

enum state { CONNECTING, TUNNELLING, READING_HEAD, READING_BODY, OPEN };

struct client {
	int fd;
	enum state state;
	size_t n_head;
	uint64_t n_left; /* of the body */
	char head[HEAD_MAX + 1];
};

struct load {
	const struct mode *mode;
	int epoll;
	struct sockaddr_in proxy;
	const char *tunnel, *request; /* texts to send */
	uint64_t n_started, n_wanted, n_done, n_bytes;
};

static void die(const char *what)
{
	(void)fprintf(stderr, "proxy-load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void say(const struct client *client, const char *text)
{
	if (send(client->fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		die("cannot send");
}

static void client_open(struct load *load, struct client *client)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | (uint32_t)EPOLLET,
				     .data.ptr = client };
	int on = 1;

	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	client->state = CONNECTING;
	client->n_head = 0;
	if (client->fd < 0)
		die("cannot make a socket");
	(void)setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(client->fd, (struct sockaddr *)&load->proxy, sizeof(load->proxy)) < 0 &&
	    errno != EINPROGRESS)
		die("cannot connect");
	if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, client->fd, &event) < 0)
		die("cannot wait");
}

/* Begins the next operation, if one is left. */
static void client_next(struct load *load, struct client *client)
{
	if (load->n_started == load->n_wanted)
		return;
	load->n_started++;
	client->n_head = 0;
	client->state = READING_HEAD;
	say(client, load->request);
}

static void client_done(struct load *load, struct client *client)
{
	load->n_done++;
	if (!load->mode->closes) {
		client_next(load, client);
		return;
	}
	(void)close(client->fd);
	client->fd = -EBADF;
	if (load->n_started < load->n_wanted)
		client_open(load, client);
}

static void client_connected(struct load *load, struct client *client)
{
	if (!load->mode->connects) {
		client_next(load, client);
		return;
	}
	client->state = TUNNELLING;
	say(client, load->tunnel);
}

/* A complete head; @body: what follows it. */
static void client_head(struct load *load, struct client *client, const char *body)
{
	const char *length = strcasestr(client->head, "content-length:");
	size_t n_body = client->n_head - (size_t)(body - client->head);

	if (strncmp(client->head + 8, " 200", 4) != 0) {
		(void)fprintf(stderr, "proxy-load: %.80s\n", client->head);
		exit(1);
	}
	if (client->state == TUNNELLING) {
		client->state = OPEN;
		if (load->mode->idles)
			load->n_done++;
		else
			client_next(load, client);
		return;
	}
	client->n_left = length ? strtoull(length + strlen("content-length:"), NULL, 10) : 0;
	client->state = READING_BODY;
	client->n_left -= n_body;
	load->n_bytes += n_body;
	if (client->n_left == 0)
		client_done(load, client);
}

/* Returns false if there is nothing more to read now. */
static bool client_read(struct load *load, struct client *client)
{
	bool is_body = client->state == READING_BODY;
	/* The kernel drops the bytes of a body (tcp(7)). */
	ssize_t n = is_body ? recv(client->fd, NULL, client->n_left, MSG_TRUNC)
			    : recv(client->fd, client->head + client->n_head,
				   HEAD_MAX - client->n_head, 0);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0)
		die(n == 0 ? "closed by the proxy" : "cannot receive");
	if (is_body) {
		load->n_bytes += (uint64_t)n;
		client->n_left -= (uint64_t)n;
		if (client->n_left == 0)
			client_done(load, client);
	} else {
		client->n_head += (size_t)n;
		client->head[client->n_head] = '\0';

		const char *end = strstr(client->head, "\r\n\r\n");

		if (end)
			client_head(load, client, end + 4);
	}
	return client->fd >= 0 && client->state != CONNECTING;
}

static void client_serve(struct load *load, struct client *client, uint32_t events)
{
	if (client->state == CONNECTING && events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		client_connected(load, client);
	if (!(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
		return;
	while (client->state != OPEN && client_read(load, client))
		;
}

static void run(struct load *load, size_t n_clients)
{
	struct client *clients = calloc(n_clients, sizeof(*clients));
	struct epoll_event events[N_EVENTS];

	if (!clients)
		die("no memory");
	for (size_t i = 0; i < n_clients; i++)
		client_open(load, &clients[i]);
	while (load->n_done < load->n_wanted) {
		int n = epoll_wait(load->epoll, events, N_EVENTS, 60000);

		if (n == 0)
			errno = ETIMEDOUT;
		if (n <= 0 && errno != EINTR)
			die("cannot wait");
		for (int i = 0; i < n; i++)
			client_serve(load, events[i].data.ptr, events[i].events);
	}
	if (load->mode->idles) {
		(void)puts("ready");
		(void)fflush(stdout);
		(void)getchar();
	} else {
		(void)printf("%llu\n", (unsigned long long)load->n_bytes);
	}
	free(clients);
}

int main(int argc, char *argv[])
{
	struct load load = { .epoll = epoll_create1(EPOLL_CLOEXEC) };
	char tunnel[256], request[512], authority[64];

	for (size_t i = 0; argc == 7 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			load.mode = &modes[i];
	if (!load.mode || load.epoll < 0)
		return 2;
	load.proxy = (struct sockaddr_in){ .sin_family = AF_INET,
					   .sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10)),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	load.n_wanted = strtoull(argv[6], NULL, 10);
	(void)snprintf(authority, sizeof(authority), "%s%s",
		       strchr(argv[3], ':') ? "" : "127.0.0.1:", argv[3]);
	(void)snprintf(tunnel, sizeof(tunnel), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority,
		       authority);
	(void)snprintf(request, sizeof(request),
		       "GET %s%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: proxy-load\r\n%s\r\n",
		       load.mode->absolute ? "http://" : "", load.mode->absolute ? authority : "",
		       argv[4], authority, load.mode->closes ? "Connection: close\r\n" : "");
	load.tunnel = tunnel;
	load.request = request;
	run(&load, (size_t)strtoull(argv[5], NULL, 10));
	return 0;
}
