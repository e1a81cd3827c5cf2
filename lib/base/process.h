/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Start times, which distinguish processes with the same PID; the end of a child; the umask
 */

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Sets the owner's bits of the umask to 0, so that sbx can use the files that it creates; returns
 * the old umask, for processes that sbx starts. */
mode_t process_open_umask(void);
/*
 * A number that identifies a process until reboot. @pidfd may be -EBADF; then the caller must know
 * that @pid has not been reaped, or the number may be that of another process with the same PID.
 * Never 0 on success.
 */
int process_identify(pid_t pid, int pidfd, uint64_t *ret);
/* Waits for the child, which is reaped; @ret_status may be NULL. 0 or negative errno. */
int process_wait(pid_t pid, int *ret_status);
/* The exit status of a shell for what waitpid() returned: 128 + N for a signal. */
int process_status(int wait_status);
/* The start time in ticks of 10 ms since boot; -ESRCH if there is no such process. */
int64_t process_start_ticks(pid_t pid);
