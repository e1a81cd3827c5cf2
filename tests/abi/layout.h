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
#include <sbx/frame-layout.h>
#include <sbx/spawn.h>

#ifdef __cplusplus
#define SAME(is, was) static_assert((is) == (was), "the layout has changed: " #is)
#else
#define SAME(is, was) _Static_assert((is) == (was), "the layout has changed: " #is)
#endif

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

/* Frames are a wire format: these numbers are the protocol. */
SAME(SBX_FRAME_LENGTH_OFFSET, 0);
SAME(SBX_FRAME_TYPE_OFFSET, 4);
SAME(SBX_FRAME_REQUEST_ID_OFFSET, 5);
SAME(SBX_FRAME_PAYLOAD_OFFSET, 9);
SAME(SBX_FRAME_LENGTH_MIN, 5);
SAME(SBX_FRAME_PAYLOAD_MAX, 16777216);

/* For the check that the table can fail. */
#ifdef EXPECT_ANOTHER_LAYOUT
SAME(sizeof(struct sbx_error), 2055);
#endif
