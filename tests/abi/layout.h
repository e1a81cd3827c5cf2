/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The binary layout on which programs outside of the project depend, as a table that the compiler
 * checks
 *
 * If a row fails, programs that were built before would read the wrong bytes. Rows are added; they
 * change only with the version of the library.
 */

#include <stddef.h>

#include <sbx/error.h>
#include <sbx/ring.h>
#include <sbx/spawn.h>

#include "wire.h"

/* A text of sbx/error.h is 512 bytes with its NUL. */
SAME(sizeof(struct sbx_error), 2056);
SAME(offsetof(struct sbx_error, code), 0);
SAME(offsetof(struct sbx_error, level), 4);
SAME(offsetof(struct sbx_error, what), 8);
SAME(offsetof(struct sbx_error, why), 520);
SAME(offsetof(struct sbx_error, fix), 1032);
SAME(offsetof(struct sbx_error, context), 1544);
SAME(SBX_ERROR_TEXT_SIZE, 512);
SAME(SBX_LEVEL_ERROR, 0);
SAME(SBX_LEVEL_WARN, 1);
SAME(SBX_LEVEL_INFO, 2);

/* New members are added after these. */
SAME(offsetof(struct sbx_spawn_config, size), 0);
SAME(offsetof(struct sbx_spawn_config, program), 8);
SAME(offsetof(struct sbx_spawn_config, policy), 16);
SAME(offsetof(struct sbx_spawn_config, options), 24);
SAME(offsetof(struct sbx_spawn_config, command), 32);
SAME(offsetof(struct sbx_spawn_config, environment), 40);
SAME(offsetof(struct sbx_spawn_config, fds), 48);
SAME(offsetof(struct sbx_spawn_config, n_fds), 56);
SAME(sizeof(struct sbx_spawn_fd), 8);
SAME(offsetof(struct sbx_spawn_fd, fd), 0);
SAME(offsetof(struct sbx_spawn_fd, as), 4);

SAME(offsetof(struct sbx_ring_config, size), 0);
SAME(offsetof(struct sbx_ring_config, transport), 8);
SAME(offsetof(struct sbx_ring_config, mode), 12);
SAME(offsetof(struct sbx_ring_config, when_full), 16);
SAME(offsetof(struct sbx_ring_config, is_datagram), 20);
SAME(offsetof(struct sbx_ring_config, total_bytes), 24);
SAME(offsetof(struct sbx_ring_config, timeout_usec), 32);
SAME(offsetof(struct sbx_ring_config, spin_usec), 40);
SAME(offsetof(struct sbx_ring_config, endpoint), 48);
SAME(offsetof(struct sbx_ring_statistics, size), 0);
SAME(offsetof(struct sbx_ring_statistics, messages_sent), 8);
SAME(offsetof(struct sbx_ring_statistics, messages_received), 16);
SAME(offsetof(struct sbx_ring_statistics, send_failures), 24);
SAME(offsetof(struct sbx_ring_statistics, receive_failures), 32);
SAME(offsetof(struct sbx_ring_statistics, bytes_sent), 40);
SAME(offsetof(struct sbx_ring_statistics, bytes_received), 48);
SAME(offsetof(struct sbx_ring_statistics, dropped), 56);
SAME(offsetof(struct sbx_ring_statistics, full), 64);
SAME(offsetof(struct sbx_ring_statistics, sleeps), 72);
SAME(offsetof(struct sbx_ring_statistics, wakes), 80);
SAME(offsetof(struct sbx_ring_statistics, high_water_bytes), 88);
SAME(offsetof(struct sbx_ring_statistics, now_bytes), 96);
SAME(SBX_RING_SERVER, 0);
SAME(SBX_RING_CLIENT, 1);
SAME(SBX_RING_SHARED_MEMORY, 0);
SAME(SBX_RING_UNIX_SOCKET, 1);
SAME(SBX_RING_TCP, 2);
SAME(SBX_RING_STREAM, 0);
SAME(SBX_RING_CALL, 1);
SAME(SBX_RING_WHEN_FULL_WAIT, 0);
SAME(SBX_RING_WHEN_FULL_FAIL, 1);
SAME(SBX_RING_WHEN_FULL_DROP, 2);
SAME(SBX_RING_FULL, 1);
SAME(SBX_RING_EMPTY, 2);
SAME(SBX_RING_CLOSED, 3);
SAME(SBX_RING_DROPPED, 4);
SAME(SBX_RING_FOREVER, UINT64_MAX);
SAME(SBX_RING_DEFAULT_TIMEOUT, UINT64_MAX - 1);
SAME(SBX_RING_MORE, 1);
SAME(SBX_RING_READABLE, 1);
SAME(SBX_RING_WRITABLE, 2);

/* For the check that the table can fail. */
#ifdef EXPECT_ANOTHER_LAYOUT
SAME(sizeof(struct sbx_error), 2055);
#endif
