/* SPDX-License-Identifier: MIT */

/*
 * The client of a channel, for tests of programs that are its server
 *
 *   ring-peer MODE [N]
 *
 * SBX_RING_FD names its socket. It makes no file and opens none.
 *
 *   lines        sends each line of stdin as a message, and closes the channel
 *   source N     sends N records (tool_execute, with the number as "n"), and closes it
 *   frame TEXT   sends TEXT as one message, and closes it
 *   long N       sends one message of N bytes, and closes it
 *   echo         sends back what it receives until the server closes it
 *   sink         receives until the server closes it, and prints the number of messages
 *   die N        sends N records and kills itself
 *   hang         sends nothing, and ends when the server does
 */

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/ring.h>

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

static const struct {
	const char *name;
	int (*run)(struct sbx_ring *ring, const char *argument);
} modes[] = {
	{ "lines", send_lines }, { "source", send_records }, { "frame", send_text },
	{ "long", send_long },	 { "echo", echo },	     { "sink", sink },
	{ "die", die },		 { "hang", hang },
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
