/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Start times, which distinguish processes with the same PID, and the umask
 */

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Sets the owner's bits of the umask to 0, so that sbx can use the files that it creates; returns
 * the old umask, for processes that sbx starts. */
mode_t process_open_umask(void);
/*
 * A number for a process that no other process of this boot ever has. @pidfd may be -EBADF; then
 * the caller must know that @pid is alive, or the answer may be about another process with the same
 * pid. Never 0 on success.
 */
int process_identify(pid_t pid, int pidfd, uint64_t *ret);
/* The start time in ticks of 10 ms since boot; -ESRCH if there is no such process. */
int64_t process_start_ticks(pid_t pid);
