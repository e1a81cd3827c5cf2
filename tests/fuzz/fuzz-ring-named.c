/* SPDX-License-Identifier: MIT */

/*
 * The bytes are what a keeper answers, with one fd more than it was asked for where the first byte
 * is odd. An answer is accepted only if it is a JSON object with "ok": true, and no fd stays open
 * after a refusal. A failed check is an abort.
 */

#include "ring/named.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "base/json.h"

#define SOME_USEC UINT64_C(60000000)
#define N_FDS 2

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static int lowest_free_fd(void)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);

	(void)close(fd);
	return fd;
}

static void check_accepted(const char *answer, size_t n_bytes, const int *fds, size_t n_fds)
{
	check(json_validate(answer, n_bytes, NULL, NULL) == 0 || memchr(answer, '}', n_bytes));
	check(memmem(answer, n_bytes, "true", 4) != NULL);
	check(n_fds <= N_FDS);
	for (size_t i = 0; i < n_fds; i++)
		check(fcntl(fds[i], F_GETFD) == FD_CLOEXEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	const int sent[N_FDS + 1] = { 0, 0, 0 };
	int sockets[2], fds[N_FDS] = { -EBADF, -EBADF }, before = lowest_free_fd();
	struct sbx_error err = { .code = 0 };
	char answer[NAMED_BYTES_MAX + 1];
	size_t n_answer = 0, n_fds = 0;
	int r;

	if (n_bytes == 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return 0;
	if (fd_send(sockets[1], bytes, n_bytes, sent, bytes[0] & 1 ? N_FDS + 1 : N_FDS) == 0) {
		r = named_ask(sockets[0], "name", "{}", SOME_USEC, answer, &n_answer, fds, N_FDS,
			      &n_fds, &err);
		check(r == 0 || (err.code < 0 && err.what[0] != '\0'));
		if (r == 0)
			check_accepted(answer, n_answer, fds, n_fds);
		fd_close_many(fds, n_fds);
	}
	fd_close_many(sockets, 2);
	check(lowest_free_fd() == before);
	return 0;
}
