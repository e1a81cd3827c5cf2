/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Memory that is freed all at once: for objects with the same lifetime
 */

#include <stdbool.h>
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
/* A copy followed by a NUL. */
char *arena_copy(struct arena *arena, const void *bytes, size_t n_bytes);
void arena_deinit(struct arena *arena);

/* Rows that grow. The arena keeps what they have outgrown, so reserve a number that is known. */
struct arena_rows {
	void *rows;
	size_t n_rows;
	size_t n_room;
};
/* Adds a zeroed row after the others, or returns NULL; earlier pointers into the rows are stale. */
void *arena_add_row(struct arena *arena, struct arena_rows *rows, size_t row_size);
/* Makes room for @n more rows. False: out of memory. */
bool arena_reserve_rows(struct arena *arena, struct arena_rows *rows, size_t row_size, size_t n);
