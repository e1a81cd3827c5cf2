/* SPDX-License-Identifier: MIT */

/* Instructions of a cached prefix before a filter: whatever they are, the filter's refusals stay */

#include <assert.h>
#include <stdlib.h>

#include "../unit/filter-walk.h"
#include "base/cleanup.h"
#include "filter/filter.h"
#include "filter/prefix.h"

#define ARCHITECTURE 0xc000003e

static void check_joined(const struct sock_filter *code, size_t n, const struct sock_fprog *program)
{
	static const uint32_t architectures[] = { ARCHITECTURE, 0x40000003 };

	for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++)
		for (int number = -1; number < 460; number += 3) {
			struct seccomp_data data = { .nr = number,
						     .arch = architectures[i],
						     .args = { (uint64_t)number, 8, 1, 2 } };
			uint32_t behind = answer_of(program->filter, program->len, &data);
			uint32_t got = answer_of(code, n, &data);

			assert(got != BROKEN);
			assert(got == behind || got == KILL ||
			       (got & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	const struct sock_fprog *program = filter_find("standard", 0);
	size_t n = n_bytes / sizeof(struct sock_filter), n_joined = 77;
	_cleanup_free_ struct sock_filter *prefix = calloc(n + 1, sizeof(*prefix));
	_cleanup_free_ struct sock_filter *joined = NULL;
	int r;

	if (!prefix)
		abort();
	memcpy(prefix, bytes, n * sizeof(*prefix));
	r = prefix_join(prefix, n, program, &joined, &n_joined);
	if (r == 0) {
		assert(n_joined == n + program->len);
		check_joined(joined, n_joined, program);
	} else {
		assert((r == -EBADMSG || r == -E2BIG) && !joined && n_joined == 77);
	}
	return 0;
}
