/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How many allocations were made?
 *
 * Counts all calls of malloc, calloc, realloc, reallocarray, memalign, aligned_alloc,
 * posix_memalign, valloc and pvalloc in the process, also from libc and loaded libraries, by any
 * thread, while counting is on. mmap() and the stack are not counted.
 */

#include <stdbool.h>
#include <stdint.h>

/* False in a build with a sanitizer, which replaces the heap: nothing is counted. */
bool count_alloc_works(void);
void count_alloc_start(void);
/* Returns the number of calls since count_alloc_start(). */
uint64_t count_alloc_stop(void);
/* The bytes that these calls requested, freed or not. */
uint64_t count_alloc_bytes(void);
