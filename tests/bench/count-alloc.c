/* SPDX-License-Identifier: MIT */

/*
 * Counts calls of the heap functions
 *
 * An executable that defines malloc() and its relatives replaces them for libc and all loaded
 * libraries. These count and call glibc's own, which are exported as __libc_*. During measurements
 * counting is off and costs one predicted branch.
 *
 * The three variables below are the only mutable globals of the tool: malloc() has no parameter for
 * them.
 */

#include "count-alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define HEAP_BELONGS_TO_A_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAP_BELONGS_TO_A_SANITIZER 1
#endif

#if defined(__GLIBC__) && !defined(HEAP_BELONGS_TO_A_SANITIZER)

static atomic_bool counting;
static atomic_uint_fast64_t n_calls, n_requested;

bool count_alloc_works(void)
{
	return true;
}

void count_alloc_start(void)
{
	atomic_store(&n_calls, 0);
	atomic_store(&n_requested, 0);
	atomic_store(&counting, true);
}

uint64_t count_alloc_stop(void)
{
	atomic_store(&counting, false);
	return atomic_load(&n_calls);
}

uint64_t count_alloc_bytes(void)
{
	return atomic_load(&n_requested);
}

static void count(size_t n_bytes)
{
	if (!atomic_load_explicit(&counting, memory_order_relaxed))
		return;
	atomic_fetch_add_explicit(&n_calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&n_requested, n_bytes, memory_order_relaxed);
}

/* The build hides symbols; if libc did not see the replacement, only our own calls would be
 * counted. */
#define REPLACES_LIBC __attribute__((__visibility__("default"), __used__))

void *__libc_malloc(size_t n_bytes);
void *__libc_calloc(size_t n, size_t n_bytes);
void *__libc_realloc(void *old, size_t n_bytes);
void *__libc_memalign(size_t alignment, size_t n_bytes);
void __libc_free(void *old);

void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);

REPLACES_LIBC void *malloc(size_t size)
{
	count(size);
	return __libc_malloc(size);
}

REPLACES_LIBC void *calloc(size_t nmemb, size_t size)
{
	count(nmemb * size);
	return __libc_calloc(nmemb, size);
}

REPLACES_LIBC void *realloc(void *ptr, size_t size)
{
	count(size);
	return __libc_realloc(ptr, size);
}

REPLACES_LIBC void *reallocarray(void *ptr, size_t nmemb, size_t size)
{
	bool is_too_much = __builtin_mul_overflow(nmemb, size, &(size_t){ 0 });

	count(is_too_much ? 0 : nmemb * size);
	if (is_too_much) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_realloc(ptr, nmemb * size);
}

REPLACES_LIBC void *memalign(size_t alignment, size_t size)
{
	count(size);
	return __libc_memalign(alignment, size);
}

REPLACES_LIBC void *aligned_alloc(size_t alignment, size_t size)
{
	count(size);
	return __libc_memalign(alignment, size);
}

REPLACES_LIBC int posix_memalign(void **memptr, size_t alignment, size_t size)
{
	count(size);
	if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
		return EINVAL;

	void *memory = __libc_memalign(alignment, size);

	if (!memory)
		return ENOMEM;
	*memptr = memory;
	return 0;
}

REPLACES_LIBC void *valloc(size_t size)
{
	count(size);
	return __libc_memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

REPLACES_LIBC void *pvalloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t rounded;

	count(size);
	if (__builtin_add_overflow(size, page - 1, &rounded)) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_memalign(page, rounded - rounded % page);
}

REPLACES_LIBC void free(void *ptr)
{
	__libc_free(ptr);
}

#else

bool count_alloc_works(void)
{
	return false;
}

void count_alloc_start(void) {}

uint64_t count_alloc_bytes(void)
{
	return 0;
}

uint64_t count_alloc_stop(void)
{
	return 0;
}

#endif
