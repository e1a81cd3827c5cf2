/* SPDX-License-Identifier: MIT */
#pragma once

/* The system calls of SQLite, for tests in which they fail */

#include <sqlite3.h>
#include <stdio.h>

#include "test.h"

/* Replaces "pread" or "pwrite", of which SQLite uses the one with 64 in its name where there are
 * two. NULL: the kernel's again. */
static inline void set_sqlite_call(const char *name, void *function)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	char with_64[16];

	(void)snprintf(with_64, sizeof(with_64), "%s64", name);
	expect_eq(vfs->xSetSystemCall(vfs, name, (sqlite3_syscall_ptr)function), SQLITE_OK);
	expect_eq(vfs->xSetSystemCall(vfs, with_64, (sqlite3_syscall_ptr)function), SQLITE_OK);
}
