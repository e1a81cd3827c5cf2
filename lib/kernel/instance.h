/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Private file systems of the sandbox: tmpfs, /proc, /dev/pts
 */

#include <stdint.h>
#include <sys/types.h>

/* A detached tmpfs of at most @size bytes; never set-uid, no devices. */
int instance_make_tmpfs(uint64_t size, mode_t mode, unsigned attributes);
