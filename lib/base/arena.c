/* SPDX-License-Identifier: MIT */

/*
 * An arena: a list of chunks, each twice as big as the one before it up to a bound. The newest
 * comes first; bytes are only taken from its free end. Only allocated bytes are zeroed: calloc()
 * would also touch the rest of a chunk, and a page fault costs more than using the page.
 */

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_FIRST 16384
#define CHUNK_MAX (256 * 1024)
#define ROWS_FIRST 16
#define ALIGNMENT _Alignof(max_align_t)

struct arena_chunk {
	struct arena_chunk *older;
	size_t size; /* of bytes[] */
	size_t used;
	_Alignas(max_align_t) unsigned char bytes[];
};

static size_t next_size(const struct arena *arena, size_t wanted)
{
	size_t size = CHUNK_FIRST;

	if (arena->chunk)
		size = arena->chunk->size * 2;
	if (size > CHUNK_MAX)
		size = CHUNK_MAX;
	return size > wanted ? size : wanted;
}

/* Adds a chunk unless the newest one has @wanted free bytes, after any alignment of their start. */
static struct arena_chunk *grow(struct arena *arena, size_t wanted)
{
	size_t size = next_size(arena, wanted);
	struct arena_chunk *chunk;

	if (size > PTRDIFF_MAX - sizeof(*chunk))
		return NULL;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->older = arena->chunk;
	chunk->size = size;
	chunk->used = 0;
	arena->chunk = chunk;
	return chunk;
}

static void *take(struct arena *arena, size_t n_bytes, size_t alignment)
{
	struct arena_chunk *chunk = arena->chunk;
	size_t at = chunk ? (chunk->used + alignment - 1) / alignment * alignment : 0;

	if (!chunk || at > chunk->size || n_bytes > chunk->size - at) {
		chunk = grow(arena, n_bytes);
		at = 0;
	}
	if (!chunk)
		return NULL;
	chunk->used = at + n_bytes;
	return chunk->bytes + at;
}

void *arena_alloc(struct arena *arena, size_t n_bytes)
{
	/* One byte at least, so that two objects never share an address. */
	void *bytes = take(arena, n_bytes ? n_bytes : 1, ALIGNMENT);

	return bytes ? memset(bytes, 0, n_bytes) : NULL;
}

char *arena_copy(struct arena *arena, const void *bytes, size_t n_bytes)
{
	char *copy = n_bytes < SIZE_MAX ? take(arena, n_bytes + 1, 1) : NULL;

	if (!copy)
		return NULL;
	if (n_bytes > 0)
		memcpy(copy, bytes, n_bytes);
	copy[n_bytes] = '\0';
	return copy;
}

void arena_deinit(struct arena *arena)
{
	while (arena->chunk) {
		struct arena_chunk *chunk = arena->chunk;

		arena->chunk = chunk->older;
		free(chunk);
	}
}

bool arena_reserve_rows(struct arena *arena, struct arena_rows *rows, size_t row_size, size_t n)
{
	size_t n_room = rows->n_rows + n;
	void *grown;

	if (n_room <= rows->n_room)
		return true;
	grown = n_room <= SIZE_MAX / row_size ? take(arena, n_room * row_size, ALIGNMENT) : NULL;
	if (!grown)
		return false;
	if (rows->n_rows > 0)
		memcpy(grown, rows->rows, rows->n_rows * row_size);
	rows->rows = grown;
	rows->n_room = n_room;
	return true;
}

void *arena_add_row(struct arena *arena, struct arena_rows *rows, size_t row_size)
{
	size_t n = rows->n_room > 0 ? rows->n_room : ROWS_FIRST;

	if (rows->n_rows == rows->n_room && !arena_reserve_rows(arena, rows, row_size, n))
		return NULL;
	return memset((char *)rows->rows + rows->n_rows++ * row_size, 0, row_size);
}
