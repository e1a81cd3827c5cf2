/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How often was the heap asked for memory?
 *
 * Counts every call of malloc, calloc, realloc, reallocarray, memalign, aligned_alloc,
 * posix_memalign, valloc and pvalloc in the whole process, also from inside libc and from loaded
 * libraries, by any thread, while counting is on. Memory that comes from mmap() or the stack is not
 * seen.
 */

#include <stdbool.h>
#include <stdint.h>

/* False in a build whose heap belongs to a sanitizer: then nothing is counted. */
bool count_alloc_works(void);
void count_alloc_start(void);
/* The calls since count_alloc_start(). */
uint64_t count_alloc_stop(void);
/* The bytes that these calls asked for, given back or not. */
uint64_t count_alloc_bytes(void);
