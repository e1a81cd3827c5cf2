/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Every access to memory that the other side can write or see
 *
 * A word of the other side is loaded once into a local variable, and only the local is checked and
 * used: the other side may change it between two loads. With -DRING_HOOKS each load and copy calls
 * ring_shared_read() first, which tests use to change the memory at the worst moment and to find an
 * address that is read twice in one operation.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef RING_HOOKS
void ring_shared_read(const volatile void *at, size_t n_bytes);
#else
#define ring_shared_read(at, n_bytes) ((void)0)
#endif

static inline uint32_t shared_load_u32(const uint8_t *at)
{
	ring_shared_read(at, sizeof(uint32_t));
	return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_RELAXED);
}

static inline uint32_t shared_load_u32_acquire(const uint8_t *at)
{
	ring_shared_read(at, sizeof(uint32_t));
	return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static inline uint64_t shared_load_u64(const uint8_t *at)
{
	ring_shared_read(at, sizeof(uint64_t));
	return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
}

static inline uint64_t shared_load_u64_acquire(const uint8_t *at)
{
	ring_shared_read(at, sizeof(uint64_t));
	return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static inline void shared_store_u32(uint8_t *at, uint32_t value)
{
	__atomic_store_n((uint32_t *)(void *)at, value, __ATOMIC_RELAXED);
}

static inline void shared_store_u64(uint8_t *at, uint64_t value)
{
	__atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELAXED);
}

static inline void shared_store_u64_release(uint8_t *at, uint64_t value)
{
	__atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELEASE);
}

/* A store and a fence in one instruction where the processor has one. */
static inline void shared_exchange_u64(uint8_t *at, uint64_t value)
{
	(void)__atomic_exchange_n((uint64_t *)(void *)at, value, __ATOMIC_SEQ_CST);
}

/* Orders this side's store before its next load, in the order that the other side sees: the store
 * of a tail (or of sleeping) before the load of sleeping (or of the tail). */
static inline void shared_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The first and the last bytes, which overlap in the middle: no loop, and no call. */
#define SHARED_COPY_ENDS(to, from, n_bytes, n_end)                                                 \
	do {                                                                                       \
		memcpy((to), (from), (n_end));                                                     \
		memcpy((to) + (n_bytes) - (n_end), (from) + (n_bytes) - (n_end), (n_end));         \
	} while (0)

/* memcpy(), inline for the sizes of most messages. */
static inline void shared_copy_in(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
	if (n_bytes > 64 || n_bytes < 4) {
		if (n_bytes > 0)
			memcpy(to, from, n_bytes);
	} else if (n_bytes >= 32) {
		SHARED_COPY_ENDS(to, from, n_bytes, 32);
	} else if (n_bytes >= 16) {
		SHARED_COPY_ENDS(to, from, n_bytes, 16);
	} else if (n_bytes >= 8) {
		SHARED_COPY_ENDS(to, from, n_bytes, 8);
	} else {
		SHARED_COPY_ENDS(to, from, n_bytes, 4);
	}
}

/* A copy out of memory that may change meanwhile: the copy is what is parsed. */
static inline void shared_copy(void *to, const void *from, size_t n_bytes)
{
	ring_shared_read(from, n_bytes);
	shared_copy_in(to, from, n_bytes);
}

#define SHARED_LINE_SIZE 64

/* Asks for the line of @at, to be written soon. */
static inline void shared_expect_write(const void *at)
{
#if defined(__x86_64__)
	/* The builtin asks for a line to read, unless the compiler may assume this instruction;
	 * processors that lack it ignore it. */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

static inline void shared_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}
