/* SPDX-License-Identifier: MIT */

/*
 * Names of system calls: a binary search in the table of generate-syscalls.c
 *
 * libseccomp, which knows the names, is used only when sbx is built: loading it takes longer than
 * starting a sandbox.
 */

#include "base/syscall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/syscall-table.h"

static int compare(const void *key, const void *row)
{
	return strcmp(key, syscall_names + ((const struct syscall_row *)row)->name);
}

int syscall_find(const char *name)
{
	const struct syscall_row *row =
		bsearch(name, syscall_rows, syscall_n_rows, sizeof(*row), compare);

	if (!row)
		return -ENOENT;
	return row->number == SYSCALL_ELSEWHERE ? -ENOSYS : row->number;
}

static const char *word(const void *rows, size_t i)
{
	const struct syscall_row *row = rows;

	return i < syscall_n_rows ? syscall_names + row[i].name : NULL;
}

const char *syscall_suggest(const char *name)
{
	return suggest(name, (struct suggest_words){ .word = word, .list = syscall_rows });
}
