/* SPDX-License-Identifier: MIT */

/*
 * Not benchmarks, but tests that a false claim is detected
 *
 * Each row falsely claims that it allocates nothing: one row for each allocation function. If the
 * counter missed one of them, a real benchmark could make the same false claim.
 */

#include "bench.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static int self_setup(struct bench_state *ret, struct sbx_error *err)
{
	ret->peer_missing = "nothing";
	return 0;
}

static bool self_verify(const void *data)
{
	return true;
}

static void self_teardown(void *data) {}

/* Keeps the compiler from removing the allocation. */
static void use_and_free(void *memory)
{
	bench_keep(memory);
	free(memory);
}

static void by_malloc(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		use_and_free(malloc(16));
		use_and_free(calloc(2, 8));
	}
}

static void by_realloc(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		use_and_free(realloc(NULL, 16));
		use_and_free(reallocarray(NULL, 4, 8));
	}
}

static void by_aligned(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		void *memory = NULL;

		use_and_free(aligned_alloc(64, 64));
		use_and_free(memalign(64, 64));
		use_and_free(valloc(64));
		use_and_free(posix_memalign(&memory, 64, 64) == 0 ? memory : NULL);
	}
}

static void inside_libc(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		use_and_free(strdup("a text that libc copies"));
		use_and_free(strndup("a text that libc copies", 6));
	}
}

#define SELF_TEST(name_, subject_, run_, n_allocations)                                            \
	{                                                                                          \
		.name = (name_), .subject = (subject_), .unit = "ns/op", .against = "nothing",     \
		.claims_no_allocation = true, .self_test_allocations = (n_allocations),            \
		.setup = self_setup, .verify = self_verify, .run = (run_),                         \
		.teardown = self_teardown,                                                         \
	}

const struct bench bench_self_test[] = {
	SELF_TEST("self_test_malloc", "malloc and calloc", by_malloc, 2),
	SELF_TEST("self_test_realloc", "realloc and reallocarray", by_realloc, 2),
	SELF_TEST("self_test_aligned", "aligned_alloc, memalign, valloc, posix_memalign",
		  by_aligned, 4),
	SELF_TEST("self_test_libc", "strdup and strndup, inside libc", inside_libc, 2),
	{ .name = NULL },
};
