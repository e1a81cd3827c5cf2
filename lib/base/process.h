/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What tells a process from a later one of the same number, and our own umask
 */

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What we make from here on we can use ourselves, whatever the umask; returns what it was, for
 * those whom we start. */
mode_t process_open_umask(void);
/* When it began, in ticks of 10 ms since the host did; -ESRCH where there is none. */
int64_t process_start_ticks(pid_t pid);
