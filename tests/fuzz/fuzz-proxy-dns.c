/* SPDX-License-Identifier: MIT */

/*
 * The bytes are what a DNS server sends: packets, each after its length in two bytes. A bit of the
 * length gives the packet the number and the question of a query, which no mutation would find.
 *
 * c-ares gets them through sockets that do not exist. Its result goes through the two functions
 * between the processes and must not change. Then the bytes are a reply of a process that was
 * taken over. A failed check is an abort.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "proxy/resolver-internal.h"

#define N_SOCKETS 64
#define FIRST_FD 100000 /* no fd of this process */
#define PACKET_MAX 4096
#define HEADER 12
#define N_QUERIES 8
/* Of a length: the bytes, a number that chooses the query, counted from the newest, and a flag. */
#define AGE 2048
#define IS_MENDED 0x8000

struct query {
	uint8_t bytes[512];
	size_t n;
};

struct fake {
	const uint8_t *bytes;
	size_t left;
	size_t n_opened;
	bool is_tcp[N_SOCKETS];
	struct query queries[N_QUERIES];
	size_t n_queries;
	uint8_t reply[2 + PACKET_MAX]; /* being read from a TCP socket */
	size_t n_reply, n_read;
	int n_answers;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* ---- the sockets ---- */

static size_t unread(const struct fake *fake)
{
	return fake->left + fake->n_reply - fake->n_read;
}

static ares_socket_t open_socket(int family, int type, int protocol, void *userdata)
{
	struct fake *fake = userdata;

	(void)protocol;
	if (fake->n_opened == N_SOCKETS || family != AF_INET) {
		errno = EAFNOSUPPORT;
		return ARES_SOCKET_BAD;
	}
	fake->is_tcp[fake->n_opened] = type == SOCK_STREAM;
	return FIRST_FD + (int)fake->n_opened++;
}

static int close_socket(ares_socket_t fd, void *userdata)
{
	(void)fd;
	(void)userdata;
	return 0;
}

/* The sorting of the result also connects, to each of the addresses. */
static int connect_socket(ares_socket_t fd, const struct sockaddr *to, ares_socklen_t n,
			  void *userdata)
{
	(void)fd;
	(void)to;
	(void)n;
	(void)userdata;
	return 0;
}

/* c-ares sends each query as one part, over TCP after its length. */
static void note_query(struct fake *fake, const uint8_t *bytes, size_t n)
{
	struct query *query = &fake->queries[fake->n_queries % N_QUERIES];

	if (n < HEADER || n > sizeof(query->bytes))
		return;
	memcpy(query->bytes, bytes, n);
	query->n = n;
	fake->n_queries++;
}

static ares_ssize_t send_query(ares_socket_t fd, const struct iovec *parts, int n, void *userdata)
{
	struct fake *fake = userdata;
	size_t before = fake->is_tcp[fd - FIRST_FD] ? 2 : 0;
	ares_ssize_t n_sent = 0;

	for (int i = 0; i < n; i++) {
		if (parts[i].iov_len > before)
			note_query(fake, (const uint8_t *)parts[i].iov_base + before,
				   parts[i].iov_len - before);
		n_sent += (ares_ssize_t)parts[i].iov_len;
	}
	return n_sent;
}

/* Gives the packet the number and the question of the query. */
static size_t mend(const struct query *query, uint8_t packet[PACKET_MAX], size_t n)
{
	size_t n_question = query->n - HEADER;

	if (n < HEADER)
		return n;
	memmove(packet + HEADER + n_question, packet + HEADER, n - HEADER);
	memcpy(packet + HEADER, query->bytes + HEADER, n_question);
	memcpy(packet, query->bytes, 2);
	packet[4] = 0;
	packet[5] = 1;
	return n + n_question;
}

/* Returns the size of the next packet, 0 if there is none. */
static size_t next_packet(struct fake *fake, uint8_t ret[PACKET_MAX])
{
	size_t length, n, age;

	if (fake->left < 2)
		return 0;
	length = (size_t)fake->bytes[0] << 8 | fake->bytes[1];
	age = length / AGE % N_QUERIES + 1;
	n = length % AGE;
	fake->bytes += 2;
	fake->left -= 2;
	if (n > fake->left)
		n = fake->left;
	memcpy(ret, fake->bytes, n);
	fake->bytes += n;
	fake->left -= n;
	if (length & IS_MENDED && age <= fake->n_queries)
		return mend(&fake->queries[(fake->n_queries - age) % N_QUERIES], ret, n);
	return n;
}

static void next_reply(struct fake *fake)
{
	size_t n = next_packet(fake, fake->reply + 2);

	fake->reply[0] = (uint8_t)(n >> 8);
	fake->reply[1] = (uint8_t)n;
	fake->n_reply = n > 0 ? n + 2 : 0;
	fake->n_read = 0;
}

static ares_ssize_t receive_tcp(struct fake *fake, void *to, size_t size)
{
	size_t n;

	if (fake->n_read == fake->n_reply)
		next_reply(fake);
	n = fake->n_reply - fake->n_read;
	if (n > size)
		n = size;
	memcpy(to, fake->reply + fake->n_read, n);
	fake->n_read += n;
	return (ares_ssize_t)n; /* 0: the server hangs up */
}

static ares_ssize_t receive(ares_socket_t fd, void *to, size_t size, int flags,
			    struct sockaddr *from, ares_socklen_t *n_from, void *userdata)
{
	struct sockaddr_in server = { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct fake *fake = userdata;
	size_t n;
	uint8_t packet[PACKET_MAX];

	(void)flags;
	if (fake->is_tcp[fd - FIRST_FD])
		return receive_tcp(fake, to, size);
	n = next_packet(fake, packet);
	if (n == 0) {
		errno = unread(fake) == 0 ? ECONNREFUSED : EAGAIN;
		return -1;
	}
	if (from && *n_from >= sizeof(server)) {
		memcpy(from, &server, sizeof(server));
		*n_from = sizeof(server);
	}
	if (n > size)
		n = size;
	memcpy(to, packet, n);
	return (ares_ssize_t)n;
}

static const struct ares_socket_functions sockets = {
	.asocket = open_socket,
	.aclose = close_socket,
	.aconnect = connect_socket,
	.arecvfrom = receive,
	.asendv = send_query,
};

/* ---- the checks ---- */

static void check_answer(const struct resolver_answer *answer)
{
	check(answer->status < N_RESOLVER_STATUSES);
	check(answer->n <= RESOLVER_ADDRESSES_MAX);
	check((answer->n > 0) == (answer->status == RESOLVER_FOUND));
	for (size_t i = 0; i < answer->n; i++)
		for (size_t j = answer->addresses[i].is_ipv6 ? 16 : 4; j < 16; j++)
			check(answer->addresses[i].bytes[j] == 0);
}

static void check_same(const struct resolver_answer *a, const struct resolver_answer *b)
{
	check(a->status == b->status && a->n == b->n);
	for (size_t i = 0; i < a->n; i++) {
		check(a->addresses[i].is_ipv6 == b->addresses[i].is_ipv6);
		check(memcmp(a->addresses[i].bytes, b->addresses[i].bytes, 16) == 0);
	}
}

static void found(void *userdata, int status, int n_timeouts, struct ares_addrinfo *result)
{
	struct fake *fake = userdata;
	struct resolver_answer answer, read;
	struct resolver_reply reply;

	(void)n_timeouts;
	fake->n_answers++;
	resolver_answer_from(status, result, &answer);
	ares_freeaddrinfo(result);
	check_answer(&answer);
	resolver_reply_write(7, &answer, &reply);
	check(resolver_reply_read(&reply, &read) == 0);
	check_same(&answer, &read);
}

static void process_sockets(ares_channel channel, const struct fake *fake)
{
	ares_socket_t open[ARES_GETSOCK_MAXNUM];
	int bits = ares_getsock(channel, open, ARES_GETSOCK_MAXNUM);

	for (int i = 0; i < ARES_GETSOCK_MAXNUM && fake->n_answers == 0; i++)
		if (ARES_GETSOCK_READABLE(bits, i) || ARES_GETSOCK_WRITABLE(bits, i))
			ares_process_fd(channel, open[i], open[i]);
}

static void ask_server(const uint8_t *bytes, size_t n_bytes)
{
	static struct fake fake;
	ares_channel channel;

	memset(&fake, 0, sizeof(fake));
	fake.bytes = bytes;
	fake.left = n_bytes;
	check(resolver_channel_new("127.0.0.1:53", RESOLVER_TIMEOUT_USEC, NULL, NULL, &channel) ==
	      0);
	ares_set_socket_functions(channel, &sockets, &fake);
	resolver_channel_ask(channel, "one.test", found, &fake);
	/* A TCP socket is written to before it is read. */
	for (int n_idle = 0; fake.n_answers == 0 && unread(&fake) > 0 && n_idle < 4;) {
		size_t before = unread(&fake);

		process_sockets(channel, &fake);
		n_idle = unread(&fake) == before ? n_idle + 1 : 0;
	}
	ares_destroy(channel);
	check(fake.n_answers == 1);
}

static void read_reply(const uint8_t *bytes, size_t n_bytes)
{
	struct resolver_reply reply = { .number = 0 };
	struct resolver_answer answer;

	memcpy(&reply, bytes, n_bytes < sizeof(reply) ? n_bytes : sizeof(reply));
	if (resolver_reply_read(&reply, &answer) == 0)
		check_answer(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	ask_server(bytes, n_bytes);
	read_reply(bytes, n_bytes);
	return 0;
}
