/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A number for a process that no other process of this boot will ever have
 */

#include <stdint.h>
#include <sys/types.h>

/*
 * @pidfd may be -EBADF; then @pid must be known to be alive, or the answer may be about its
 * successor. Never 0 on success.
 */
int process_identify(pid_t pid, int pidfd, uint64_t *ret);
