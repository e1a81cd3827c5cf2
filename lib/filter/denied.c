/* SPDX-License-Identifier: MIT */

/*
 * Compiles a list of names to a filter that refuses these calls and passes all others on
 *
 * This is the only function that filter.so exports. A denied clone3 fails with ENOSYS, because libc
 * then falls back to clone.
 */

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/syscall.h"
#include "filter/compile.h"
#include "filter/layout.h"

static const struct layout_chain *chain_of(const bool *is_denied, int clone3, uint32_t number)
{
	static const struct layout_chain refuse = { .otherwise = SECCOMP_RET_ERRNO | EPERM };
	static const struct layout_chain absent = { .otherwise = SECCOMP_RET_ERRNO | ENOSYS };
	static const struct layout_chain pass = { .otherwise = SECCOMP_RET_ALLOW };

	if (number >= FILTER_NUMBERS || !is_denied[number])
		return &pass;
	return (int)number == clone3 ? &absent : &refuse;
}

int sbx_filter_compile_denied(const char *const *names, struct sock_filter **ret, size_t *ret_n)
{
	int clone3 = syscall_find("clone3");
	bool is_denied[FILTER_NUMBERS] = { false };
	struct layout_range ranges[FILTER_NUMBERS + 2] = { { 0, NULL } };
	size_t n = 0;

	for (; *names; names++) {
		int number = syscall_find(*names);

		if (number == -ENOENT)
			return -EINVAL;
		if (number >= 0 && number < FILTER_NUMBERS)
			is_denied[number] = true;
	}
	for (uint32_t i = 0; i <= FILTER_NUMBERS; i++) {
		const struct layout_chain *chain = chain_of(is_denied, clone3, i);

		if (n == 0 || ranges[n - 1].chain != chain)
			ranges[n++] = (struct layout_range){ i, chain };
	}
	ranges[n] = (struct layout_range){ UINT32_MAX, NULL };
	return layout_build(seccomp_arch_native(), ranges, n, ret, ret_n);
}
