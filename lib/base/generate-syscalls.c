/* SPDX-License-Identifier: MIT */

/*
 * generate-syscalls FILE: writes the table of system calls as C; runs when sbx is built
 *
 * libseccomp has no list of its names, but a name for each number. A call that only other
 * architectures have has a negative number there, not below LOWEST.
 */

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/syscall-table.h"

#define LOWEST (-20000)
#define HIGHEST 1023 /* supported architectures have no system call with a higher number */
#define CALLS_MAX 2048

struct call {
	char *name;
	int number;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct call *)a)->name, ((const struct call *)b)->name);
}

static int find_all(struct call *calls, size_t *ret_n)
{
	size_t n = 0;

	for (int number = LOWEST; number <= HIGHEST; number++) {
		char *name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);

		if (!name)
			continue;
		calls[n++] = (struct call){ name, number < 0 ? SYSCALL_ELSEWHERE : number };
		if (n == CALLS_MAX)
			return -E2BIG;
	}
	qsort(calls, n, sizeof(*calls), compare);
	*ret_n = n;
	return n > 0 ? 0 : -ENOENT;
}

static int write_file(const char *path, const struct call *calls, size_t n)
{
	FILE *out = fopen(path, "we");
	size_t at = 0;
	bool is_written;

	if (!out)
		return -errno;
	(void)fputs("/* Written by lib/base/generate-syscalls.c. */\n\n"
		    "#include \"base/syscall-table.h\"\n\nconst char syscall_names[] =\n",
		    out);
	for (size_t i = 0; i < n; i++)
		(void)fprintf(out, "\t\"%s\\0\"\n", calls[i].name);
	(void)fputs("\t\"\";\n\nconst struct syscall_row syscall_rows[] = {\n", out);
	for (size_t i = 0; i < n; at += strlen(calls[i].name) + 1, i++)
		(void)fprintf(out, "\t{ %zu, %d },\n", at, calls[i].number);
	(void)fprintf(out, "};\n\nconst size_t syscall_n_rows = %zu;\n", n);
	is_written = !ferror(out);
	if (fclose(out) != 0 || !is_written)
		return -EIO;
	return at > UINT16_MAX ? -E2BIG : 0;
}

int main(int argc, char *argv[])
{
	struct call calls[CALLS_MAX] = { { .name = NULL } };
	size_t n = 0;
	int r = argc == 2 ? find_all(calls, &n) : -EINVAL;

	if (r == 0)
		r = write_file(argv[1], calls, n);
	for (size_t i = 0; i < CALLS_MAX; i++)
		free(calls[i].name);
	if (r < 0)
		(void)dprintf(STDERR_FILENO, "cannot generate the system calls: %s\n",
			      strerror(-r));
	return r < 0;
}
