/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Finds bytes of the other side that one call reads twice
 *
 * The first reading is checked and the second one used: the other side changes the byte in between.
 * ring_shared_read() reports every reading of a library built with RING_HOOKS.
 *
 * The words of the header and the stamps of cells may be read again: each value of them is checked
 * by itself and only compared or kept. When such a word has changed, the other side has gone on,
 * and may have written new records over those that this call has read: all bytes count as new.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <sbx/ring-layout.h>

#define FETCHES_CAPACITY SBX_RING_CAPACITY_MIN

struct fetches {
	const uint8_t *file; /* the other side's, as the library has mapped it; its data twice */
	uint64_t capacity;   /* at most FETCHES_CAPACITY */
	bool is_call;
	uint32_t now;			    /* number of this reading of the whole data */
	uint32_t read_at[FETCHES_CAPACITY]; /* the number at which each byte was read last */
	uint64_t stamps[FETCHES_CAPACITY / SBX_RING_CELL_SIZE];
	uint64_t tail;
	uint64_t n_reads, n_twice;
};

static inline void fetches_init(struct fetches *fetches, const uint8_t *file, uint64_t capacity,
				bool is_call)
{
	memset(fetches, 0, sizeof(*fetches));
	fetches->file = file;
	fetches->capacity = capacity;
	fetches->is_call = is_call;
}

/* Before each call. */
static inline void fetches_begin(struct fetches *fetches)
{
	fetches->now++;
}

static inline void fetches_look_at_word(struct fetches *fetches, const volatile void *at,
					uint64_t *last)
{
	uint64_t value = __atomic_load_n((const volatile uint64_t *)at, __ATOMIC_RELAXED);

	if (value != *last)
		fetches->now++;
	*last = value;
}

static inline void fetches_mark(struct fetches *fetches, size_t offset, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++) {
		uint32_t *read_at = &fetches->read_at[(offset + i) % fetches->capacity];

		fetches->n_twice += *read_at == fetches->now;
		*read_at = fetches->now;
	}
}

/* For ring_shared_read(). */
static inline void fetches_note(struct fetches *fetches, const volatile void *at, size_t n_bytes)
{
	size_t offset = (size_t)((const volatile uint8_t *)at - fetches->file);

	fetches->n_reads++;
	if (offset == SBX_RING_TAIL_OFFSET) {
		fetches_look_at_word(fetches, at, &fetches->tail);
		return;
	}
	if (offset < SBX_RING_DATA_OFFSET ||
	    offset + n_bytes > SBX_RING_DATA_OFFSET + 2 * fetches->capacity)
		return;
	offset = (offset - SBX_RING_DATA_OFFSET) % fetches->capacity;
	if (fetches->is_call && offset % SBX_RING_CELL_SIZE == 0 && n_bytes == sizeof(uint64_t))
		fetches_look_at_word(fetches, at, &fetches->stamps[offset / SBX_RING_CELL_SIZE]);
	else
		fetches_mark(fetches, offset, n_bytes);
}
