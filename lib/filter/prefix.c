/* SPDX-License-Identifier: MIT */

/*
 * Puts a cached program before a built-in filter
 *
 * The prefix was read from a file. A sandbox that runs as the same user may have write access to
 * the directory of that file, so the prefix may be hostile: it must only be able to refuse calls.
 * Each SECCOMP_RET_ALLOW becomes a jump to the first instruction of the filter, and no other jump
 * leaves the prefix. The filter loads what it compares, so the accumulator of the prefix does not
 * matter.
 */

#include "filter/prefix.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Only ALLOW, KILL_PROCESS and ERRNO with a non-zero errno: USER_NOTIF, TRACE and LOG could allow a
 * call. */
static bool is_verdict(uint32_t answer)
{
	uint32_t action = answer & SECCOMP_RET_ACTION_FULL;

	return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_KILL_PROCESS ||
	       (action == SECCOMP_RET_ERRNO && answer != SECCOMP_RET_ERRNO);
}

/* @left: number of instructions after this one; no jump may go past them. */
static bool is_harmless(const struct sock_filter *f, size_t left)
{
	switch (f->code) {
	case BPF_RET | BPF_K:
		return is_verdict(f->k);
	case BPF_LD | BPF_W | BPF_ABS:
		return left > 0 && f->k % sizeof(uint32_t) == 0 &&
		       f->k < sizeof(struct seccomp_data);
	case BPF_ALU | BPF_AND | BPF_K:
		return left > 0;
	case BPF_JMP | BPF_JA:
		return f->k < left;
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_K:
		return f->jt < left && f->jf < left;
	default:
		return false;
	}
}

int prefix_join(const struct sock_filter *prefix, size_t n, const struct sock_fprog *program,
		struct sock_filter **ret, size_t *ret_n)
{
	static const struct sock_filter go_on = { .code = BPF_JMP | BPF_JA };
	struct sock_filter *joined;

	for (size_t i = 0; i < n; i++)
		if (!is_harmless(&prefix[i], n - i - 1))
			return -EBADMSG;
	if (n > BPF_MAXINSNS || n + program->len > BPF_MAXINSNS)
		return -E2BIG;
	joined = calloc(n + program->len, sizeof(*joined));
	if (!joined)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		joined[i] = prefix[i];
		if (prefix[i].code != (BPF_RET | BPF_K) || prefix[i].k != SECCOMP_RET_ALLOW)
			continue;
		joined[i] = go_on;
		joined[i].k = (uint32_t)(n - i - 1);
	}
	memcpy(joined + n, program->filter, program->len * sizeof(*joined));
	*ret = joined;
	*ret_n = n + program->len;
	return 0;
}
