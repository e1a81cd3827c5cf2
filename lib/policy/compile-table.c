/* SPDX-License-Identifier: MIT */

/*
 * Open-addressed tables with a bound on every probe
 *
 * Whoever writes a policy chooses its words, so he could choose ones that all fall on one slot.
 * Seeds are therefore tried, 0, 1, 2 and so on, until the longest way from a key's place to its
 * slot is short; a table that stays crowded doubles. Nothing here depends on chance: the same keys
 * give the same table.
 */

#include "policy/compile-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SEEDS_MAX 8
#define GROWTHS_MAX 6

/* False where a key lies too far away. */
static bool try_seed(table_hash *hash, const void *keys, size_t n, uint64_t seed, uint8_t *used,
		     size_t size, uint32_t *slots)
{
	size_t mask = size - 1;

	memset(used, 0, size);
	for (size_t i = 0; i < n; i++) {
		size_t place = hash(keys, i, seed) & mask, way = 0;

		while (way < ARTEFACT_PROBES_MAX && used[(place + way) & mask])
			way++;
		if (way == ARTEFACT_PROBES_MAX)
			return false;
		slots[i] = (uint32_t)((place + way) & mask);
		used[slots[i]] = 1;
	}
	return true;
}

int table_place(table_hash *hash, const void *keys, size_t n, uint64_t *ret_seed,
		uint32_t **ret_slots, size_t *ret_size)
{
	_cleanup_free_ uint32_t *slots = reallocarray(NULL, n + 1, sizeof(*slots));
	size_t size = 2;

	if (!slots)
		return -ENOMEM;
	while (size < n * 2 + 1)
		size *= 2;
	for (int growth = 0; growth < GROWTHS_MAX; growth++, size *= 2) {
		_cleanup_free_ uint8_t *used = malloc(size);

		if (!used)
			return -ENOMEM;
		for (uint64_t seed = 0; seed < SEEDS_MAX; seed++) {
			if (!try_seed(hash, keys, n, seed, used, size, slots))
				continue;
			*ret_seed = seed;
			*ret_slots = take_ptr(slots);
			*ret_size = size;
			return 0;
		}
	}
	return -E2BIG;
}
