/* SPDX-License-Identifier: MIT */

/*
 * The log format of another program: every file gets a verdict, and from an intact log no line
 * before the last can be removed
 */

#include "audit/seed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void verify(const uint8_t *bytes, size_t n_bytes, struct seed_report *ret)
{
	int fd = memfd_create("seed", MFD_CLOEXEC);

	check(fd >= 0);
	check(write(fd, bytes, n_bytes) == (ssize_t)n_bytes && lseek(fd, 0, SEEK_SET) == 0);
	check(seed_verify(fd, ret, NULL) == 0);
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct seed_report whole, rest;
	const uint8_t *newline;

	verify(bytes, n_bytes, &whole);
	if (whole.verdict != VERIFY_INTACT)
		return 0;
	newline = memchr(bytes, '\n', n_bytes);
	if (!newline || whole.n_good < 2 || newline == bytes)
		return 0;
	verify(newline + 1, n_bytes - (size_t)(newline + 1 - bytes), &rest);
	check(rest.verdict != VERIFY_INTACT);
	return 0;
}
