/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Memory that is freed all at once: for things that are built together and die together
 */

#include <stddef.h>

struct arena_chunk;
struct arena {
	struct arena_chunk *chunk;
};

#define ARENA_INIT                                                                                 \
	{                                                                                          \
		.chunk = NULL                                                                      \
	}

/* Zeroed and aligned for any type; NULL when there is no memory. */
void *arena_alloc(struct arena *arena, size_t n_bytes);
/* A copy with a NUL behind it. */
char *arena_copy(struct arena *arena, const void *bytes, size_t n_bytes);
void arena_deinit(struct arena *arena);
