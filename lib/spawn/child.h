/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What each process that the supervisor makes does first and last
 */

#include <stddef.h>
#include <stdnoreturn.h>

/*
 * Asks the kernel for @signal when the supervisor dies, and looks whether it is still there:
 * @socket is our end of a pair whose other end only it has. The kernel forgets this whenever ids or
 * capabilities change. 0 or negative errno, -ESRCH where it is gone.
 */
int child_die_with_supervisor(int socket, int signal);
/* Closes all fds from 3 on but those in @kept, which it sorts; negative ones are none. */
int child_close_others(int *kept, size_t n);
void child_sort(int *fds, size_t n);

/*
 * The end, at once: without what our caller has registered to be done at the end of his process.
 * The first does not return either, but is not declared so: a sanitizer does something before each
 * call of such a function, and PID 1's filter kills for that.
 */
void child_leave(int status);
noreturn void child_fail(void);
