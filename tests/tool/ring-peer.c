/* SPDX-License-Identifier: MIT */

/*
 * One side of a channel, for tests
 *
 *   ring-peer MODE [N]
 *
 * SBX_RING_FD names its socket. The server:
 *
 *   stream       with a byte ring: sends messages, and expects each of them back
 *   call         the same with cells
 *
 * The client, which makes no file and opens none:
 *
 *   lines        sends each line of stdin as a message, and closes the channel
 *   source N     sends N records (tool_execute, with the number as "n"), and closes it
 *   frame TEXT   sends TEXT as one message, and closes it
 *   long N       sends one message of N bytes, and closes it
 *   echo         sends back what it receives until the server closes it
 *   sink         receives until the server closes it, and prints the number of messages
 *   die N        sends N records and kills itself
 *   hang         sends nothing, and ends when the server does
 *   flip N       sends N messages in place, and writes escapes into them while they are read
 */

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/ring.h>

/* ---- the client ---- */

static int number_of(const char *text)
{
	return text ? atoi(text) : 0;
}

static int send_all(struct sbx_ring *ring, const char *bytes, size_t n_bytes, unsigned flags)
{
	int r = sbx_ring_send(ring, bytes, n_bytes, flags, SBX_RING_FOREVER);

	if (r != 0)
		(void)fprintf(stderr, "ring-peer: cannot send: %d\n", r);
	return r;
}

static int send_lines(struct sbx_ring *ring, const char *argument)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = getline(&line, &size, stdin)) > 0)
		r = send_all(ring, line, (size_t)n - (line[n - 1] == '\n'), 0);
	free(line);
	return r;
}

static int send_records(struct sbx_ring *ring, const char *argument)
{
	char record[128];
	int r = 0;

	for (int i = 0, n = number_of(argument); r == 0 && i < n; i++) {
		int length =
			snprintf(record, sizeof(record),
				 "{\"event\":\"tool_execute\",\"time\":\"2026-01-02T03:04:05Z\","
				 "\"n\":%d}",
				 i);

		r = send_all(ring, record, (size_t)length, i + 1 < n ? SBX_RING_MORE : 0);
	}
	return r;
}

static int send_text(struct sbx_ring *ring, const char *argument)
{
	return send_all(ring, argument, strlen(argument), 0);
}

static int send_long(struct sbx_ring *ring, const char *argument)
{
	size_t n_bytes = (size_t)number_of(argument);
	char *bytes = malloc(n_bytes);
	int r;

	if (!bytes)
		return -ENOMEM;
	memset(bytes, ' ', n_bytes);
	r = send_all(ring, bytes, n_bytes, 0);
	free(bytes);
	return r;
}

/* A channel whose server has closed or ended is the end of the work, not a failure. */
static int end_of(int r)
{
	return r == SBX_RING_CLOSED || r == -ECONNRESET || r == -EPIPE ? 0 : r;
}

static int echo(struct sbx_ring *ring, const char *argument)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	do {
		r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER);
		if (r == 0)
			r = sbx_ring_send(ring, bytes, n_bytes, 0, SBX_RING_FOREVER);
	} while (r == 0);
	return end_of(r);
}

static int sink(struct sbx_ring *ring, const char *argument)
{
	unsigned n = 0;
	const void *bytes;
	size_t n_bytes;
	int r;

	while ((r = sbx_ring_receive(ring, &bytes, &n_bytes, SBX_RING_FOREVER)) == 0)
		n++;
	(void)printf("%u\n", n);
	return end_of(r);
}

static int die(struct sbx_ring *ring, const char *argument)
{
	int r = send_records(ring, argument);

	if (r == 0)
		(void)raise(SIGKILL);
	return r;
}

static int hang(struct sbx_ring *ring, const char *argument)
{
	(void)puts("hanging");
	(void)fflush(stdout);
	return sbx_ring_wait(ring, SBX_RING_READABLE, SBX_RING_FOREVER);
}

#define FLIPPED_SIZE 100000
#define N_FLIPS 30000

/* Around each power of two, where a reader that copies into a growing buffer is interrupted. */
static void write_some(volatile uint8_t *bytes, uint8_t byte)
{
	for (size_t at = 64; at < FLIPPED_SIZE; at *= 2)
		for (size_t i = at - 2; i < at + 3; i++)
			bytes[i] = byte;
}

static int flip(struct sbx_ring *ring, const char *argument)
{
	void *bytes;
	int r = 0;

	for (int n = number_of(argument); r == 0 && n > 0; n--) {
		while ((r = sbx_ring_reserve(ring, FLIPPED_SIZE, &bytes)) == SBX_RING_FULL)
			(void)sbx_ring_wait(ring, SBX_RING_WRITABLE, SBX_RING_FOREVER);
		if (r != 0)
			break;
		memset(bytes, 'A', FLIPPED_SIZE);
		r = sbx_ring_commit(ring, FLIPPED_SIZE, 0);
		for (int i = 0; i < N_FLIPS; i++) {
			write_some(bytes, 0x1b);
			write_some(bytes, 'A');
		}
	}
	return r;
}

/* ---- the server ---- */

#define N_TURNS 200
#define N_AHEAD 50
#define LONGEST 1000000
#define LONG_SLEEP_USEC 20000

static size_t size_of_turn(unsigned turn)
{
	return turn % 100 == 99 ? LONGEST : (size_t)turn * turn % 3000;
}

static int send_turn(struct sbx_ring *ring, uint8_t *bytes, unsigned turn)
{
	memset(bytes, (int)(turn & 0xff), size_of_turn(turn));
	return sbx_ring_send(ring, bytes, size_of_turn(turn), 0, SBX_RING_FOREVER);
}

static int expect_turn(struct sbx_ring *ring, uint8_t *bytes, unsigned turn)
{
	const void *back;
	size_t n_bytes;
	int r = sbx_ring_receive(ring, &back, &n_bytes, SBX_RING_FOREVER);

	if (r != 0)
		return r;
	memset(bytes, (int)(turn & 0xff), size_of_turn(turn));
	return n_bytes == size_of_turn(turn) && memcmp(back, bytes, n_bytes) == 0 ? 0 : -EBADMSG;
}

/* One at a time, so that both sides sleep; sometimes for so long that the client waits for the
 * socket; then many ahead. */
static int take_turns(struct sbx_ring *ring, uint8_t *bytes)
{
	int r = 0;

	for (unsigned turn = 0; r == 0 && turn < N_TURNS; turn++) {
		if (turn % 50 == 0 &&
		    sbx_ring_wait(ring, SBX_RING_READABLE, LONG_SLEEP_USEC) != SBX_RING_EMPTY)
			return -EBADMSG;
		r = send_turn(ring, bytes, turn);
		if (r == 0)
			r = expect_turn(ring, bytes, turn);
	}
	for (unsigned turn = 0; r == 0 && turn < N_AHEAD; turn++)
		r = send_turn(ring, bytes, turn);
	for (unsigned turn = 0; r == 0 && turn < N_AHEAD; turn++)
		r = expect_turn(ring, bytes, turn);
	return r;
}

static int serve(int socket, int mode)
{
	const struct sbx_ring_config config = { .size = sizeof(config), .mode = mode };
	uint8_t *bytes = malloc(LONGEST);
	struct sbx_ring *ring = NULL;
	int r = bytes ? sbx_ring_open(&config, SBX_RING_SERVER, socket, &ring, NULL) : -ENOMEM;

	if (r == 0)
		r = take_turns(ring, bytes);
	(void)printf("%s\n", r == 0 ? "all came back" : "not all came back");
	sbx_ring_close(ring);
	free(bytes);
	return r == 0 ? 0 : 1;
}

/* ---- both ---- */

static const struct {
	const char *name;
	int (*run)(struct sbx_ring *ring, const char *argument);
} modes[] = {
	{ "lines", send_lines }, { "source", send_records }, { "frame", send_text },
	{ "long", send_long },	 { "echo", echo },	     { "sink", sink },
	{ "die", die },		 { "hang", hang },	     { "flip", flip },
};

int main(int argc, char *argv[])
{
	const struct sbx_ring_config config = { .size = sizeof(config) };
	const char *number = getenv("SBX_RING_FD");
	struct sbx_ring *ring = NULL;
	struct sbx_error err;
	int r = -EINVAL;

	if (argc < 2 || !number) {
		(void)fputs("ring-peer: SBX_RING_FD=N ring-peer MODE [N]\n", stderr);
		return 2;
	}
	if (strcmp(argv[1], "stream") == 0 || strcmp(argv[1], "call") == 0)
		return serve(atoi(number), argv[1][0] == 'c' ? SBX_RING_CALL : SBX_RING_STREAM);
	if (sbx_ring_open(&config, SBX_RING_CLIENT, atoi(number), &ring, &err) < 0) {
		(void)fprintf(stderr, "ring-peer: %s: %s\n", err.what, err.why);
		return 3;
	}
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			r = modes[i].run(ring, argc > 2 ? argv[2] : NULL);
	sbx_ring_close(ring);
	return r == 0 ? 0 : 1;
}
