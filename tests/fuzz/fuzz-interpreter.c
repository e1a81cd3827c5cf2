/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a program that could not be executed. An interpreter that is found must be a string
 * in it.
 */

#include "kernel/interpreter.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_close_ int fd = memfd_create("program", MFD_CLOEXEC);
	char name[INTERPRETER_MAX];

	check(fd >= 0 && write(fd, bytes, n_bytes) == (ssize_t)n_bytes);
	if (interpreter_read(fd, name) < 0)
		return 0;
	check(memchr(name, '\0', sizeof(name)));
	check(memmem(bytes, n_bytes, name, strlen(name)));
	return 0;
}
