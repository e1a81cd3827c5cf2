/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * File systems of the sandbox's own: tmpfs, /proc, /dev/pts
 */

#include <stdint.h>
#include <sys/types.h>

/* A detached tmpfs of at most @size bytes; never set-uid, no devices. */
int instance_make_tmpfs(uint64_t size, mode_t mode, unsigned attributes);
