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
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "filter/compile.h"
#include "filter/layout.h"

struct names {
	char *at[FILTER_NUMBERS];
	size_t n;
};

static void names_deinit(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->at[i]);
}

static const char *word(const void *list, size_t i)
{
	const struct names *names = list;

	return i < names->n ? names->at[i] : NULL;
}

static int bad_name(const char *name, struct filter_bad_name *ret)
{
	_cleanup_(names_deinit) struct names names = { .n = 0 };
	const char *near;

	if (!ret)
		return -EINVAL;
	for (int number = 0; number < FILTER_NUMBERS; number++) {
		names.at[names.n] = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);
		names.n += names.at[names.n] != NULL;
	}
	near = suggest(name, (struct suggest_words){ .word = word, .list = &names });
	ret->name = name;
	(void)snprintf(ret->suggestion, sizeof(ret->suggestion), "%s", near ? near : "");
	return -EINVAL;
}

static const struct layout_chain *chain_of(const bool *is_denied, int clone3, uint32_t number)
{
	static const struct layout_chain refuse = { .otherwise = SECCOMP_RET_ERRNO | EPERM };
	static const struct layout_chain absent = { .otherwise = SECCOMP_RET_ERRNO | ENOSYS };
	static const struct layout_chain pass = { .otherwise = SECCOMP_RET_ALLOW };

	if (number >= FILTER_NUMBERS || !is_denied[number])
		return &pass;
	return (int)number == clone3 ? &absent : &refuse;
}

int sbx_filter_compile_denied(const char *const *names, struct sock_filter **ret, size_t *ret_n,
			      struct filter_bad_name *ret_bad)
{
	int clone3 = seccomp_syscall_resolve_name("clone3");
	bool is_denied[FILTER_NUMBERS] = { false };
	struct layout_range ranges[FILTER_NUMBERS + 2] = { { 0, NULL } };
	size_t n = 0;

	for (; *names; names++) {
		int number = seccomp_syscall_resolve_name(*names);

		if (number == __NR_SCMP_ERROR)
			return bad_name(*names, ret_bad);
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
